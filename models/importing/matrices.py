"""Import of programs given by matrices: the arguments of SciPy's `linprog` and `milp`, and quadratic programs.

A solution of SciPy's arguments becomes an `OptimizeResult`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...errors import InputError, short_text
from ..arrays import BoolArray, FloatArray, as_array, as_vector
from ..program.form import StandardForm
from .rows import RowProgram, RowSource, side_values
from .source import Evaluation, Recipient, ReturnedAnswer, Termination, import_source

#: A labelled group of rows: label, matrix, lower and upper sides.
_Rows: TypeAlias = tuple[str, sp.csr_array, FloatArray, FloatArray]

#: ``status`` of ``linprog`` and ``milp``.
_STATUS = {
    Termination.OPTIMAL: 0,
    Termination.TIME_LIMIT: 1,
    Termination.ITERATION_LIMIT: 1,
    Termination.NODE_LIMIT: 1,
    Termination.MEMORY_LIMIT: 1,
    Termination.INTERRUPTED: 1,
    Termination.INFEASIBLE: 2,
    Termination.UNBOUNDED: 3,
    Termination.INFEASIBLE_OR_UNBOUNDED: 4,
    Termination.INACCURATE: 4,
    Termination.STATIONARY: 4,
    Termination.FAILED: 4,
}


def from_scipy(
    c: ArrayLike,
    *,
    A_ub: Any = None,
    b_ub: ArrayLike | None = None,
    A_eq: Any = None,
    b_eq: ArrayLike | None = None,
    bounds: Any = (0, None),
    integrality: ArrayLike | None = None,
    constraints: Any = (),
) -> StandardForm:
    """Return the program that `scipy.optimize.linprog` or `scipy.optimize.milp` takes with these arguments as a standard form.

    Parameters
    ----------
    c : array_like (n,)
        Costs.
    A_ub, b_ub, A_eq, b_eq
        As in ``linprog``: A_ub x ≤ b_ub, labelled ``upper``; A_eq x = b_eq, labelled ``equal``.
    bounds
        As in ``linprog``, x ≥ 0 by default: a pair, a pair for each variable, or `scipy.optimize.Bounds`.
    integrality : array_like (n,), optional
        0 continuous, 1 integer; SciPy's semi-continuous kinds are refused.
    constraints
        As in ``milp``: one or several `scipy.optimize.LinearConstraint`, or tuples (A, lb, ub); the k-th is labelled ``rows k``.

    Returns
    -------
    StandardForm
        One block ``x``. `Result.into` fills an `OptimizeResult` from a result for this form.

    Raises
    ------
    InputError
        Shapes that do not fit, a matrix without its side or the reverse, numbers that are not finite (sides and bounds may be
        infinite), or another kind of variable.
    """
    q = _costs("c", c)
    n = q.size
    parts = [
        *_side("upper", ("A_ub", A_ub), ("b_ub", b_ub), n, equal=False),
        *_side("equal", ("A_eq", A_eq), ("b_eq", b_eq), n, equal=True),
        *_constraints(constraints, n),
    ]
    program = _program("SciPy program", q, parts, _bounds(bounds, n), integer=_integer(integrality, n))
    return import_source(_Arguments(program, q, parts, bounds))


class _Arguments(RowSource):
    """The arguments of ``linprog`` and ``milp``, evaluated at points by SciPy's own classes."""

    package = "SciPy"

    def __init__(self, program: RowProgram, q: FloatArray, parts: list[_Rows], bounds: Any) -> None:
        self._imported = program.import_form()
        self._q, self._parts, self._bounds = q, parts, bounds

    def evaluate_source(self, x: FloatArray) -> Evaluation:
        """Evaluate the objective c'x, the rows by the residuals of SciPy's constraints, and the bounds."""
        from scipy.optimize import LinearConstraint

        rows, start = [], 0
        for _, A, low, high in self._parts:
            below, above = (np.asarray(side) for side in LinearConstraint(A, low, high).residual(x))
            rows += side_values(self._imported.names, (low, high), (below, above), start)
            start += low.size
        lower, upper = _bounds(self._bounds, x.size)
        outside = np.maximum(np.maximum(lower - x, x - upper), 0.0)
        return Evaluation(float(np.dot(self._q, x)), 0.0, rows, float(outside.max(initial=0.0)))

    def point(self) -> FloatArray | None:
        """Return None: arguments have no point."""
        return None


class SciPyResult(Recipient):
    """The recipient of an answer to a form of `from_scipy`: an `OptimizeResult`, filled as ``linprog`` does.

    It gets ``x``, ``fun``, ``status``, ``success`` and ``message``, and with multipliers ``ineqlin``, ``eqlin``, ``lower`` and
    ``upper``, whose ``marginals`` are the change of ``fun`` for one more unit of the right-hand side or bound.
    """

    def __init__(self, target: Any) -> None:
        self._target = target

    def check(self, answer: ReturnedAnswer) -> None:
        """Check that the answer has the single block ``x``.

        Raises
        ------
        InputError
            Other blocks.
        """
        if answer.values and set(answer.values) != {"x"}:
            raise InputError(f"this result is no answer to a form of from_scipy: its blocks are {', '.join(answer.values)}")

    def write_back(self, answer: ReturnedAnswer) -> int:
        """Fill the result; return the number of its ``status``."""
        self._fill(answer)
        return _STATUS[answer.termination]

    def _fill(self, answer: ReturnedAnswer) -> None:
        from scipy.optimize import OptimizeResult

        status = _STATUS[answer.termination]
        fun = answer.objective if answer.values else None
        status_text = answer.termination.name.lower().replace("_", " ")
        self._target.update(status=status, success=status == 0, fun=fun, message=answer.message or status_text)
        self._target.x = np.array(answer.values["x"]) if answer.values else None
        if answer.multipliers is None or not answer.values:
            return
        for name, label, sign in (("ineqlin", "upper", -1.0), ("eqlin", "equal", 1.0)):
            marginals = sign * np.asarray(answer.multipliers.get(label, np.zeros(0))) + 0.0
            self._target[name] = OptimizeResult(marginals=marginals)
        zeta = np.zeros_like(self._target.x) if answer.reduced is None else np.asarray(answer.reduced["x"])
        self._target.lower = OptimizeResult(marginals=np.maximum(zeta, 0.0))
        self._target.upper = OptimizeResult(marginals=np.minimum(zeta, 0.0))


def from_qp(
    P: Any,
    q: ArrayLike,
    G: Any = None,
    h: ArrayLike | None = None,
    A: Any = None,
    b: ArrayLike | None = None,
    lb: ArrayLike | None = None,
    ub: ArrayLike | None = None,
) -> StandardForm:
    """Return min ½x'Px + q'x subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub as a standard form.

    Parameters
    ----------
    P : array_like (n, n) or sparse, or None
        Symmetric; None for a linear program. ``form.inspect()`` reports whether it is positive semidefinite.
    q : array_like (n,)
        Linear costs.
    G, h
        Rows Gx ≤ h, labelled ``upper``.
    A, b
        Rows Ax = b, labelled ``equal``.
    lb, ub : array_like (n,) or float, optional
        Bounds; without them the variables are free. None within a list means no bound.

    Returns
    -------
    StandardForm
        One block ``x``.

    Raises
    ------
    InputError
        Shapes that do not fit, a matrix without its side or the reverse, P that is not symmetric, numbers that are not finite
        (sides and bounds may be infinite).
    """
    linear = _costs("q", q)
    n = linear.size
    parts = [*_side("upper", ("G", G), ("h", h), n, equal=False), *_side("equal", ("A", A), ("b", b), n, equal=True)]
    bounds = _bound(lb, -np.inf, n, "lb"), _bound(ub, np.inf, n, "ub")
    program = _program("quadratic program", linear, parts, bounds, P=None if P is None else _quadratic(P, n))
    return program.import_form().form


def _costs(name: str, costs: ArrayLike) -> FloatArray:
    linear = np.atleast_1d(as_array(costs, name))
    if linear.ndim != 1 or not linear.size:
        raise InputError(f"{name} must hold one number for each variable; its shape is {np.shape(costs)}", name=name)
    return as_vector(linear, linear.size, name)


def _program(
    name: str,
    q: FloatArray,
    parts: Sequence[_Rows],
    bounds: tuple[FloatArray, FloatArray],
    *,
    P: sp.csc_array | None = None,
    integer: BoolArray | None = None,
) -> RowProgram:
    """Return the program of these rows, its variables one block ``x``."""
    n = q.size
    return RowProgram(
        name=name,
        variables=[f"x[{i}]" for i in range(n)],
        rows=[label for label, matrix, *_ in parts for _ in range(matrix.shape[0])],
        P=P,
        q=q,
        r=0.0,
        A=sp.csr_array(sp.vstack([sp.csr_array((0, n)), *(matrix for _, matrix, _, _ in parts)], format="csr")),
        row_lower=np.concatenate([np.zeros(0), *(low for _, _, low, _ in parts)]),
        row_upper=np.concatenate([np.zeros(0), *(high for _, _, _, high in parts)]),
        lower=bounds[0],
        upper=bounds[1],
        integer=np.zeros(n, dtype=bool) if integer is None else integer,
    )


def _side(label: str, matrix: tuple[str, Any], side: tuple[str, ArrayLike | None], n: int, *, equal: bool) -> list[_Rows]:
    """Return the rows matrix x ≤ or = side, both given with their names; no rows where neither is given."""
    (name, A), (side_name, b) = matrix, side
    if (A is None) != (b is None):
        raise InputError(f"{name} and {side_name} go together; one of them is missing", name=name)
    if A is None:
        return []
    rows, values = _checked_rows(name, A, n), np.atleast_1d(as_array(b, side_name))
    if values.shape != (rows.shape[0],) or np.isnan(values).any():
        raise InputError(f"{side_name} must hold one number for each of the {rows.shape[0]} rows of {name}", name=side_name)
    return [(label, rows, values if equal else np.full(values.size, -np.inf), values)]


def _checked_rows(name: str, value: Any, n: int) -> sp.csr_array:
    matrix = _matrix(name, value)
    if matrix.shape[1] != n:
        raise InputError(f"{name} must have {n} columns, one for each variable; it has {matrix.shape[1]}", name=name)
    return matrix


def _matrix(name: str, value: Any) -> sp.csr_array:
    table = value if sp.issparse(value) else np.atleast_2d(as_array(value, name))
    if table.ndim != 2:
        raise InputError(f"{name} must have two dimensions; its shape is {table.shape}", name=name)
    matrix = sp.csr_array(table, dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise InputError(f"{name} must hold finite numbers", name=name)
    return matrix


def _quadratic(P: Any, n: int) -> sp.csc_array:
    matrix = _matrix("P", P)
    if matrix.shape != (n, n):
        raise InputError(f"P must have shape ({n}, {n}), as q has {n} entries; it has {matrix.shape}", name="P")
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > 1e-12 * abs(matrix).max():
        raise InputError("P must be symmetric: give (P + P.T)/2, which has the same value at every x", name="P")
    return sp.csc_array(0.5 * (matrix + matrix.T))


def _bound(bounds: ArrayLike | None, default: float, n: int, name: str) -> FloatArray:
    if isinstance(bounds, list | tuple):
        bounds = [default if bound is None else bound for bound in bounds]
    values = as_array(default if bounds is None else bounds, name)
    if values.shape not in ((), (1,), (n,)):
        raise InputError(f"{name} must be one number or {n} numbers; its shape is {values.shape}", name=name)
    if np.isnan(values).any():
        raise InputError(f"{name} must hold no NaN: an infinite number, or None, is no bound", name=name)
    return np.array(np.broadcast_to(values, n), dtype=np.float64)


def _constraints(constraints: Any, n: int) -> list[_Rows]:
    from scipy.optimize import LinearConstraint  # slow to import

    constraint_list: Sequence[Any]
    if constraints is None:
        constraint_list = ()
    elif isinstance(constraints, LinearConstraint) or not _several(constraints):
        constraint_list = [constraints]
    else:
        constraint_list = list(constraints)
    groups = []
    for k, one in enumerate(constraint_list):
        try:
            constraint = LinearConstraint(*one) if isinstance(one, tuple) and 1 <= len(one) <= 3 else one
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the {k}-th constraint is no tuple (A, lb, ub) that fits together: {error}", name="constraints"
            ) from error
        if not isinstance(constraint, LinearConstraint):
            raise InputError(
                f"constraints must be scipy.optimize.LinearConstraint objects or tuples (A, lb, ub); got {type(one).__name__}",
                name="constraints",
            )
        matrix = _checked_rows(f"constraints[{k}].A", constraint.A, n)
        low, high = (np.array(np.broadcast_to(side, matrix.shape[:1]), np.float64) for side in (constraint.lb, constraint.ub))
        groups.append((f"rows {k}", matrix, low, high))
    return groups


def _several(constraints: Any) -> bool:
    """Return whether ``constraints`` is a sequence of constraints rather than one tuple (A, lb, ub), by the rule of ``milp``."""
    from scipy.optimize import LinearConstraint

    return not isinstance(constraints, tuple) or all(isinstance(one, LinearConstraint | tuple) for one in constraints)


def _bounds(bounds: Any, n: int) -> tuple[FloatArray, FloatArray]:
    from scipy.optimize import Bounds

    if isinstance(bounds, Bounds):
        return np.array(np.broadcast_to(bounds.lb, n), np.float64), np.array(np.broadcast_to(bounds.ub, n), np.float64)
    try:
        pairs = np.array([[np.nan if v is None else v for v in pair] for pair in _pairs(bounds)], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"bounds must be a pair or {n} pairs of numbers or None", name="bounds") from None
    if pairs.shape not in ((1, 2), (n, 2)):
        raise InputError(f"bounds must be a pair or {n} pairs (lower, upper); its shape is {pairs.shape}", name="bounds")
    low, high = np.broadcast_to(pairs, (n, 2)).T
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _pairs(bounds: Any) -> Any:
    if bounds is None:
        return [(0, None)]
    try:
        listed = list(bounds)
    except TypeError:
        raise InputError(
            f"bounds must be a pair, pairs or scipy.optimize.Bounds; got {short_text(bounds)}", name="bounds"
        ) from None
    return [listed] if len(listed) == 2 and not np.iterable(listed[0]) else listed


def _integer(integrality: ArrayLike | None, n: int) -> Any:
    kinds = as_array(0 if integrality is None else integrality, "integrality")
    if kinds.shape not in ((), (1,), (n,)):
        raise InputError(
            f"integrality must be one number for each of the {n} variables; its shape is {kinds.shape}", name="integrality"
        )
    kinds = np.broadcast_to(kinds, n)
    if not np.isin(kinds, (0, 1)).all():
        raise InputError(
            "integrality must be 0 (continuous) or 1 (integer) for each variable; other kinds are not taken", name="integrality"
        )
    return kinds == 1
