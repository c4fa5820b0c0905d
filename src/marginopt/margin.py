"""The parts of `Margin`: losses, regularisers, domains and restrictions, each a class with its mathematics.

>>> import marginopt as mo
>>> model = mo.Margin(X, y, loss="ramp", regulariser=mo.margin.L1(0.1), subject_to=[mo.parity(groups, 0.01)])  # doctest: +SKIP
"""

from .models.formulations.margin.domains import Box, Domain, Increasing, Integers, Reals, Signs
from .models.formulations.margin.losses.conic import Conic
from .models.formulations.margin.losses.epsilon_insensitive import EpsilonInsensitive
from .models.formulations.margin.losses.exponential import ExponentialLoss
from .models.formulations.margin.losses.hinge import Hinge, SquaredHinge
from .models.formulations.margin.losses.huber import Huber
from .models.formulations.margin.losses.logistic import Logistic
from .models.formulations.margin.losses.loss import Loss
from .models.formulations.margin.losses.nearest_hulls import NearestHulls
from .models.formulations.margin.losses.nu import NuHinge, OneClass
from .models.formulations.margin.losses.pairwise import PairwiseHinge
from .models.formulations.margin.losses.piecewise import PiecewiseLinear
from .models.formulations.margin.losses.piecewise_quadratic import PiecewiseQuadratic
from .models.formulations.margin.losses.ramp import Ramp
from .models.formulations.margin.losses.soft_ball import EnclosingBall, SoftBall
from .models.formulations.margin.losses.strongest_conic import StrongestConic
from .models.formulations.margin.losses.zero_one import ZeroOne
from .models.formulations.margin.model import Margin
from .models.formulations.margin.naming import at_most, error_budget, fixed, keep, parity
from .models.formulations.margin.regularisers.group_l1 import GroupL1
from .models.formulations.margin.regularisers.kernel_norm import KernelNorm
from .models.formulations.margin.regularisers.kernel_weights import KernelWeightsL1
from .models.formulations.margin.regularisers.l0 import L0
from .models.formulations.margin.regularisers.l0_l1 import L0L1
from .models.formulations.margin.regularisers.l1 import L1, ElasticNet
from .models.formulations.margin.regularisers.nothing import NoRegulariser
from .models.formulations.margin.regularisers.regulariser import Regulariser
from .models.formulations.margin.regularisers.squared_norm import SquaredNorm
from .models.formulations.margin.restrictions.counts import ErrorBudget, Nonzero, ViolationBudget
from .models.formulations.margin.restrictions.parity import CountParity, Parity
from .models.formulations.margin.restrictions.restriction import Restriction
from .models.formulations.margin.restrictions.rows import Fixed, Keep, LinearRows

__all__ = [
    "L0",
    "L0L1",
    "L1",
    "Box",
    "Conic",
    "CountParity",
    "Domain",
    "ElasticNet",
    "EnclosingBall",
    "EpsilonInsensitive",
    "ErrorBudget",
    "ExponentialLoss",
    "Fixed",
    "GroupL1",
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
