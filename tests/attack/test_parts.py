"""Attacks on the parts of `Margin`: anything at all, in every field; what they refuse they refuse in our words."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import attack_models
import numpy as np
import pytest
from attack_inputs import VALUES
from effort import trials
from facts import about

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError, MarginoptError, SolverError

pytestmark = pytest.mark.filterwarnings("ignore")

_MORE: tuple[Any, ...] = (
    *VALUES, np.array([1.0, 2.0, 3.0]), np.ones((1, 3)), (0, 1, 2), (-1, 0, 1), [0, 1], "abc", {"a": 1}, np.array(["x"]), 3.7, -3,
    10**400, np.array([np.nan, 1.0, 2.0]),
)  # fmt: skip
_FIELDS = {
    margin.Loss: lambda part: {"loss": part},
    margin.Regulariser: lambda part: {"regulariser": part},
    margin.Domain: lambda part: {"domain": part},
    margin.Restriction: lambda part: {"subject_to": [part]},
}


def _parts() -> list[Callable[..., Any]]:
    rows = [getattr(margin, name) for name in margin.__all__]
    concrete = [kind for kind in rows if inspect.isclass(kind) and not inspect.isabstract(kind) and kind is not margin.Margin]
    return [*concrete, mo.parity, mo.keep, mo.at_most, mo.error_budget, mo.fixed]


@pytest.mark.parametrize("kind", _parts(), ids=lambda kind: str(kind.__name__))
def test_a_part_takes_anything_or_refuses_it_in_our_words(kind: Callable[..., Any]) -> None:
    """2,520 of these let out 65 kinds of TypeError, ValueError, IndexError, OverflowError: each part read numbers by itself."""
    X = np.column_stack([np.ones(4), np.arange(4.0), [1.0, 0, 1, 2]])
    y = np.array([1.0, -1, 1, -1])
    parameters = list(inspect.signature(kind).parameters.values())
    for target in parameters:
        for value in _MORE:
            values = {p.name: 1 for p in parameters if p.default is p.empty} | {target.name: value}
            try:
                with np.errstate(all="ignore"):
                    part = kind(**values)
                    for base, field in _FIELDS.items():
                        if isinstance(part, base):
                            model = mo.Margin(X, y, **field(part))
                            str(model)
                            str(model.form)
            except MarginoptError:
                continue


@pytest.mark.parametrize(
    ("state", "name"),
    [
        (lambda: margin.Signs(1), "signs"),  # type: ignore[arg-type]
        (lambda: margin.GroupL1((0, 0.5, 1)), "groups"),  # type: ignore[arg-type]
        (lambda: margin.Increasing(()), "order"),
        (lambda: mo.fixed([1.0]), "coefficients"),  # type: ignore[arg-type]
        (lambda: margin.Nonzero(np.nan), "k"),  # type: ignore[arg-type]
        (lambda: margin.Box("x", 1.0), "lower"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_said(state: Callable[[], Any], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        state()


def test_numbers_that_scip_takes_for_infinite_are_its_refusal() -> None:
    """Case 1011: SCIP's own "error in input data!" came out as a bare Exception."""
    X = np.array([[1.0, 1e150], [1.0, -1e150], [1.0, 1e150]])
    model = mo.Margin(X, [1, -1, -1], "zero-one", "none", domain=margin.Box(-2.0, 2.0))
    with pytest.raises((SolverError, InputError)):
        mo.solve(model, "scip")


@pytest.mark.parametrize("number", [2224, 8003])
def test_scoring_systems_beyond_whole_numbers_and_without_features(number: int) -> None:
    """Features of 1e150 (an OverflowError of NumPy's), and no feature at all (a division by zero)."""
    assert attack_models.attack(number)[1] == ""


def test_a_linear_program_of_features_that_highs_leaves_out() -> None:
    """Features of 1e-150 without a norm: HiGHS said optimal at 2,000,000, and the optimum is 0."""
    assert attack_models.attack(314155355)[1] == ""


def test_models_on_odd_data() -> None:
    """Some of the attack: nothing false, nothing written to, nothing foreign, no hang."""
    faults = [f"{what}: {fault}" for what, fault in map(attack_models.attack, range(trials(24, 96))) if fault]
    assert not faults, faults
