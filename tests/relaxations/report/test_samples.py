"""The built-in report's instances, and the choice of features."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about

from marginopt.errors import InputError
from marginopt.instances import Instance
from marginopt.relaxations import default_report_instances, strongest_features


def test_default_instances_are_prepared_and_named_apart() -> None:
    instances = default_report_instances()
    assert len({i.name for i in instances}) == len(instances) == 5
    assert sum(i.n >= 50 for i in instances) >= 1
    for instance in instances:
        X = np.asarray(instance.X)
        assert instance.intercept and (X[:, 0] == 1.0).all()
        assert set(np.unique(instance.y)) == {-1.0, 1.0}
        assert X.shape[1] <= 9
    assert all("separate the classes best" in i.source for i in instances[:3])
    again = default_report_instances()
    assert all(np.array_equal(np.asarray(a.X), np.asarray(b.X)) for a, b in zip(instances, again, strict=True))


def test_another_seed_draws_other_points() -> None:
    first, second = default_report_instances(0)[0], default_report_instances(1)[0]
    assert not np.array_equal(np.asarray(first.X), np.asarray(second.X))


def test_strongest_features_rank_and_pass_over_duplicates() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 40)
    strong, weak = 3.0 * y + rng.normal(size=80), 0.5 * y + rng.normal(size=80)
    X = np.column_stack([np.ones(80), weak, strong, strong + 0.01 * rng.normal(size=80), rng.normal(size=80)])
    instance = Instance(X, y, name="made up", feature_names=("one", "weak", "strong", "copy", "noise"))
    two = strongest_features(instance, 2)
    assert two.feature_names is not None and two.feature_names[1] == "weak"
    assert two.feature_names[0] in ("strong", "copy")
    assert strongest_features(instance, 3, max_correlation=1.0).feature_names is not None
    assert set(strongest_features(instance, 3).feature_names or ()) >= {"weak", "noise"}
    with pytest.raises(InputError, check=about("k")):
        strongest_features(instance, 4)
    three = Instance.from_labels(X, np.arange(80) % 3)
    with pytest.raises(InputError, check=about("instance")):
        strongest_features(three, 1)
