"""Performance profiles over comparisons on several instances."""

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.kernels.kernels import RBF
from marginopt.performance import PerformanceProfile, performance_profile


@pytest.fixture(scope="module")
def comparisons():
    values = {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 3))
        y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
        model = mo.L2SVMDual(X, y, 10.0, RBF(0.5))
        values[f"seed {seed}"] = mo.compare(model, ["smo", "mfw", "smo-box"], tol=1e-4)
    return values


def test_second_order_pairs_lead_and_unsolved_runs_count_as_infinite(comparisons):
    profile = performance_profile(comparisons, "iterations")
    assert profile.instances == ("seed 0", "seed 1", "seed 2")
    assert profile.within("smo") == 1.0
    assert profile.within("mfw") == 0.0
    for k, comparison in enumerate(comparisons.values()):
        assert profile.ratios["mfw"][k] == pytest.approx(comparison["mfw"].iterations / comparison["smo"].iterations)
    assert profile.within("mfw", float(profile.ratios["mfw"].max())) == 1.0
    assert np.isinf(profile.ratios["smo-box"]).all()  # it cannot read the model
    assert profile.within("smo-box", 1e9) == 0.0
    assert "≤ 10×" in str(profile)
    assert str(profile).splitlines()[2].startswith("smo ")


def test_times_have_a_floor(comparisons):
    profile = performance_profile(comparisons)
    best = np.min(list(profile.ratios.values()), axis=0)
    assert best == pytest.approx(np.ones(3))


def test_it_is_drawn_as_steps():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    profile = PerformanceProfile("seconds", ("a", "b"), {"one": np.array([1.0, 4.0]), "two": np.array([3.0, np.inf])})
    axes = profile.plot()
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"one", "two"}
    assert lines["one"].get_ydata()[-1] == 1.0
    assert lines["two"].get_ydata()[-1] == 0.5
    assert profile.plot(axes) is axes


def test_bad_input_is_named(comparisons):
    first = next(iter(comparisons.values()))
    model = mo.L2SVMDual(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), 1.0, RBF(0.5))
    with pytest.raises(InputError, check=about("comparisons")):
        performance_profile({})
    with pytest.raises(InputError, check=about("a")):
        performance_profile({"a": first["smo"]})
    with pytest.raises(InputError, check=about("comparisons")):
        performance_profile({"a": first, "b": mo.compare(model, ["smo"])})
    with pytest.raises(InputError, check=about("measured")):
        performance_profile(comparisons, "nodes")
    with pytest.raises(InputError, check=about("clarabel")):
        performance_profile(comparisons).within("clarabel")
