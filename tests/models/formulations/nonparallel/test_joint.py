"""Both hyperplanes by one problem: optima by hand, sizes of its parts, invariance, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import RBF, JointHyperplanesSVM, Linear


def _two_points(c: float, r: float, s: float) -> tuple[float, float]:
    """t = u = -v at the optimum of the points -1 (target) and +1, each twice, and the value: min (2 + r) t² + 4c (s - 2t)_+."""
    t = min(0.5 * s, 4.0 * c / (2.0 + r))
    return t, (2.0 + r) * t**2 + 4.0 * c * max(s - 2.0 * t, 0.0)


@pytest.mark.parametrize(("c", "r", "s"), [(1.0, 1.0, 1.0), (0.1, 1.0, 1.0), (0.1, 0.3, 2.0), (5.0, 0.01, 0.5)])
def test_two_points_by_hand(c: float, r: float, s: float) -> None:
    model = JointHyperplanesSVM([[-1.0], [-1.0], [1.0], [1.0]], ["a", "a", "b", "b"], "a", c=c, r=r, margin=s)
    result = mo.solve(model, tol=1e-9)
    t, value = _two_points(c, r, s)
    assert result.objective == pytest.approx(value, rel=1e-6)
    assert np.concatenate(model.hyperplanes(result.values)) == pytest.approx([t, -t], abs=1e-5)


def _clouds(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three overlapping classes, with binary columns, a constant one and a repeated row."""
    rng = np.random.default_rng(seed)
    y = np.repeat([3, 5, 9], 12)
    X = np.column_stack(
        [rng.normal(size=(36, 2)) + np.array([3, 5, 9])[:, None].repeat(12, 0).reshape(36, 1) / 2, rng.random(36) < 0.3]
    )
    X = np.column_stack([X, np.ones(36)])
    X[1] = X[0]
    return X, y


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.4)])
def test_the_optimum_is_bounded_by_every_point_and_every_multiplier(kernel: object) -> None:
    X, y = _clouds()
    rng = np.random.default_rng(1)
    for model in JointHyperplanesSVM.one_per_class(X, y, c=0.7, r=0.2, kernel=kernel):
        result = mo.solve(model, tol=1e-9)
        u = result.values["u"]
        assert model.objective(u) == pytest.approx(result.objective, rel=1e-7)
        for _ in range(20):
            assert model.objective(u + 0.1 * rng.normal(size=u.size)) >= result.objective - 1e-9
            lam = rng.uniform(0.0, model.c, y.size)
            assert model.bound(None, {"margin": lam}).value <= result.objective + 1e-9
        assert ((result.multipliers["margin"] >= -1e-7) & (result.multipliers["margin"] <= model.c + 1e-7)).all()


def test_a_class_and_the_others_change_places() -> None:
    """With two classes the problem of the other class has u and v exchanged."""
    X, y = _clouds()
    X, y = X[:24], y[:24]
    one, other = (mo.solve(model, tol=1e-9) for model in JointHyperplanesSVM.one_per_class(X, y))
    assert one.objective == pytest.approx(other.objective, rel=1e-7)
    u, v = np.split(one.values["u"], 2)
    assert np.concatenate([v, u]) == pytest.approx(other.values["u"], abs=1e-4)


def test_the_nearest_hyperplane_is_the_class_s() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) + 4.0 * y[:, None]
    model = JointHyperplanesSVM(X, y, 0, c=1.0, r=0.1, kernel=RBF(0.2))
    scores = model.decision_function(mo.solve(model).values, X)
    assert np.mean((scores < 0.0) == (y == 0)) > 0.95


@pytest.mark.parametrize(
    "wrong", [{"target": 4}, {"c": 0.0}, {"r": -1.0}, {"margin": 0.0}, {"c": float("nan")}, {"y": [1] * 36}, {"X": [[1.0]]}]
)
def test_what_is_refused(wrong: dict[str, object]) -> None:
    X, y = _clouds()
    parameters = {"X": X, "y": y, "target": 3, **wrong}
    with pytest.raises(InputError):
        JointHyperplanesSVM(**parameters)  # type: ignore[arg-type]


def test_a_hyperplane_without_a_normal_vector_has_no_distance() -> None:
    X, y = _clouds()
    model = JointHyperplanesSVM(X, y, 3)
    with pytest.raises(InputError, check=about("c")):
        model.decision_function({"u": np.zeros(8)}, X)
