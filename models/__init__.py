"""What is stated: the labelled standard form, cones, kernels and one file per formulation."""

from .base import Bound, Model
from .cones import PSD, Cone, Feature, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from .conic import ConicSVM
from .delta import FormDelta
from .form import Block, Constraint, Quadratic, StandardForm
from .hinge import HingeSVM
from .hulls import ConvexHullsDual
from .kernels import RBF, CallableKernel, Kernel, Linear, Polynomial, Precomputed
from .l1svm import L1SVMDual
from .limits import materialise_limit
from .maxmin import MaxMinProblem, MaxMinSVM
from .simplex import L2SVMDual, MEBDual
from .statement import Line, Statement
from .views import ConicProblem, SimplexQP, ZeroOneProblem
from .zero_one import ZeroOneSVM

__all__ = [
    "PSD",
    "RBF",
    "Block",
    "Bound",
    "CallableKernel",
    "Cone",
    "ConicProblem",
    "ConicSVM",
    "Constraint",
    "ConvexHullsDual",
    "Feature",
    "FormDelta",
    "HingeSVM",
    "Kernel",
    "L1SVMDual",
    "L2SVMDual",
    "Line",
    "Linear",
    "MEBDual",
    "MaxMinProblem",
    "MaxMinSVM",
    "Model",
    "Nonnegative",
    "Polynomial",
    "Precomputed",
    "Quadratic",
    "RotatedSecondOrder",
    "SecondOrder",
    "SimplexQP",
    "StandardForm",
    "Statement",
    "Zero",
    "ZeroOneProblem",
    "ZeroOneSVM",
    "materialise_limit",
]
