"""Import of the arguments of SciPy's `linprog` and `milp` as a standard form; a solution becomes an `OptimizeResult`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...errors import InputError
from ..arrays import FloatArray, as_array
from ..program.form import StandardForm
from .rows import RowProgram, RowSource, row_values
from .source import Evaluation, Recipient, ReturnedAnswer, Termination, import_source

#: Label, matrix, lower and upper sides.
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
    """The program that `scipy.optimize.linprog` or `scipy.optimize.milp` takes with these arguments.

    Parameters
    ----------
    c : array_like (n,)
    A_ub, b_ub, A_eq, b_eq
        As in ``linprog``: A_ub x ≤ b_ub, labelled ``upper``; A_eq x = b_eq, labelled ``equal``.
    bounds
        As in ``linprog``, x ≥ 0 where it is not given: a pair, pairs for each variable, or `scipy.optimize.Bounds`.
    integrality : array_like (n,), optional
        0 continuous, 1 integer; SciPy's semi-continuous kinds are refused.
    constraints
        As in ``milp``: one or several `scipy.optimize.LinearConstraint`, or tuples (A, lb, ub); the k-th is labelled ``rows k``.

    Returns
    -------
    StandardForm
        One block ``x``. `Result.into` fills an `OptimizeResult` from a result of it.

    Raises
    ------
    InputError
        Shapes that do not fit, or a kind of variable that is not taken.
    """
    q = np.atleast_1d(as_array(c, "c"))
    if q.ndim != 1 or not q.size:
        raise InputError(f"c must hold one number for each variable; its shape is {np.shape(c)}", name="c")
    n = q.size
    parts = [
        *_side("upper", A_ub, b_ub, n, upper=True),
        *_side("equal", A_eq, b_eq, n, upper=False),
        *_constraints(constraints, n),
    ]
    lower, upper = _bounds(bounds, n)
    names = [name for name, _, low, _ in parts for name in [name] * low.size]
    A = sp.csr_array(sp.vstack([A for _, A, _, _ in parts], format="csr")) if parts else sp.csr_array((0, n))
    program = RowProgram(
        name="SciPy program",
        variables=[f"x[{i}]" for i in range(n)],
        rows=names,
        P=None,
        q=q,
        r=0.0,
        A=A,
        row_lower=np.concatenate([low for _, _, low, _ in parts]) if parts else np.zeros(0),
        row_upper=np.concatenate([high for _, _, _, high in parts]) if parts else np.zeros(0),
        lower=lower,
        upper=upper,
        integer=_integer(integrality, n),
    )
    return import_source(_Arguments(program, q, parts, bounds))


class _Arguments(RowSource):
    """The arguments of ``linprog`` and ``milp``: SciPy's own classes say what they are at a point."""

    package = "SciPy"

    def __init__(self, program: RowProgram, q: FloatArray, parts: list[_Rows], bounds: Any) -> None:
        self._imported = program.import_form()
        self._q, self._parts, self._bounds = q, parts, bounds

    def evaluate_source(self, x: FloatArray) -> Evaluation:
        """Evaluate the objective by the array, rows and bounds by the residuals of SciPy's constraints."""
        from scipy.optimize import LinearConstraint

        rows, start = [], 0
        for name, A, low, high in self._parts:
            below, above = (np.asarray(side) for side in LinearConstraint(A, low, high).residual(x))
            equal, names = low == high, {start + i: name for i in range(low.size)}
            for chosen, value, kinds in (
                (equal, below, (True, False)),
                (~equal & np.isfinite(low), below, (False, False)),
                (~equal & np.isfinite(high), above, (False, True)),
            ):
                places = np.flatnonzero(chosen)
                rows += row_values(start + places, names, value[places], None, equal=kinds[0], upper=kinds[1])
            start += low.size
        lower, upper = _bounds(self._bounds, x.size)
        outside = np.maximum(np.maximum(lower - x, x - upper), 0.0)
        return Evaluation(float(np.dot(self._q, x)), 0.0, rows, float(outside.max(initial=0.0)))

    def point(self) -> FloatArray | None:
        """Arguments have no point."""
        return None


class SciPyResult(Recipient):
    """An `OptimizeResult`, which an answer to a form of `from_scipy` fills as ``linprog`` does.

    ``x``, ``fun``, ``status``, ``success``, and with multipliers ``ineqlin``, ``eqlin``, ``lower`` and ``upper``, whose
    ``marginals`` are the change of ``fun`` for one more unit of the right-hand side or bound.
    """

    def __init__(self, target: Any) -> None:
        self._target = target

    @property
    def source(self) -> None:
        """A result holds no program."""
        return None

    def check(self, answer: ReturnedAnswer) -> None:
        """Every answer with the one block ``x`` fits."""
        if answer.values and set(answer.values) != {"x"}:
            raise InputError(f"this result is no answer to a form of from_scipy: its blocks are {', '.join(answer.values)}")

    def write_back(self, answer: ReturnedAnswer) -> int:
        """Fill the result; return its status."""
        self._fill(answer)
        return _STATUS[answer.ending]

    def _fill(self, answer: ReturnedAnswer) -> None:
        from scipy.optimize import OptimizeResult

        status = _STATUS[answer.ending]
        fun = answer.objective if answer.values else None
        status_text = answer.ending.name.lower().replace("_", " ")
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


def _side(name: str, A: Any, b: ArrayLike | None, n: int, *, upper: bool) -> list[_Rows]:
    if (A is None) != (b is None):
        raise InputError(f"the {name} rows need a matrix and a right-hand side; one of them is missing", name=name)
    if A is None:
        return []
    matrix = _matrix(A, n, name)
    side = np.atleast_1d(as_array(b, f"the right-hand side of the {name} rows"))
    if side.shape != (matrix.shape[0],):
        raise InputError(f"the right-hand side of the {name} rows must have shape ({matrix.shape[0]},); it has {side.shape}")
    return [(name, matrix, np.full(side.size, -np.inf) if upper else side, side)]


def _matrix(A: Any, n: int, name: str) -> sp.csr_array:
    matrix = sp.csr_array(A if sp.issparse(A) else _table(A, name), dtype=np.float64)
    if matrix.shape[1] != n:
        raise InputError(
            f"the matrix of the {name} rows must have {n} columns, as c has entries; it has {matrix.shape[1]}", name=name
        )
    return matrix


def _table(A: Any, name: str) -> FloatArray:
    matrix = np.atleast_2d(as_array(A, f"the matrix of the {name} rows"))
    if matrix.ndim != 2:
        raise InputError(f"the matrix of the {name} rows must have two dimensions; its shape is {matrix.shape}", name=name)
    return matrix


def _constraints(constraints: Any, n: int) -> list[_Rows]:
    from scipy.optimize import LinearConstraint  # slow to import, and loaded already where somebody has such an object

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
        matrix = _matrix(constraint.A, n, f"{k}-th constraint's")
        low, high = (np.array(np.broadcast_to(side, matrix.shape[:1]), np.float64) for side in (constraint.lb, constraint.ub))
        groups.append((f"rows {k}", matrix, low, high))
    return groups


def _several(constraints: Any) -> bool:
    """Return whether it is a sequence of constraints, and not one tuple (A, lb, ub), as `milp` tells them apart."""
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
        raise InputError(f"bounds must be a pair, pairs or scipy.optimize.Bounds; got {bounds!r}", name="bounds") from None
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
