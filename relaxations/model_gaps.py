"""The gap report of one model: its relaxations beside its exact solve, as `gap_report` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from ..models.model import Model
from ..models.program.form import StandardForm
from ..solvers.records.options import Options
from ..solvers.registry import SolverLike
from .reduction import Reduction
from .registry import get_relaxation
from .report.report import GapReport
from .report.run import gap_report

__all__ = ["model_gaps"]


def model_gaps(
    model: Model | StandardForm,
    names: Sequence[str | Reduction[Any]] | None = None,
    exact: SolverLike | Sequence[SolverLike] | None = "auto",
    options: Options | None = None,
) -> GapReport:
    """``gap_report([model])``, with relaxations by name.

    Parameters
    ----------
    model : Model or StandardForm
    names : sequence of str or Reduction, optional
        All that read it and bound its optimum where they are not given.
    exact : str, Solver, pair, sequence of them, or None
    options : Options, optional
        Of every solve, as for `gap_report`.

    Raises
    ------
    InputError
        Not a model, or no relaxation of that name.
    """
    if not isinstance(model, Model | StandardForm):
        raise InputError(f"model_gaps takes a formulation or a form; gap_report takes instances too; got {type(model).__name__}")
    reductions = None if names is None else [get_relaxation(item).reduction if isinstance(item, str) else item for item in names]
    return gap_report([model], reductions, exact, options=options, progress=False)
