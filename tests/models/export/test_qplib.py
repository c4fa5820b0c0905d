"""QPLIB files as a parser of the test's own reads them: the same objective and the same feasible points as the form's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt import relaxations as rx
from marginopt.models import StandardForm, StiefelQP
from marginopt.models.export.file_formats import write_form

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


@dataclass
class Program:
    """½x'Px + q'x + r; rows ½x'Q_k x + a_k'x between sides; bounds and integers. Everything dense."""

    P: np.ndarray
    q: np.ndarray
    r: float
    Q: np.ndarray
    A: np.ndarray
    sides: np.ndarray
    bounds: np.ndarray
    integer: np.ndarray

    def objective(self, x: np.ndarray) -> float:
        return float(0.5 * x @ self.P @ x + self.q @ x + self.r)

    def violations(self, x: np.ndarray) -> np.ndarray:
        rows = 0.5 * np.einsum("kij,i,j->k", self.Q, x, x) + self.A @ x
        sides = [self.sides[0] - rows, rows - self.sides[1], self.bounds[0] - x, x - self.bounds[1]]
        return np.maximum(np.concatenate(sides), 0.0)

    def completed(self, x: np.ndarray) -> np.ndarray:
        """Give x the new variables that the linear equations define."""
        linear = (self.sides[0] == self.sides[1]) & (self.Q == 0.0).all(axis=(1, 2)) & self.A[:, x.size :].any(axis=1)
        right = self.sides[0, linear] - self.A[linear][:, : x.size] @ x
        new = np.linalg.lstsq(self.A[linear][:, x.size :], right, rcond=None)[0]
        return np.concatenate([x, new])


def parsed(path: Path) -> Program:
    """Read the file by the library's description: https://qplib.zib.de/doc.html."""
    lines = iter([words for line in path.read_text().splitlines() if (words := line.split("#")[0].split())])

    def number() -> float:
        return float(next(lines)[0])

    def vector(size: int) -> np.ndarray:
        values = np.full(size, number())
        for _ in range(int(number())):
            place, value = next(lines)
            values[int(place) - 1] = float(value)
        return values

    def entries(*shape: int, symmetric: bool) -> np.ndarray:
        array = np.zeros(shape)
        for _ in range(int(number())):
            *places, value = next(lines)
            place = tuple(int(k) - 1 for k in places)
            array[place] = float(value)
            if symmetric:
                array[(*place[:-2], place[-1], place[-2])] = float(value)
        return array

    next(lines)
    kind, (sense,) = next(lines)[0], next(lines)
    assert sense == "minimize"
    n = int(number())
    m = 0 if kind[2] in "BN" else int(number())
    P = np.zeros((n, n)) if kind[0] == "L" else entries(n, n, symmetric=True)
    q, r = vector(n), number()
    Q = entries(m, n, n, symmetric=True) if kind[2] in "QDC" else np.zeros((m, n, n))
    A = entries(m, n, symmetric=False) if m else np.zeros((0, n))
    infinity = number()
    sides = np.array([vector(m), vector(m)]) if m else np.zeros((2, 0))
    bounds = np.array([vector(n), vector(n)])
    integer = vector(n) > 0.0 if kind[1] in "GM" else np.full(n, kind[1] == "I")
    for array in (sides, bounds):
        array[np.abs(array) >= infinity] *= np.inf
    return Program(P, q, r, Q, A, sides, bounds, integer)


def drawn() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 4)
    return np.column_stack([np.ones(8), rng.normal(size=(8, 2)) + 0.5 * y[:, None]]), y


FORMS: dict[str, Callable[[], StandardForm]] = {
    "hinge": lambda: mo.HingeSVM(*drawn(), 1.0).form,
    "zero-one": lambda: mo.ZeroOneSVM(*drawn(), 1.0).form,
    "capped": lambda: mo.NonparallelSVM(*drawn(), target=1.0, loss="capped").form,
    "stiefel": lambda: StiefelQP(np.diag([1.0, -2.0, 0.5]), np.arange(6.0).reshape(3, 2)).form,
    "cones": lambda: rx.EqualHulls().apply(mo.RampSVM(*drawn(), 1.0, intercept="penalised")),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_parser_that_shares_nothing_reads_the_same_problem(name: str, tmp_path: Path) -> None:
    form = FORMS[name]()
    write_form(form, tmp_path / "p.qplib")
    program = parsed(tmp_path / "p.qplib")
    assert np.array_equal(program.integer[: form.n], form.integer) and not program.integer[form.n :].any()
    rng, feasible = np.random.default_rng(1), 0
    solved = mo.solve(form.relax_integrality(), "clarabel").values if name != "stiefel" else {"P": np.eye(3, 2)}
    near = form.join(solved)
    for share in (0.0, 1e-3, 0.1, 1.0) * 10:
        x = near + share * rng.normal(size=form.n)
        completed = program.completed(x)
        assert program.objective(completed) == pytest.approx(form.objective(x), rel=1e-9, abs=1e-9)
        outside = np.concatenate([form.lower - x, x - form.upper, [c.cone.violation(c.value(x)) for c in form.constraints]])
        inside = bool(outside.max() <= 1e-6)
        assert inside == bool(program.violations(completed).max() <= 1e-5), (outside.max(), program.violations(completed).max())
        feasible += inside
    assert 10 <= feasible < 40
