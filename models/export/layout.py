"""The layout of a form as plain data: blocks, constraints with their cones, name and sense; and flat programs.

A `FlatProgram` is what formats without blocks or labels carry; `Layout` is what turns it back into the form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import DataError
from ..arrays import BoolArray, FloatArray
from ..cones import PSD, Cone, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ..form import Block, Constraint, Quadratic, StandardForm

__all__ = ["FlatProgram", "Layout", "cone_named", "sidecar"]

_CONES: Mapping[str, type[Cone]] = {cone.symbol: cone for cone in (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, PSD)}


def cone_named(symbol: str, dim: int, count: int) -> Cone:
    """The cone of this symbol; see `models.cones`."""
    if symbol not in _CONES:
        raise DataError(f"unknown cone {symbol!r}; known: {', '.join(_CONES)}")
    return _CONES[symbol](dim, count)


def sidecar(path: Path) -> Path:
    """Where the layout of a file without labels is kept."""
    return path.with_name(path.name + ".names.json")


@dataclass(frozen=True)
class Layout:
    """Blocks, constraints and sense of a form, without its numbers."""

    name: str
    blocks: tuple[Block, ...]
    constraints: tuple[tuple[str, Cone], ...]
    maximise: bool
    constant: float

    @classmethod
    def of(cls, form: StandardForm) -> Layout:
        """The layout of a form."""
        return cls(form.name, form.blocks, tuple((c.label, c.cone) for c in form.constraints), form.maximise, form.r)

    def record(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "format": "marginopt layout 1",
            "name": self.name,
            "maximise": self.maximise,
            "constant": self.constant,
            "blocks": [{"label": b.label, "shape": list(b.shape), "symmetric": b.symmetric} for b in self.blocks],
            "constraints": [
                {"label": label, "cone": cone.symbol, "dim": cone.dim, "count": cone.count} for label, cone in self.constraints
            ],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Layout:
        """The inverse of `record`."""
        if record.get("format") != "marginopt layout 1":
            raise DataError("not a layout that this version reads")
        blocks = tuple(Block(b["label"], tuple(b["shape"]), b["symmetric"]) for b in record["blocks"])
        constraints = tuple((c["label"], cone_named(c["cone"], c["dim"], c["count"])) for c in record["constraints"])
        return cls(record["name"], blocks, constraints, record["maximise"], record["constant"])

    def save(self, path: Path) -> None:
        """Write the sidecar of a file."""
        sidecar(path).write_text(json.dumps(self.record(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Layout | None:
        """The sidecar's layout of a file; None where there is none."""
        place = sidecar(path)
        return cls.from_record(json.loads(place.read_text(encoding="utf-8"))) if place.exists() else None


@dataclass(frozen=True, eq=False)
class FlatProgram:
    """min ½x'Px + q'x + r, rows a_i'x = b_i or ≥ b_i in the order of the form, bounds, integrality.

    ``equal`` says which rows are equalities.
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
        """The form with the labels of ``layout``; one block ``x`` and plain rows without it."""
        constraints = self._plain() if layout is None else self._labelled(layout)
        n = self.q.size
        return StandardForm(
            name="program" if layout is None else layout.name,
            blocks=(Block("x", (n,)),) if layout is None else layout.blocks,
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
            if rows.size:
                found.append(Constraint(label, sp.csr_array(self.A[rows]), -self.b[rows] + 0.0, cone(rows.size)))
        return tuple(found)

    def _labelled(self, layout: Layout) -> tuple[Constraint, ...]:
        total = sum(cone.rows for _, cone in layout.constraints)
        if total != self.b.size or sum(b.size for b in layout.blocks) != self.q.size:
            raise DataError("the sidecar's layout does not fit the file: other sizes")
        found, start = [], 0
        for label, cone in layout.constraints:
            rows = np.arange(start, start + cone.rows)
            start += cone.rows
            found.append(Constraint(label, sp.csr_array(self.A[rows]), -self.b[rows] + 0.0, cone))
        return tuple(found)
