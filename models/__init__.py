"""Models: the standard form with its cones, kernels, exchange with other packages, and a class for each formulation.

The formulations' own names (``HingeSVM``, ...) come from their records (`models.formulations`) on first access.
"""

from typing import TYPE_CHECKING, Any

from . import formulations
from .arrays import FloatArray, materialise_limit, to_dense
from .formulations.nonparallel.neighbour_graph import neighbour_laplacian
from .importing import from_cvxpy, from_gurobi, from_highs, from_pyomo
from .importing.matrices import from_qp, from_scipy
from .kernels.feature_map import FeatureMap
from .kernels.further_kernels import Laplacian, Mixture, RationalQuadratic
from .kernels.kernels import RBF, CallableKernel, Kernel, Linear, Polynomial, Precomputed, gamma_by_rule, squared_distances
from .model import Model
from .program.cones import PSD, Bilinear, Cone, Feature, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from .program.exponential_cones import Exponential, Power
from .program.form import Block, Constraint, StandardForm
from .program.inspection import FormDelta
from .program.lagrangian import Bound
from .program.quadratic import Quadratic
from .record import DataKind, FormulationInfo, Parameter
from .statement import Line, Statement
from .views import BoxEqualityQP, BoxQP, ConicProblem, SimplexQP, StiefelProblem, ZeroOneProblem

if TYPE_CHECKING:  # for type checkers; a formulation that has no line here works all the same
    from .formulations.conic import ConicSVM as ConicSVM
    from .formulations.enclosing_ball import MEBDual as MEBDual
    from .formulations.hinge import HingeSVM as HingeSVM
    from .formulations.margin.model import Margin as Margin
    from .formulations.margin.named_formulations import (
        SVDD as SVDD,
        EpsilonSVR as EpsilonSVR,
        HardMarginSVM as HardMarginSVM,
        NuSVM as NuSVM,
    )
    from .formulations.margin.scoring_system import ScoringSystem as ScoringSystem
    from .formulations.max_min import MaxMinProblem as MaxMinProblem, MaxMinSVM as MaxMinSVM
    from .formulations.multiclass import MulticlassSVM as MulticlassSVM
    from .formulations.nonparallel.chebyshev import ChebyshevNPSVC as ChebyshevNPSVC
    from .formulations.nonparallel.hinge_quadratic import BoxProgram as BoxProgram, HingeQuadratic as HingeQuadratic
    from .formulations.nonparallel.npsvc import NonparallelSVM as NonparallelSVM, nearest_hyperplane as nearest_hyperplane
    from .formulations.nonparallel.twin_svms import JointHyperplanesSVM as JointHyperplanesSVM, PinballTwinSVM as PinballTwinSVM
    from .formulations.pareto import ParetoQP as ParetoQP
    from .formulations.ramp import RampSVM as RampSVM
    from .formulations.stiefel import StiefelQP as StiefelQP, polar as polar
    from .formulations.svm_duals import ConvexHullsDual as ConvexHullsDual, L1SVMDual as L1SVMDual, L2SVMDual as L2SVMDual
    from .formulations.zero_one import ZeroOneSVM as ZeroOneSVM

__all__ = [
    "PSD",
    "RBF",
    "Bilinear",
    "Block",
    "Bound",
    "BoxEqualityQP",
    "BoxQP",
    "CallableKernel",
    "Cone",
    "ConicProblem",
    "Constraint",
    "DataKind",
    "Exponential",
    "Feature",
    "FeatureMap",
    "FloatArray",
    "FormDelta",
    "FormulationInfo",
    "Indicator",
    "Kernel",
    "Laplacian",
    "Line",
    "Linear",
    "Mixture",
    "Model",
    "Nonnegative",
    "Parameter",
    "Polynomial",
    "Power",
    "Precomputed",
    "Quadratic",
    "RationalQuadratic",
    "RotatedSecondOrder",
    "SecondOrder",
    "SimplexQP",
    "StandardForm",
    "Statement",
    "StiefelProblem",
    "Zero",
    "ZeroOneProblem",
    "formulations",
    "from_cvxpy",
    "from_gurobi",
    "from_highs",
    "from_pyomo",
    "from_qp",
    "from_scipy",
    "gamma_by_rule",
    "materialise_limit",
    "neighbour_laplacian",
    "squared_distances",
    "to_dense",
]
#: The names listed above. ``__all__`` has the formulations as well, and is computed on access.
_OWN = tuple(__all__)
del __all__


def __getattr__(name: str) -> Any:
    """Return a formulation's class, or another public object of its module that its record names."""
    if name == "__all__":
        return sorted([*_OWN, *(public for info in formulations.public_formulations() for public in info.public)])
    if not name.startswith("_"):
        formulation = formulations.find_formulation(name)
        if formulation is not None:
            return formulation.public[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
