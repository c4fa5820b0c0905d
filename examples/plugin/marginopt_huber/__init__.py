"""A plug-in for marginopt: a formulation, a solver, a relaxation and a data set, which pyproject.toml names as entry points."""

from .formulation import HuberSVM
from .relaxation import HuberBound
from .solver import BoxFista

__all__ = ["BoxFista", "HuberBound", "HuberSVM"]
