"""Which solver ``auto`` takes, and why: the first by the ranks in the solvers' records that is installed, licensed and able."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..errors import UnsupportedModelError
from ..models.model import Model
from .interface.solver import Solver
from .records.licence import LicenceState
from .records.options import Options
from .records.rank import Purpose
from .registry import all_solvers, installed

__all__ = ["choose", "ranked"]


def choose(model: Model, options: Options, *, only_open: bool = False) -> tuple[str, str]:
    """Name of the solver for this problem and the reason in one sentence; ``only_open`` passes over commercial ones."""
    passed: list[str] = []
    for solver in _in_order(model, all_solvers(discover=False)):
        name = solver.info.name
        if not installed(solver):
            passed.append(f"{name} is not installed")
            continue
        obstacle = solver.obstacle(model)
        if obstacle is not None:
            continue
        licence = solver.licence()
        if only_open and licence.state is not LicenceState.OPEN:
            continue
        refusal = licence.refusal(model.form) if solver.reads_form or not licence.usable else None
        if refusal is not None:
            passed.append(f"{name}: {refusal}")
            continue
        why = "first installed and licensed backend for this class" if solver.reads_form else "reads the model's structure"
        return name, f"{name}: {why}" + (f" (passed over: {'; '.join(passed)})" if passed else "")
    raise UnsupportedModelError(f"no installed solver can read {model.name}: {'; '.join(passed) or 'see marginopt.solvers()'}")


def ranked(purpose: Purpose, known: Mapping[str, Solver]) -> list[Solver]:
    """The solvers that have a rank for this class of problems, best first."""
    return sorted((s for s in known.values() if purpose in s.info.rank), key=lambda s: (s.info.rank[purpose], s.info.name))


def _in_order(model: Model, known: Mapping[str, Solver]) -> Iterator[Solver]:
    """Solvers that read structure first: the class of the others needs the form, which these do without."""
    yield from ranked(Purpose.STRUCTURE, known)
    yield from ranked(Purpose.of(model.form), known)
