"""Choosing γ of a Gaussian kernel (and C) for the two-hulls classifier: one interface, five selectors."""

from .api import SELECTORS, select
from .base import C_GRID, GAMMA_GRID, Sample, Selection, Selector
from .bat import Bat
from .cross_validation import CrossValidation
from .fisher import Fisher
from .likelihood_density import LikelihoodDensity
from .max_min import MaxMinSelector
from .trainer import Split, Trainer

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
