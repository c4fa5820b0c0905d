"""Old public names work, warn once and say what to write."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import numpy as np
import pytest
from facts import about, subjects

import marginopt as mo
from marginopt import errors, models
from marginopt.errors import InputError, MarginoptDeprecationWarning, MarginoptWarning
from marginopt.models import FormulationInfo
from marginopt.models.digest import EARLIER_NAMES, fingerprint, identity
from marginopt.models.formulations import all_formulations

X = np.column_stack([np.ones(6), np.arange(6.0)])
y = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])


def test_a_parameter_of_an_old_name_warns_once_and_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_WARNED", set())
    with pytest.warns(MarginoptDeprecationWarning) as warned:
        model = mo.RampSVM(X, y, 1.0, M=5.0)
    assert subjects(warned) == ["big_m"] and warned[0].filename == __file__
    assert issubclass(warned[0].category, MarginoptWarning)
    assert fingerprint(mo.RampSVM(X, y, 1.0, M=5.0)) == fingerprint(model) == fingerprint(mo.RampSVM(X, y, 1.0, big_m=5.0))
    with pytest.raises(InputError, check=about("M")):
        mo.RampSVM(X, y, 1.0, M=5.0, big_m=5.0)


def test_names_that_moved_to_a_group_warn_once_and_are_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_WARNED", set())
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


@pytest.mark.parametrize("info", all_formulations().values(), ids=all_formulations())
def test_a_parameter_that_a_formulation_does_not_have_is_refused_by_its_name(info: FormulationInfo) -> None:
    model = info.example(np.random.default_rng(0))
    values = {name: getattr(model, name) for name in inspect.signature(type(model)).parameters}
    with pytest.raises(InputError, check=about("lamb", allowed=values)):
        type(model)(**values, lamb=1.0)


def test_digests_hold_the_earlier_names() -> None:
    for model, name, earlier in (
        (mo.Margin(X, y, sample_weight=np.arange(1.0, 7.0)), "sample_weight", "weights"),
        (models.NonparallelSVM(X, y, target=1.0), "y", "labels"),
    ):
        entries = identity(model)[1]
        assert earlier in entries and name not in entries
        assert fingerprint(model) != fingerprint(model.replace(name, getattr(model, name)[::-1]))
