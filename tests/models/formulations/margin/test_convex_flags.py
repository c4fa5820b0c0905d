"""The flag `convex` of a part beside the form that it makes, and beside the chords of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt import margin as M
from marginopt.models.program.cones import Feature

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

#: Points of small dyadic numbers, labels and groups: most values below are exact in float64.
X = np.column_stack([np.ones(6), [1.0, -1.0, 0.5, 2.0, -0.5, 0.25], [0.5, 0.25, -1.0, 1.0, 2.0, -2.0]])
Y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
GROUPS = np.array([0, 0, 1, 1, 0, 1])

#: Rising, falling, level, jumping and concave breakpoints; a capped loss far from the margins; weights and prices of zero.
LOSSES = [
    M.Hinge(),
    M.SquaredHinge(),
    M.Logistic(),
    M.ZeroOne(),
    M.ZeroOne(0.0),
    M.Ramp(),
    M.Ramp(0.5, 4.0, 8.0),
    M.Hat(),
    M.EpsilonInsensitive(0.0),
    M.Huber(0.5),
    M.PiecewiseLinear(((0.0, 1.0), (1.0, 0.0))),
    M.PiecewiseLinear(((0.0, 1.0), (1.0, 0.0), (2.0, 0.0))),
    M.PiecewiseLinear(((0.0, 0.0), (1.0, 0.0))),
    M.PiecewiseLinear(((0.0, 0.0), (1.0, 1.0), (2.0, 1.0))),
    M.PiecewiseLinear(((-1.0, 2.0), (0.0, 2.0), (0.0, 1.0), (1.0, 1.0))),
]
REGULARISERS = [
    M.SquaredNorm(0.5),
    M.L1(0.5),
    M.L0(0.5),
    M.L0L1(0.0, 0.0),
    M.L0L1(0.0, 0.5),
    M.L0L1(0.5, 0.0),
    M.L0L1(0.5, 0.5),
    M.L0L1(0.0, 0.5, k=1),
    M.L0L1(0.0, 0.0, k=9),
    M.ElasticNet(0.25, 0.5),
    M.NoRegulariser(),
]
RESTRICTIONS: list[Any] = [
    M.Nonzero(9),
    M.Nonzero(0),
    M.ErrorBudget(1, 1.0),
    M.CountParity(GROUPS, 2.0),
    M.Parity(GROUPS, 0.25),
    M.LinearRows([[1.0, 1.0, 0.0]], [1.0]),
]


def composed(loss: Any = None, regulariser: Any = None, domain: Any = None, **parts: Any) -> mo.Margin:
    return mo.Margin(
        X, Y, loss or M.Hinge(), regulariser or M.SquaredNorm(), sample_weight=1.0, domain=domain or M.Box(-4.0, 4.0), **parts
    )


MODELS = {
    **{f"{loss!r}": composed(loss) for loss in LOSSES},
    **{f"{loss!r} without cost": composed(loss).replace("sample_weight", np.zeros(6)) for loss in LOSSES},
    **{f"{part!r}": composed(regulariser=part) for part in REGULARISERS},
    **{f"{part!r} restricts": composed(subject_to=part) for part in RESTRICTIONS},
    "fixed integers": composed(domain=M.Integers(1.0, 1.0)),
    "convex groups": composed({"a": "hinge", "b": "squared-hinge"}, groups=["a", "b"] * 3),
    "groups with a ramp": composed({"a": "hinge", "b": "ramp"}, groups=["a", "b"] * 3),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_convex_exactly_if_its_form_has_no_integers(name: str) -> None:
    model = MODELS[name]
    assert model.convex is not bool(model.form.features & {Feature.INTEGER, Feature.INDICATOR})
    assert not model.convex or not model.form.convexity.is_refuted


@pytest.mark.parametrize("part", [*LOSSES, *REGULARISERS], ids=repr)
def test_a_convex_part_lies_below_its_chords(part: Any) -> None:
    """Midpoints of dyadic numbers; a tolerance for the logarithms of smooth losses."""
    rng = np.random.default_rng(0)
    ends = rng.integers(-48, 49, size=(2, 400, 3)) / 4.0
    value = part.values if isinstance(part, M.Loss) else lambda rows: np.array([part.value(w) for w in rows])
    if isinstance(part, M.Loss):
        ends = ends[:, :, 0]
    first, second, middle = value(ends[0]), value(ends[1]), value(ends.mean(axis=0))
    below = middle <= 0.5 * (first + second) + 1e-14
    assert not part.convex or below.all()
    # the flag may be False of a convex part only if the form has integers all the same: a limit that does not bind
    assert part.convex or not below.all() or getattr(part, "k", None) is not None
