"""MPS with the sections QUADOBJ (QPS) and INDICATORS: linear rows, quadratic objective, bounds, integers; labels in the sidecar.

Free MPS is written; `mps_reader` reads that and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ....files import write_texts
from ...program.cones import Feature
from ...program.form import StandardForm
from ..shared.layout import Layout, sidecar
from ..shared.programs import FlatProgram
from .formats import FileFormat, Source
from .lp import labelled, plain_names, plain_rows
from .mps_reader import read_program

__all__ = ["FORMAT"]


class _MPS(FileFormat):
    suffix = ".mps"
    also_read = (".qps", ".sif")
    title = "MPS"
    carries = frozenset({Feature.QUADRATIC, Feature.INTEGER, Feature.INDICATOR})

    def write(self, form: StandardForm, path: Path) -> None:
        flat = FlatProgram.of(form)
        x = plain_names(form.names())
        rows = plain_rows(form.constraints)
        cost = "obj"
        while cost in rows:
            cost += "_"
        lines = [
            f"* {form.name}; written by marginopt",
            f"NAME {plain_names([form.name])[0]}",
            "OBJSENSE",
            "    MIN",
            "ROWS",
            f" N {cost}",
        ]
        equal = [*flat.equal.tolist(), *(False for _ in flat.indicators)]
        lines += [f" {'E' if both else 'G'} {name}" for name, both in zip(rows, equal, strict=True)]
        lines.append("COLUMNS")
        lines += list(_columns(flat, x, rows, cost))
        lines.append("RHS")
        if flat.r:
            lines.append(f"    rhs {cost} {-flat.r:.17g}")  # the objective's constant, with its sign changed
        sides = [*flat.b.tolist(), *(row.lower for row in flat.indicators)]
        lines += [f"    rhs {name} {value:.17g}" for name, value in zip(rows, sides, strict=True) if value]
        lines.append("BOUNDS")
        for name, low, high, integer in zip(x, flat.lower, flat.upper, flat.integer, strict=True):
            lines += [f" {kind} bnd {name}{value}" for kind, value in _bounds(low, high, bool(integer))]
        if flat.P is not None and flat.P.nnz:
            lines.append("QUADOBJ")
            lower = sp.coo_array(sp.tril(flat.P))
            lines += [f"    {x[j]} {x[i]} {v:.17g}" for i, j, v in zip(lower.row, lower.col, lower.data, strict=True)]
        if flat.indicators:
            lines.append("INDICATORS")
            lines += [f" IF {n} {x[k.binary]} {k.active}" for n, k in zip(rows[flat.b.size :], flat.indicators, strict=True)]
        text = "\n".join([*lines, "ENDATA", ""])
        write_texts({path: text, sidecar(path): Layout.of(form).beside(text)})

    def read(self, source: Source) -> StandardForm:
        return labelled(read_program(source), source)


def _columns(flat: FlatProgram, x: list[str], rows: list[str], cost: str) -> Iterator[str]:
    A = sp.csc_array(sp.vstack([flat.A, *(row.a for row in flat.indicators)]))
    marked = False
    for j, name in enumerate(x):
        if bool(flat.integer[j]) != marked:
            marked = not marked
            yield f"    marker{j} 'MARKER' '{'INTORG' if marked else 'INTEND'}'"
        yield f"    {name} {cost} {flat.q[j]:.17g}"
        for k in range(A.indptr[j], A.indptr[j + 1]):
            yield f"    {name} {rows[A.indices[k]]} {A.data[k]:.17g}"
    if marked:
        yield "    markerend 'MARKER' 'INTEND'"


def _bounds(low: float, high: float, integer: bool) -> Iterator[tuple[str, str]]:
    """Every bound in full: readers differ in what they take for granted, for integers above all."""
    if low == -np.inf and high == np.inf:
        yield "FR", ""
        return
    if integer and (low, high) == (0.0, 1.0):
        yield "BV", ""
        return
    if low == high:
        yield "FX", f" {low:.17g}"
        return
    if low == -np.inf:
        yield "MI", ""
    elif low != 0 or integer:
        yield "LO", f" {low:.17g}"
    if high != np.inf:
        yield "UP", f" {high:.17g}"
    elif integer:
        yield "PL", ""


FORMAT = _MPS()
