"""The numbers that the README's tour prints, computed again as a reader would: from the data, in rational arithmetic."""

from __future__ import annotations

import contextlib
import io
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginopt as mo

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
ONE = Fraction(1)


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The names of the tour's blocks but for the report, and what they print; two results that it only prints get names."""
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    code = "\n".join(block for block in blocks if "gap_report" not in block)
    code = code.replace("print(mo.compare(", "print(compared := mo.compare(").replace(
        "print(mo.solve(sparse", "print(own := mo.solve(sparse"
    )
    names: dict[str, Any] = {"__name__": "readme"}
    with contextlib.chdir(tmp_path_factory.mktemp("tour")), contextlib.redirect_stdout(io.StringIO()) as text:
        exec(compile(code, "README.md", "exec"), names)
    return names, text.getvalue()


def exact(values: Any) -> list[Fraction]:
    """The stored numbers."""
    return [Fraction(float(v)) for v in np.ravel(values)]


def margins(names: dict[str, Any], w: list[Fraction]) -> list[Fraction]:
    """y_i x_i'w."""
    rows = [exact(row) for row in names["X"]]
    labels = exact(names["y"])
    return [y * sum((a * b for a, b in zip(row, w, strict=True)), Fraction(0)) for row, y in zip(rows, labels, strict=True)]


def close(printed: float, truth: Fraction, share: float = 1e-12) -> bool:
    return abs(Fraction(printed) - truth) <= Fraction(share) * max(abs(truth), ONE)


def test_the_zero_one_loss_and_its_gap(tour: tuple[dict[str, Any], str]) -> None:
    """||w||² + number of margins below 1, and (objective - bound)/objective: 11.26 for the w that is returned."""
    names, text = tour
    result, w = names["exact"], exact(names["w"])
    cost = sum((v * v for v in w), Fraction(0)) + sum(u < 1 for u in margins(names, w))
    assert close(result.objective, cost)
    assert f"objective {float(cost):.10g} " in text
    assert result.bound <= result.objective and close(result.gap, (cost - Fraction(result.bound)) / cost, 1e-11)
    assert f"norm {math.sqrt(float(sum(v * v for v in w))):g}, margin violations {sum(u < 1 for u in margins(names, w))}" in text
    # that nothing is cheaper: our own solver proves it with another method
    assert mo.solve(names["model"], "zero-one-bb").bound == pytest.approx(float(cost), rel=2e-6)


def test_the_conic_relaxation_s_gap(tour: tuple[dict[str, Any], str]) -> None:
    """Tr W + Σ z, the bound by weak duality, and the gap (exact - bound)/exact that is printed."""
    names, text = tour
    relaxed = names["relaxed"]
    trace = sum(exact(np.diagonal(relaxed.values["W"])), Fraction(0)) + sum(exact(relaxed.values["z"]), Fraction(0))
    assert close(relaxed.objective, trace)
    gap = 1 - Fraction(relaxed.bound) / Fraction(names["exact"].objective)
    printed = float(re.search(r"gap of the relaxation: ([0-9.e-]+)", text)[1])  # type: ignore[index]
    assert close(printed, gap)
    # the dual of the printed statement, at its own multipliers gamma and the v that complementarity gives
    w, z = relaxed.values["w"], relaxed.values["z"]
    X, y, gamma = names["X"], names["y"], np.maximum(relaxed.multipliers["hull"], 0.0) * (1.0 - 1e-5)
    v = np.minimum(2.0 * gamma * np.maximum(1.0 - y * (X @ w), 0.0) / z, 2.0 * np.sqrt(gamma))
    S = np.eye(4) - (X.T * gamma) @ X
    g = X.T @ ((v - 2.0 * gamma) * y)
    assert np.linalg.eigvalsh(S)[0] > 0.0
    dual = float((v - gamma).sum() - 0.25 * g @ np.linalg.solve(S, g))
    assert dual <= relaxed.objective * (1.0 + 1e-9)
    assert relaxed.bound == pytest.approx(dual, rel=1e-3)


def test_the_comparison_s_objectives(tour: tuple[dict[str, Any], str]) -> None:
    """½a'K~a with K~_ij = y_i y_j (exp(-0.1 ||x_i - x_j||²) + 1) + δ_ij/C, row by row of the table."""
    names, text = tour
    X, y = names["X"], names["y"]
    for name, result in names["compared"].results.items():
        a = result.values["a"]
        used = np.flatnonzero(a)
        value = Fraction(0)
        for i in used:
            for j in used:
                square = sum(((p - q) ** 2 for p, q in zip(exact(X[i]), exact(X[j]), strict=True)), Fraction(0))
                entry = Fraction(y[i] * y[j]) * (Fraction(math.exp(-0.1 * float(square))) + 1) + (i == j)
                value += Fraction(float(a[i])) * Fraction(float(a[j])) * entry
        assert close(result.objective, value / 2), name
        assert f"{float(value / 2):.9g}" in text
        assert result.bound <= result.objective


def test_the_ramp_of_one_s_own(tour: tuple[dict[str, Any], str]) -> None:
    """||w||_1 + Σ min((1 - y_i x_i'w)_+, 2), with two weights at most that are not zero."""
    names, text = tour
    w = exact(names["own"].values["w"])
    cost = sum(map(abs, w), Fraction(0)) + sum(
        (min(max(1 - u, Fraction(0)), Fraction(2)) for u in margins(names, w)), Fraction(0)
    )
    assert close(names["own"].objective, cost, 1e-9)
    assert f"objective {names['own'].objective:.10g} " in text
    assert sum(abs(v) > Fraction(1, 10**9) for v in w) == 2


def test_the_program_of_cvxpy(tour: tuple[dict[str, Any], str]) -> None:
    """The point of the disk nearest to (3, 3): (√2, √2), 2(3 - √2)², and the multiplier 2√2(3 - √2)."""
    names, _ = tour
    root = math.sqrt(2.0)
    np.testing.assert_allclose(names["v"].value, [root, root], rtol=1e-6)
    assert names["problem"].value == pytest.approx(2.0 * (3.0 - root) ** 2, rel=1e-6)
    assert float(names["problem"].constraints[0].dual_value) == pytest.approx(2.0 * root * (3.0 - root), rel=1e-5)
