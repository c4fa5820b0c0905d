"""The solver "maxmin": gradient ascent in a kernel parameter, with a simplex solver for each value; MaxMin's outer loop."""

from .ascent import MaxMin

__all__ = ["SOLVERS", "MaxMin"]

SOLVERS = (MaxMin(),)
