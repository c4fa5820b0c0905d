"""Projected gradients on simplices: the paper's algorithm with any number of updated components, and an accelerated one."""

from .accelerated import AcceleratedProjection
from .pga import ProjectedGradient

__all__ = ["SOLVERS", "AcceleratedProjection", "ProjectedGradient"]

SOLVERS = (ProjectedGradient(), AcceleratedProjection())
