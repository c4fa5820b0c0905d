"""The difference of two forms: the one delta that in-place solver updates, paths and inspection read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import IntArray
from .form_data import FormData
from .parts import Quadratic

__all__ = ["FormDelta", "changed_entries"]


@dataclass(frozen=True)
class FormDelta:
    """The difference between two forms.

    Parameters
    ----------
    structure : tuple of str
        Why the second form has another structure (blocks, labels, cones, sense); empty when only numbers differ.
        When it is not empty the other fields compare nothing.
    quadratic : bool
        P differs.
    q, lower, upper, integer : ndarray of int
        Indices of the variables whose entry differs.
    r : bool
        The constant differs.
    F, g : tuple of str
        Labels of the constraints whose matrix or constant differs.
    """

    structure: tuple[str, ...]
    quadratic: bool
    q: IntArray
    r: bool
    F: tuple[str, ...]
    g: tuple[str, ...]
    lower: IntArray
    upper: IntArray
    integer: IntArray

    @property
    def empty(self) -> bool:
        """Return whether the forms are equal when materialised."""
        vectors = (self.q, self.lower, self.upper, self.integer)
        return not (self.structure or self.quadratic or self.r or self.F or self.g or any(v.size for v in vectors))

    @classmethod
    def between(cls, old: FormData, new: FormData) -> FormDelta:
        """Compare two forms; arrays that they share are not looked at."""
        nothing = np.zeros(0, dtype=np.int64)
        structure = tuple(_structure(old, new))
        if structure:
            return cls(structure, False, nothing, False, (), (), nothing, nothing, nothing)
        pairs = list(zip(old.constraints, new.constraints, strict=True))
        return cls(
            structure=(),
            quadratic=not _same_quadratic(old.quadratic, new.quadratic),
            q=_changed(old.q, new.q),
            r=old.r != new.r,
            F=tuple(a.label for a, b in pairs if not _same_matrix(a.F, b.F)),
            g=tuple(a.label for a, b in pairs if _changed(a.g, b.g).size),
            lower=_changed(old.lower, new.lower),
            upper=_changed(old.upper, new.upper),
            integer=_changed(old.integer, new.integer),
        )

    def __str__(self) -> str:
        if self.empty:
            return "no difference"
        parts = list(self.structure)
        parts += ["quadratic term"] if self.quadratic else []
        parts += ["constant of the objective"] if self.r else []
        names = ("q", "lower", "upper", "integer")
        vectors = (self.q, self.lower, self.upper, self.integer)
        parts += [f"{name}: {v.size} entries" for name, v in zip(names, vectors, strict=True) if v.size]
        parts += [f"F of {label}" for label in self.F] + [f"g of {label}" for label in self.g]
        return "; ".join(parts)


def changed_entries(old: Any, new: Any) -> tuple[list[int], list[int], list[float]]:
    """Row, column and new value of the entries that differ between two sparse matrices with non-zeros in the same places."""
    before, after = sp.coo_array(old), sp.coo_array(new)
    moved = np.flatnonzero(before.data != after.data)
    return after.row[moved].tolist(), after.col[moved].tolist(), after.data[moved].tolist()


def _structure(old: FormData, new: FormData) -> list[str]:
    reasons = []
    if old.blocks != new.blocks:
        reasons.append(f"blocks {_labels(old.blocks)} → {_labels(new.blocks)}")
    if [(c.label, c.cone) for c in old.constraints] != [(c.label, c.cone) for c in new.constraints]:
        reasons.append(f"constraints {_labels(old.constraints)} → {_labels(new.constraints)}")
    if old.maximise != new.maximise:
        reasons.append("sense of the objective")
    return reasons


def _labels(items: tuple[Any, ...]) -> str:
    return "(" + ", ".join(item.label for item in items) + ")"


def _changed(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> IntArray:
    return np.zeros(0, dtype=np.int64) if a is b else np.flatnonzero(a != b)


def _same_matrix(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if _same_places(a, b):
        return bool(np.array_equal(a.data, b.data))
    if sp.issparse(a) or sp.issparse(b):
        difference = sp.csr_array(a) - sp.csr_array(b)
        return difference.nnz == 0 or not difference.data.any()
    return bool(np.array_equal(a, b))


def _same_places(a: Any, b: Any) -> bool:
    """Two CSR or two CSC matrices with the same pattern (the common case, forms of one model): numbers compare as they lie."""
    if not (sp.issparse(a) and sp.issparse(b) and a.format == b.format and a.format in ("csr", "csc") and a.shape == b.shape):
        return False
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def _same_quadratic(a: Quadratic | None, b: Quadratic | None) -> bool:
    if a is b:
        return True
    if a is None or b is None:
        present = a if a is not None else b
        assert present is not None
        return not present.csc.nnz
    return _same_matrix(a.materialised, b.materialised)
