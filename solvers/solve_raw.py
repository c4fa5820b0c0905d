"""One step of an algorithm by another solver: its answer as it is, for callers that judge the whole themselves."""

from __future__ import annotations

from ..errors import InputError, SolverError
from ..models.model import Model
from .records.answer import Answer
from .records.options import Options
from .registry import require
from .solver_spec import SolverLike, resolve

__all__ = ["solve_raw"]


def solve_raw(solver: SolverLike, model: Model, options: Options) -> Answer:
    """The answer of the solver that is asked for, which has a point and no certificate.

    Raises
    ------
    InputError
        ``auto``, which chooses for whole models, or a solver that cannot read the model.
    MissingPackageError, LicenceError
        It is not installed, or not licensed.
    SolverError
        It ended without a point.
    """
    spec = resolve(solver)
    if spec.solver is None:
        raise InputError(f"a step is taken by a solver that is named, not by {spec.label!r}: boxqp, smo, stiefel-bb, ...")
    require(spec.solver)
    obstacle = spec.solver.obstacle(model)
    if obstacle is not None:
        raise InputError(f"{spec.label} cannot take the step {model.name}: {obstacle}")
    answer = spec.solver.run(model, spec.over(options))
    if answer.values is None:
        raise SolverError(f"{spec.label} ended the step {model.name} without a point: {answer.native_status}")
    return answer
