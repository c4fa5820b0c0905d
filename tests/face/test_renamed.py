"""Old public names work, warn once and say what to write."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping

import numpy as np
import pytest
from facts import about, subjects

import marginopt as mo
from marginopt import models, renamed as renamed_module
from marginopt.errors import InputError, MarginoptWarning
from marginopt.models.model import EARLIER_NAMES, fingerprint, identity
from marginopt.renamed import MarginoptDeprecationWarning, renamed, renamed_parameter

X = np.column_stack([np.ones(6), np.arange(6.0)])
y = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])


def double(x: int) -> int:
    return 2 * x


def test_a_function_of_an_old_name_warns_once_and_works() -> None:
    twice = renamed("twice", double, since="0.2", until="0.4")
    with pytest.warns(MarginoptDeprecationWarning) as warned:
        assert twice(3) == 6
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert subjects(warned) == ["double"]
    assert issubclass(warned[0].category, MarginoptWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert twice(4) == 8
    assert twice.__name__ == "twice"


def test_a_parameter_of_an_old_name_warns_once_and_works() -> None:
    @renamed_parameter("weights", "sample_weight", since="0.2", until="0.4")
    def total(*, sample_weight: tuple[float, ...] = ()) -> float:
        return sum(sample_weight)

    with pytest.warns(MarginoptDeprecationWarning) as warned:
        assert total(weights=(1.0, 2.0)) == 3.0  # type: ignore[call-arg]
    assert subjects(warned) == ["sample_weight"] and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert total(weights=(1.0,)) == 1.0  # type: ignore[call-arg]
        assert total(sample_weight=(4.0,)) == 4.0
    with pytest.raises(InputError):
        total(weights=(1.0,), sample_weight=(1.0,))  # type: ignore[call-arg]


def test_names_that_moved_to_a_group_warn_once_and_are_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renamed_module, "_warned", set())
    with pytest.warns(MarginoptDeprecationWarning) as caught:
        assert mo.Options is mo.solvers.Options
    assert len(caught) == 1
    assert mo.Options is mo.solvers.Options  # the second use does not warn
    with pytest.raises(AttributeError):
        _ = mo.all_estimators
    for group, names in mo._MOVED.items():
        for name in names:
            assert name not in mo.__all__, (group, name)


@pytest.mark.parametrize(("kind", "names"), [(kind, names) for kind, names in EARLIER_NAMES.items() if kind in models.__all__])
def test_earlier_names_of_parameters_are_refused_with_the_new_ones(kind: str, names: Mapping[str, str]) -> None:
    made = getattr(models, kind)
    for name, earlier in names.items():
        assert name in inspect.signature(made).parameters
        with pytest.raises(InputError, check=about(earlier, allowed=[name])):
            made(X=X, y=y, **{earlier: y})


def test_digests_hold_the_earlier_names() -> None:
    for model, name, earlier in (
        (mo.Margin(X, y, sample_weight=np.arange(1.0, 7.0)), "sample_weight", "weights"),
        (models.NonparallelSVM(X, y, target=1.0), "y", "labels"),
    ):
        entries = identity(model)[1]
        assert earlier in entries and name not in entries
        assert fingerprint(model) != fingerprint(model.replace(name, getattr(model, name)[::-1]))
