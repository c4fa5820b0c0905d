"""Choosing γ of a Gaussian kernel (and C) for the two-hulls classifier: one interface, five selectors."""

from .api import SELECTORS, select
from .base import C_GRID, GAMMA_GRID, Sample, Selection, Selector, Split, Trainer
from .criteria import Fisher, LikelihoodDensity, MaxMinSelector
from .searches import Bat, CrossValidation

__all__ = [
    "C_GRID",
    "GAMMA_GRID",
    "SELECTORS",
    "Bat",
    "CrossValidation",
    "Fisher",
    "LikelihoodDensity",
    "MaxMinSelector",
    "Sample",
    "Selection",
    "Selector",
    "Split",
    "Trainer",
    "select",
]
