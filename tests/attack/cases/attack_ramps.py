"""Ramps of two coefficients by `margin-bb` and others, and their proof logs, true and forged, beside a rational optimum.

The objective is a piecewise quadratic of the plane, cut apart by the lines a_i'w = 1, 1 - d, 1 - b and by the kinks of the norm.
The least value is taken at a corner, or where the derivative along a line or over a cell vanishes: the least of the exact values
at all of these is the optimum. The laws:

- a bound called proved, and that of a valid log, is not above the optimum; the value of its incumbent is not below it;
- OPTIMAL stands at the optimum to the tolerance; a log that the solver wrote is valid;
- a log with a claim above the optimum is refused, whatever else is changed in it; nothing but our own errors escapes.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from families import tried

import marginopt as mo
from marginopt import margin
from marginopt.models.views import MarginProblem
from marginopt.solvers import Status

#: Relative difference from the optimum at which OPTIMAL (asked for at 1e-6) is called wrong; forgeries of each log.
WRONG, FORGERIES = Fraction(1, 10_000), 4

_Point = tuple[Fraction, Fraction]
_Line = tuple[Fraction, Fraction, Fraction]
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Exact:
    """The problem of two coefficients in fractions."""

    rows: list[_Point]
    costs: list[Fraction]
    curvature: _Point
    atoms: list[_Point]
    height: Fraction
    width: Fraction
    second_width: Fraction | None

    @classmethod
    def of(cls, view: MarginProblem, ramp: margin.Ramp) -> Exact:
        """Return the problem of a view with the loss of its model."""
        pairs = [[(Fraction(a), Fraction(b)) for a, b in part.tolist()] for part in (view.A, view.atoms)]
        first, second = view.curvature.tolist()
        again = Fraction(ramp.second_width) if np.isfinite(ramp.second_width) else None
        return cls(
            pairs[0], [Fraction(c) for c in view.costs.tolist()], (Fraction(first), Fraction(second)), pairs[1],
            Fraction(ramp.height), Fraction(ramp.width), again,
        )  # fmt: skip

    def norm(self, w: _Point) -> Fraction:
        """min ||α||_1 with Σ α_k x_k = w, at a basis; of an intercept that no atom knows, 0."""
        if not self.atoms:
            return _ZERO
        if not any(a for a, _ in self.atoms):
            return min(abs(w[1] / b) for _, b in self.atoms if b)
        rows = []
        for (a, b), (c, d) in combinations(self.atoms, 2):
            if det := a * d - b * c:
                rows.append(abs((w[0] * d - w[1] * c) / det) + abs((a * w[1] - b * w[0]) / det))
        return min(rows)

    def value(self, w: _Point) -> Fraction:
        """The objective."""
        total = self.norm(w) + sum((d * x * x for d, x in zip(self.curvature, w, strict=True)), _ZERO)
        for (a, b), cost in zip(self.rows, self.costs, strict=True):
            below = 1 - a * w[0] - b * w[1]
            loss = min(max(below, _ZERO), self.width)
            if self.second_width is not None:
                loss += max(below - self.second_width, _ZERO)
            total += cost * self.height / self.width * loss
        return total

    def lines(self) -> list[_Line]:
        """(a, b, c) with a w_1 + b w_2 = c, across which a piece changes."""
        levels = [Fraction(1), 1 - self.width] + ([] if self.second_width is None else [1 - self.second_width])
        rows = [(a, b, c) for (a, b), cost in zip(self.rows, self.costs, strict=True) if cost and (a or b) for c in levels]
        kinks = self.atoms if any(a for a, _ in self.atoms) else [(Fraction(1), _ZERO)] * bool(self.atoms)
        return rows + [(b, -a, _ZERO) for a, b in kinks if a or b] + [(Fraction(1), _ZERO, _ZERO), (_ZERO, Fraction(1), _ZERO)]

    def optimum(self) -> Fraction:
        """The least value."""
        return min(map(self.value, self._candidates()))

    def _candidates(self) -> Iterator[_Point]:
        lines = list(dict.fromkeys(self.lines()))
        seen: set[tuple[bool, ...]] = set()
        yield _ZERO, _ZERO
        for a, b, c in lines:
            size = a * a + b * b
            origin, along = (a * c / size, b * c / size), (-b, a)
            ends = sorted({t for line in lines if (t := _crossing(line, origin, along)) is not None})
            for t in ends:
                yield _on(origin, along, t)
            inside = [(s + t) / 2 for s, t in pairwise(ends)]
            for t in [ends[0] - 1, *inside, ends[-1] + 1]:  # one of the axes crosses it
                middle = _on(origin, along, t)
                yield from self._flat_along(lines, middle, along)
                step = _step(lines, middle, (a, b))
                for side in (step, -step):
                    w = _on(middle, (a, b), side)
                    cell = tuple(_off(line, w) > 0 for line in lines)
                    if cell not in seen:
                        seen.add(cell)
                        yield from self._flat(lines, w)

    def _flat_along(self, lines: list[_Line], w: _Point, u: _Point) -> Iterator[_Point]:
        """Where the piece of the line through w has no slope."""
        bend = sum((d * x * x for d, x in zip(self.curvature, u, strict=True)), _ZERO)
        if bend:
            yield _on(w, u, -self._slope(lines, w, u) / (2 * bend))

    def _flat(self, lines: list[_Line], w: _Point) -> Iterator[_Point]:
        """Where the piece about w has no slope: only there, or (no curvature) at a line as well."""
        first, second = self.curvature
        if first and second:
            slopes = self._slope(lines, w, (Fraction(1), _ZERO)), self._slope(lines, w, (_ZERO, Fraction(1)))
            yield w[0] - slopes[0] / (2 * first), w[1] - slopes[1] / (2 * second)

    def _slope(self, lines: list[_Line], w: _Point, u: _Point) -> Fraction:
        """Of a quadratic a symmetric difference is the derivative."""
        step = _step(lines, w, u)
        return (self.value(_on(w, u, step)) - self.value(_on(w, u, -step))) / (2 * step)


def _step(lines: list[_Line], w: _Point, u: _Point) -> Fraction:
    """How far to go from w, so that no line is met but those that w is on."""
    far = (abs(_off(line, w)) / abs(line[0] * u[0] + line[1] * u[1]) for line in lines if _rate(line, u) and _off(line, w))
    return min(far, default=Fraction(2)) / 2


def _on(origin: _Point, along: _Point, t: Fraction) -> _Point:
    return origin[0] + t * along[0], origin[1] + t * along[1]


def _off(line: _Line, w: _Point) -> Fraction:
    return line[0] * w[0] + line[1] * w[1] - line[2]


def _rate(line: _Line, u: _Point) -> Fraction:
    return line[0] * u[0] + line[1] * u[1]


def _crossing(line: _Line, origin: _Point, along: _Point) -> Fraction | None:
    rate = _rate(line, along)
    return -_off(line, origin) / rate if rate else None


# -- problems --------------------------------------------------------------------------------------------------------------


def drawn(rng: np.random.Generator) -> mo.Margin:
    """Two to four points of both classes, times a power of ten now and then; every loss and regulariser that the view knows."""
    n = max(int(rng.integers(1, 5)), 2)
    X = rng.integers(-6, 7, (n, 2)) / 2.0
    if rng.random() < 0.2:
        X[-1] = X[0]
    if rng.random() < 0.3:
        X *= 10.0 ** rng.integers(-6, 7)
    if rng.random() < 0.2:
        X += rng.normal(size=X.shape)
    free = bool(rng.random() < 0.4)
    if free or rng.random() < 0.5:
        X[:, 0] = 1.0
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[0] = -y[0] if (y == y[0]).all() else y[0]
    loss = margin.Ramp(*((), (1.0, 0.5), (0.3, 3.0), (2.0, 2.0, 3.0), (1.0, 1e-3), (1e6, 1.0))[int(rng.integers(6))])
    weights = rng.choice([0.0, 1.0, 0.1, 3.0], n) * 10.0 ** rng.choice([0, 0, 0, -6, 6, -3, 3])
    atoms = rng.integers(-3, 4, (int(rng.integers(2, 5)), 1 if free else 2)) / 2.0
    regularisers: tuple[Any, ...] = (
        "l2", "half-l2", "l1", margin.ElasticNet(0.3, 0.7), margin.ElasticNet(1e-3, 1e3),
        "l1" if np.linalg.matrix_rank(atoms) < atoms.shape[1] else margin.KernelWeightsL1(atoms, 0.4),
    )  # fmt: skip
    regulariser = regularisers[int(rng.integers(len(regularisers)))]
    return mo.Margin(X, y, loss, regulariser, sample_weight=weights, intercept="free" if free else "penalised")


def solved(rng: np.random.Generator) -> str:
    """Return what is wrong with an answer, or with a log or a forgery of it; empty where nothing is."""
    model = drawn(rng)
    view = model.view(MarginProblem)
    if view is None:
        return ""
    exact = Exact.of(view, model.loss)  # type: ignore[arg-type]
    optimum = exact.optimum()
    if rng.random() < 0.25:
        return _answer(mo.solve(model, ("auto", "scip")[int(rng.integers(2))], time_limit=2.0), optimum)
    limit = None if rng.random() < 0.7 else int(rng.integers(1, 30))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.log"
        result = mo.solve(model, "margin-bb", proof=str(path), node_limit=limit, time_limit=2.0)
        str(result)
        fault = _answer(result, optimum) or _log(path, model, optimum, must=True)
        records = [json.loads(line) for line in path.read_text().splitlines()[:-1]]
        for _ in range(FORGERIES):
            fault = fault or _log(sealed(path, forged(records, exact, optimum, rng)), model, optimum, must=False)
    return fault


def _answer(result: mo.Result, optimum: Fraction) -> str:
    if str(result.bound_kind) == "proved" and Fraction(float(result.bound)) > optimum:
        return f"bound {result.bound!r} called proved above the truth {float(optimum)!r}"
    if result.status is Status.OPTIMAL and Fraction(float(result.objective)) > optimum * (1 + WRONG) + Fraction(1, 10**12):
        return f"OPTIMAL at {result.objective!r}, the truth is {float(optimum)!r}"
    return ""


def _log(path: Path, model: mo.Margin, optimum: Fraction, *, must: bool) -> str:
    report = mo.check_proof(path, model)
    str(report)
    if report.valid and Fraction(report.bound) > optimum:
        return f"bound {report.bound!r} of a valid log above the truth {float(optimum)!r}"
    if report.valid and Fraction(report.value) < optimum:
        return f"a valid log has an incumbent of {report.value!r}, the optimum is {float(optimum)!r}"
    return f"the solver's own log is refused: {report.message}" if must and not report.valid else ""


# -- forgeries ---------------------------------------------------------------------------------------------------------------


def sealed(path: Path, records: list[dict[str, Any]]) -> Path:
    """A log with a seal that fits."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n")
    return path


def forged(records: list[dict[str, Any]], exact: Exact, optimum: Fraction, rng: np.random.Generator) -> list[dict[str, Any]]:
    """The log with a claim above the optimum, below the value of a worse incumbent, and up to three other lies."""
    records = json.loads(json.dumps(records))
    claim = records[-1]
    claim["bound"] = float(optimum) * (1.0 + 10.0 ** rng.uniform(-12, 0)) + (1e-9 if optimum == 0 else 0.0)
    for k in range(40):
        w, alpha = rng.normal(size=2) * 2.0**k, rng.normal(size=len(exact.atoms)) * 2.0**k
        claim["w"], claim["combination"] = w.tolist(), alpha.tolist()
        point = [sum((Fraction(a) * x[j] for a, x in zip(alpha.tolist(), exact.atoms, strict=True)), _ZERO) for j in (0, 1)]
        known = [any(x[j] for x in exact.atoms) for j in (0, 1)]
        rows = tuple(p if held else Fraction(x) for p, held, x in zip(point, known, w.tolist(), strict=True))
        if exact.value((rows[0], rows[1])) > Fraction(claim["bound"]):
            break
    for _ in range(int(rng.integers(0, 4))):
        LIES[int(rng.integers(len(LIES)))](records, rng)
    return records


Lie = Callable[[list[dict[str, Any]], np.random.Generator], None]


def _dropped(records: list[dict[str, Any]], rng: np.random.Generator) -> None:
    if len(records) > 2:
        del records[int(rng.integers(1, len(records) - 1))]


def _number(records: list[dict[str, Any]], rng: np.random.Generator) -> None:
    """Any number of a node, or of the coordinates, is another."""
    places = [(record, key) for record in [records[0]["T"], records[1:-1]] for key in range(len(record))]
    held, key = places[int(rng.integers(len(places)))]
    while isinstance(held[key], dict | list) and held[key]:
        held = held[key]
        keys = list(held) if isinstance(held, dict) else list(range(len(held)))
        key = keys[int(rng.integers(len(keys)))]
    if isinstance(held[key], int | float):
        others = (0, -1, 1, 1e300, float("nan"), float("inf"), *(held[key] * by for by in (10.0, 0.1, -1.0, 1.0 + 1e-9)))
        held[key] = others[int(rng.integers(len(others)))]


def _cut(records: list[dict[str, Any]], rng: np.random.Generator) -> None:
    records[0]["cut"] = (0.0, 1e-300, 1e300, -1.0)[int(rng.integers(4))]


def _entry(records: list[dict[str, Any]], rng: np.random.Generator) -> dict[str, Any]:
    rounds = [entry for record in records[1:-1] for entry in record["rounds"]]
    return rounds[int(rng.integers(len(rounds)))] if rounds else {"pairs": []}


def _paid_again(records: list[dict[str, Any]], rng: np.random.Generator) -> None:
    entry = _entry(records, rng)
    count = len(records[0]["A"])
    entry["pairs"] = [*entry["pairs"], *entry["pairs"], rng.permutation(count)[: count // 2 * 2].tolist()]


def _everything(records: list[dict[str, Any]], rng: np.random.Generator) -> None:
    """Multipliers as large as may be of every point, a polar ten times as long, a box that is a point."""
    entry = _entry(records, rng)
    entry["alpha"] = [[i, 10.0 ** rng.uniform(-1, 6)] for i in range(len(records[0]["A"]))]
    entry["p"] = (10.0 ** rng.uniform(-1, 3) * rng.normal(size=2)).tolist()
    entry["box"] = entry.get("box", [[0.0, 0.0], [0.0, 0.0]]) if rng.random() < 0.5 else [[0.0, 0.0], [0.0, 0.0]]
    entry["spend"] = float(10.0 ** rng.uniform(-9, 9)) * (1 if rng.random() < 0.5 else -1)


def _split(records: list[dict[str, Any]], rng: np.random.Generator) -> None:
    record = records[int(rng.integers(1, max(2, len(records) - 1)))]
    if rng.random() < 0.5:
        record.pop("split", None)
    else:
        record["split"] = [int(rng.integers(-1, 3)), float(rng.normal())]


LIES: tuple[Lie, ...] = (_dropped, _number, _number, _cut, _paid_again, _everything, _split)

FAMILIES = (solved,)


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried(FAMILIES, 12, number)
