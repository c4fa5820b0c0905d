"""Relaxations by name, and those of a report that names none."""

from __future__ import annotations

from collections.abc import Mapping

from .bigm import BigM
from .combined import Combined
from .conic import Conic
from .hinge import Hinge
from .kernel_conic import KernelConic
from .perspective import Perspective
from .reduction import Reduction
from .single_point import SinglePoint

__all__ = ["NAMED", "default_relaxations"]

#: Relaxations by the names that the command line takes.
NAMED: Mapping[str, Reduction] = {
    "big-m": BigM("zero"),
    "big-m-incumbent": BigM("incumbent"),
    "big-m-trivial": BigM("zero", factor=100.0),
    "hinge": Hinge(1.0),
    "hinge-incumbent": Hinge("incumbent"),
    "single-point": SinglePoint(),
    "perspective": Perspective("uniform"),
    "conic": Conic(),
    "kernel-conic": KernelConic(),
    "combined": Combined("incumbent"),
}


def default_relaxations() -> tuple[Reduction, ...]:
    """Big-M at several M, the hinge as it is used, the conic SDP, and the SDP with tightened big-M rows."""
    return (
        BigM("zero", factor=100.0),
        BigM("zero"),
        BigM("incumbent"),
        Hinge("incumbent"),
        Hinge(1.0),
        Conic(),
        Combined("incumbent"),
    )
