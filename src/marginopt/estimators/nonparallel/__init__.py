"""Nonparallel classifiers without learned features."""

from .planes import ESTIMATORS, NonparallelSVC

__all__ = ["ESTIMATORS", "NonparallelSVC"]
