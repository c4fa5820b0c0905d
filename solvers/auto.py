"""The choice of ``auto``: the first solver by the ranks in the records that is installed, licensed and able.

Solvers that the session registered compete with ours. Those of other packages come after all of these, so that installing a
package changes no result: they serve models that nobody else reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ..errors import TooLargeError, UnsupportedModelError
from ..models.model import Model
from .interface.solver import Solver
from .records.licence import LicenceState
from .records.options import Options
from .records.rank import Purpose
from .registry import EXTENSIONS, all_solvers, installed

__all__ = ["choose", "ranked"]


def choose(model: Model, options: Options, *, only_open: bool = False, without: Collection[str] = frozenset()) -> tuple[str, str]:
    """Return the name of the solver for this problem and the reason in one sentence.

    ``only_open`` passes over commercial solvers, ``without`` over those that had their turn; after these, solvers that read the
    form come before those that read the structure, whose arithmetic is alike.
    """
    passed: list[str] = []
    refused: list[str] = []
    candidates = sorted(_candidates(model), key=lambda solver: not solver.reads_form) if without else _candidates(model)
    for solver in candidates:
        name = solver.info.name
        if name in without:
            continue
        if not installed(solver):
            passed.append(f"{name} is not installed")
            continue
        obstacle = solver.obstacle(model)
        if obstacle is not None:
            refused += [f"{name}: {obstacle}"] if solver.reads_form else []
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
    purpose = Purpose.of(model.form)  # raises the model's own reason, where it has no form at all
    why = "; ".join(passed or refused) or "see marginopt.solvers()"
    raise UnsupportedModelError(f"no installed solver can read {model.name} ({purpose.value}): {why}")


def ranked(purpose: Purpose, known: Mapping[str, Solver]) -> list[Solver]:
    """The solvers that have a rank for this class of problems, best first; of equals those that the session registered."""
    able = [solver for solver in known.values() if purpose in solver.info.rank]
    return sorted(able, key=lambda s: (s.info.rank[purpose], s.info.name not in EXTENSIONS.session, s.info.name))


def _candidates(model: Model) -> Iterator[Solver]:
    """Every solver that has a rank for the model's class; no package is looked for before all others have been refused.

    Solvers that read structure come first: the class of the others needs the form, which these do without.
    """
    session = EXTENSIONS.session
    known = {**all_solvers(discover=False), **session}
    yield from ranked(Purpose.STRUCTURE, known)
    yield from (solver for solver in ranked(Purpose.NO_FORM, known) if solver.takes_over(model))
    purpose = _class_of(model)
    if purpose is not None:
        yield from ranked(purpose, known)
    packages = {name: solver for name, solver in EXTENSIONS.usable().items() if name not in session}
    yield from ranked(Purpose.STRUCTURE, packages)
    if purpose is not None:
        yield from ranked(purpose, packages)


def _class_of(model: Model) -> Purpose | None:
    """The class of its form; None where it has none."""
    try:
        return Purpose.of(model.form)
    except TooLargeError:
        return Purpose.NO_FORM
    except UnsupportedModelError:
        return None
