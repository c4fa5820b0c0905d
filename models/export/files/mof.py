"""MathOptFormat 1.5 (JSON): carries everything, labels included; JuMP reads it.

Vector constraints are VectorAffineFunction in Zeros, Nonnegatives, SecondOrderCone, RotatedSecondOrderCone and, for our svec
rows, Scaled PositiveSemidefiniteConeTriangle. A stack of equal cones is one constraint for each cone, named
``label[k]``; the file's ``description`` holds the layout, by which the form reads back with its blocks and labels. Indicators are
MathOptFormat's own: (z, row) in Indicator(GreaterThan(0)), active on zero, or on one where the switch is 1 - z. Files that JuMP
wrote are read too (`mof_reader`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ....errors import DataError
from ....files import write_text
from ...program.cones import PSD, Cone, Feature, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...program.form import Block, Constraint, Quadratic, StandardForm
from ..shared.indicators import indicator_rows
from ..shared.layout import Layout
from .formats import FileFormat, Source
from .mof_reader import read_program

__all__ = ["FORMAT"]

_SETS: dict[type[Cone], str] = {
    Zero: "Zeros",
    Nonnegative: "Nonnegatives",
    SecondOrder: "SecondOrderCone",
    RotatedSecondOrder: "RotatedSecondOrderCone",
}


class _MOF(FileFormat):
    suffix = ".mof.json"
    title = "MathOptFormat"
    carries = frozenset(Feature)

    def write(self, form: StandardForm, path: Path) -> None:
        indicator_rows(form)  # refuses switches that are no binary variables
        names = form.names()
        constraints = [piece for c in form.constraints for piece in _pieces(c, names)]
        constraints += list(_bounds(form, names))
        document = {
            "name": form.name,
            "description": json.dumps(Layout.of(form).record()),
            "version": {"major": 1, "minor": 5},
            "variables": [{"name": name} for name in names],
            "objective": {"sense": "min", "function": _objective(form, names)},
            "constraints": constraints,
        }
        write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")

    def read(self, source: Source) -> StandardForm:
        document = json.loads(source.text)
        layout = _layout(document)
        found = read_program(document)
        constraints = found.constraints if layout is None else _regrouped(found.constraints, layout)
        return StandardForm(
            name=(document.get("name") or "program") if layout is None else layout.name,
            blocks=(Block("x", (found.q.size,), own=found.names),) if layout is None else layout.blocks,
            q=found.q,
            constraints=constraints,
            lower=found.lower,
            upper=found.upper,
            integer=found.integer,
            quadratic=None if found.P is None else Quadratic(matrix=found.P),
            r=found.r,
            maximise=found.maximise or (layout is not None and layout.maximise),
        )


def _objective(form: StandardForm, names: list[str]) -> dict[str, Any]:
    affine = [{"coefficient": float(form.q[j]), "variable": names[j]} for j in np.flatnonzero(form.q)]
    if form.quadratic is None:
        return {"type": "ScalarAffineFunction", "terms": affine, "constant": form.r}
    upper = sp.coo_array(sp.triu(form.quadratic.csc))
    # ½x'Px: a diagonal term (c, x, x) stands for ½c x², an off-diagonal one (c, x, y) for c xy
    quadratic = [
        {"coefficient": float(v), "variable_1": names[i], "variable_2": names[j]}
        for i, j, v in zip(upper.row, upper.col, upper.data, strict=True)
    ]
    return {"type": "ScalarQuadraticFunction", "affine_terms": affine, "quadratic_terms": quadratic, "constant": form.r}


def _pieces(c: Constraint, names: list[str]) -> Iterator[dict[str, Any]]:
    single = isinstance(c.cone, (Zero, Nonnegative))
    count, dim = (1, c.rows) if single else (c.cone.count, c.cone.dim)
    F, g = c.F, c.g
    on = np.zeros(count, dtype=bool)
    if isinstance(c.cone, Indicator):  # z stands for itself, and the set says at which value it asks for the row
        on = g[0::2] == 1.0
        turned = np.ravel([np.where(on, -1.0, 1.0), np.ones(count)], order="F")
        F, g = sp.csr_array(sp.diags_array(turned) @ F), np.where(np.repeat(on, 2) & (np.arange(g.size) % 2 == 0), 0.0, g)
    for k in range(count):
        rows = sp.coo_array(F[np.arange(k * dim, (k + 1) * dim)])
        terms = [
            {"output_index": int(i) + 1, "scalar_term": {"coefficient": float(v), "variable": names[j]}}
            for i, j, v in zip(rows.row, rows.col, rows.data, strict=True)
        ]
        yield {
            "name": c.label if count == 1 else f"{c.label}[{k}]",
            "function": {"type": "VectorAffineFunction", "terms": terms, "constants": g[k * dim : (k + 1) * dim].tolist()},
            "set": _set(c.cone, dim, "one" if on[k] else "zero"),
        }


def _set(cone: Cone, dim: int, active: str) -> dict[str, Any]:
    if isinstance(cone, PSD):
        return {"type": "Scaled", "set": {"type": "PositiveSemidefiniteConeTriangle", "side_dimension": cone.order}}
    if isinstance(cone, Indicator):
        return {"type": "Indicator", "set": {"type": "GreaterThan", "lower": 0.0}, "activate_on": active}
    return {"type": _SETS[type(cone)], "dimension": dim}


def _bounds(form: StandardForm, names: list[str]) -> Iterator[dict[str, Any]]:
    for j, name in enumerate(names):
        function = {"type": "Variable", "name": name}
        if np.isfinite(form.lower[j]):
            yield {"function": function, "set": {"type": "GreaterThan", "lower": float(form.lower[j])}}
        if np.isfinite(form.upper[j]):
            yield {"function": function, "set": {"type": "LessThan", "upper": float(form.upper[j])}}
        if form.integer[j]:
            yield {"function": function, "set": {"type": "Integer"}}


def _layout(document: dict[str, Any]) -> Layout | None:
    text = document.get("description", "")
    return Layout.from_record(json.loads(text)) if text.startswith('{"format": "marginopt layout') else None


def _regrouped(pieces: tuple[Constraint, ...], layout: Layout) -> tuple[Constraint, ...]:
    F = sp.csr_array(sp.vstack([c.F for c in pieces], format="csr")) if pieces else None
    g = np.concatenate([c.g for c in pieces]) if pieces else np.zeros(0)
    found, start = [], 0
    for label, cone, own in layout.constraints:
        rows = np.arange(start, start + cone.rows)
        start += cone.rows
        if F is None or start > g.size:
            raise DataError("the layout in the file's description does not fit its constraints")
        found.append(Constraint(label, sp.csr_array(F[rows]), g[rows], cone, own))
    if start != g.size:
        raise DataError("the layout in the file's description does not fit its constraints")
    return tuple(found)


FORMAT = _MOF()
