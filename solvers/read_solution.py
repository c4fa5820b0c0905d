"""A solution that was found elsewhere, judged here: values by label, and the certificate recomputed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import SolverError
from ..models.bare_form import as_model
from ..models.export.files.solutions import FilePoint, read_point
from ..models.model import Model
from ..models.program.form import StandardForm
from .certification.result import Result
from .interface.solver import OPEN, Kept, Solver, SolverInfo
from .judgement import judge
from .records.answer import Answer, Status
from .records.options import Options

__all__ = ["read_solution"]

#: Words of the solvers' files, the more particular first.
_WORDS = (
    ("infeasible or unbounded", Status.FAILED),
    ("inf_or_unbd", Status.FAILED),
    ("primal_infeasible_cer", Status.INFEASIBLE),
    ("dual_infeasible_cer", Status.UNBOUNDED),
    ("primal_infeasible", Status.INFEASIBLE),
    ("infeasible", Status.INFEASIBLE),
    ("unbounded", Status.UNBOUNDED),
    ("optimal", Status.OPTIMAL),
    ("solved", Status.OPTIMAL),
    ("time limit", Status.TIME_LIMIT),
    ("iteration limit", Status.ITERATION_LIMIT),
    ("node limit", Status.NODE_LIMIT),
    ("gap limit", Status.OPTIMAL),
)


class _FileSolver(Solver):
    """The solver that wrote a file: a name; it cannot be run."""

    def __init__(self, name: str) -> None:
        self.info = SolverInfo(name=name, summary="read from a file")  # type: ignore[misc]  # one for each file

    def obstacle(self, model: Model) -> str | None:
        """Return the obstacle: the solver is known by its file alone."""
        return "it is known only by its solution file"

    def run(self, model: Model, options: Options, kept: Kept | None = None) -> Answer:
        """Refused: there is only a file."""
        raise SolverError(f"{self.info.name} cannot be run: {self.obstacle(model)}")


def read_solution(model: Model | StandardForm, path: str | Path, *, tol: float | None = None) -> Result:
    """Read a solver's solution file and judge it as if it had been solved here.

    Parameters
    ----------
    model : Model or StandardForm
        What was handed over, by `Model.write` or ``to_gurobi``, ``to_mosek``, ...
    path : str or path
        Gurobi ``.sol``, SCIP ``.sol``, HiGHS solution files (style 0), MOSEK ``.sol .bas .int``, AMPL ``.sol`` (beside the
        ``.nl`` file it belongs to), or a name and a number a line; told apart by their contents.
    tol : float, optional
        Relative gap by which an optimum counts as supported; 1e-6 where it is not given.

    Returns
    -------
    Result
        ``solver`` is who wrote the file, "unknown" where it does not say. The status is the file's claim, lowered where the
        certificate does not support it; a file without a claim (Gurobi's) counts as interrupted, unless its gap is closed.
        Multipliers of a claim of infeasibility are its proof, checked, in ``farkas``.

    Raises
    ------
    DataError
        No such file, of no known kind, or not a solution of this model.
    """
    stated = as_model(model)
    point = read_point(stated.form, path)
    status = _claimed(point)
    ray = status in (Status.INFEASIBLE, Status.UNBOUNDED)
    ignored = {"variables_not_ours": point.ignored} if point.ignored else {}
    sign = _sense(stated.form, point)
    raw = Answer(
        status=status,
        native_status=point.says or "the file says nothing of how the solve ended",
        values=None if point.x is None or ray else stated.form.split(point.x),
        multipliers=None if ray else point.multipliers,
        reduced=None if ray else point.reduced,
        objective=None if point.objective is None else sign * point.objective,
        bound=None if point.bound is None else sign * point.bound,
        version="(from a file)",
        farkas=point.multipliers if status is Status.INFEASIBLE else None,
        details={"file": Path(path).name, **ignored},
    )
    result = judge(stated, _FileSolver(point.solver), raw, Options(tol=tol), OPEN)
    return replace(result, licence="")


def _sense(form: StandardForm, point: FilePoint) -> float:
    """Return -1 if the file states its numbers as a maximum, 1 if as the minimum that our files state.

    A solver may have read the program that the form came from, or the file that was written of the form: the objective at the
    point tells which.
    """
    if not form.maximise or point.x is None or point.objective is None:
        return 1.0
    value = form.objective(point.x)
    return -1.0 if abs(-point.objective - value) < abs(point.objective - value) else 1.0


def _claimed(point: FilePoint) -> Status:
    if not point.says:
        return Status.INTERRUPTED
    words = point.says.lower()
    statuses = [status for word, status in _WORDS if word in words]
    return statuses[0] if statuses else (Status.FAILED if point.x is None else Status.INTERRUPTED)
