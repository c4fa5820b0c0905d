"""The ascent in a kernel parameter over the simplex solvers: the MaxMin paper's outer loop."""

from .ascent import MaxMin

__all__ = ["SOLVERS", "MaxMin"]

SOLVERS = (MaxMin(),)
