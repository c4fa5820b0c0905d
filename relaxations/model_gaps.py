"""Every relaxation of one model beside its exact solve: bounds, recovered points and gaps as a table."""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, MarginoptError
from ..models.model import Model
from ..solvers.asked import SolverLike
from ..solvers.records.options import Options
from ..solvers.solve import solve_problem
from .reduction import Reduction
from .registry import get_relaxation, relaxations
from .relax import relax

__all__ = ["ModelGaps", "ModelGapsRow", "model_gaps"]


@dataclass(frozen=True)
class ModelGapsRow:
    """One relaxation, or the exact solve.

    Parameters
    ----------
    name, solver : str
    bound : float
        Of the optimum; -inf without one.
    kind : str
        How far to trust the bound ("proved", "claimed by solver", "none").
    objective : float
        Of the point that came back; NaN without one.
    seconds : float
    reason : str
        Why there is nothing; empty where there is.
    """

    name: str
    solver: str
    bound: float
    kind: str
    objective: float
    seconds: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class ModelGaps:
    """Bounds and gaps of one model; printable. The gap of a bound is (ζ - bound)/ζ with ζ the best objective known."""

    title: str
    rows: tuple[ModelGapsRow, ...]

    @property
    def best(self) -> float:
        """The least objective of all points; NaN where there is none."""
        known = [row.objective for row in self.rows if np.isfinite(row.objective)]
        return min(known, default=float("nan"))

    @property
    def bound(self) -> float:
        """The largest bound; -inf where there is none."""
        return max((row.bound for row in self.rows), default=-np.inf)

    def gap(self, row: ModelGapsRow) -> float:
        """(ζ - bound)/|ζ|; infinite without a bound, NaN without a point."""
        return (self.best - row.bound) / abs(self.best) if self.best else float("nan")

    def __str__(self) -> str:
        width = max([8, *(len(row.name) for row in self.rows)])
        lines = [self.title, f"  {'':{width}}  {'bound':>12}  {'kind':<18}  {'recovered':>12}  {'gap':>8}  {'seconds':>8}"]
        for row in self.rows:
            if row.reason:
                lines.append(f"  {row.name:{width}}  {row.reason}")
                continue
            shown = f"{self.gap(row):8.2%}" if np.isfinite(self.gap(row)) else f"{'-':>8}"
            lines.append(
                f"  {row.name:{width}}  {row.bound:12.6g}  {row.kind:<18}  {row.objective:12.6g}  {shown}  {row.seconds:8.2f}"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def model_gaps(
    model: Model,
    names: Sequence[str | Reduction[Any]] | None = None,
    exact: SolverLike | None = "auto",
    options: Options | None = None,
) -> ModelGaps:
    """Every relaxation that reads a model, and its exact solve.

    Parameters
    ----------
    model : Model
        A `Margin`, or a named formulation that is one (`Model.composed`).
    names : sequence of str or Reduction, optional
        All that read it where they are not given.
    exact : str, Solver, pair or None
        None: no exact solve.
    options : Options, optional
        For every solve: ``time_limit``, ``tol``, ...

    Raises
    ------
    InputError
        Not a model, or no relaxation of that name.
    """
    if not isinstance(model, Model):
        raise InputError(f"model_gaps takes a formulation; gap_report takes instances; got {type(model).__name__}")
    chosen = Options() if options is None else options
    if names is None:
        original: Any = model
        readers = [r.reduction for r in relaxations().values() if not r.reduction.obstacle(model)]
        asked = [reduction for reduction in readers if not reduction.caveat(original)]
    else:
        asked = [get_relaxation(item).reduction if isinstance(item, str) else item for item in names]
    rows = [_relaxed(model, reduction, chosen) for reduction in asked]
    if exact is not None:
        rows.append(_exact(model, exact, chosen))
    return ModelGaps(f"{model.name}: {model.statement.sizes}", tuple(rows))


def _relaxed(model: Model, reduction: Reduction[Any], options: Options) -> ModelGapsRow:
    start = time.perf_counter()
    try:
        found = relax(model, reduction, options=options)
    except MarginoptError as error:
        return ModelGapsRow(reduction.name, "", -np.inf, "none", float("nan"), time.perf_counter() - start, str(error))
    took = time.perf_counter() - start
    return ModelGapsRow(reduction.name, found.result.solver, found.bound, found.bound_kind, found.objective, took)


def _exact(model: Model, solver: SolverLike, options: Options) -> ModelGapsRow:
    start = time.perf_counter()
    try:
        result = solve_problem(model, solver, options)
    except MarginoptError as error:
        return ModelGapsRow("exact", "", -np.inf, "none", float("nan"), time.perf_counter() - start, str(error))
    objective = result.objective if result.values else float("nan")
    took = time.perf_counter() - start
    return ModelGapsRow(f"exact, {result.solver}", result.solver, result.best_bound[0], result.bound_kind, objective, took)
