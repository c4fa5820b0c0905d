"""Choosing γ of a Gaussian kernel (and C) for the two-hulls classifier, `ConvexHullsDual`: `select`, with one of five selectors.

They are cross-validation, Fisher's ratio, the density of likelihoods, the bat algorithm and max-min. A selector of one's own
extends `Selector` and returns a `Choice`.
"""

from .base import C_GRID, GAMMA_GRID, Bat, Choice, CrossValidation, Sample, Selection, Selector, Split, Trainer
from .criteria import SELECTORS, Fisher, LikelihoodDensity, MaxMinSelector, select

__all__ = [
    "C_GRID",
    "GAMMA_GRID",
    "SELECTORS",
    "Bat",
    "Choice",
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
