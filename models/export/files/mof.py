"""MathOptFormat 1.5 (JSON): carries everything, labels included; JuMP reads it.

Vector constraints are VectorAffineFunction in Zeros, Nonnegatives, SecondOrderCone, RotatedSecondOrderCone and, for our svec
rows, Scaled PositiveSemidefiniteConeTriangle. A stack of equal cones is one constraint for each cone, named
``label[k]``; the file's ``description`` holds the layout, by which the form reads back with its blocks and labels. Indicators are
MathOptFormat's own: (z, row) in Indicator(GreaterThan(0)), active on zero.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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

__all__ = ["FORMAT"]

_SETS: dict[type[Cone], str] = {
    Zero: "Zeros",
    Nonnegative: "Nonnegatives",
    SecondOrder: "SecondOrderCone",
    RotatedSecondOrder: "RotatedSecondOrderCone",
}
_CONES: dict[str, Callable[[int], Cone]] = {name: cone for cone, name in _SETS.items()}


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
        if document["objective"]["sense"] != "min":
            raise DataError("only files that minimise are read")
        index = {v["name"]: j for j, v in enumerate(document["variables"])}
        if len(index) != len(document["variables"]) or not all(isinstance(name, str) for name in index):
            raise DataError("the names of variables must be texts that differ")
        q, r, quadratic = _read_objective(document["objective"]["function"], index)
        lower, upper, integer = np.full(len(index), -np.inf), np.full(len(index), np.inf), np.zeros(len(index), dtype=bool)
        pieces = []
        for c in document["constraints"]:
            if c["function"]["type"] == "Variable":
                _read_bound(c, index, lower, upper, integer)
            else:
                pieces.append(_read_piece(c, index))
        layout = _layout(document)
        blocks = (Block("x", (len(index),), own=tuple(index)),) if layout is None else layout.blocks
        constraints = tuple(pieces) if layout is None else _regrouped(pieces, layout)
        name, maximise = ("program", False) if layout is None else (layout.name, layout.maximise)
        return StandardForm(name, blocks, q, constraints, lower, upper, integer, quadratic, r, maximise)


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
    for k in range(count):
        rows = sp.coo_array(c.F[np.arange(k * dim, (k + 1) * dim)])
        terms = [
            {"output_index": int(i) + 1, "scalar_term": {"coefficient": float(v), "variable": names[j]}}
            for i, j, v in zip(rows.row, rows.col, rows.data, strict=True)
        ]
        yield {
            "name": c.label if count == 1 else f"{c.label}[{k}]",
            "function": {"type": "VectorAffineFunction", "terms": terms, "constants": c.g[k * dim : (k + 1) * dim].tolist()},
            "set": _set(c.cone, dim),
        }


def _set(cone: Cone, dim: int) -> dict[str, Any]:
    if isinstance(cone, PSD):
        return {"type": "Scaled", "set": {"type": "PositiveSemidefiniteConeTriangle", "side_dimension": cone.order}}
    if isinstance(cone, Indicator):
        return {"type": "Indicator", "set": {"type": "GreaterThan", "lower": 0.0}, "activate_on": "zero"}
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


def _read_objective(function: dict[str, Any], index: dict[str, int]) -> tuple[Any, float, Quadratic | None]:
    n = len(index)
    q = np.zeros(n)
    for term in function.get("terms", function.get("affine_terms", [])):
        q[index[term["variable"]]] += term["coefficient"]
    terms = function.get("quadratic_terms", [])
    if not terms:
        return q, float(function["constant"]), None
    i = np.array([index[t["variable_1"]] for t in terms])
    j = np.array([index[t["variable_2"]] for t in terms])
    v = np.array([t["coefficient"] for t in terms], dtype=np.float64)
    off = i != j
    P = sp.csc_array((np.append(v, v[off]), (np.append(i, j[off]), np.append(j, i[off]))), shape=(n, n))
    return q, float(function["constant"]), Quadratic(matrix=P)


def _read_piece(c: dict[str, Any], index: dict[str, int]) -> Constraint:
    function, kind = c["function"], c["set"]["type"]
    if function["type"] != "VectorAffineFunction":
        raise DataError(f"constraints of type {function['type']} are not read")
    g = np.array(function["constants"], dtype=np.float64)
    rows = [t["output_index"] - 1 for t in function["terms"]]
    columns = [index[t["scalar_term"]["variable"]] for t in function["terms"]]
    data = [t["scalar_term"]["coefficient"] for t in function["terms"]]
    F = sp.csr_array((data, (rows, columns)), shape=(g.size, len(index)), dtype=np.float64)
    if kind == "Scaled":
        return Constraint(c["name"], F, g, PSD(g.size))
    if kind == "Indicator":
        return _read_indicator(c, F, g)
    if kind not in _CONES:
        raise DataError(f"sets of type {kind} are not read")
    return Constraint(c["name"], F, g, _CONES[kind](g.size))


def _read_indicator(c: dict[str, Any], F: sp.csr_array, g: Any) -> Constraint:
    """(z, row) with z = 0 (ours) or z = 1 asking row ≥ lower, or ≤ upper."""
    inner, sign, shift = c["set"]["set"], np.ones(2), np.zeros(2)
    if inner["type"] == "GreaterThan":
        shift[1] = -inner["lower"]
    elif inner["type"] == "LessThan":
        sign[1], shift[1] = -1.0, inner["upper"]
    else:
        raise DataError(f"indicators of sets of type {inner['type']} are not read")
    if c["set"]["activate_on"] == "one":
        sign[0], shift[0] = -1.0, 1.0
    return Constraint(c["name"], sp.csr_array(sp.diags_array(sign) @ F), sign * g + shift, Indicator(2))


def _read_bound(c: dict[str, Any], index: dict[str, int], lower: Any, upper: Any, integer: Any) -> None:
    j, kind = index[c["function"]["name"]], c["set"]["type"]
    if kind == "GreaterThan":
        lower[j] = c["set"]["lower"]
    elif kind == "LessThan":
        upper[j] = c["set"]["upper"]
    elif kind == "Integer":
        integer[j] = True
    elif kind == "ZeroOne":
        integer[j], lower[j], upper[j] = True, max(lower[j], 0.0), min(upper[j], 1.0)
    else:
        raise DataError(f"bounds of type {kind} are not read")


def _layout(document: dict[str, Any]) -> Layout | None:
    text = document.get("description", "")
    return Layout.from_record(json.loads(text)) if text.startswith('{"format": "marginopt layout') else None


def _regrouped(pieces: list[Constraint], layout: Layout) -> tuple[Constraint, ...]:
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
