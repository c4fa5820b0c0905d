"""The option ``cuts=`` of SCIP and Gurobi: from its word to a separator of the model."""

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

#: The option's name.
CUTS = "cuts"
_KINDS: dict[str, type[ConflictCuts] | type[PerspectiveCuts]] = {kind.kind: kind for kind in (ConflictCuts, PerspectiveCuts)}


def with_cuts(model: Model, options: Options) -> Options:
    """The options with the separator in the place of its word.

    Raises
    ------
    InputError
        Another word, or a model that has no such cuts.
    """
    word = options.native.get(CUTS)
    if word is None or isinstance(word, Separator):
        return options
    if not isinstance(word, str) or word not in _KINDS:
        raise InputError(f"cuts takes {' or '.join(map(repr, _KINDS))}; it is {word!r}")
    problem = model.view(ZeroOneProblem)
    if problem is None:
        raise InputError(
            f"cuts={word!r} needs a 0-1 loss with ||w||² (ZeroOneSVM with λ, or Margin with 'zero-one' and 'l2'); "
            f"{model.name} is none"
        )
    return Options.of(options, native={CUTS: _KINDS[word].of(model, problem)})


def cuts_of(options: Options) -> tuple[Separator | None, dict[str, Any]]:
    """The separator, and the solver's own options without it."""
    own = dict(options.native)
    found = own.pop(CUTS, None)
    return (found if isinstance(found, Separator) else None), own
