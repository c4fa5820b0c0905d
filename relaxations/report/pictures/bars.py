"""The report's pictures as SVG: bars of the gaps, and the loss functions of Conic Figure 1."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from ...losses import conic_loss, hinge_loss, normalised_sigmoid_loss, psi_loss, ramp_loss, zero_one_loss
from ..table import GapReport, ReportRow

__all__ = ["COLOURS", "data_uri", "figure_of", "gap_bars", "loss_functions", "svg_of"]

#: Colour-blind safe (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_GAMMAS = (0.1, 0.3, 1.0)


def gap_bars(report: GapReport) -> str:
    """One panel for each instance, one bar for each relaxation and exact solver.

    The full bar ends at the gap, or at the lower end of its interval; the hatched part reaches to the upper end.
    """
    keys = [c.key for c in report.instances]
    names = list(dict.fromkeys(c.relaxation for c in report.relaxations))
    solvers = list(dict.fromkeys(c.solver for c in report.exacts)) or [""]
    columns = min(2, max(len(keys), 1))
    lines = -(-len(keys) // columns)
    height = 0.9 + 0.2 * len(names) * len(solvers) + 0.1 * len(names)
    figure = figure_of(5.6 * columns + 1.0, max(height * lines, 2.2))
    axes = figure.subplots(max(lines, 1), columns, squeeze=False, sharey=True).ravel()
    for ax in axes[len(keys) :]:
        ax.set_visible(False)
    for ax, key in zip(axes, keys, strict=False):
        rows = [row for row in report.rows if row.instance.key == key]
        _panel(ax, rows, names, solvers)
        ax.set_title(f"{key[0]}, λ = {key[1]:g}", fontsize=10)
    figure.supxlabel("gap = (ζ - bound)/ζ;  hatched: interval where ζ is unproven", fontsize=9)
    return svg_of(figure)


def _panel(ax: Any, rows: list[ReportRow], names: list[str], solvers: list[str]) -> None:
    width = 0.8 / len(solvers)
    for row in rows:
        solver = row.exact.solver if row.exact is not None else ""
        k = solvers.index(solver)
        at = names.index(row.relaxation.relaxation) + (k - 0.5 * (len(solvers) - 1)) * width
        colour = COLOURS[k % len(COLOURS)]
        if row.gap is None:
            why = "not a bound" if row.relaxation.caveat else "none"
            ax.text(0.01, at, why, va="center", fontsize=7, color="#666666")
            continue
        label = solver if solver and solver not in ax.get_legend_handles_labels()[1] else None
        ax.barh(at, row.gap.low, width, color=colour, label=label)
        if not row.gap.exact:
            ax.barh(
                at, row.gap.high - row.gap.low, width, left=row.gap.low, color="white", edgecolor=colour, hatch="////", lw=0.6
            )
        words = f"{row.gap.low:.1%}" if row.gap.exact else f"{row.gap.low:.0%} to {row.gap.high:.0%}"
        ax.text(max(row.gap.high, 0.0) + 0.01, at, words, va="center", fontsize=7)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_ylim(len(names) - 0.5, -0.5)
    lowest = min([0.0, *(row.gap.low for row in rows if row.gap is not None)])
    ax.set_xlim(max(1.1 * lowest, -1.0), 1.2)
    ax.axvline(0.0, color="black", lw=0.8)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.tick_params(axis="x", labelsize=8)
    if ax.get_legend_handles_labels()[0] and len(solvers) > 1:
        ax.legend(fontsize=7, title="ζ by", title_fontsize=7, loc="lower right")


def loss_functions() -> str:
    """The functions of `relaxations.losses` at λ = 1, as in Conic Figure 1: those from the literature, then the conic loss."""
    u = np.linspace(-2.0, 2.0, 801)
    figure = figure_of(10.0, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    for ax in (left, right):
        ax.step(u, zero_one_loss(u), where="post", color="black", lw=1.6, label="0-1: 1{u < 1}")
        ax.set_xlabel("margin u = y x'w")
        ax.set_ylim(-0.05, 2.1)
        ax.grid(alpha=0.3)
    literature = {"hinge": hinge_loss, "ramp": ramp_loss, "ψ": psi_loss, "normalised sigmoid": normalised_sigmoid_loss}
    for (name, loss), colour, style in zip(literature.items(), COLOURS, ("-", "-", "--", "-"), strict=False):
        left.plot(u, loss(u), style, color=colour, label=name)
    for gamma, colour in zip(_GAMMAS, COLOURS, strict=False):
        right.plot(u, conic_loss(u, gamma), color=colour, label=f"conic, γ = {gamma:g}")
    left.set_ylabel("loss (λ = 1)")
    for ax in (left, right):
        ax.legend(fontsize=8)
    return svg_of(figure)


def data_uri(svg: str) -> str:
    """The picture as the source of an image, so that a page needs no other file."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8")).decode("ascii")


def figure_of(width: float, height: float) -> Any:
    """An empty figure of a size in inches."""
    from matplotlib.figure import Figure  # no pyplot: nothing global is touched

    return Figure(figsize=(width, height), layout="constrained")


def svg_of(figure: Any) -> str:
    """The figure as SVG text, the same for the same figure."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "marginopt", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
