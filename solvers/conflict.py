"""Irreducible infeasible subsystem (IIS) of an infeasible model, by `conflict`: rows and bounds that no x satisfies together.

The rows are those of the standard form, F x + g in a product of cones. The method is a deletion filter. Every round solves the
feasibility problem of the remaining rows. Checked Farkas multipliers (`solvers.certification.rays`) reduce the set at once to the
rows with a non-zero multiplier. A row without which a point exists belongs to the set. Over linear rows the last set is checked
in rational arithmetic: it is infeasible and irreducible if and only if the multipliers of its rows span one direction, with the
right signs and no zero (Gleeson and Ryan 1990), and then the proof is exact. In a form with integers it proves that the set is
infeasible, but a smaller set may be infeasible too. Otherwise the claim rests on certificates and solvers in floating point, and
`Conflict` says so.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..models.arrays import BoolArray
from ..models.export_methods import CONFLICT, Conflict, ExportMethods
from ..models.model import as_model
from ..models.program.cones import Indicator, Nonnegative, Zero
from ..models.program.form import Constraint, StandardForm
from .certification.result import Result
from .rational import null_vector
from .records import Options, Status
from .registry import SolverLike, SolverSpec, resolve_solver
from .solve import solve_problem

#: One element: (label, index of the row, or of the cone of a stack), or ("lower" | "upper", index of the variable).
_Element: TypeAlias = tuple[str, int]


def conflict(model: ExportMethods, solver: SolverLike | None = None, max_solves: int = 400) -> Conflict:
    """Return an irreducible infeasible set of rows, cones and bounds of an infeasible model; also ``model.conflict()``.

    Parameters
    ----------
    model : Model or StandardForm
        The infeasible model.
    solver : str, Solver or pair, optional
        Solver of the feasibility problems; by default HiGHS for linear rows (integers included), Clarabel for cones, SCIP for
        cones with integers.
    max_solves : int
        Largest number of feasibility problems. A set that is not known to be irreducible by then has ``irreducible=False``.

    Returns
    -------
    Conflict
        The elements, their weights, and whether they are proved to conflict.

    Raises
    ------
    InputError
        The form has a point; or neither a point nor a proof that there is none was found.
    """
    form = as_model(model).form
    linear = all(isinstance(c.cone, (Zero, Nonnegative)) for c in form.constraints)
    solver_name = "highs" if linear else "scip" if form.integer.any() else "clarabel"
    search = _Search(form, resolve_solver(solver_name if solver is None else solver), max_solves)
    elements, minimal = search.run()
    linear = all(_is_bound(form, label) or isinstance(form.constraint(label).cone, (Zero, Nonnegative)) for label, _ in elements)
    proof = _exact(form, elements) if linear else None
    names = {element: _name(form, element) for element in elements}
    weights = search.weights if proof is None else {element: float(v) for element, v in proof.items()}
    irreducible = proof is not None and not form.integer.any()  # with integers a smaller set may be infeasible
    if irreducible:
        argument = "proved in rational arithmetic, and irreducible"
    elif proof is not None:
        argument = "proved in rational arithmetic" + (f"; each row needed, as {search.solver.label} claims" if minimal else "")
    elif form.integer.any():
        argument = f"claimed by {search.solver.label} for integers" + (", each row needed" if minimal else ", perhaps reducible")
    else:
        argument = "Farkas multipliers checked in floating point" + (", each row needed" if minimal else ", perhaps reducible")
    rows: dict[str, tuple[int, ...]] = {}
    for label, i in elements:
        rows[label] = (*rows.get(label, ()), i)
    points = tuple(sorted({c.points[k] for c in form.constraints if c.points is not None for k in rows.get(c.label, ())}))
    point_names = as_model(model).point_names
    return Conflict(
        form.name,
        tuple(names[element] for element in elements),
        {names[element]: weights[element] for element in elements if element in weights},
        proof is not None,
        irreducible,
        argument,
        rows,
        points,
        tuple(point_names[i] for i in points) if point_names else (),
    )


CONFLICT.implemented_by(conflict)


class _Search:
    """The deletion filter, with its multipliers and its remaining solves."""

    def __init__(self, form: StandardForm, solver: SolverSpec, max_solves: int) -> None:
        self.form, self.solver, self.solves_left = form, solver, max_solves
        self.weights: dict[_Element, float] = {}
        self.has_point = False  #: whether the last program that was solved has a point

    def run(self) -> tuple[list[_Element], bool]:
        """Return the remaining elements, and whether each was found necessary."""
        crossed = np.flatnonzero((self.form.lower > self.form.upper) & ~_switches(self.form))
        if crossed.size:  # solvers refuse such bounds without multipliers
            pair: list[_Element] = [("lower", int(crossed[0])), ("upper", int(crossed[0]))]
            self.weights = dict.fromkeys(pair, 1.0)
            return pair, True
        remaining = self._reduced(_elements(self.form))
        if remaining is None:
            raise InputError(
                f"{self.form.name} has a point: no rows exclude each other"
                if self.has_point
                else f"{self.solver.label} found neither a point of {self.form.name} nor a proof that it has none",
                name="model",
            )
        needed: list[_Element] = []
        while candidates := [element for element in remaining if element not in needed]:
            if self.solves_left <= 0:
                return remaining, False
            smaller = self._reduced([element for element in remaining if element != candidates[0]])
            if smaller is None:
                needed.append(candidates[0])
            else:
                remaining = smaller
        return remaining, True

    def _reduced(self, elements: list[_Element]) -> list[_Element] | None:
        """Return the elements that a certificate of their infeasibility uses; None without a certificate."""
        self.solves_left -= 1
        result = solve_problem(_restricted(self.form, elements), self.solver, Options())
        self.has_point = result.solved
        if result.status is not Status.INFEASIBLE:
            return None
        if self.form.integer.any():
            return elements
        weights = _weights(self.form, elements, result)
        if weights is None:
            return None
        self.weights = weights
        return [element for element in elements if element in weights]


def _elements(form: StandardForm) -> list[_Element]:
    elements: list[_Element] = []
    for c in form.constraints:
        elements += [(c.label, k) for k in range(c.rows // c.cone.group_size)]
    free = ~_switches(form)
    elements += [("lower", int(j)) for j in np.flatnonzero(np.isfinite(form.lower) & free)]
    return elements + [("upper", int(j)) for j in np.flatnonzero(np.isfinite(form.upper) & free)]


def _switches(form: StandardForm) -> BoolArray:
    """Return the mask of the binary variables of indicators, whose bounds always stay."""
    switches = np.zeros(form.n, dtype=bool)
    for c in form.constraints:
        if isinstance(c.cone, Indicator):
            switches[c.F[np.arange(0, c.rows, 2)].indices] = True
    return switches


def _is_bound(form: StandardForm, label: str) -> bool:
    """Return whether an element's label means a bound; a row may have the same label."""
    return label in ("lower", "upper") and label not in {c.label for c in form.constraints}


def _name(form: StandardForm, element: _Element) -> str:
    label, k = element
    if _is_bound(form, label):
        return f"{form.names()[k]} {'≥' if label == 'lower' else '≤'} {(form.lower if label == 'lower' else form.upper)[k]:g}"
    c = form.constraint(label)
    return c.names()[k] if c.cone.group_size == 1 else (f"{label}[{k}]" if c.cone.count > 1 else label)


def _restricted(form: StandardForm, elements: list[_Element]) -> StandardForm:
    """Return the feasibility problem of these elements alone."""
    by_label: dict[str, list[int]] = {}
    for label, k in elements:
        by_label.setdefault(label, []).append(k)
    constraints = []
    for c in form.constraints:
        chosen = sorted(by_label.get(c.label, []))
        if chosen:
            rows = (np.array(chosen)[:, None] * c.cone.group_size + np.arange(c.cone.group_size)).ravel()
            cone = type(c.cone)(rows.size, 1) if c.cone.group_size == 1 else type(c.cone)(c.cone.dim, len(chosen))
            constraints.append(Constraint(c.label, sp.csr_array(c.F[rows]), c.g[rows], cone))
    switches = _switches(form)
    lower, upper = np.where(switches, form.lower, -np.inf), np.where(switches, form.upper, np.inf)
    low, high = by_label.get("lower", []), by_label.get("upper", [])
    lower[low], upper[high] = form.lower[low], form.upper[high]
    return form.replace(
        q=np.zeros(form.n), quadratic=None, r=0.0, constraints=tuple(constraints), lower=lower, upper=upper, maximise=False
    )


def _weights(form: StandardForm, elements: list[_Element], result: Result) -> dict[_Element, float] | None:
    """Return the sizes of the elements' Farkas multipliers; None if the multipliers do not support the claim."""
    if result.farkas is None or result.ray_residual is None or not result.ray_residual <= 1e-6:
        return None
    weights: dict[_Element, float] = {}
    gradient = np.zeros(form.n)
    restricted = _restricted(form, elements)
    for c in restricted.constraints:
        z = np.asarray(result.farkas.get(c.label, np.zeros(c.rows)), dtype=np.float64)
        gradient -= c.F.T @ z
        indices = sorted(k for label, k in elements if label == c.label)
        sizes = np.abs(z).reshape(-1, c.cone.group_size).max(axis=1)
        weights.update({(c.label, k): float(size) for k, size in zip(indices, sizes, strict=True)})
    weights.update({("lower", j): float(max(gradient[j], 0.0)) for j in range(form.n) if np.isfinite(restricted.lower[j])})
    weights.update({("upper", j): float(max(-gradient[j], 0.0)) for j in range(form.n) if np.isfinite(restricted.upper[j])})
    largest = max(weights.values(), default=0.0)
    return {element: size for element, size in weights.items() if size > 1e-9 * largest}


def _exact(form: StandardForm, elements: list[_Element]) -> dict[_Element, Fraction] | None:
    """Return multipliers of these linear rows that prove infeasibility exactly and are unique up to scale; else None.

    Rows a_i x ≥ b_i (equalities with either sign): Σ y_i a_i = 0 with y_i > 0 and Σ y_i b_i > 0. If such y is unique up to
    scale and has no zero, no smaller set of rows is infeasible.
    """
    rows: list[tuple[dict[int, Fraction], Fraction, bool]] = []
    for label, k in elements:
        if _is_bound(form, label):
            sign = 1 if label == "lower" else -1
            bound = (form.lower if label == "lower" else form.upper)[k]
            rows.append(({k: Fraction(sign)}, sign * Fraction(float(bound)), False))
            continue
        c = form.constraint(label)
        row = slice(c.F.indptr[k], c.F.indptr[k + 1])
        entries = {int(j): Fraction(float(v)) for j, v in zip(c.F.indices[row], c.F.data[row], strict=True)}
        rows.append((entries, -Fraction(float(c.g[k])), isinstance(c.cone, Zero)))
    columns = sorted({j for entries, _, _ in rows for j, v in entries.items() if v})
    zero = Fraction(0)
    y = null_vector([[entries.get(j, zero) for entries, _, _ in rows] for j in columns] or [[zero] * len(rows)])
    if y is None:
        return None
    value = sum((v * b for v, (_, b, _) in zip(y, rows, strict=True)), zero)
    y = y if value > 0 else [-v for v in y]
    right = value != 0 and all(v != 0 and (equal or v > 0) for v, (_, _, equal) in zip(y, rows, strict=True))
    return dict(zip(elements, y, strict=True)) if right else None
