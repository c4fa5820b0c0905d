"""Choosing γ of a Gaussian kernel (and C) for the two-hulls classifier: one interface, five selectors."""

from .base import C_GRID, GAMMA_GRID, Bat, CrossValidation, Sample, Selection, Selector, Split, Trainer
from .criteria import SELECTORS, Fisher, LikelihoodDensity, MaxMinSelector, select

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
