"""What is stated: the labelled standard form, cones, kernels and one file per formulation."""

from . import formulations
from .formulations.conic.model import ConicSVM
from .formulations.convex_hulls import ConvexHullsDual
from .formulations.enclosing_ball import MEBDual
from .formulations.hinge import HingeSVM
from .formulations.l1_svm import L1SVMDual
from .formulations.l2_svm import L2SVMDual
from .formulations.max_min import MaxMinProblem, MaxMinSVM
from .formulations.nonparallel.box_program import BoxProgram
from .formulations.nonparallel.chebyshev import ChebyshevNPSVC
from .formulations.nonparallel.hinge_quadratic import HingeQuadratic
from .formulations.nonparallel.npsvc import NonparallelSVM, nearest_hyperplane
from .formulations.pareto import ParetoQP
from .formulations.ramp import RampSVM
from .formulations.stiefel import StiefelQP, polar
from .formulations.zero_one.model import ZeroOneSVM
from .importing.doors import from_cvxpy, from_gurobi, from_highs, from_pyomo
from .importing.scipy import from_scipy
from .kernels.families import Laplacian, Mixture, RationalQuadratic
from .kernels.feature_map import FeatureMap
from .kernels.kernels import RBF, CallableKernel, Kernel, Linear, Polynomial, Precomputed
from .kernels.neighbour_graph import neighbour_laplacian
from .memory import materialise_limit
from .model import Bound, Model
from .program.cones import PSD, Cone, Feature, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from .program.difference import FormDelta
from .program.form import Block, Constraint, Quadratic, StandardForm
from .record import Data, FormulationInfo, Parameter
from .statement import Line, Statement
from .views import BoxEqualityQP, BoxQP, ConicProblem, SimplexQP, StiefelProblem, ZeroOneProblem

__all__ = [
    "PSD",
    "RBF",
    "Block",
    "Bound",
    "BoxEqualityQP",
    "BoxProgram",
    "BoxQP",
    "CallableKernel",
    "ChebyshevNPSVC",
    "Cone",
    "ConicProblem",
    "ConicSVM",
    "Constraint",
    "ConvexHullsDual",
    "Data",
    "Feature",
    "FeatureMap",
    "FormDelta",
    "FormulationInfo",
    "HingeQuadratic",
    "HingeSVM",
    "Indicator",
    "Kernel",
    "L1SVMDual",
    "L2SVMDual",
    "Laplacian",
    "Line",
    "Linear",
    "MEBDual",
    "MaxMinProblem",
    "MaxMinSVM",
    "Mixture",
    "Model",
    "Nonnegative",
    "NonparallelSVM",
    "Parameter",
    "ParetoQP",
    "Polynomial",
    "Precomputed",
    "Quadratic",
    "RampSVM",
    "RationalQuadratic",
    "RotatedSecondOrder",
    "SecondOrder",
    "SimplexQP",
    "StandardForm",
    "Statement",
    "StiefelProblem",
    "StiefelQP",
    "Zero",
    "ZeroOneProblem",
    "ZeroOneSVM",
    "formulations",
    "from_cvxpy",
    "from_gurobi",
    "from_highs",
    "from_pyomo",
    "from_scipy",
    "materialise_limit",
    "nearest_hyperplane",
    "neighbour_laplacian",
    "polar",
]
