"""What a solver keeps between related forms, so that a new parameter is an update of its model and not a new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..models.form import StandardForm

__all__ = ["Kept", "kept_parts"]


@dataclass
class Kept:
    """A solver's own model of the last form, between two solves of one path. The one object here that changes.

    Parameters
    ----------
    form : StandardForm, optional
        The (bridged) form that ``native`` holds.
    native : object, optional
        The solver's own object.
    note : str
        What the last solve did: built, updated in place (what), or rebuilt (why).
    release : callable, optional
        Frees ``native``, where that is not left to Python.
    """

    form: StandardForm | None = None
    native: Any = None
    note: str = ""
    release: Callable[[], None] | None = None

    def updates(self, form: StandardForm, allowed: frozenset[str]) -> frozenset[str] | None:
        """The parts to update so that ``native`` holds ``form``; None where it must be built, with the reason in the note."""
        if self.form is None or self.native is None:
            self.note = "built"
            return None
        parts, why = kept_parts(self.form, form)
        refused = sorted(parts - allowed)
        if why or refused:
            self.note = f"rebuilt: {why or 'the solver does not update ' + ', '.join(refused)}"
            return None
        self.note = "updated in place: " + (", ".join(sorted(parts)) or "nothing")
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


def kept_parts(old: StandardForm, new: StandardForm) -> tuple[frozenset[str], str]:
    """What differs, of P, q, r, F, g, bounds, integer; or why the structure does, non-zeros' places included."""
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
    if bounds and not (_same_finite(old.lower, new.lower) and _same_finite(old.upper, new.upper)):
        return frozenset(), "bounds on other variables"
    present = {
        "P": delta.quadratic,
        "q": delta.q.size,
        "r": delta.r,
        "F": delta.F,
        "g": delta.g,
        "bounds": bounds,
        "integer": delta.integer.size,
    }
    return frozenset(name for name, changed in present.items() if changed), ""


def _same_places(a: Any, b: Any) -> bool:
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def _same_finite(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(np.isfinite(a), np.isfinite(b))
