"""Old public names work, warn once and say what to write."""

from __future__ import annotations

import warnings

import pytest

import marginopt as mo
from marginopt import renamed as renamed_module
from marginopt.errors import InputError, MarginoptWarning
from marginopt.renamed import MarginoptDeprecationWarning, renamed, renamed_parameter


def double(x: int) -> int:
    return 2 * x


def test_a_function_of_an_old_name_warns_once_and_works() -> None:
    twice = renamed("twice", double, since="0.2", until="0.4")
    with pytest.warns(MarginoptDeprecationWarning) as told:
        assert twice(3) == 6
    assert len(told) == 1
    assert told[0].filename == __file__
    assert all(word in str(told[0].message) for word in ("twice", "double", "0.2", "0.4"))
    assert issubclass(told[0].category, MarginoptWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert twice(4) == 8
    assert twice.__name__ == "twice"


def test_a_parameter_of_an_old_name_warns_once_and_works() -> None:
    @renamed_parameter("weights", "sample_weight", since="0.2", until="0.4")
    def total(*, sample_weight: tuple[float, ...] = ()) -> float:
        return sum(sample_weight)

    with pytest.warns(MarginoptDeprecationWarning, match="sample_weight") as told:
        assert total(weights=(1.0, 2.0)) == 3.0  # type: ignore[call-arg]
    assert told[0].filename == __file__
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
