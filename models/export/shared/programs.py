"""What a file holds without blocks or labels of ours: programs of linear rows, and of cones.

A `FlatProgram` is what formats with linear rows alone carry, a `ConicProgram` what those with cones do; the layout turns them
back into the form that was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ...arrays import BoolArray, FloatArray
from ...program.cones import PSD, Nonnegative, Zero
from ...program.form import Block, Constraint, Quadratic, StandardForm
from .layout import Layout

__all__ = ["INFINITE", "ConicProgram", "FlatProgram", "OneSided", "one_sided", "symmetric"]

#: Bounds and sides from here on are infinite for every reader of LP and MPS files.
INFINITE = 1e20


@dataclass(frozen=True, eq=False)
class FlatProgram:
    """min ½x'Px + q'x + r, rows a_i'x = b_i or ≥ b_i in the order of the form, bounds, integrality.

    ``equal`` says which rows are equalities; ``columns`` and ``rows`` are the names in a file. ``maximise`` says that the file
    maximises this objective: the form minimises its negative. From ``infinite`` on bounds and sides count as infinite in the
    format; what we wrote ourselves is taken literally.
    """

    P: sp.csc_array | None
    q: FloatArray
    r: float
    A: sp.csr_array
    b: FloatArray
    equal: BoolArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    columns: tuple[str, ...] | None = None
    rows: tuple[str, ...] | None = None
    maximise: bool = False
    infinite: float = np.inf

    @classmethod
    def of(cls, form: StandardForm, *, quadratic: bool = True) -> FlatProgram:
        """Rows F x ≥ -g and F x = -g of a form with linear cones only; P is left out for who takes it elsewhere."""
        F, g = form.rows_matrix()
        kinds = [np.full(c.rows, isinstance(c.cone, Zero)) for c in form.constraints]
        equal = np.concatenate(kinds) if kinds else np.zeros(0, dtype=bool)
        P = form.quadratic.csc if quadratic and form.quadratic is not None else None
        # + 0.0 turns -0 into 0: equal numbers, and some formats print the sign
        return cls(P, form.q + 0.0, form.r, F, -g + 0.0, equal, form.lower, form.upper, form.integer)

    def to_form(self, layout: Layout | None) -> StandardForm:
        """The form with the labels of ``layout``; without it one block ``x`` and plain rows, each with the names of the file."""
        constraints = self._plain() if layout is None else self._labelled(layout)
        infinite = self.infinite if layout is None else np.inf
        sign = -1.0 if self.maximise else 1.0
        return StandardForm(
            name="program" if layout is None else layout.name,
            blocks=(Block("x", (self.q.size,), own=self.columns),) if layout is None else layout.blocks,
            q=sign * self.q + 0.0,
            constraints=constraints,
            lower=np.where(self.lower <= -infinite, -np.inf, self.lower),
            upper=np.where(self.upper >= infinite, np.inf, self.upper),
            integer=self.integer,
            quadratic=None if self.P is None or not self.P.nnz else Quadratic(matrix=sp.csc_array(sign * self.P)),
            r=sign * self.r + 0.0,
            maximise=self.maximise or (layout is not None and layout.maximise),
        )

    def _plain(self) -> tuple[Constraint, ...]:
        found = []
        bounding = ~self.equal & (self.b > -self.infinite)
        for label, mask, cone in (("equal", self.equal, Zero), ("greater", bounding, Nonnegative)):
            rows = np.flatnonzero(mask)
            own = None if self.rows is None else tuple(self.rows[i] for i in rows)
            if rows.size:
                found.append(Constraint(label, sp.csr_array(self.A[rows]), -self.b[rows] + 0.0, cone(rows.size), own))
        return tuple(found)

    def _labelled(self, layout: Layout) -> tuple[Constraint, ...]:
        total = sum(c.cone.rows for c in layout.constraints)
        if total != self.b.size or sum(b.size for b in layout.blocks) != self.q.size:
            raise DataError("the sidecar's layout does not fit the file: other sizes")
        found, start = [], 0
        for label, cone, own in layout.constraints:
            rows = np.arange(start, start + cone.rows)
            start += cone.rows
            found.append(Constraint(label, sp.csr_array(self.A[rows]), -self.b[rows] + 0.0, cone, own))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """min q'x + r over pieces F x + g in K in the order of a file, bounds, integrality.

    ``surplus`` allows rows after those of the layout: formats without bounds write them there. ``columns`` are the names of the
    variables in the file; ``maximise`` as in `FlatProgram`.
    """

    q: FloatArray
    r: float
    pieces: tuple[Constraint, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    surplus: bool = False
    columns: tuple[str, ...] | None = None
    maximise: bool = False

    def to_form(self, layout: Layout | None) -> StandardForm:
        """The form with the labels of ``layout``; one block ``x`` and the pieces as they are without it."""
        if layout is None:
            return self._form(self.pieces, self.lower, self.upper, None)
        if sum(b.size for b in layout.blocks) != self.q.size:
            raise DataError("the sidecar's layout does not fit the file: other numbers of variables")
        stacks = {kind: self._stack(kind) for kind in (False, True)}
        taken = {False: 0, True: 0}
        found = []
        for label, cone, own in layout.constraints:
            kind = isinstance(cone, PSD)
            rows = np.arange(taken[kind], taken[kind] + cone.rows)
            taken[kind] += cone.rows
            F, g = stacks[kind]
            if taken[kind] > g.size:
                raise DataError("the sidecar's layout does not fit the file: it has more rows")
            found.append(Constraint(label, sp.csr_array(F[rows]), g[rows], cone, own))
        lower, upper = self._surplus(*(part[taken[False] :] for part in stacks[False]))
        return self._form(tuple(found), lower, upper, layout)

    def _stack(self, semidefinite: bool) -> tuple[sp.csr_array, FloatArray]:
        chosen = [c for c in self.pieces if isinstance(c.cone, PSD) is semidefinite]
        if not chosen:
            return sp.csr_array((0, self.q.size)), np.zeros(0)
        return sp.csr_array(sp.vstack([c.F for c in chosen], format="csr")), np.concatenate([c.g for c in chosen])

    def _surplus(self, F: sp.csr_array, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows x_j - l_j and u_j - x_j behind the layout's become bounds."""
        lower, upper = self.lower.copy(), self.upper.copy()
        if g.size and not self.surplus:
            raise DataError("the sidecar's layout does not fit the file: it has fewer rows")
        for i in range(g.size):
            entries = slice(F.indptr[i], F.indptr[i + 1])
            if F.indices[entries].size != 1 or abs(F.data[entries][0]) != 1.0:
                raise DataError("the sidecar's layout does not fit the file: rows left over that are no bounds")
            j = F.indices[entries][0]
            if F.data[entries][0] > 0:
                lower[j] = -g[i] + 0.0
            else:
                upper[j] = g[i] + 0.0
        return lower, upper

    def _form(
        self, constraints: tuple[Constraint, ...], lower: FloatArray, upper: FloatArray, layout: Layout | None
    ) -> StandardForm:
        sign = -1.0 if self.maximise else 1.0
        return StandardForm(
            name="program" if layout is None else layout.name,
            blocks=(Block("x", (self.q.size,), own=self.columns),) if layout is None else layout.blocks,
            q=sign * self.q + 0.0,
            constraints=constraints,
            lower=lower,
            upper=upper,
            integer=self.integer,
            r=sign * self.r + 0.0,
            maximise=self.maximise or (layout is not None and layout.maximise),
        )


def symmetric(entries: list[tuple[int, int, float]], n: int) -> sp.csc_array | None:
    """The symmetric matrix with these entries of one triangle; None where there are none."""
    if not entries:
        return None
    i, j, v = (np.array(part) for part in zip(*entries, strict=True))
    off = i != j
    return sp.csc_array((np.append(v, v[off]), (np.append(i, j[off]), np.append(j, i[off]))), shape=(n, n), dtype=np.float64)


class OneSided(NamedTuple):
    """Rows a'x = b or ≥ b, with their names where the file gives some."""

    A: sp.csr_array
    b: FloatArray
    equal: BoolArray
    names: tuple[str, ...] | None


def one_sided(A: sp.csr_array, left: FloatArray, right: FloatArray, names: Sequence[str] | None = None) -> OneSided:
    """Rows left ≤ Ax ≤ right as rows with one side: those from above are turned, free ones left out.

    A row with two different sides is two: the one from below in its place and, after all others, the one from above, which is
    called "its name (other side)".
    """
    below, above = left > -np.inf, right < np.inf
    kept, other = np.flatnonzero(below | above), np.flatnonzero(below & above & (left != right))
    sign = np.where(below[kept], 1.0, -1.0)
    b = np.concatenate([sign * np.where(below, left, right)[kept], -right[other]]) + 0.0
    stacked = sp.csr_array(sp.vstack([sp.diags_array(sign) @ A[kept], -A[other]], format="csr")) if kept.size else A[kept]
    equal = np.concatenate([(left == right)[kept], np.zeros(other.size, dtype=bool)])
    if names is None:
        return OneSided(stacked, b, equal, None)
    others = (f"{names[i]} (other side)" for i in other.tolist())
    return OneSided(stacked, b, equal, (*(names[i] for i in kept.tolist()), *others))
