"""Gaps of the relaxations over all instances, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....drawing import GREY, colour_of, figure_of, legend_below, log_ticks, marker_of, plain, svg_of
from ..data import ReportData
from ..means import SECONDS, primal_dual_integral, shifted_geometric_mean

__all__ = ["gap_against_seconds", "gap_bars", "integrals"]


def _gaps(report: ReportData) -> dict[str, tuple[list[float], list[float]]]:
    """Gaps (upper ends) and seconds by relaxation, instances of trivial optimum left out; weakest bounds first."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for row in report.rows:
        if row.gap is not None and row.instance.key not in report.trivial:
            gaps, seconds = found.setdefault(row.relaxation.relaxation, ([], []))
            gaps.append(row.gap.high)
            seconds.append(row.relaxation.solve_seconds or 0.0)
    return found


def _said(found: dict[str, tuple[list[float], list[float]]]) -> dict[str, str]:
    """Each relaxation's name; with a count where others have a gap on more instances, since its gaps are not of the same ones."""
    most = max((len(gaps) for gaps, _ in found.values()), default=0)
    return {name: plain(name) if len(g) == most else f"{plain(name)} ({len(g)} of {most})" for name, (g, _) in found.items()}


def gap_bars(report: ReportData) -> str | None:
    """One bar for each relaxation, to the median gap; whiskers to the quartiles; a dot for each instance."""
    found = _gaps(report)
    if not found:
        return None
    figure = figure_of(6.8, 0.9 + 0.42 * len(found))
    ax = figure.subplots()
    names, said = [], _said(found)
    for k, (name, (gaps, _)) in enumerate(found.items()):
        low, middle, high = np.quantile(gaps, (0.25, 0.5, 0.75))
        ax.barh(k, middle, 0.6, color=colour_of(0), alpha=0.35)
        ax.errorbar(middle, k, xerr=[[middle - low], [high - middle]], color=colour_of(0), capsize=4, lw=1.5)
        ax.plot(gaps, np.full(len(gaps), k), "o", ms=3.5, color=colour_of(1), alpha=0.7, lw=0)
        names.append(f"{said[name]}: {middle:.1%}")
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.margins(x=0.04)
    ax.axvline(0.0, color="black", lw=0.8)
    _percent(ax.xaxis)
    ax.set_xlabel("gap = (ζ - bound)/ζ; upper end where ζ is unproven", fontsize=9)
    return svg_of(figure)


def gap_against_seconds(report: ReportData) -> str | None:
    """Median gap against the shifted geometric mean of the seconds; whiskers to the quartiles."""
    found = _gaps(report)
    if len(found) < 2:
        return None
    figure = figure_of(6.8, 4.4)
    ax, said = figure.subplots(), _said(found)
    for k, (name, (gaps, seconds)) in enumerate(found.items()):
        low, middle, high = np.quantile(gaps, (0.25, 0.5, 0.75))
        at = max(shifted_geometric_mean(seconds, SECONDS), 1e-4)
        spread = [[middle - low], [high - middle]]
        ax.errorbar(at, middle, yerr=spread, fmt=marker_of(k), color=colour_of(k), capsize=3, label=said[name])
    ax.set_xscale("log")
    log_ticks(ax.xaxis)
    _percent(ax.yaxis)
    ax.set_xlabel(f"seconds (shifted geometric mean, shift {SECONDS:g} s)", fontsize=9)
    ax.set_ylabel("median gap", fontsize=9)
    ax.grid(alpha=0.3, color=GREY)
    legend_below(figure)
    return svg_of(figure)


def integrals(report: ReportData) -> str | None:
    """Primal-dual integral of every exact run: a bar to the mean of each variant, a dot for each run."""
    found: dict[str, list[float]] = {}
    for cell in report.exacts:
        value = primal_dual_integral(cell)
        if value is not None and cell.key not in report.trivial:
            found.setdefault(cell.variant, []).append(value)
    if not found:
        return None
    figure = figure_of(6.8, 1.0 + 0.42 * len(found))
    ax = figure.subplots()
    names = []
    for k, (name, values) in enumerate(found.items()):
        mean = float(np.mean(values))
        ax.barh(k, mean, 0.6, color=colour_of(0), alpha=0.35)
        ax.plot(values, np.full(len(values), k), "o", ms=3.5, color=colour_of(1), alpha=0.7, lw=0)
        names.append(f"{plain(name)}: {mean:.3g} s")
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.margins(x=0.04)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel("primal-dual integral in seconds", fontsize=9)
    return svg_of(figure)


def _percent(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axis.set_tick_params(labelsize=8)
