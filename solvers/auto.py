"""Which solver ``auto`` takes, and why: the first of a short list of preferences that is installed, licensed and able."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ..errors import UnsupportedModelError
from ..models.model import Model
from ..models.program.cones import Feature
from .records.licence import LicenceState
from .records.options import Options
from .registry import all_solvers, installed

__all__ = ["choose"]

#: Hand-written algorithms that read a structural view, best first; a name that does not exist is skipped.
STRUCTURED = (
    "zero-one-bb", "conic-ipm", "auto-simplex", "smo", "mfw", "smo-box", "maxmin", "boxqp", "npsvc-mm", "stiefel-bb",
    "kernel-npsvcpp",
)  # fmt: skip
#: Backends by class of problem, best first.
MIXED_INTEGER = ("gurobi", "scip", "highs", "mosek")
CONIC = ("clarabel", "mosek", "scs")
QUADRATIC = ("piqp", "clarabel", "highs", "osqp")
LINEAR = ("highs", "clarabel")


def choose(model: Model, options: Options, *, only_open: bool = False) -> tuple[str, str]:
    """Name of the solver for this problem and the reason in one sentence; ``only_open`` passes over commercial ones."""
    known = all_solvers(discover=False)
    passed: list[str] = []
    # backends are asked last: their list needs the form, which structured solvers do without
    for name in chain(STRUCTURED, _backends(model)):
        if name not in known:
            continue
        solver = known[name]
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


def _backends(model: Model) -> Iterator[str]:
    features = model.form.features
    if Feature.INTEGER in features:
        yield from MIXED_INTEGER
    elif features & {Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD}:
        yield from CONIC
    else:
        yield from QUADRATIC if Feature.QUADRATIC in features else LINEAR
