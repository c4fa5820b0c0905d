"""The model that a solver keeps between related forms, so that a new parameter updates it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.program.cones import Nonnegative, Zero
from ...models.program.form import StandardForm
from ..records.answer import Update, UpdateKind
from ..records.options import Options

__all__ = ["ALL_PARTS", "BUILT", "Kept", "kept_parts"]

#: Of a model that is the first.
BUILT = Update(UpdateKind.BUILT)


@dataclass
class Kept:
    """A solver's own model of the last form, between two solves of one path. The one object here that changes.

    Parameters
    ----------
    form : StandardForm, optional
        The (bridged) form that ``native`` holds.
    native : object, optional
        The solver's own object.
    update : Update, optional
        What the last solve did: built, updated in place (what), or rebuilt (why).
    release : callable, optional
        Frees ``native``, where that is not left to Python.
    options : Options, optional
        Those that ``native`` was built under, start and callback apart.
    """

    form: StandardForm | None = None
    native: Any = None
    update: Update | None = None
    release: Callable[[], None] | None = None
    options: Options | None = None

    def under(self, options: Options) -> bool:
        """Return whether a model that is kept was built under other options; it is freed then, since solvers remember theirs."""
        plain = replace(options, start=None, callback=None)
        other = self.native is not None and plain != self.options
        if other:
            self.close()
        self.options = plain
        return other

    def updates(self, form: StandardForm, allowed: frozenset[str], *, any_bounds: bool = False) -> frozenset[str] | None:
        """The parts to update so that ``native`` holds ``form``; None where it must be built, with the reason in ``update``.

        ``any_bounds`` says that the solver takes bounds on variables that had none.
        """
        if self.form is None or self.native is None:
            self.update = BUILT
            return None
        parts, why = kept_parts(self.form, form, any_bounds=any_bounds)
        refused = sorted(parts - allowed)
        if why or refused:
            self.update = Update(UpdateKind.REBUILT, why or "the solver does not update " + ", ".join(refused))
            return None
        self.update = Update(UpdateKind.UPDATED, ", ".join(sorted(parts)) or "nothing")
        return parts

    def hold(self, form: StandardForm, native: Any, release: Callable[[], None] | None = None) -> None:
        """Remember this native model; an older one is freed."""
        if self.native is not native:
            self.close()
            self.release = release
        self.form, self.native = form, native

    def close(self) -> None:
        """Free what is kept."""
        if self.release is not None:
            self.release()
        self.form = self.native = self.release = None


#: Every part but integrality: what solvers that can change everything take.
ALL_PARTS = frozenset({"P", "q", "r", "F", "g", "F of cones", "g of cones", "bounds"})


def kept_parts(old: StandardForm, new: StandardForm, *, any_bounds: bool = False) -> tuple[frozenset[str], str]:
    """Return the parts that differ, of `ALL_PARTS` and integer, or the reason why the structure differs, places of non-zeros
    included.

    F and g are those of the linear rows, ``of cones`` those of all other constraints. A quadratic cone whose variables lose or
    get a lower bound ≥ 0 is another one for solvers that write it in its variables.
    """
    delta = old.diff(new)
    if delta.structure:
        return frozenset(), "; ".join(delta.structure)
    for a, b in zip(old.constraints, new.constraints, strict=True):
        if a.label in delta.F and not _same_places(a.F, b.F):
            return frozenset(), f"non-zeros of {a.label} in other places"
    if delta.quadratic and (
        old.quadratic is None or new.quadratic is None or not _same_places(old.quadratic.csc, new.quadratic.csc)
    ):
        return frozenset(), "non-zeros of P in other places"
    bounds = delta.lower.size or delta.upper.size
    linear = {c.label for c in old.constraints if isinstance(c.cone, (Zero, Nonnegative))}
    if bounds and len(linear) < len(old.constraints) and not np.array_equal(old.lower >= 0, new.lower >= 0):
        return frozenset(), "signs of variables of cones"
    if bounds and not any_bounds and not (_same_finite(old.lower, new.lower) and _same_finite(old.upper, new.upper)):
        return frozenset(), "bounds on other variables"
    present = {
        "P": delta.quadratic,
        "q": delta.q.size,
        "r": delta.r,
        "F": linear.intersection(delta.F),
        "g": linear.intersection(delta.g),
        "F of cones": set(delta.F) - linear,
        "g of cones": set(delta.g) - linear,
        "bounds": bounds,
        "integer": delta.integer.size,
    }
    return frozenset(name for name, changed in present.items() if changed), ""


def _same_places(a: Any, b: Any) -> bool:
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def _same_finite(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(np.isfinite(a), np.isfinite(b))
