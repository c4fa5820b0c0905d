"""The pictures of a report, each with its caption; drawn once for all formats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ....drawing import Picture
from ..data import ReportData
from ..traits import SWEPT
from .gaps import gap_against_seconds, gap_bars, integrals
from .losses import loss_functions
from .sweeps import against, against_kappa, against_m, convergence, profiles, seeds

__all__ = ["gallery"]

#: Name, what draws it (None where there is nothing to show), title, caption.
_KINDS: tuple[tuple[str, Callable[[ReportData], str | None], str, str], ...] = (
    (
        "gaps",
        gap_bars,
        "Gap by relaxation",
        "Bars end at the median gap over the instances, which stands beside the name, whiskers at the quartiles; a dot is an "
        "instance. Upper ends of intervals where ζ is unproven; trivial optima and values that bound nothing of the problem "
        "itself are left out. A count stands where a relaxation bounds ζ on some of the instances alone.",
    ),
    (
        "gap-against-seconds",
        gap_against_seconds,
        "Gap against seconds",
        "What a bound costs: median gap (whiskers at the quartiles) against the shifted geometric mean of the seconds.",
    ),
    *(
        (
            f"against-{'lambda' if name == 'lam' else name}",
            partial(against, parameter=name),
            f"Gap against {symbol}",
            f"Gaps of the relaxations against {symbol} (upper ends where ζ is unproven), a panel for the instances that agree "
            "in all else. Instead of more than four panels: medians (bands: quartiles) of each family and λ, over what is there "
            f"at every {symbol}; trivial optima left out.",
        )
        for name, symbol in SWEPT.items()
    ),
    (
        "against-m",
        against_m,
        "Bound against M",
        "The big-M relaxation's bound over ζ against its largest M: trivial as M grows. Hollow: M is not proved valid.",
    ),
    (
        "profiles",
        profiles,
        "Performance profiles",
        "Part of the problems solved (proved, or claimed) within τ times the fastest time (Dolan and Moré 2002); virtual best: "
        "by anyone.",
    ),
    (
        "seeds",
        seeds,
        "Spread over seeds",
        "Times to a proven optimum over their geometric mean: a dot for each seed, a line for each instance.",
    ),
    (
        "primal-dual-integral",
        integrals,
        "Primal-dual integral",
        "The gap (incumbent - bound)/incumbent over the time of a run, integrated (Berthold 2013): what a run is worth before it "
        "ends. Bars end at the mean, which stands beside the name, a dot is a run; trivial optima are left out.",
    ),
    (
        "convergence",
        convergence,
        "Convergence",
        "Incumbent (solid) and lower bound (dashed) over time, as the solver's callback tells them; a point where the optimum is "
        "proved, a cross where a limit stopped the run.",
    ),
    (
        "against-kappa",
        against_kappa,
        "Sweep over κ",
        "The κ form of the conic relaxation: its bound, a classifier within the budget and, where it was proved, the least "
        "‖w‖²; Σz/n; the rank ratio.",
    ),
    (
        "losses",
        lambda report: loss_functions() if any(cell.lam is not None for cell in report.instances) else None,
        "Loss functions",
        "The 0-1 loss and what stands for it (Cepeda, Gómez and Han, Figure 1). The conic loss underestimates it for every γ; "
        "the relaxation takes the best γ for which the sum with ‖w‖² stays convex.",
    ),
)


def gallery(report: ReportData) -> tuple[Picture, ...]:
    """All pictures that the report has data for."""
    drawn = ((name, draw(report), title, caption) for name, draw, title, caption in _KINDS)
    return tuple(Picture(svg, name, title, caption) for name, svg, title, caption in drawn if svg is not None)
