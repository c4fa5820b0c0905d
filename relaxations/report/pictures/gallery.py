"""The pictures of a report, each with the table that it belongs to and its caption; drawn once for all formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..table import GapReport
from .bars import gap_bars, loss_functions
from .sweeps import against_kappa, against_lam, against_m, against_n, convergence, profiles

__all__ = ["Picture", "gallery"]


@dataclass(frozen=True)
class Picture:
    """A picture.

    Parameters
    ----------
    name : str
        Of its file.
    table : str
        Name of the table below which it stands; "" for the one on top, "losses" for the last.
    title, caption : str
    svg : str
    """

    name: str
    table: str
    title: str
    caption: str
    svg: str


#: Name, table, what draws it (None where there is nothing to show), title, caption.
_KINDS: tuple[tuple[str, str, Callable[[GapReport], str | None], str, str], ...] = (
    (
        "gaps",
        "",
        lambda report: gap_bars(report) if report.rows else None,
        "Bars of the relaxation gaps",
        "Gaps of every relaxation, by instance and exact solver.",
    ),
    (
        "profiles",
        "exact-means",
        profiles,
        "Performance profiles",
        "Part of the problems proved within τ times the fastest time (Dolan and Moré 2002).",
    ),
    (
        "against-m",
        "relaxations",
        against_m,
        "Bound against M",
        "The big-M relaxation's bound over ζ against its largest M: trivial as M grows. Hollow: M is not proved valid.",
    ),
    (
        "against-n",
        "relaxations",
        against_n,
        "Gap against n",
        "Gaps of the relaxations against the number of points (upper ends where ζ is unproven).",
    ),
    (
        "against-lambda",
        "relaxations",
        against_lam,
        "Gap against λ",
        "Gaps of the relaxations against λ (upper ends where ζ is unproven).",
    ),
    (
        "convergence",
        "exacts",
        convergence,
        "Convergence",
        "Incumbent (solid) and lower bound (dashed) over time, as the solver's callback tells them; a point where the optimum is "
        "proved, a cross where a limit stopped the run.",
    ),
    (
        "against-kappa",
        "kappas",
        against_kappa,
        "Sweep over κ",
        "The κ form of the conic relaxation: bound and recovered ||w||², Σz/n, and the rank ratio.",
    ),
    (
        "losses",
        "losses",
        lambda report: loss_functions(),
        "Loss functions",
        "The 0-1 loss and what stands for it (Conic Figure 1). The conic loss underestimates it for every γ; the relaxation "
        "takes the best γ for which the sum with ||w||² stays convex.",
    ),
)


def gallery(report: GapReport) -> tuple[Picture, ...]:
    """All pictures that the report has data for."""
    drawn = ((name, table, draw(report), title, caption) for name, table, draw, title, caption in _KINDS)
    return tuple(Picture(name, table, title, caption, svg) for name, table, svg, title, caption in drawn if svg is not None)
