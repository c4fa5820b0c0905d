"""Exact minima of compositions of margins in rational arithmetic, and draws of such problems beside their models."""

from .compositions import Budget, Compositions
from .flats import Plane, Vector, fractions
from .losses import Loss

__all__ = ["Budget", "Compositions", "Loss", "Plane", "Vector", "fractions"]
