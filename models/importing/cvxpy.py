"""A CVXPY problem as a standard form, and an answer back into it.

CVXPY canonicalises the problem itself, for a solver that reads exactly what a standard form holds: a quadratic objective, linear
rows, second-order and semidefinite cones, bounds and integers. Variables and constraints that the user wrote keep their names;
those that CVXPY adds have names of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, UnsupportedModelError
from ..arrays import BoolArray, FloatArray, IntArray
from ..program.form import Block, Constraint, Quadratic, StandardForm
from .canonical import cones_of, reader, with_stated_bounds, without_values
from .rows import unique
from .source import Returned, Source

__all__ = ["CVXPYSource"]


class CVXPYSource(Source):
    """A ``cvxpy.Problem`` that is DCP and needs no cones but linear, second-order and semidefinite ones.

    An answer goes back as if CVXPY had called the solver: values of variables, dual values in CVXPY's signs, status and value.
    Names of the variables and rows that CVXPY adds begin with ``stem``.
    """

    def __init__(self, problem: Any, stem: str = "cvxpy") -> None:
        import cvxpy

        if not isinstance(problem, cvxpy.Problem):
            raise InputError(f"from_cvxpy takes a cvxpy.Problem; got {type(problem).__name__}")
        if not problem.variables():
            raise UnsupportedModelError("the CVXPY problem has no variables")
        empty = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
        if empty:
            raise InputError(f"parameters of the CVXPY problem have no value: {', '.join(empty)}")
        try:
            with without_values(problem.variables()):
                data, self._chain, self._inverse = with_stated_bounds(problem).get_problem_data(reader(), solver_opts={})
        except cvxpy.error.DCPError as error:
            raise UnsupportedModelError(f"the CVXPY problem is not convex by CVXPY's rules (DCP): {error}") from error
        except cvxpy.error.SolverError as error:
            raise UnsupportedModelError(
                "the CVXPY problem needs cones that a standard form does not hold (exponential or power cones): " + str(error)
            ) from error
        self._problem = problem
        self._canonical = _canonical(problem, data, self._inverse, stem)

    @property
    def form(self) -> StandardForm:
        """The program."""
        return self._canonical.form

    def give_back(self, answer: Returned) -> None:
        """Set values, dual values, status and value of the problem, as ``problem.solve`` does."""
        c = self._canonical
        x = z = None
        if answer.values:
            x = np.empty(c.form.n)
            x[c.order] = c.form.join(answer.values)
        if answer.multipliers is not None:
            z = np.concatenate([np.asarray(answer.multipliers[k.label]) for k in c.form.constraints] or [np.zeros(0)])
        status = "PrimalInfeasible" if answer.infeasible else "DualInfeasible" if answer.unbounded else "Solved"
        if x is not None and not answer.optimal:
            status = "AlmostSolved"
        native = SimpleNamespace(status=status, x=x, z=z, obj_val=answer.objective - c.form.r, solve_time=0.0, iterations=0)
        self._problem.unpack_results(native, self._chain, self._inverse)


@dataclass(frozen=True, eq=False)
class _Canonical:
    """The form, and ``order``: the place in CVXPY's x of each entry of ours (CVXPY stacks matrices by columns)."""

    form: StandardForm
    order: IntArray


def _canonical(problem: Any, data: Mapping[str, Any], inverse: Any, stem: str) -> _Canonical:
    import cvxpy

    program = data["param_prob"]
    blocks, order = _blocks(program, {v.id: v.name() for v in problem.variables()}, stem)
    n = order.size
    lower, upper = (_bound(data[side], n, sign) for side, sign in (("lower_bounds", -1.0), ("upper_bounds", 1.0)))
    binary, whole = (_flags(index, n) for index in (program.x.boolean_idx, program.x.integer_idx))
    lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
    P = data.get("P")
    form = StandardForm(
        name="CVXPY problem",
        blocks=blocks,
        q=np.asarray(data["c"])[order] + 0.0,
        constraints=_constraints(data, order, {b.label for b in blocks}, _labels(problem, inverse), stem),
        lower=lower[order],
        upper=upper[order],
        integer=(binary | whole)[order],
        quadratic=None if P is None or not P.nnz else Quadratic(matrix=_symmetric(sp.csc_array(P)[order][:, order])),
        r=float(inverse[-1]["offset"]),
        maximise=isinstance(problem.objective, cvxpy.Maximize),
    )
    return _Canonical(form, order)


def _blocks(program: Any, names: Mapping[int, str], stem: str) -> tuple[tuple[Block, ...], IntArray]:
    """One block for each variable by the user's name, matrices stacked by rows; and where CVXPY has each entry."""
    blocks, order = [], []
    taken: set[str] = set()
    for k, variable in enumerate(sorted(program.variables, key=lambda v: program.var_id_to_col[v.id])):
        shape = tuple(variable.shape)
        shape = shape[:1] if len(shape) == 2 and shape[1] == 1 else shape
        blocks.append(Block(unique(names.get(variable.id, f"{stem} variable {k}"), taken), shape))
        places = np.arange(variable.size).reshape(shape, order="F").ravel(order="C")
        order.append(program.var_id_to_col[variable.id] + places)
    return tuple(blocks), np.concatenate(order)


def _flags(index: Any, n: int) -> BoolArray:
    flags = np.zeros(n, dtype=bool)
    flags[[int(place[0]) for place in index or ()]] = True
    return flags


def _bound(side: Any, n: int, sign: float) -> FloatArray:
    return np.full(n, sign * np.inf) if side is None else np.array(side, dtype=np.float64)


def _symmetric(P: sp.csc_array) -> sp.csc_array:
    """P from all of it or from its upper triangle."""
    lower_part = sp.tril(P, k=-1)
    return sp.csc_array(P) if lower_part.nnz else sp.csc_array(P + sp.triu(P, k=1).T)


def _labels(problem: Any, inverse: Any) -> dict[int, str]:
    """The user's labels by the ids that constraints have after the reductions; ``constraint k`` where there is none."""
    found = {}
    for k, constraint in enumerate(problem.constraints):
        current = constraint.id
        for step in inverse[:-1]:
            # CvxAttr2Constr keeps its three maps in a tuple, which is empty where it had nothing to do
            ids = (step[-1] if step else {}) if isinstance(step, tuple) else getattr(step, "cons_id_map", {})
            current = ids.get(current, current)
        found[current] = constraint.label or f"constraint {k}"
    return found


def _constraints(
    data: Mapping[str, Any], order: IntArray, taken: set[str], labels: Mapping[int, str], stem: str
) -> tuple[Constraint, ...]:
    """The rows b - Ax in CVXPY's order of cones, one constraint for each of its pieces."""
    if data["A"] is None:
        return ()
    F, g = sp.csr_array(-sp.csc_array(data["A"])[:, order]), np.asarray(data["b"], dtype=np.float64)
    found, start = [], 0
    for k, piece in enumerate(data["param_prob"].constraints):
        label = labels.get(piece.id, f"{stem} rows {k}")
        for cone in cones_of(piece):
            rows = slice(start, start + cone.rows)
            start += cone.rows
            found.append(Constraint(unique(label, taken), F[rows], g[rows], cone))
    assert start == g.size, "CVXPY's cones and rows do not match"
    return tuple(found)
