"""scikit-learn estimators over the models: fit, predict, and the certificate of what was solved."""

from .ball import MEBOneClass
from .conic import ConicSVC, ConicSVCCV
from .hinge import HingeSVC, HingeSVCCV
from .hulls import NCHSVC, MaxMinSVC
from .l2svc import L2SVC
from .npsvc import KernelNPSVC
from .zero_one import ZeroOneSVC

__all__ = [
    "L2SVC",
    "NCHSVC",
    "ConicSVC",
    "ConicSVCCV",
    "HingeSVC",
    "HingeSVCCV",
    "KernelNPSVC",
    "MEBOneClass",
    "MaxMinSVC",
    "ZeroOneSVC",
]
