"""Relaxations by name, and those of a report that names none."""

from __future__ import annotations

from collections.abc import Mapping

from .bounds.big_m import BigM
from .bounds.combined import Combined
from .bounds.conic import Conic
from .bounds.hinge import Hinge
from .bounds.kernel_conic import KernelConic
from .bounds.perspective import Perspective
from .bounds.single_point import SinglePoint
from .reduction import Reduction

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
