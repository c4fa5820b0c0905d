"""What a gap report stores of a sweep over κ."""

from __future__ import annotations

from dataclasses import dataclass

from .records import Record

__all__ = ["KappaCell"]


@dataclass(frozen=True)
class KappaCell(Record):
    """The conic relaxation of min ||w||² subject to at most κn margin violations, Conic Appendix C, at one κ.

    Parameters
    ----------
    instance : str
    kappa : float
    budget : int
        ⌊κn⌋, the violations that the 0-1 problem allows.
    solver, version, status, native_status : str
    bound : float or None
        Lower bound of that problem's optimum.
    kind : str
        "proved", "claimed by solver" or "none".
    recovered : float or None
        ||w||² of a classifier with at most ⌊κn⌋ violations: an upper bound.
    share : float or None
        Σz/n at the relaxation's point.
    rank_ratio : float or None
        Second over first eigenvalue of W.
    misclassified : int or None
        Under the recovered classifier.
    build_seconds, solve_seconds : float or None
    reason : str
    """

    instance: str
    kappa: float
    budget: int
    solver: str
    version: str = ""
    status: str = "not run"
    native_status: str = ""
    bound: float | None = None
    kind: str = "none"
    recovered: float | None = None
    share: float | None = None
    rank_ratio: float | None = None
    misclassified: int | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    reason: str = ""
