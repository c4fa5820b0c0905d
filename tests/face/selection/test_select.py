"""select(): one interface; counts, determinism, what is chosen on data with a known answer, what is said about bad data."""

from __future__ import annotations

import sys
from typing import Literal

import numpy as np
import pytest
from facts import about, missing
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold

import marginopt.selection as selection
import marginopt.solvers as solvers
from marginopt.errors import InputError, MissingPackageError
from marginopt.models import RBF, ConvexHullsDual, MaxMinSVM
from marginopt.models.formulations.max_min import fisher_ratio
from marginopt.selection import Bat, CrossValidation, Fisher, LikelihoodDensity, MaxMinSelector, select
from marginopt.selection.selectors import likelihood_distance
from marginopt.solvers import Status

GAMMAS = (2.0**-9, 2.0**-3, 1.0, 8.0)
COSTS = (0.125, 1.0, 64.0)


def _ring(seed: int = 0, m: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A disc inside a ring: no kernel that is almost linear, and none that is almost the identity, does well."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    angle = rng.uniform(0, 2 * np.pi, m)
    radius = np.where(y > 0, 1.0, 2.5) + 0.25 * rng.normal(size=m)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def _accuracy(computed: selection.Selection, seed: int) -> float:
    X, y = _ring()
    new, labels = _ring(seed, 400)
    model = computed.model(X, y)
    result = solvers.solve(model, "smo")
    return float(np.mean(np.where(model.decision_function(result.values, new) >= 0, 1.0, -1.0) == labels))


@pytest.mark.parametrize(
    ("selector", "models"),
    [
        ("cv", 5 * len(GAMMAS) * len(COSTS)),
        (CrossValidation(folds=3), 3 * len(GAMMAS) * len(COSTS)),
        ("fisher", len(COSTS)),
        ("likelihood-density", len(COSTS)),
        (Bat(bats=6, iterations=4), 24),
    ],
)
def test_models_are_counted_and_the_choice_is_repeatable(selector: str | selection.Selector, models: int) -> None:
    if isinstance(selector, Bat):
        pytest.importorskip("niapy")
    X, y = _ring()
    first, second = (select(X, y, selector, C=COSTS, gammas=GAMMAS, seed=3) for _ in range(2))
    assert first.models_trained == models
    assert (first.gamma, first.C) == (second.gamma, second.C)
    assert GAMMAS[0] <= first.gamma <= GAMMAS[-1]
    assert COSTS[0] <= first.C <= COSTS[-1]
    assert first.seconds > 0
    assert first.unsolved == first.details["unsolved"] == 0


def test_the_default_grids_are_the_paper_s() -> None:
    assert len(selection.GAMMA_GRID) * len(selection.C_GRID) * 5 == 550
    assert (selection.GAMMA_GRID[0], selection.GAMMA_GRID[-1]) == (2.0**-15, 2.0**3)
    assert (selection.C_GRID[0], selection.C_GRID[-1]) == (2.0**-5, 2.0**15)
    X, y = _ring()
    assert select(X, y, "fisher").models_trained == 11
    assert select(X, y, "maxmin").C == 1.0


@pytest.mark.parametrize("selector", ["cv", "likelihood-density", "maxmin"])
def test_a_curved_boundary_is_found(selector: str) -> None:
    X, y = _ring()
    choice = select(X, y, selector, C=1.0 if selector == "maxmin" else COSTS, gammas=GAMMAS)
    assert 2.0**-9 < choice.gamma < 8.0
    assert _accuracy(choice, 7) > 0.93


def test_cross_validation_scores_are_those_of_models_fitted_one_by_one() -> None:
    X, y = _ring(1, 40)
    choice = select(X, y, CrossValidation(folds=4), C=(1.0, 16.0), gammas=(0.05, 0.5), seed=2)
    expected = np.zeros((2, 2))
    for i, gamma in enumerate((0.05, 0.5)):
        for j, C in enumerate((1.0, 16.0)):
            for train, test in StratifiedKFold(4, shuffle=True, random_state=2).split(X, y):
                model = ConvexHullsDual(X[train], y[train], C=C, kernel=RBF(gamma))
                values = solvers.solve(model, "clarabel", tol=1e-9).values
                expected[i, j] += np.mean(np.sign(model.decision_function(values, X[test])) == y[test]) / 4
    np.testing.assert_allclose(choice.details["accuracy"], expected)
    i, j = {0.05: 0, 0.5: 1}[choice.gamma], {1.0: 0, 16.0: 1}[choice.C]
    assert expected[i, j] == expected.max()


def test_of_equal_pairs_the_smallest_cost_then_the_smallest_gamma_wins() -> None:
    X = np.array([[-3.0], [-3.1], [-2.9], [-3.2], [3.0], [3.1], [2.9], [3.2]])
    y = np.repeat([-1.0, 1.0], 4)
    choice = select(X, y, CrossValidation(folds=2), C=(4.0, 1.0), gammas=(0.2, 0.1))
    assert (choice.details["accuracy"] == 1.0).all()
    assert (choice.gamma, choice.C) == (0.1, 1.0)


def test_fisher_is_54_over_55_as_printed() -> None:
    X, y = _ring(2, 30)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    plus, minus = y > 0, y < 0
    for gamma in (0.01, 0.7):
        K = np.exp(-gamma * D)
        pp, mm, pm = K[np.ix_(plus, plus)], K[np.ix_(minus, minus)], K[np.ix_(plus, minus)]
        inter = pp.mean() + mm.mean() - 2 * pm.mean()
        inner = sum((1 - 2 * k.mean(axis=1) + k.mean()).mean() for k in (pp, mm))
        assert fisher_ratio(D, y, gamma) == pytest.approx(inter / inner, rel=1e-9)
    choice = select(X, y, "fisher", gammas=GAMMAS, C=1.0)
    assert choice.gamma == GAMMAS[int(np.argmax([fisher_ratio(D, y, g) for g in GAMMAS]))]


def test_fisher_ratio_without_spread() -> None:
    y = np.array([1.0, 1.0, -1.0])
    assert fisher_ratio(np.array([[0.0, 0, 4], [0, 0, 4], [4, 4, 0]]), y, 0.5) == np.inf
    assert fisher_ratio(np.zeros((3, 3)), y, 0.5) == 0.0


def test_likelihood_distance_by_loops() -> None:
    X, y = _ring(3, 14)
    gamma, points = 0.4, np.zeros((14, 2))
    for i in range(14):
        for column, side in enumerate((1.0, -1.0)):
            others = [np.exp(-gamma * ((X[i] - X[j]) ** 2).sum()) for j in range(14) if j != i and y[j] == side]
            points[i, column] = np.mean(others)
    expected = np.linalg.norm(points[y > 0].mean(axis=0) - points[y < 0].mean(axis=0))
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert likelihood_distance(D, y, gamma) == pytest.approx(expected)
    assert likelihood_distance(D, y, 1e-12) == pytest.approx(0.0, abs=1e-9)
    assert likelihood_distance(D, y, 1e12) == pytest.approx(0.0, abs=1e-9)


def test_max_min_is_the_solver_s_answer_and_says_how_stationary() -> None:
    X, y = _ring()
    choice = select(X, y, "maxmin", C=2.0)
    result = solvers.solve(MaxMinSVM(X, y, C=2.0, parameter="log-gamma"), "maxmin")
    assert choice.gamma == result.details["gamma"]
    assert choice.models_trained == result.details["models_trained"] == len(choice.steps) == len(choice.details["steps"])
    assert choice.details["status"] is Status.STATIONARY
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    for step in choice.steps:
        assert step["ratio"] == pytest.approx(fisher_ratio(D, y, step["gamma"][0]))


def test_max_min_starts_inside_a_range_that_leaves_out_the_paper_s_start() -> None:
    X, y = _ring()
    choice = select(X, y, "maxmin", gammas=(0.01, 1.0))
    assert choice.details["steps"][0]["gamma"] == (pytest.approx(0.1),)


@pytest.mark.parametrize("scale", ["log2", "linear"])
def test_bat_stays_in_its_ranges_and_takes_the_best_it_saw(scale: Literal["log2", "linear"]) -> None:
    pytest.importorskip("niapy")
    X, y = _ring()
    choice = select(X, y, Bat(bats=5, iterations=6, scale=scale), C=COSTS, gammas=GAMMAS)
    positions, accuracy = choice.details["positions"], choice.details["accuracy"]
    assert positions.shape == (30, 2)
    assert (positions >= np.array([GAMMAS[0], COSTS[0]]) * (1 - 1e-12)).all()
    assert (positions <= np.array([GAMMAS[-1], COSTS[-1]]) * (1 + 1e-12)).all()
    at = np.flatnonzero((positions == [choice.gamma, choice.C]).all(axis=1))
    assert at.size >= 1
    assert (accuracy[at] == accuracy.max()).all()


def test_bats_start_uniformly_on_their_scale() -> None:
    """Of 200 bats' first positions about half are above the middle of the box: of γ itself, or of its logarithm."""
    pytest.importorskip("niapy")
    X, y = _ring()
    middles = {"log2": (GAMMAS[0] * GAMMAS[-1]) ** 0.5, "linear": 0.5 * (GAMMAS[0] + GAMMAS[-1])}
    for scale, middle in middles.items():
        choice = select(X, y, Bat(bats=200, iterations=1, scale=scale), C=COSTS, gammas=GAMMAS)  # type: ignore[arg-type]
        above = (choice.details["positions"][:, 0] > middle).mean()
        assert 0.35 < above < 0.65  # 4 standard deviations of a half


def test_of_equal_positions_bats_answer_where_they_ended() -> None:
    """Every position misclassifies all or no training point alike: the first random one is not the algorithm's answer."""
    pytest.importorskip("niapy")
    X, y = _ring()
    choice = select(X, y, Bat(bats=5, iterations=6, judge="training"), C=COSTS, gammas=(1e-9, 2e-9))
    positions, accuracy = choice.details["positions"], choice.details["accuracy"]
    assert np.ptp(accuracy) == 0.0
    assert (positions[0] != [choice.gamma, choice.C]).any()


def test_bat_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = _ring()
    for name in [name for name in sys.modules if name.split(".")[0] == "niapy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "niapy", None)
    with pytest.raises(MissingPackageError, check=missing("niapy")):
        select(X, y, "bat")


@pytest.mark.parametrize("judge", ["holdout", "training"])
def test_single_models_are_judged_as_asked(judge: str) -> None:
    X, y = _ring()
    flipped = y.copy()
    flipped[:6] *= -1
    choice = select(X, flipped, Fisher(judge=judge), C=(1.0, 2.0**15), gammas=(8.0, 9.0))  # type: ignore[arg-type]
    accuracy = choice.details["accuracy"]
    assert (accuracy.max() == 1.0) == (judge == "training"), "a narrow kernel at a large C reproduces wrong labels"


def test_sparse_and_dense_data_agree() -> None:
    X, y = _ring()
    for name in ("fisher", "likelihood-density", "maxmin"):
        dense, sparse = (select(data, y, name, C=1.0, gammas=GAMMAS) for data in (X, csr_array(X)))
        assert dense.gamma == pytest.approx(sparse.gamma, rel=1e-6)


def test_what_is_peculiar_is_noted() -> None:
    X, y = _ring()
    X = np.column_stack([X, np.ones(len(X))])
    X[1] = X[0]
    choice = select(X, y, "maxmin", gammas=(1e-4, 4.1e-3))
    assert choice.gamma == 4.1e-3
    assert len(choice.notes) == 3  # a constant feature, equal points, the end of the range
    assert select(*_ring(), "maxmin").notes == ()


def test_one_point_in_a_class() -> None:
    X, y = _ring()
    y = -np.ones_like(y)
    y[0] = 1.0
    assert select(X, y, "maxmin").models_trained >= 1
    for name in ("cv", "fisher", "likelihood-density", "bat"):
        with pytest.raises(InputError, check=about("y")):
            select(X, y, name)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"selector": "grid"}, "selector"),
        ({"gammas": (0.1, -1.0)}, "gammas"),
        ({"gammas": ()}, "gammas"),
        ({"C": 0.0}, "C"),
        ({"selector": "maxmin", "C": (1.0, 2.0)}, "C"),
        ({"selector": MaxMinSelector(gamma0=100.0)}, "gamma0"),
        ({"selector": "bat", "C": 1.0}, "C"),
        ({"selector": "bat", "gammas": (1.0,)}, "gammas"),
        ({"solver": "auto"}, "solver"),
        ({"seed": -1}, "seed"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], name: str) -> None:
    X, y = _ring()
    with pytest.raises(InputError, check=about(name)):
        select(X, y, **arguments)  # type: ignore[arg-type]


def test_bad_data_are_named() -> None:
    X, y = _ring()
    with pytest.raises(InputError, check=about("X")):
        select(np.ones_like(X), y)
    with pytest.raises(InputError, check=about("y")):
        select(X, np.ones_like(y))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: CrossValidation(folds=1), "folds"),
        (lambda: Fisher(judge="test"), "judge"),  # type: ignore[arg-type]
        (lambda: LikelihoodDensity(share=1.0), "share"),
        (lambda: Bat(bats=1), "bats"),
        (lambda: Bat(scale="log"), "scale"),  # type: ignore[arg-type]
        (lambda: Bat(loudness=2.0), "loudness"),
        (lambda: MaxMinSelector(parameter="per-feature"), "parameter"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters_of_selectors_are_named(make: object, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        make()  # type: ignore[operator]
