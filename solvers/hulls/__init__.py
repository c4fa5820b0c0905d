"""The MaxMin paper: projected gradients on simplices, and the ascent in the kernel parameter over them."""

from .accelerated import AcceleratedProjection
from .maxmin import MaxMin
from .pga import ProjectedGradient

__all__ = ["SOLVERS", "AcceleratedProjection", "MaxMin", "ProjectedGradient"]

SOLVERS = (ProjectedGradient(), AcceleratedProjection(), MaxMin())
