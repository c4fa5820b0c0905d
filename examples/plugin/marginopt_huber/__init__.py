"""The additions of this package to marginopt; pyproject.toml names it."""

from .formulation import HuberSVM
from .relaxation import HuberBound
from .solver import BoxFista

__all__ = ["BoxFista", "HuberBound", "HuberSVM"]
