"""Make the page of one algorithm: what it reads, code to copy, its steps, and how the gap of a run falls."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from formulation_page import errata_section, printed
from pseudocode import PSEUDOCODE
from reference import docstring_page, source_file, to_markdown
from snippets import READ_BY, snippet

import marginopt as mo
from marginopt.drawing import figure_of, svg_of
from marginopt.errors import MarginoptError
from marginopt.models import BoxProgram, Model, StiefelQP
from marginopt.models.formulations import all_formulations
from marginopt.solvers.interface import algorithm
from marginopt.solvers.interface.solver import Solver, resolve_deferred
from marginopt.solvers.registry import solvers_that_read

__all__ = ["algorithm_page"]

#: A page that a record names as its source.
_PAGE = re.compile(r"docs/explanation/([\w-]+)\.md")

#: Seconds that a run may take.
_LIMIT = 2.0
algorithm.ADVANCE_SECONDS = 1e-3  # a row of the trace for every millisecond


def algorithm_page(folder: Path, name: str, solver: Solver) -> str:
    """Return the page of an algorithm in Markdown, and write its picture into ``folder``/algorithms."""
    solver = resolve_deferred(solver)
    info = solver.info
    views = ", ".join(f"`{view.__name__}`" for view in info.views)
    source = _PAGE.sub(r"[\1](../../explanation/\1.md)", to_markdown(info.reference)) or "ours"
    parts = [f"# {name}", f"{to_markdown(info.summary[:1].upper() + info.summary[1:])}. Source: {source}."]
    gives = to_markdown(", ".join(sorted(g.value for g in info.gives)))
    parts += [f"It reads the structural view {views} and gives: {gives}.", *_code(name)]
    parts += ["## Class", docstring_page(type(solver), type(solver).__name__, methods=False, with_errata=False)]
    parts += ["## Algorithm", "As implemented.", f"```text\n{PSEUDOCODE[name].strip()}\n```"]
    parts += errata_section(type(solver))
    picture = _convergence(folder, name, solver)
    parts += ["## Convergence", picture or "It reports no progress, so there is no picture of a run."]
    parts += [f"The code is in `{source_file(type(solver))}`."]
    return "\n\n".join(filter(None, parts)) + "\n"


def _code(name: str) -> list[str]:
    """Return the parts with the example of a formulation, solved by the algorithm; empty for an algorithm of an extension."""
    if name not in READ_BY:  # of an installed extension
        return []
    formulation = READ_BY[name][0]
    code = snippet(formulation, name)
    names = f"Solve a [`{all_formulations()[formulation].key}`](../formulations/{formulation}.md) by it:"
    try:
        text = printed(code)[1]
    except MarginoptError:  # its package is not installed
        text = ""
    return ["## Code to copy", names, f"```python\n{code}\n```", text]


def _examples() -> list[Model]:
    """Return problems on which a run takes some steps, then the small examples of every formulation."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 200)
    X = rng.normal(size=(400, 4)) + 0.5 * y[:, None]
    rbf, few = mo.RBF(0.3), slice(0, None, 8)
    with_ones = np.column_stack([np.ones(50), X[few]])
    H, Z = rng.normal(size=(120, 120)), rng.normal(size=(300, 40))
    box = BoxProgram(Z, -np.ones(300), np.zeros(300), np.full(300, 5.0), np.full(300, 0.01))
    tight, side = rng.normal(size=(400, 300)), np.ones(400)
    outliers = mo.instances.gaussian_clusters(60, 2, sigma=0.5, outliers="clustered", seed=1)
    many = np.column_stack([np.ones(100), rng.normal(size=(100, 30))])
    label = np.where(many[:, 1:6].sum(axis=1) + 2.0 * rng.normal(size=100) > 0.0, 1.0, -1.0)
    large: list[Model] = [
        mo.L2SVMDual(X, y, C=10.0, kernel=rbf),
        mo.L1SVMDual(X, y, C=1.0, kernel=rbf),
        mo.ConicSVM(with_ones, y[few], lam=1.0),
        mo.ZeroOneSVM(with_ones, y[few], lam=1.0),
        mo.MaxMinSVM(X[few], y[few], C=1.0),
        mo.NonparallelSVM(X[few], y[few], 1.0, "capped"),
        StiefelQP((H + H.T) / 2.0, rng.normal(size=(120, 4))),
        box,
        BoxProgram(tight, rng.normal(size=400), -side, side, 0.001 * side),
        mo.Margin(outliers.X, outliers.y, loss="ramp"),
        mo.Margin(many, label, regulariser="half-l2", intercept="free", sample_weight=0.1, subject_to=mo.at_most(5).nonzero),
        mo.ScoringSystem(many[:, :13].round(), label, (-5, 5), C0=0.01, loss="logistic"),
        mo.MulticlassSVM(np.column_stack([np.ones(400), X]), np.arange(400) % 3 + (X[:, 0] > 0), loss="crammer-singer"),
    ]
    return [*large, *(info.example(np.random.default_rng(0)) for info in all_formulations().values())]


def _convergence(folder: Path, name: str, solver: Solver) -> str:
    """Save a picture of the gap, or else the objective, over the iterations; return Markdown with it, or "" without a trace."""
    for model in _examples():
        if name not in solvers_that_read(model):
            continue
        try:
            trace = mo.solve(model, name, time_limit=_LIMIT, tol=1e-8).trace
        except MarginoptError:
            continue
        gap, objective = trace.column("gap"), trace.column("objective")
        bounded = int((np.isfinite(gap) & (gap > 0)).sum()) >= 3
        shown = np.isfinite(gap) & (gap > 0) if bounded else np.isfinite(objective)
        if shown.sum() < 3:
            continue
        values, what = (gap, "relative gap") if bounded else (objective, "objective")
        figure = figure_of(6.0, 3.2)
        axes = figure.subplots()
        axes.plot(trace.column("iteration")[shown], values[shown], "o-", ms=3)
        axes.set_yscale("log" if bounded else "linear")
        axes.set_xlabel("iterations")
        axes.set_ylabel(what)
        axes.grid(alpha=0.3)
        target = folder / "algorithms" / f"{name}.svg"
        target.parent.mkdir(exist_ok=True)
        target.write_text(svg_of(figure), encoding="utf-8")
        statement = model.statement
        text = f"{to_markdown(statement.title)}: {to_markdown(statement.sizes)}; {_LIMIT:g} s at most, to 1e-8."
        return f"![{what} of {name} over its iterations]({name}.svg)\n\n{text}"
    return ""
