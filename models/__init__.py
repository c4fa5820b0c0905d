"""What is stated: the labelled standard form, cones, kernels and one file per formulation."""

from .base import Bound, Model
from .chebyshev import ChebyshevNPSVC
from .cones import PSD, Cone, Feature, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from .conic import ConicSVM
from .delta import FormDelta
from .feature_map import FeatureMap
from .form import Block, Constraint, Quadratic, StandardForm
from .graph import neighbour_laplacian
from .hinge import HingeSVM
from .hinge_quadratic import BoxProgram, HingeQuadratic
from .hulls import ConvexHullsDual
from .kernel_families import Laplacian, Mixture, RationalQuadratic
from .kernels import RBF, CallableKernel, Kernel, Linear, Polynomial, Precomputed
from .l1svm import L1SVMDual
from .limits import materialise_limit
from .maxmin import MaxMinProblem, MaxMinSVM
from .nonparallel import NonparallelSVM, nearest_hyperplane
from .pareto import ParetoQP
from .ramp import RampSVM
from .simplex import L2SVMDual, MEBDual
from .statement import Line, Statement
from .stiefel import StiefelQP, polar
from .views import BoxEqualityQP, BoxQP, ConicProblem, SimplexQP, StiefelProblem, ZeroOneProblem
from .zero_one import ZeroOneSVM

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
    "Feature",
    "FeatureMap",
    "FormDelta",
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
    "materialise_limit",
    "nearest_hyperplane",
    "neighbour_laplacian",
    "polar",
]
