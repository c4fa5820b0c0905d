"""The layout of a form as plain data: blocks, constraints with their cones, name and sense; and flat programs.

A `FlatProgram` is what formats without blocks or labels carry, a `ConicProgram` what those with cones do; `Layout` is what
turns them back into the form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ....files import FAULTS, fault, read_text
from ...arrays import BoolArray, FloatArray, IntArray
from ...program.cones import PSD, Cone, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...program.form import Block, Constraint, Quadratic, StandardForm

__all__ = ["ConicProgram", "FlatProgram", "Layout", "Rows", "cone_named", "sidecar", "symmetric"]

_READ = (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, PSD, Indicator)
_CONES: Mapping[str, type[Cone]] = {cone.symbol: cone for cone in _READ}


def cone_named(symbol: str, dim: int, count: int) -> Cone:
    """The cone of this symbol; see `models.program.cones`."""
    if symbol not in _CONES:
        raise DataError(f"unknown cone {symbol!r}; known: {', '.join(_CONES)}")
    return _CONES[symbol](dim, count)


def _whole(value: Any) -> int:
    """A size of a layout, which no array of this machine exceeds."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise DataError(f"a size must be a whole number; it is {value!r}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"a label must be text; it is {value!r}")
    return value


def _names(record: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Names of its own that a block or constraint has."""
    return tuple(_text(name) for name in record["names"]) if "names" in record else None


def _named(record: dict[str, Any], own: tuple[str, ...] | None) -> dict[str, Any]:
    return record if own is None else {**record, "names": list(own)}


def sidecar(path: Path) -> Path:
    """Where the layout of a file without labels is kept."""
    return path.with_name(path.name + ".names.json")


class Rows(NamedTuple):
    """A constraint without its numbers; ``own`` as in `Constraint`."""

    label: str
    cone: Cone
    own: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """Blocks, constraints and sense of a form, without its numbers.

    ``order`` is there for formats that prescribe the order of the variables: the form's index of each of the file's.
    """

    name: str
    blocks: tuple[Block, ...]
    constraints: tuple[Rows, ...]
    maximise: bool
    constant: float
    order: tuple[int, ...] | None = None

    @classmethod
    def of(cls, form: StandardForm, order: IntArray | None = None) -> Layout:
        """The layout of a form."""
        constraints = tuple(Rows(c.label, c.cone, c.own) for c in form.constraints)
        kept = None if order is None else tuple(order.tolist())
        return cls(form.name, form.blocks, constraints, form.maximise, form.r, kept)

    @property
    def names(self) -> list[str]:
        """One name for each scalar variable, in the order of the form."""
        return [name for block in self.blocks for name in block.names()]

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        record = {
            "format": "marginopt layout 1",
            "name": self.name,
            "maximise": self.maximise,
            "constant": self.constant,
            "blocks": [
                _named({"label": b.label, "shape": list(b.shape), "symmetric": b.symmetric}, b.own) for b in self.blocks
            ],
            "constraints": [
                _named({"label": c.label, "cone": c.cone.symbol, "dim": c.cone.dim, "count": c.cone.count}, c.own)
                for c in self.constraints
            ],
        }
        return record if self.order is None else {**record, "order": list(self.order)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Layout:
        """The inverse of `record`."""
        if not isinstance(record, Mapping) or record.get("format") != "marginopt layout 1":
            raise DataError("not a layout that this version reads")
        blocks = tuple(
            Block(_text(b["label"]), tuple(_whole(k) for k in b["shape"]), bool(b["symmetric"]), _names(b))
            for b in record["blocks"]
        )
        if any(b.symmetric and (len(b.shape) != 2 or b.shape[0] != b.shape[1]) for b in blocks):
            raise DataError("a symmetric block that is not square")
        constraints = tuple(
            Rows(_text(c["label"]), cone_named(c["cone"], _whole(c["dim"]), _whole(c["count"])), _names(c))
            for c in record["constraints"]
        )
        order = tuple(_whole(j) for j in record["order"]) if "order" in record else None
        return cls(_text(record["name"]), blocks, constraints, bool(record["maximise"]), float(record["constant"]), order)

    @property
    def text(self) -> str:
        """What a sidecar holds."""
        return json.dumps(self.record(), indent=1) + "\n"

    @classmethod
    def load(cls, path: Path) -> Layout | None:
        """The sidecar's layout of a file; None where there is none."""
        place = sidecar(path)
        if not place.exists():
            return None
        try:
            return cls.from_record(json.loads(read_text(place)))
        except FAULTS as error:
            raise DataError(f"its sidecar {place.name} cannot be read: {fault(error)}") from error


@dataclass(frozen=True, eq=False)
class FlatProgram:
    """min ½x'Px + q'x + r, rows a_i'x = b_i or ≥ b_i in the order of the form, bounds, integrality.

    ``equal`` says which rows are equalities; ``columns`` and ``rows`` are the names in a file.
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

    @classmethod
    def of(cls, form: StandardForm) -> FlatProgram:
        """Rows F x ≥ -g and F x = -g of a form with linear cones only."""
        F, g = form.rows_matrix()
        kinds = [np.full(c.rows, isinstance(c.cone, Zero)) for c in form.constraints]
        equal = np.concatenate(kinds) if kinds else np.zeros(0, dtype=bool)
        P = None if form.quadratic is None else form.quadratic.csc
        # + 0.0 turns -0 into 0: equal numbers, and some formats print the sign
        return cls(P, form.q + 0.0, form.r, F, -g + 0.0, equal, form.lower, form.upper, form.integer)

    def to_form(self, layout: Layout | None) -> StandardForm:
        """The form with the labels of ``layout``; without it one block ``x`` and plain rows, each with the names of the file."""
        constraints = self._plain() if layout is None else self._labelled(layout)
        return StandardForm(
            name="program" if layout is None else layout.name,
            blocks=(Block("x", (self.q.size,), own=self.columns),) if layout is None else layout.blocks,
            q=self.q,
            constraints=constraints,
            lower=self.lower,
            upper=self.upper,
            integer=self.integer,
            quadratic=None if self.P is None or not self.P.nnz else Quadratic(matrix=self.P),
            r=self.r,
            maximise=False if layout is None else layout.maximise,
        )

    def _plain(self) -> tuple[Constraint, ...]:
        found = []
        for label, mask, cone in (("equal", self.equal, Zero), ("greater", ~self.equal, Nonnegative)):
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
    variables in the file.
    """

    q: FloatArray
    r: float
    pieces: tuple[Constraint, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    surplus: bool = False
    columns: tuple[str, ...] | None = None

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
        return StandardForm(
            name="program" if layout is None else layout.name,
            blocks=(Block("x", (self.q.size,), own=self.columns),) if layout is None else layout.blocks,
            q=self.q,
            constraints=constraints,
            lower=lower,
            upper=upper,
            integer=self.integer,
            r=self.r,
            maximise=False if layout is None else layout.maximise,
        )


def symmetric(entries: list[tuple[int, int, float]], n: int) -> sp.csc_array | None:
    """The symmetric matrix with these entries of one triangle; None where there are none."""
    if not entries:
        return None
    i, j, v = (np.array(part) for part in zip(*entries, strict=True))
    off = i != j
    return sp.csc_array((np.append(v, v[off]), (np.append(i, j[off]), np.append(j, i[off]))), shape=(n, n), dtype=np.float64)
