"""The group ``mo.margin``: losses, regularisers, domains and restrictions, the parts of which `Margin` composes a problem.

The functions `at_most`, `error_budget`, `fixed`, `keep` and `parity` make restrictions. The methods of a user-defined part take
and return `Assembly`, `Affine`, `AssemblyContext`, `FixedClassifier`, `ConvexPiece` and `Conjugate`.

>>> import marginopt as mo
>>> model = mo.Margin(X, y, loss="ramp", regulariser=mo.margin.L1(0.1), subject_to=[mo.parity(groups, 0.01)])  # doctest: +SKIP
"""

from .models.formulations.margin.assembly import Affine, Assembly
from .models.formulations.margin.conic_losses import Conic, StrongestConic
from .models.formulations.margin.level_losses import EnclosingBall, NearestHulls, NuHinge, OneClass, SoftBall
from .models.formulations.margin.loss import Conjugate, ConvexPiece, Loss
from .models.formulations.margin.margin_losses import (
    EpsilonInsensitive,
    HardMargin,
    Hat,
    Hinge,
    PairwiseHinge,
    Ramp,
    SquaredHinge,
    ZeroOne,
)
from .models.formulations.margin.model import Margin
from .models.formulations.margin.part import AssemblyContext, Box, Domain, FixedClassifier, Increasing, Integers, Reals, Signs
from .models.formulations.margin.parts_by_name import at_most, error_budget, fixed, keep, parity
from .models.formulations.margin.piecewise_losses import PiecewiseLinear, PiecewiseQuadratic
from .models.formulations.margin.regularisers import (
    L0,
    L0L1,
    L1,
    ElasticNet,
    GroupL1,
    KernelNorm,
    KernelWeightsL1,
    NoRegulariser,
    Regulariser,
    SquaredNorm,
)
from .models.formulations.margin.restrictions import (
    CountParity,
    ErrorBudget,
    Fixed,
    Keep,
    LinearRows,
    Nonzero,
    Parity,
    Restriction,
    ViolationBudget,
)
from .models.formulations.margin.smooth_losses import ExponentialLoss, Huber, Logistic

__all__ = [
    "L0",
    "L0L1",
    "L1",
    "Affine",
    "Assembly",
    "AssemblyContext",
    "Box",
    "Conic",
    "Conjugate",
    "ConvexPiece",
    "CountParity",
    "Domain",
    "ElasticNet",
    "EnclosingBall",
    "EpsilonInsensitive",
    "ErrorBudget",
    "ExponentialLoss",
    "Fixed",
    "FixedClassifier",
    "GroupL1",
    "HardMargin",
    "Hat",
    "Hinge",
    "Huber",
    "Increasing",
    "Integers",
    "Keep",
    "KernelNorm",
    "KernelWeightsL1",
    "LinearRows",
    "Logistic",
    "Loss",
    "Margin",
    "NearestHulls",
    "NoRegulariser",
    "Nonzero",
    "NuHinge",
    "OneClass",
    "PairwiseHinge",
    "Parity",
    "PiecewiseLinear",
    "PiecewiseQuadratic",
    "Ramp",
    "Reals",
    "Regulariser",
    "Restriction",
    "Signs",
    "SoftBall",
    "SquaredHinge",
    "SquaredNorm",
    "StrongestConic",
    "ViolationBudget",
    "ZeroOne",
    "at_most",
    "error_budget",
    "fixed",
    "keep",
    "parity",
]
