"""Reader and writer of MathOptFormat 1.5 files (JSON), JuMP's format, which holds every feature of a form and its labels.

Vector constraints are VectorAffineFunction in Zeros, Nonnegatives, SecondOrderCone, RotatedSecondOrderCone, ExponentialCone,
PowerCone and, for semidefinite rows, Scaled PositiveSemidefiniteConeTriangle (svec: the upper triangle by columns, entries off
the diagonal times √2). A stack of equal cones is one constraint for each cone, named ``label[k]``; the file's ``description``
holds the layout (`models.export.layout`), by which the form reads back with its blocks and labels. Indicators are MathOptFormat's
own: (z, row) in Indicator(GreaterThan(0)), active on zero, or on one where the switch is 1 - z. Bilinear rows have a
ScalarQuadraticFunction. Files that JuMP wrote are read too; their dual exponential and power cones are read as linear images of
the cones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, short_text
from ...files import write_text
from ..arrays import BoolArray, FloatArray
from ..importing.quadratic_rows import QuadraticRow, bilinear_stack, one_sided_quadratic_rows, quadratic_cone, quadratic_rows
from ..importing.rows import unique_label
from ..program.cones import (
    PSD,
    Bilinear,
    Cone,
    Feature,
    Indicator,
    Nonnegative,
    RotatedSecondOrder,
    SecondOrder,
    Zero,
    svec_indices,
)
from ..program.exponential_cones import Exponential, Power
from ..program.form import Constraint, StandardForm
from ..program.quadratic import Quadratic
from .cone_rows import cone_names, indicator_rows
from .file_formats import FileFormat, InputFile
from .file_programs import StatedObjective, matrix_of_entries, one_block, scalar_constraints, symmetric_matrix, to_one_sided_rows
from .layout import Layout

# MathOptFormat as JuMP writes it: scalar and vector functions, affine or lists of variables, in the sets that a form has.
#
# Quadratic rows are cones where they are known to be convex, else bilinear rows. Refused by name: nonlinear functions, and sets
# beyond those (SOS, complementarity, other cones).

#: Cones by the format's names of their sets.
_CONES: dict[str, Callable[[int], Cone]] = {
    "Zeros": Zero, "Nonnegatives": Nonnegative, "Nonpositives": Nonnegative, "SecondOrderCone": SecondOrder,
    "RotatedSecondOrderCone": RotatedSecondOrder,
}  # fmt: skip
#: Exponential and power cones and their duals, which are linear images; sets of power cones have an exponent.
_TRANSCENDENTAL = ("ExponentialCone", "DualExponentialCone", "PowerCone", "DualPowerCone")
#: The set of semidefinite matrices, with entries of the matrix itself.
_TRIANGLE = "PositiveSemidefiniteConeTriangle"


@dataclass(eq=False)
class _MofProgram:
    """The program of a MathOptFormat file as a minimisation of ½x'Px + q'x + r; ``index`` numbers the variables by name."""

    index: dict[str, int]
    q: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    r: float = 0.0
    P: sp.csc_array | None = None
    maximise: bool = False
    pieces: list[Constraint] = field(default_factory=list)
    #: Rows of scalar functions: name, coefficients, least and largest value.
    rows: list[tuple[str, dict[int, float], float, float]] = field(default_factory=list)
    quadratic_rows: list[QuadraticRow] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables."""
        return tuple(self.index)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Return the constraints: equalities, inequalities, vector constraints under their own names, then quadratic rows."""
        rows = (*self.scalar_rows(), *self.pieces)
        labels = {"x", *(c.label for c in rows)}
        return (
            *rows,
            *(Constraint(unique_label(row.name, labels), *quadratic_cone(row, self.lower)) for row in self.quadratic_rows),
        )

    def scalar_rows(self) -> list[Constraint]:
        """Return the rows of scalar affine functions: one constraint of equalities, one of inequalities."""
        if not self.rows:
            return []
        entries = [(i, j, v) for i, (_, row, _, _) in enumerate(self.rows) for j, v in row.items()]
        A = matrix_of_entries(entries, (len(self.rows), len(self.index)))
        left, right = (np.array([row[k] for row in self.rows], dtype=np.float64) for k in (2, 3))
        return scalar_constraints(*to_one_sided_rows(A, left, right, [name for name, *_ in self.rows]))


def _read_program(document: dict[str, Any]) -> _MofProgram:
    """Return the program of a parsed MathOptFormat document."""
    version = document["version"]["major"]
    if version != 1:
        raise DataError(f"version {version} of MathOptFormat is not read; version 1 is")
    index = {v["name"]: j for j, v in enumerate(document["variables"])}
    if len(index) != len(document["variables"]) or not all(isinstance(name, str) and name for name in index):
        raise DataError("the names of variables must be texts that differ and are not empty")
    n = len(index)
    program = _MofProgram(index, np.zeros(n), np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool))
    _read_objective(document["objective"], program)
    for number, c in enumerate(document["constraints"]):
        kind, name = c["function"]["type"], c.get("name") or f"c{number}"
        if kind == "Variable":
            _read_bound(c, program)
        elif kind == "ScalarAffineFunction":
            row, constant = _affine(c["function"]["terms"], index), float(c["function"]["constant"])
            low, high = _limits(c["set"])
            program.rows.append((name, row, low - constant, high - constant))
        elif kind == "ScalarQuadraticFunction":
            program.quadratic_rows += _read_quadratic(name, c, index)
        elif kind in ("VectorAffineFunction", "VectorOfVariables"):
            program.pieces.append(_read_piece(name, c, index))
        else:
            raise DataError(f"constraints of type {kind} are not read ({name})")
    return program


def _read_quadratic(name: str, c: dict[str, Any], index: dict[str, int]) -> Iterator[QuadraticRow]:
    function, a = c["function"], np.zeros(len(index))
    row, constant = _affine(function["affine_terms"], index), float(function["constant"])
    a[list(row)] = list(row.values())
    low, high = _limits(c["set"])
    Q = _products(function, index, 1.0)
    Q = sp.csc_array((a.size, a.size)) if Q is None else Q
    yield from one_sided_quadratic_rows(name, Q, a, low - constant, high - constant)


def _products(function: dict[str, Any], index: dict[str, int], sign: float) -> sp.csc_array | None:
    """Return Q of a function ½x'Qx + ..., in which a term (c, x, x) stands for ½c x² and (c, x, y) for c xy."""
    terms = function.get("quadratic_terms", [])
    return symmetric_matrix(
        [(index[t["variable_1"]], index[t["variable_2"]], sign * float(t["coefficient"])) for t in terms], len(index)
    )


def _affine(terms: list[dict[str, Any]], index: dict[str, int]) -> dict[int, float]:
    row: dict[int, float] = {}
    for term in terms:
        j = index[term["variable"]]
        row[j] = row.get(j, 0.0) + float(term["coefficient"])
    return row


def _read_objective(objective: dict[str, Any], read: _MofProgram) -> None:
    sense = objective["sense"]
    if sense not in ("min", "max", "feasibility"):
        raise DataError(f"an objective is min, max or feasibility, not {short_text(sense)}")
    if sense == "feasibility":
        return
    function = objective["function"]
    sign, kind = -1.0 if sense == "max" else 1.0, function["type"]
    read.maximise = sense == "max"
    if kind == "Variable":
        read.q[read.index[function["name"]]] = sign
        return
    if kind not in ("ScalarAffineFunction", "ScalarQuadraticFunction"):
        raise DataError(f"objectives of type {kind} are not read")
    row = _affine(function.get("terms", function.get("affine_terms", [])), read.index)
    read.q[list(row)] = sign * np.array(list(row.values()))
    read.r = sign * float(function["constant"]) + 0.0
    read.P = _products(function, read.index, sign)


def _limits(limits: dict[str, Any]) -> tuple[float, float]:
    """Return the lower and the upper limit of a scalar set."""
    kind = limits["type"]
    if kind == "EqualTo":
        return float(limits["value"]), float(limits["value"])
    if kind not in ("GreaterThan", "LessThan", "Interval"):
        raise DataError(f"sets of type {kind} are not read")
    return float(limits.get("lower", -np.inf)), float(limits.get("upper", np.inf))


def _read_piece(name: str, c: dict[str, Any], index: dict[str, int]) -> Constraint:
    function, kind, n = c["function"], c["set"]["type"], len(index)
    if function["type"] == "VectorOfVariables":
        columns = [index[variable] for variable in function["variables"]]
        rows, data, g = [*range(len(columns))], [1.0] * len(columns), np.zeros(len(columns))
    else:
        g = np.array(function["constants"], dtype=np.float64)
        rows = [t["output_index"] - 1 for t in function["terms"]]
        columns = [index[t["scalar_term"]["variable"]] for t in function["terms"]]
        data = [t["scalar_term"]["coefficient"] for t in function["terms"]]
    F = sp.csr_array((data, (rows, columns)), shape=(g.size, n), dtype=np.float64)
    if kind == "Scaled" and c["set"]["set"]["type"] == _TRIANGLE:
        return Constraint(name, F, g, PSD(g.size))
    if kind == _TRIANGLE:
        upper, lower = svec_indices(int(c["set"]["side_dimension"]))
        scale = np.where(upper == lower, 1.0, np.sqrt(2.0))
        return Constraint(name, sp.csr_array(sp.diags_array(scale) @ F), scale * g, PSD(g.size))
    if kind == "Indicator":
        return _read_indicator(name, c, F, g)
    if kind in _TRANSCENDENTAL:
        cone: Cone = Power(alpha=float(c["set"]["exponent"])) if "Power" in kind else Exponential()
        if g.size != 3:
            raise DataError(f"{kind} has three rows, not {g.size} ({name})")
        turn = cone.dual_map if kind.startswith("Dual") else None
        return Constraint(name, F, g, cone) if turn is None else Constraint(name, sp.csr_array(turn) @ F, turn @ g + 0.0, cone)
    if kind not in _CONES:
        raise DataError(f"sets of type {kind} are not read ({name})")
    sign = -1.0 if kind == "Nonpositives" else 1.0
    return Constraint(name, sp.csr_array(sign * F), sign * g + 0.0, _CONES[kind](g.size))


def _read_indicator(name: str, c: dict[str, Any], F: sp.csr_array, g: FloatArray) -> Constraint:
    """Return the indicator that z = 0 or z = 1 implies row ≥ lower, or row ≤ upper; its switch is z or 1 - z, 0 when active."""
    inner, sign, shift = c["set"]["set"], np.ones(2), np.zeros(2)
    if inner["type"] == "GreaterThan":
        shift[1] = -inner["lower"]
    elif inner["type"] == "LessThan":
        sign[1], shift[1] = -1.0, inner["upper"]
    else:
        raise DataError(f"indicators of sets of type {inner['type']} are not read ({name})")
    if c["set"]["activate_on"] == "one":
        sign[0], shift[0] = -1.0, 1.0
    return Constraint(name, sp.csr_array(sp.diags_array(sign) @ F), sign * g + shift, Indicator(2))


def _read_bound(c: dict[str, Any], read: _MofProgram) -> None:
    j, kind = read.index[c["function"]["name"]], c["set"]["type"]
    if kind == "Integer":
        read.integer[j] = True
        return
    if kind == "ZeroOne":
        read.integer[j], low, high = True, 0.0, 1.0
    else:
        low, high = _limits(c["set"])
    read.lower[j], read.upper[j] = max(read.lower[j], low), min(read.upper[j], high)


#: The format's names of the sets that are given by a dimension.
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
            "objective": {"sense": "max" if form.maximise else "min", "function": _objective(StatedObjective.of(form), names)},
            "constraints": constraints,
        }
        write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")

    def read(self, source: InputFile) -> StandardForm:
        document = json.loads(source.text)
        layout = _layout(document)
        program = _read_program(document)
        constraints = program.constraints if layout is None else _regrouped(program, layout)
        return StandardForm(
            name=(document.get("name") or "") if layout is None else layout.name,
            blocks=(one_block(program.q.size, program.names),) if layout is None else layout.blocks,
            q=program.q,
            constraints=constraints,
            lower=program.lower,
            upper=program.upper,
            integer=program.integer,
            quadratic=None if program.P is None else Quadratic(matrix=program.P),
            r=program.r,
            maximise=program.maximise or (layout is not None and layout.maximise),
            class_names=() if layout is None else layout.class_names,
        )


def _objective(objective: StatedObjective, names: list[str]) -> dict[str, Any]:
    affine = [{"coefficient": float(objective.q[j]), "variable": names[j]} for j in np.flatnonzero(objective.q)]
    if objective.P is None:
        return {"type": "ScalarAffineFunction", "terms": affine, "constant": objective.r}
    return _quadratic(objective.P, affine, objective.r, names)


def _quadratic(Q: sp.csc_array, affine: list[dict[str, Any]], constant: float, names: list[str]) -> dict[str, Any]:
    """Return ½x'Qx + affine terms + constant as JSON: a term (c, x, x) stands for ½c x², a term (c, x, y) for c xy."""
    upper = sp.coo_array(sp.triu(Q))
    quadratic = [
        {"coefficient": float(v), "variable_1": names[i], "variable_2": names[j]}
        for i, j, v in zip(upper.row, upper.col, upper.data, strict=True)
    ]
    return {"type": "ScalarQuadraticFunction", "affine_terms": affine, "quadratic_terms": quadratic, "constant": constant}


def _quadratic_pieces(c: Constraint, names: list[str]) -> Iterator[dict[str, Any]]:
    for row in quadratic_rows(c) if c.rows else ():
        affine = [{"coefficient": float(row.a[j]), "variable": names[j]} for j in np.flatnonzero(row.a)]
        side = {"type": "EqualTo", "value": row.b} if row.equality else {"type": "LessThan", "upper": row.b}
        yield {"name": row.name, "function": _quadratic(row.Q, affine, 0.0, names), "set": side}


def _pieces(c: Constraint, names: list[str]) -> Iterator[dict[str, Any]]:
    if isinstance(c.cone, Bilinear):
        yield from _quadratic_pieces(c, names)
        return
    single = isinstance(c.cone, (Zero, Nonnegative))
    labels, dim = ([c.label], c.rows) if single else (cone_names(c), c.cone.dim)
    count = len(labels)
    F, g = c.F, c.g
    active = np.zeros(count, dtype=bool)
    if isinstance(c.cone, Indicator):  # the first row is z itself; the set says at which value of z the row must hold
        active = g[0::2] == 1.0
        signs = np.ravel([np.where(active, -1.0, 1.0), np.ones(count)], order="F")
        F, g = sp.csr_array(sp.diags_array(signs) @ F), np.where(np.repeat(active, 2) & (np.arange(g.size) % 2 == 0), 0.0, g)
    for k, label in enumerate(labels):
        rows = sp.coo_array(F[np.arange(k * dim, (k + 1) * dim)])
        terms = [
            {"output_index": int(i) + 1, "scalar_term": {"coefficient": float(v), "variable": names[j]}}
            for i, j, v in zip(rows.row, rows.col, rows.data, strict=True)
        ]
        yield {
            "name": label,
            "function": {"type": "VectorAffineFunction", "terms": terms, "constants": g[k * dim : (k + 1) * dim].tolist()},
            "set": _set(c.cone, dim, "one" if active[k] else "zero"),
        }


def _set(cone: Cone, dim: int, active: str) -> dict[str, Any]:
    if isinstance(cone, PSD):
        return {"type": "Scaled", "set": {"type": "PositiveSemidefiniteConeTriangle", "side_dimension": cone.order}}
    if isinstance(cone, Exponential):
        return {"type": "ExponentialCone"}
    if isinstance(cone, Power):
        return {"type": "PowerCone", "exponent": cone.alpha}
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


def _regrouped(program: _MofProgram, layout: Layout) -> tuple[Constraint, ...]:
    pieces, remaining_rows = (*program.scalar_rows(), *program.pieces), iter(program.quadratic_rows)
    F = sp.csr_array(sp.vstack([c.F for c in pieces], format="csr")) if pieces else None
    g = np.concatenate([c.g for c in pieces]) if pieces else np.zeros(0)
    unfit = DataError("the layout in the file's description does not fit its constraints")
    constraints, start = [], 0
    for label, cone, row_names in layout.constraints:
        if isinstance(cone, Bilinear):
            stack = list(islice(remaining_rows, cone.count))
            if len(stack) < cone.count or any(row.equality != cone.equality for row in stack):
                raise unfit
            constraints.append(Constraint(label, *bilinear_stack(stack)))
            continue
        rows = np.arange(start, start + cone.rows)
        start += cone.rows
        if F is None or start > g.size:
            raise unfit
        constraints.append(Constraint(label, sp.csr_array(F[rows]), g[rows], cone, row_names))
    if start != g.size or next(remaining_rows, None) is not None:
        raise unfit
    return tuple(constraints)


#: The format, which `models.export.file_formats` finds.
FORMAT = _MOF()
