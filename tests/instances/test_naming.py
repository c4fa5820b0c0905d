"""The names of instances: family and parameters are fields, and names are written from them and never read."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from facts import about
from hypothesis import given, strategies as st

from marginopt.errors import InputError
from marginopt.instances import Instance, flipped_labels, gaussian_clusters, load, rings
from marginopt.instances.naming import InstanceName, composed_name
from marginopt.relaxations import default_report_instances, strongest_features

X, Y = np.arange(12.0).reshape(6, 2), np.array([1.0, -1.0] * 3)


def test_generators_say_family_and_parameters() -> None:
    gaussian = gaussian_clusters(50, 3, 0.2, outliers="clustered")
    assert (gaussian.name, gaussian.family) == ("gaussian-clustered[n=50, p=3, sigma=0.2]", "gaussian-clustered")
    assert gaussian.parameters == {"sigma": 0.2} and gaussian.naming.facts_in_name == {"n": 50, "p": 3, "sigma": 0.2}
    flipped = flipped_labels(30, 4, 0.1)
    assert (flipped.name, flipped.family, flipped.parameters) == ("flipped[n=30, p=4, tau=0.1]", "flipped", {"tau": 0.1})
    assert (rings(20).name, rings(20).family) == ("rings[n=20]", "rings")
    assert gaussian.population is not None and gaussian.population.sample_clean(9, 1).family == "gaussian-none"


def test_a_name_is_composed_where_none_is_given() -> None:
    assert Instance(X, Y).name == "data" and Instance(X, Y).naming.family_name == "data"
    assert Instance(X, Y, family="set", parameters={"sigma": 0.25}).name == "set[n=6, p=2, sigma=0.25]"
    mine = Instance(X, Y, "mine", family="set", parameters={"sigma": 0.25})
    assert mine.name == "mine" and mine.naming.facts_in_name is None and mine.naming.family_name == "set"
    assert composed_name("set", {"tau": 0.1, "p": 1_000_000, "n": 2}) == "set[n=2, p=1000000, tau=0.1]"


def test_what_changes_an_instance_changes_what_it_is_said_to_be() -> None:
    wdbc = load("wdbc")
    small = strongest_features(wdbc.subsample(60, seed=0), 4)
    assert (small.name, small.family) == ("wdbc[n=60, p=4, seed=0]", "wdbc")
    assert small.prepared().naming.facts_in_name == {"n": 60, "p": 4, "seed": 0}
    noisy = small.with_label_noise(0.1, seed=0)
    assert (noisy.name, noisy.parameters) == ("wdbc[n=60, p=4, seed=0, tau=0.1]", {"seed": 0, "tau": 0.1})
    twice = noisy.with_label_noise(0.2, seed=1)  # no one rate says what was done
    assert twice.name == "wdbc[n=60, p=4, seed=0, tau=0.1][tau=0.2]" and twice.naming.facts_in_name is None
    assert [part.family for part in small.split([0.5, 0.5], seed=0)] == ["wdbc", "wdbc"]
    mine = replace(gaussian_clusters(50, 3, 0.2), name="mine")
    assert (
        mine.subsample(20, seed=20260101).name == "mine[n=20, seed=20260101]"
        and mine.subsample(20, seed=0).family == "gaussian-none"
    )
    pair = load("digits").with_label_noise(0.1, seed=0).pair(3, 8)
    assert (pair.family, pair.parameters) == ("digits-3-8", {"tau": 0.1})
    assert [data.family for data in default_report_instances()] == ["wdbc"] * 2 + ["digits-3-8"] + ["gaussian-clustered"] * 2


@given(
    st.text(min_size=1, max_size=8),
    st.dictionaries(st.text("abc", min_size=1, max_size=2), st.floats(-1e3, 1e3), max_size=3),
    st.integers(1, 10**9),
    st.integers(1, 10**4),
)
def test_a_name_says_what_it_was_composed_of(family: str, parameters: dict[str, float], n: int, p: int) -> None:
    sizes = {"n": n, "p": p}
    for counted in ({}, {"n": n}, {"p": p}, sizes):
        naming = InstanceName(composed_name(family, {**counted, **parameters}), family, parameters, sizes)
        assert naming.facts_in_name == {**counted, **parameters}
    assert InstanceName("x" + family, family, parameters, sizes).facts_in_name is None


def test_a_model_of_an_instance_is_of_a_family_too() -> None:
    gaussian = gaussian_clusters(20, 2, 0.5)
    ramp = gaussian.naming.of_kind("ramp", {"lam": 2.0})
    assert (ramp.name, ramp.family) == ("gaussian-none, ramp[n=20, p=2, sigma=0.5, lam=2]", "gaussian-none, ramp")
    assert ramp.parameters == {"sigma": 0.5, "lam": 2.0}
    assert replace(gaussian, name="mine").naming.of_kind("ramp", {"lam": 2.0}).name == "mine, ramp[lam=2]"


@pytest.mark.parametrize("wrong", [{"n": 3}, {"sigma": "0.2"}, {"sigma": float("nan")}, {1: 2.0}, {"": 1.0}, [0.2]])
def test_parameters_are_numbers_by_name(wrong: object) -> None:
    with pytest.raises(InputError, check=about("parameters", "sigma")):
        Instance(X, Y, parameters=wrong)  # type: ignore[arg-type]


def test_an_instance_that_was_pickled_before_it_had_a_family_is_read() -> None:
    state = dict(vars(Instance(X, Y, "mine")))
    del state["family"], state["parameters"]
    old = Instance.__new__(Instance)
    old.__dict__.update(state)
    read = pickle.loads(pickle.dumps(old))
    assert read.naming.family_name == "mine" and read.subsample(4, seed=0).name == "mine[n=4, seed=0]"
    assert read.subsample(4, seed=np.random.default_rng(0)).name == "mine[n=4]"
