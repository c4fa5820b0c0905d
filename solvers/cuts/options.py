"""The option ``cuts=`` of SCIP and Gurobi: the separator for its value."""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from ...models.model import Model
from ...models.views import ZeroOneProblem
from ..records.options import Options
from .conflicts import ConflictCuts
from .perspective import PerspectiveCuts
from .separator import Separator

__all__ = ["CUTS", "cuts_of", "with_cuts"]

#: Name of the option.
CUTS = "cuts"
_KINDS: dict[str, type[ConflictCuts] | type[PerspectiveCuts]] = {kind.kind: kind for kind in (ConflictCuts, PerspectiveCuts)}


def with_cuts(model: Model, options: Options) -> Options:
    """Return the options with the separator in place of its name.

    Raises
    ------
    InputError
        The name is unknown, or the model has no such cuts.
    """
    name = options.native.get(CUTS)
    if name is None or isinstance(name, Separator):
        return options
    if not isinstance(name, str) or name not in _KINDS:
        raise InputError(f"cuts takes {' or '.join(map(repr, _KINDS))}; it is {name!r}")
    problem = model.view(ZeroOneProblem)
    if problem is None:
        raise InputError(
            f"cuts={name!r} needs a 0-1 loss with ||w||² (ZeroOneSVM with λ, or Margin with 'zero-one' and 'l2'); "
            f"{model.name} is none"
        )
    return Options.of(options, native={CUTS: _KINDS[name].of(model, problem)})


def cuts_of(options: Options) -> tuple[Separator | None, dict[str, Any]]:
    """Return the separator, and the solver's native options without it."""
    native = dict(options.native)
    separator = native.pop(CUTS, None)
    return (separator if isinstance(separator, Separator) else None), native
