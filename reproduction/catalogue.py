"""The four papers."""

from __future__ import annotations

from .record import Paper

__all__ = ["CONIC", "FRANK_WOLFE", "MAX_MIN", "NPSVC", "PAPERS"]

CONIC = Paper(
    "conic",
    "Robust support vector machines via conic optimization",
    "Cepeda, Gómez, Han",
    "ConicSVM, ZeroOneSVM, HingeSVM",
)
MAX_MIN = Paper("max-min", "MaxMin-L2-SVC-NCH", "Luo, Yang, Peng, Wang, Chen", "ConvexHullsDual, MaxMinSVM")
NPSVC = Paper(
    "npsvc",
    "NPSVC++: Nonparallel classifiers encounter representation learning",
    "Zhang, Lai, Zhou, Liang",
    "ChebyshevNPSVC, NonparallelSVM",
)
FRANK_WOLFE = Paper(
    "frank-wolfe",
    "Training support vector machines using Frank-Wolfe optimization methods",
    "Frandi, Ñanculef, Gasparo, Lodi, Sartori",
    "L2SVMDual, MEBDual",
)
PAPERS = {paper.name: paper for paper in (CONIC, MAX_MIN, NPSVC, FRANK_WOLFE)}
