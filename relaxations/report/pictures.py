"""The pictures of a gap report: gaps, sweeps over a parameter, performance profiles, convergence; `report_pictures` draws all.

Each function that draws one returns SVG, or None if the report has no data for the picture. ζ is the optimum of a problem,
trivial if no classifier better than the intercept alone is known. λ is the cost of a margin violation, M the big-M constants, W
the matrix that stands for ww' in the conic relaxation, κ the share of points that may violate their margin. A variant is an exact
solver with its encoding and source of M; a family has instances that differ in sizes and parameters alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...drawing import (
    COLOURS,
    GREY,
    Picture,
    colour_of,
    dash_of,
    draw_legend_below,
    figure_of,
    literal_text,
    marker_of,
    set_log_ticks,
    svg_of,
)
from ...solvers.geometric_mean import SECONDS_SHIFT, shifted_geometric_mean
from ..losses import draw_losses
from .cells import CellKey, ExactCell, InstanceCell, RelaxationCell, problem_label
from .means import (
    VIRTUAL_BEST,
    exact_ratios,
    fraction_within,
    primal_dual_integral,
    seconds_to_proof,
)
from .report_data import SWEPT_PARAMETERS, ReportData, display_name, family_name, gap, name_without, parameter_value

#: Panels of one picture at most; its title says how many there would be.
MAX_PANELS = 4
#: Number of values of a parameter up to which they are the ticks of its axis.
_TICKS = 8


def gap_against(report: ReportData, parameter: str) -> str | None:
    """Draw the gap of every relaxation against a parameter of `SWEPT_PARAMETERS`.

    Instances that differ in this parameter alone form a group, which has a panel. With more groups than panels, each family and λ
    has a panel of medians. Only groups with all values of the parameter count, so that all medians are over the same groups;
    trivial optima are left out.
    """
    groups: dict[str, list[InstanceCell]] = {}
    for cell in report.instances:
        if parameter_value(cell, parameter) is not None:
            groups.setdefault(name_without(cell, parameter), []).append(cell)
    swept = {name: cells for name, cells in groups.items() if len({parameter_value(c, parameter) for c in cells}) > 1}
    if len(swept) > MAX_PANELS:
        swept = _pooled(report, swept, parameter) or swept
    return _gap_lines(
        report, swept, lambda cell: parameter_value(cell, parameter) or 0.0, SWEPT_PARAMETERS[parameter], log=parameter == "lam"
    )


def _pooled(report: ReportData, groups: dict[str, list[InstanceCell]], parameter: str) -> dict[str, list[InstanceCell]]:
    """Return the groups of each family and λ together, without groups that lack a value of the parameter."""
    families: dict[str, list[list[InstanceCell]]] = {}
    for cells in groups.values():
        group = problem_label(family_name(cells[0]), None if parameter == "lam" else cells[0].lam)
        families.setdefault(group, []).append([c for c in cells if c.key not in report.trivial])
    pooled = {}
    for group, members in families.items():
        values = {parameter_value(c, parameter) for cells in members for c in cells}
        complete = [cells for cells in members if cells and {parameter_value(c, parameter) for c in cells} == values]
        if len(values) > 1 and complete:
            pooled[group] = [c for cells in complete for c in cells]
    return pooled


def _gap_lines(
    report: ReportData, groups: dict[str, list[InstanceCell]], abscissa: Callable[[InstanceCell], float], label: str, *, log: bool
) -> str | None:
    if not groups:
        return None
    names = list(dict.fromkeys(c.relaxation for c in report.relaxations if c.bounds_optimum))
    figure, axes = _grid(len(groups))
    for ax, (title, cells) in zip(axes, groups.items(), strict=False):
        for k, name in enumerate(names):
            points: dict[float, list[float]] = {}
            for cell in sorted(cells, key=abscissa):
                value = _gap_of(report, cell.key, name)
                points.setdefault(abscissa(cell), []).extend([] if value is None else [value])
            # where a relaxation lacks gaps of some instances, its median would be over other instances
            most_points = max(map(len, points.values()))
            xs = [x for x, gaps in points.items() if gaps and len(gaps) == most_points]
            if xs:
                low, middle, high = np.array([np.quantile(points[x], (0.25, 0.5, 0.75)) for x in xs]).T
                ax.plot(xs, middle, marker=marker_of(k), color=colour_of(k), ms=4, lw=1.2, label=literal_text(name))
                if most_points > 1:
                    ax.fill_between(xs, low, high, color=colour_of(k), alpha=0.12, lw=0)
        ax.set_title(literal_text(title), fontsize=9)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        if log:
            ax.set_xscale("log")
        _label_axes(ax, label, "gap")
        _value_ticks(ax, {abscissa(c) for c in cells})
    return _legend_and_svg(figure, axes, len(groups))


def _value_ticks(ax: Any, values: Iterable[float]) -> None:
    """Put ticks at the parameter's values if these are few."""
    ticks = sorted(values)
    if len(ticks) <= _TICKS:
        ax.set_xticks(ticks, [f"{v:g}" for v in ticks])
        ax.set_xticks([], minor=True)


def _gap_of(report: ReportData, key: CellKey, name: str) -> float | None:
    cell = next((c for c in report.relaxations_of(key) if c.relaxation == name and c.bounds_optimum), None)
    if cell is None or cell.bound is None:
        return None
    value = gap(cell.bound, report.best[key])
    return None if value is None else value.high


def _target_bound(cell: RelaxationCell) -> float | None:
    """Return the bound of the relaxation's own optimum, which may be no bound of the 0-1 optimum."""
    return cell.target_bound if cell.caveat else cell.bound


def bound_against_m(report: ReportData) -> str | None:
    """Draw bound/ζ of relaxations that use an M (`Reduction.against_m`) against M.

    Each instance with three M or more has a panel. A hollow point has an M that is not proved valid, so its value is no bound.
    Dashed lines are relaxations that need no M (`Reduction.beside_m`).
    """
    swept: list[tuple[InstanceCell, list[RelaxationCell]]] = []
    for instance in report.instances:
        cells = [
            c
            for c in report.relaxations_of(instance.key)
            if c.against_m and _target_bound(c) is not None and c.m_high is not None
        ]
        if len({c.m_high for c in cells}) > 2 and 0 < report.best[instance.key].high < np.inf:
            swept.append((instance, sorted(cells, key=lambda c: c.m_high or 0.0)))
    if not swept:
        return None
    figure, axes = _grid(len(swept))
    for ax, (instance, cells) in zip(axes, swept, strict=False):
        zeta = report.best[instance.key].high
        x = [c.m_high for c in cells]
        y = [(_target_bound(c) or 0.0) / zeta for c in cells]
        ax.plot(x, y, color=COLOURS[0], lw=1.2, label="with M")
        for c, position, value in zip(cells, x, y, strict=True):
            ax.plot([position], [value], marker="o", ms=5, color=COLOURS[0], mfc="white" if c.caveat else COLOURS[0])
        reference_cells = (c for c in report.relaxations_of(instance.key) if c.beside_m and c.bound is not None)
        for level, colour in zip(reference_cells, COLOURS[1:], strict=False):
            ax.axhline((level.bound or 0.0) / zeta, color=colour, ls="--", lw=1.2, label=level.relaxation)
        ax.set_xscale("log")
        ax.set_title(literal_text(problem_label(display_name(instance), instance.lam)), fontsize=9)
        _label_axes(ax, "largest M", "bound / ζ")
    return _legend_and_svg(figure, axes, len(swept))


def kappa_sweep(report: ReportData) -> str | None:
    """Draw the sweep over κ, a row of panels for each instance: bound and recovered ||w||², Σz/n, and the rank ratio of W."""
    titles = {c.instance: display_name(c) for c in report.instances}
    names = list(dict.fromkeys(c.instance for c in report.kappas))
    if not names:
        return None
    shown = names[:MAX_PANELS]
    figure = figure_of(11.0, 2.7 * len(shown))
    axes = figure.subplots(len(shown), 3, squeeze=False)
    for line, name in zip(axes, shown, strict=True):
        cells = [c for c in report.kappas if c.instance == name]
        kappa = np.array([c.kappa for c in cells])
        for label, values, colour in (
            ("bound", [c.bound for c in cells], COLOURS[0]),
            ("recovered", [c.recovered for c in cells], COLOURS[1]),
            ("optimum", [c.exact_objective if c.proven else None for c in cells], COLOURS[3]),
        ):
            if any(v is not None for v in values):
                line[0].plot(kappa, _with_nan(values), marker="o", ms=3, lw=1.2, color=colour, label=label)
        if all(v is None or v > 0.0 for c in cells for v in (c.bound, c.recovered, c.exact_objective)):
            line[0].set_yscale("log")
        else:
            line[0].set_yscale("symlog", linthresh=1e-2)
        line[1].plot(kappa, _with_nan([c.share for c in cells]), marker="o", ms=3, lw=1.2, color=COLOURS[0], label="Σz/n")
        line[1].plot(kappa, kappa, color="black", lw=0.8, ls=":", label="κ")
        ratios = np.maximum(_with_nan([c.rank_ratio for c in cells]), 1e-12)
        line[2].plot(kappa, ratios, marker="o", ms=3, lw=1.2, color=COLOURS[2], label="rank ratio")
        line[2].set_yscale("log")
        for ax, axis_label in zip(line, ("‖w‖²", "part of the points", "second / first eigenvalue"), strict=True):
            _label_axes(ax, "κ", axis_label)
            _value_ticks(ax, {c.kappa for c in cells})
        line[0].set_title(literal_text(titles[name]), fontsize=9)
    return _legend_and_svg(figure, axes.ravel(), len(names), len(shown))


def convergence_curves(report: ReportData) -> str | None:
    """Draw incumbent (solid) and bound (dashed) of every exact run over time, a panel for each instance."""
    traced = [c for c in report.instances if any(len(e.trace) > 1 for e in report.exacts_of(c.key))]
    if not traced:
        return None
    variants = list(dict.fromkeys(c.variant for c in report.exacts))
    figure, axes = _grid(len(traced))
    for ax, instance in zip(axes, traced, strict=False):
        for cell in report.exacts_of(instance.key):
            _run(ax, cell, colour_of(variants.index(cell.variant)))
        ax.set_xscale("log")
        ax.set_title(literal_text(problem_label(display_name(instance), instance.lam)), fontsize=9)
        top = max((e.incumbent for e in report.exacts_of(instance.key) if e.incumbent is not None), default=0.0)
        if top > 0.0:
            ax.set_ylim(-0.03 * top, 1.35 * top)
        _label_axes(ax, "seconds", "objective")
    return _legend_and_svg(figure, axes, len(traced))


def _run(ax: Any, cell: ExactCell, colour: str) -> None:
    """Draw incumbent and bound of a run as steps until the solver ended."""
    if len(cell.trace) < 2:
        return
    seconds = np.maximum([t for t, _, _ in cell.trace], 1e-3)
    for k, style, label in ((1, "-", literal_text(cell.variant)), (2, "--", None)):
        values = _with_nan([point[k] for point in cell.trace])
        repeated = label in ax.get_legend_handles_labels()[1]
        ax.step(seconds, values, where="post", ls=style, lw=1.2, color=colour, label=None if repeated else label)
    ax.plot(seconds[-1:], _with_nan([cell.trace[-1][2]]), marker="o" if cell.proven else "x", ms=4, color=colour)


def performance_profiles(report: ReportData) -> str | None:
    """Draw performance profiles of the exact variants, Dolan and Moré (2002), of two variants and two problems at least."""
    ratios = exact_ratios(report)
    finite = [r[np.isfinite(r)] for r in ratios.values()]
    if len(ratios) < 2 or next(iter(ratios.values())).size < 2 or not any(f.size for f in finite):
        return None
    largest = max(10.0, 1.5 * max(float(f.max()) for f in finite if f.size))
    figure = figure_of(6.8, 3.8)
    ax = figure.subplots()
    grid = np.unique(np.concatenate([np.geomspace(1.0, largest, 200), *finite]))
    for k, (name, values) in enumerate(ratios.items()):
        ax.step(grid, [fraction_within(values, tau) for tau in grid], where="post", color=colour_of(k), lw=1.5,
                ls=dash_of(k), label=literal_text(name))  # fmt: skip
    anyone = float(np.isfinite(np.min(list(ratios.values()), axis=0)).mean())
    ax.axhline(anyone, color=GREY, ls="-.", lw=1.2, label=VIRTUAL_BEST)
    ax.set_xscale("log")
    ax.set_ylim(-0.02, 1.02)
    _label_axes(ax, "τ, times the fastest", "part of the problems solved")
    draw_legend_below(figure)
    return svg_of(figure)


def seed_spread(report: ReportData) -> str | None:
    """Draw the times to a proven optimum over seeds, relative to each instance's geometric mean.

    A line leads from the shortest to the longest time of each instance that a variant proved under two seeds or more, with a dot
    for each seed.
    """
    times: dict[str, dict[CellKey, list[float]]] = {}
    for cell in report.exacts:
        if cell.proven:
            times.setdefault(cell.variant, {}).setdefault(cell.key, []).append(seconds_to_proof(cell))
    repeated = {variant: [t for t in by_key.values() if len(t) > 1] for variant, by_key in times.items()}
    repeated = {variant: runs for variant, runs in repeated.items() if runs}
    if not repeated:
        return None
    figure = figure_of(6.8, 1.2 + 0.7 * len(repeated))
    ax = figure.subplots()
    for k, runs in enumerate(repeated.values()):
        for height, run_seconds in zip(np.linspace(k - 0.3, k + 0.3, len(runs)), runs, strict=True):
            relative = np.array(run_seconds) / np.exp(np.mean(np.log(run_seconds)))
            ax.plot(relative, np.full(relative.size, height), "o-", ms=3, lw=0.8, color=colour_of(k))
    ax.set_yticks(range(len(repeated)), [literal_text(name) for name in repeated], fontsize=9)
    ax.set_ylim(len(repeated) - 0.5, -0.5)
    ax.set_xscale("log")
    _label_axes(ax, "seconds over their geometric mean", "")
    return svg_of(figure)


def _with_nan(values: Iterable[float | None]) -> Any:
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _grid(count: int) -> tuple[Any, Sequence[Any]]:
    shown = min(count, MAX_PANELS)
    columns = min(2, shown)
    lines = -(-shown // columns)
    figure = figure_of(5.6 * columns + 0.4, 2.9 * lines + 0.5)
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    for ax in axes[shown:]:
        ax.set_visible(False)
    return figure, axes[:shown]


def _label_axes(ax: Any, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=8)
    ax.grid(alpha=0.3)
    for axis, scale in ((ax.xaxis, ax.get_xscale()), (ax.yaxis, ax.get_yscale())):
        if scale == "log" and len(axis.get_minorticklocs()):
            set_log_ticks(axis)


def _legend_and_svg(figure: Any, axes: Sequence[Any], count: int, shown: int | None = None) -> str:
    """Add one legend below all panels, and return the figure as SVG; ``shown`` of the ``count`` panels are in it."""
    shown = len(axes) if shown is None else shown
    draw_legend_below(figure)
    if count > shown:
        figure.suptitle(f"the first {shown} of {count}", fontsize=9)
    return svg_of(figure)


def _gaps_and_seconds(report: ReportData) -> dict[str, tuple[list[float], list[float]]]:
    """Return gaps (upper ends) and seconds by relaxation; the weakest bounds come first."""
    return {
        name: ([r.gap.high for r in rows if r.gap is not None], [r.relaxation.solve_seconds or 0.0 for r in rows])
        for name, rows in report.gap_rows.items()
    }


def _labels(by_relaxation: dict[str, tuple[list[float], list[float]]]) -> dict[str, str]:
    """Return each relaxation's label: its name, and the number of its instances where relaxations have different ones."""
    most_points = max((len(gaps) for gaps, _ in by_relaxation.values()), default=0)
    return {
        name: literal_text(name) if len(g) == most_points else f"{literal_text(name)} ({len(g)} of {most_points})"
        for name, (g, _) in by_relaxation.items()
    }


def _bars(values: Sequence[list[float]], ends: Sequence[float]) -> tuple[Any, Any]:
    """Draw one bar for each list of values, with a dot for each value; return the figure and its axes."""
    figure = figure_of(6.8, 1.0 + 0.42 * len(values))
    ax = figure.subplots()
    ax.barh(range(len(values)), ends, 0.6, color=colour_of(0), alpha=0.35)
    for k, points in enumerate(values):
        ax.plot(points, np.full(len(points), k), "o", ms=3.5, color=colour_of(1), alpha=0.7, lw=0)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.margins(x=0.04)
    return figure, ax


def gap_bars(report: ReportData) -> str | None:
    """Draw one bar for each relaxation, to the median gap; whiskers to the quartiles; a dot for each instance."""
    gaps_and_seconds = _gaps_and_seconds(report)
    if not gaps_and_seconds:
        return None
    gaps = [gaps for gaps, _ in gaps_and_seconds.values()]
    low, middle, high = np.array([np.quantile(values, (0.25, 0.5, 0.75)) for values in gaps]).T
    figure, ax = _bars(gaps, middle)
    ax.errorbar(middle, range(len(gaps)), xerr=[middle - low, high - middle], fmt="none", ecolor=colour_of(0), capsize=4, lw=1.5)
    names = [f"{label}: {gap:.1%}" for label, gap in zip(_labels(gaps_and_seconds).values(), middle, strict=True)]
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.axvline(0.0, color="black", lw=0.8)
    _percent(ax.xaxis)
    ax.set_xlabel("gap = (ζ - bound)/ζ; upper end where ζ is unproven", fontsize=9)
    return svg_of(figure)


def gap_against_seconds(report: ReportData) -> str | None:
    """Draw the median gap against the shifted geometric mean of the seconds; whiskers reach to the quartiles."""
    by_relaxation = _gaps_and_seconds(report)
    if len(by_relaxation) < 2:
        return None
    figure = figure_of(6.8, 4.4)
    ax, label = figure.subplots(), _labels(by_relaxation)
    for k, (name, (gaps, seconds)) in enumerate(by_relaxation.items()):
        low, middle, high = np.quantile(gaps, (0.25, 0.5, 0.75))
        mean_seconds = max(shifted_geometric_mean(seconds, SECONDS_SHIFT), 1e-4)
        spread = [[middle - low], [high - middle]]
        ax.errorbar(mean_seconds, middle, yerr=spread, fmt=marker_of(k), color=colour_of(k), capsize=3, label=label[name])
    ax.set_xscale("log")
    set_log_ticks(ax.xaxis)
    _percent(ax.yaxis)
    ax.set_xlabel(f"seconds (shifted geometric mean, shift {SECONDS_SHIFT:g} s)", fontsize=9)
    ax.set_ylabel("median gap", fontsize=9)
    ax.grid(alpha=0.3, color=GREY)
    draw_legend_below(figure)
    return svg_of(figure)


def integral_bars(report: ReportData) -> str | None:
    """Draw the primal-dual integrals of the exact runs: a bar to the mean of each variant, a dot for each run."""
    by_solver: dict[str, list[float]] = {}
    for cell in report.exacts:
        value = primal_dual_integral(cell)
        if value is not None and cell.key not in report.trivial:
            by_solver.setdefault(cell.variant, []).append(value)
    if not by_solver:
        return None
    means = [float(np.mean(values)) for values in by_solver.values()]
    figure, ax = _bars(list(by_solver.values()), means)
    names = [f"{literal_text(name)}: {mean:.3g} s" for name, mean in zip(by_solver, means, strict=True)]
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel("primal-dual integral in seconds", fontsize=9)
    return svg_of(figure)


def _percent(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axis.set_tick_params(labelsize=8)


#: Name, function that draws it (None where there is nothing to show), title, caption.
_PICTURES: tuple[tuple[str, Callable[[ReportData], str | None], str, str], ...] = (
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
            partial(gap_against, parameter=name),
            f"Gap against {symbol}",
            f"Gaps of the relaxations against {symbol} (upper ends where ζ is unproven), a panel for the instances that agree "
            "in all else. Instead of more than four panels: medians (bands: quartiles) of each family and λ, over what is there "
            f"at every {symbol}; trivial optima left out.",
        )
        for name, symbol in SWEPT_PARAMETERS.items()
    ),
    (
        "against-m",
        bound_against_m,
        "Bound against M",
        "The big-M relaxation's bound over ζ against its largest M: trivial as M grows. Hollow: M is not proved valid.",
    ),
    (
        "profiles",
        performance_profiles,
        "Performance profiles",
        "Part of the problems solved (proved, or claimed) within τ times the fastest time (Dolan and Moré 2002); virtual best: "
        "by anyone.",
    ),
    (
        "seeds",
        seed_spread,
        "Spread over seeds",
        "Times to a proven optimum over their geometric mean: a dot for each seed, a line for each instance.",
    ),
    (
        "primal-dual-integral",
        integral_bars,
        "Primal-dual integral",
        "The gap (incumbent - bound)/incumbent over the time of a run, integrated (Berthold 2013): what a run is worth before it "
        "ends. Bars end at the mean, which stands beside the name, a dot is a run; trivial optima are left out.",
    ),
    (
        "convergence",
        convergence_curves,
        "Convergence",
        "Incumbent (solid) and lower bound (dashed) over time, as the solver's callback tells them; a point where the optimum is "
        "proved, a cross where a limit stopped the run.",
    ),
    (
        "against-kappa",
        kappa_sweep,
        "Sweep over κ",
        "The κ form of the conic relaxation: its bound, a classifier within the budget and, where it was proved, the least "
        "‖w‖²; Σz/n; the rank ratio.",
    ),
    (
        "losses",
        lambda report: draw_losses() if any(cell.lam is not None for cell in report.instances) else None,
        "Loss functions",
        "The 0-1 loss and what stands for it (Cepeda, Gómez and Han, Figure 1). The conic loss underestimates it for every γ; "
        "the relaxation takes the best γ for which the sum with ‖w‖² stays convex.",
    ),
)


def report_pictures(report: ReportData) -> tuple[Picture, ...]:
    """Return all pictures that the report has data for, in their order on the page."""
    figures = ((name, draw(report), title, caption) for name, draw, title, caption in _PICTURES)
    return tuple(Picture(svg, name, title, caption) for name, svg, title, caption in figures if svg is not None)
