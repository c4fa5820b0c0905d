"""Random linear, convex quadratic and integer programs as HiGHS and SciPy hold them, written in every way that each offers.

Bounds are finite, one-sided, fixed or absent; rows have one side, two, none, and sometimes no entry. HiGHS gets them as
expressions, as columns and rows of indices, or as one model in either order of the matrix, some with rows that are changed and
deleted again; SciPy as the arguments of ``linprog`` or ``milp``, dense, sparse, with entries that are stated in parts, sides and
bounds as scalars. Each package solves its own object, but for quadratic objectives: HiGHS 1.15.1 calls some of a singular P
unbounded that are not, and is off by 1e-1 on others, so Gurobi solves those from the same arrays. A program without a point has
the truth ``inf``, one without a least value ``-inf``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

import marginopt as mo
from marginopt.models.arrays import FloatArray
from marginopt.solvers import Status

#: A program's name, its optimum there, the import, and the fault of the way back.
Case: TypeAlias = tuple[str, float, Callable[[], Any], Callable[[Any], str]]

#: Relative difference between two evaluations of the answer.
WRONG = 1e-6
#: Seconds that the package and we have for a program: searches over unbounded integers need not end.
LIMIT = 5.0
_INF = math.inf


class Matrices:
    """min ½x'Px + c'x + r over low ≤ Ax ≤ high, lower ≤ x ≤ upper, some x integer."""

    def __init__(self, rng: np.random.Generator, *, curved: bool) -> None:
        self.n, self.m = int(rng.integers(1, 6)), int(rng.integers(0, 6))
        self.A = np.where(rng.random((self.m, self.n)) < 0.6, self._numbers(rng, (self.m, self.n)), 0.0)
        inside = rng.integers(-2, 3, self.n).astype(float)
        self._sides(rng, self.A @ inside)
        self.common = bool(rng.random() < 0.3)
        self._bounds(rng, inside)
        self.integer = rng.random(self.n) < (0.5 if rng.random() < 0.4 else 0.0)
        self.c, self.r = self._numbers(rng, self.n), float(rng.integers(-3, 4))
        squares = curved and rng.random() < 0.4 and not self.integer.any()
        R = rng.integers(-2, 3, (self.n, self.n)).astype(float) if squares else np.zeros((self.n, self.n))
        self.P = R.T @ R
        self.sign = -1.0 if curved and rng.random() < 0.4 else 1.0
        words = [f"{self.m} × {self.n}", *["squares"] * squares, *["integers"] * bool(self.integer.any())]
        self.name = " ".join(words)

    @staticmethod
    def _numbers(rng: np.random.Generator, shape: Any) -> FloatArray:
        whole = rng.integers(-4, 5, shape).astype(float)
        return whole if rng.random() < 0.6 else whole + rng.normal(size=shape).round(2)

    def _sides(self, rng: np.random.Generator, level: FloatArray) -> None:
        kind = rng.choice(["≤", "≥", "=", "range", "free"], self.m, p=[0.35, 0.3, 0.15, 0.15, 0.05])
        away = np.full(self.m, -5.0) if rng.random() < 0.1 else rng.integers(0, 4, self.m).astype(float)
        self.low = np.where(np.isin(kind, ("≤", "free")), -_INF, level - np.where(kind == "=", 0.0, away))
        self.high = np.where(np.isin(kind, ("≥", "free")), _INF, level + np.where(kind == "=", 0.0, away))
        crossed = self.low > self.high  # a range is a range; only one-sided rows exclude the point inside
        self.low, self.high = np.where(crossed, self.high, self.low), np.where(crossed, self.low, self.high)

    def _bounds(self, rng: np.random.Generator, inside: FloatArray) -> None:
        kinds = rng.choice(["box", "box", "box", "nonnegative", "free", "below", "fixed", "unit"], self.n)
        kinds = np.full(self.n, kinds[0]) if self.common else kinds
        lowers = {"box": -3.0, "nonnegative": 0.0, "free": -_INF, "below": -_INF, "fixed": 1.0, "unit": 0.0}
        uppers = {"box": 3.0, "nonnegative": _INF, "free": _INF, "below": 2.0, "fixed": 1.0, "unit": 1.0}
        self.lower, self.upper = (np.array([side[str(kind)] for kind in kinds]) for side in (lowers, uppers))

    def objective(self, x: FloatArray) -> float:
        """The objective in the sense in which the package states it."""
        return float(0.5 * self.sign * (x @ self.P @ x) + self.c @ x + self.r)

    @property
    def kinds(self) -> np.ndarray:
        """Integrality as numbers."""
        return self.integer.astype(np.int32)


# -- HiGHS ----------------------------------------------------------------------------------------------------------------


def highspy(rng: np.random.Generator) -> Case:
    """A model of ``highspy.Highs``."""
    import highspy as hp

    p = Matrices(rng, curved=True)
    h: Any = hp.Highs()
    h.silent()
    h.setOptionValue("time_limit", LIMIT)
    way = str(rng.choice(["expressions", "rows", "model"]))
    {"expressions": _by_expressions, "rows": _by_rows, "model": _by_model}[way](h, p, rng)
    if rng.random() < 0.3:
        _change_and_restore(h, p, rng)
    if p.P.any():
        _pass_hessian(h, p, rng)
    h.run()
    ends = {hp.HighsModelStatus.kInfeasible: _INF, hp.HighsModelStatus.kUnbounded: -_INF}
    solved = h.getModelStatus() == hp.HighsModelStatus.kOptimal
    truth = h.getInfo().objective_function_value if solved else ends.get(h.getModelStatus(), math.nan)
    truth = _by_gurobi(p) if p.P.any() else truth
    if rng.random() < 0.5:
        h.clearSolver()

    def back(result: Any) -> str:
        result.into(h)
        if result.status is not Status.OPTIMAL:
            return ""
        solution = h.getSolution()
        x, rows = np.array(solution.col_value), np.array(solution.row_value)
        near = WRONG * (1.0 + abs(result.objective))
        if abs(p.objective(x) - result.objective) > near or np.abs(rows - p.A @ x).max(initial=0.0) > near:
            return f"value {p.objective(x)} there: {result.objective} here"
        return ""

    return f"{p.name} by {way}", truth, lambda: mo.from_highs(h), back


def _by_expressions(h: Any, p: Matrices, rng: np.random.Generator) -> None:
    """Variables one by one or together, rows as comparisons, the objective as an expression or as the variables' costs."""
    import highspy as hp

    kinds = [hp.HighsVarType.kInteger if whole else hp.HighsVarType.kContinuous for whole in p.integer]
    if rng.random() < 0.5:
        x = [h.addVariable(lb=a, ub=b, type=kind) for a, b, kind in zip(p.lower, p.upper, kinds, strict=True)]
    else:
        x = list(h.addVariables(p.n, lb=list(p.lower), ub=list(p.upper), type=kinds, name_prefix="v", out_array=True))
    for i, (low, high) in enumerate(zip(p.low.tolist(), p.high.tolist(), strict=True)):
        body = sum((float(v) * x[j] for j, v in enumerate(p.A[i])), 0.0 * x[0])
        shift = float(rng.integers(-2, 3))
        name = f"row_{i}" if rng.random() < 0.5 else None
        if low == high:
            h.addConstr(body + shift == low + shift, name=name)
        elif math.isinf(low) and math.isfinite(high):
            h.addConstr(body + shift <= high + shift, name=name)
        elif math.isinf(high) and math.isfinite(low):
            h.addConstr(low + shift <= body + shift, name=name)
        else:
            h.addConstr(low <= body <= high, name=name)
    cost = sum((float(v) * x[j] for j, v in enumerate(p.c)), 0.0 * x[0]) + p.r
    (h.maximize if p.sign < 0 else h.minimize)(cost)


def _by_rows(h: Any, p: Matrices, rng: np.random.Generator) -> None:
    """Columns and rows of indices and values, with the numbers that HiGHS takes for infinite."""
    import highspy as hp

    endless = float(rng.choice([_INF, 1e20, 1e30]))
    clipped = [np.clip(side, -endless, endless) for side in (p.lower, p.upper, p.low, p.high)]
    for j in range(p.n):
        h.addCol(p.c[j], clipped[0][j], clipped[1][j], 0, np.zeros(0, np.int32), np.zeros(0))
        if p.integer[j]:
            h.changeColIntegrality(j, hp.HighsVarType.kInteger)
    for i in range(p.m):
        places = np.flatnonzero(p.A[i])[:: int(rng.choice([-1, 1]))].astype(np.int32)
        h.addRow(clipped[2][i], clipped[3][i], places.size, places, p.A[i][places])
    h.changeObjectiveOffset(p.r)
    h.changeObjectiveSense(hp.ObjSense.kMaximize if p.sign < 0 else hp.ObjSense.kMinimize)


def _by_model(h: Any, p: Matrices, rng: np.random.Generator) -> None:
    """One ``HighsLp`` with its matrix by columns or by rows."""
    import highspy as hp

    lp, by_rows = hp.HighsLp(), bool(rng.random() < 0.5)
    A = sp.csr_array(p.A) if by_rows else sp.csc_array(p.A)
    lp.num_col_, lp.num_row_ = p.n, p.m
    lp.col_cost_, lp.offset_ = p.c, p.r
    lp.col_lower_, lp.col_upper_, lp.row_lower_, lp.row_upper_ = p.lower, p.upper, p.low, p.high
    lp.sense_ = hp.ObjSense.kMaximize if p.sign < 0 else hp.ObjSense.kMinimize
    lp.a_matrix_.format_ = hp.MatrixFormat.kRowwise if by_rows else hp.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    if p.integer.any():
        lp.integrality_ = [hp.HighsVarType.kInteger if whole else hp.HighsVarType.kContinuous for whole in p.integer]
    h.passModel(lp)


def _change_and_restore(h: Any, p: Matrices, rng: np.random.Generator) -> None:
    """A row more, deleted again; a coefficient and two sides, set to other numbers and back."""
    h.addRow(-1.0, 1.0, 1, np.zeros(1, np.int32), np.ones(1))
    if rng.random() < 0.5:
        h.run()
    h.deleteRows(1, np.array([p.m], np.int32))
    j = int(rng.integers(p.n))
    h.changeColBounds(j, -9.0, 9.0)
    h.changeColBounds(j, p.lower[j], p.upper[j])
    if p.m:
        i = int(rng.integers(p.m))
        h.changeCoeff(i, j, 7.0)
        h.changeCoeff(i, j, p.A[i, j])
        h.changeRowBounds(i, p.low[i], p.high[i])


def _pass_hessian(h: Any, p: Matrices, rng: np.random.Generator) -> None:
    """P as its lower triangle or whole."""
    import highspy as hp

    whole = bool(rng.random() < 0.5)
    P = sp.csc_array(p.sign * (p.P if whole else np.tril(p.P)))
    hessian = hp.HighsHessian()
    hessian.dim_ = p.n
    hessian.format_ = hp.HessianFormat.kSquare if whole else hp.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = P.indptr, P.indices, P.data
    h.passHessian(hessian)


def _by_gurobi(p: Matrices) -> float:
    """The optimum of the arrays."""
    import gurobipy as gp

    m = gp.Model(env=environment())
    x = m.addMVar(p.n, lb=p.lower, ub=p.upper)
    for side, sense in ((p.low, ">"), (p.high, "<")):
        rows = np.flatnonzero(np.isfinite(side))
        if rows.size:
            m.addMConstr(p.A[rows], x, sense, side[rows])
    m.setObjective(0.5 * (x @ p.P @ x) + (p.sign * p.c) @ x + p.sign * p.r)
    m.optimize()
    ends = {gp.GRB.INFEASIBLE: _INF, gp.GRB.UNBOUNDED: -_INF}
    return p.sign * m.ObjVal if m.Status == gp.GRB.OPTIMAL else ends.get(m.Status, math.nan)


def environment(held: list[Any] = []) -> Any:  # noqa: B006 - one licence token for all models
    """Gurobi's environment, which tells infeasible from unbounded."""
    import gurobipy as gp

    if not held:
        held.append(gp.Env(params={"OutputFlag": 0, "DualReductions": 0}))
    return held[0]


# -- SciPy ----------------------------------------------------------------------------------------------------------------


def scipy(rng: np.random.Generator) -> Case:
    """Arguments of ``linprog`` or of ``milp``."""
    from scipy.optimize import OptimizeResult, linprog, milp

    p = Matrices(rng, curved=False)
    p.r = 0.0
    by_linprog = bool(rng.random() < 0.5)
    arguments = _linprog_arguments(p, rng) if by_linprog else _milp_arguments(p, rng)
    theirs = (linprog if by_linprog else milp)(p.c, options={"time_limit": LIMIT}, **arguments)
    truth = {0: theirs.fun, 2: _INF, 3: -_INF}.get(theirs.status, math.nan)

    def back(result: Any) -> str:
        target = OptimizeResult()
        status = result.into(target)
        if result.status is not Status.OPTIMAL:
            return ""
        near = WRONG * (1.0 + abs(result.objective))
        if status != 0 or not target.success or abs(p.objective(target.x) - target.fun) > near:
            return f"value {target.fun} with status {status} there: {result.objective} here"
        return _marginals_fault(target, arguments, p) if by_linprog and not p.integer.any() else ""

    return f"{p.name} by {'linprog' if by_linprog else 'milp'}", truth, lambda: mo.from_scipy(p.c, **arguments), back


def _marginals_fault(target: Any, values: dict[str, Any], p: Matrices) -> str:
    """Say by how much c differs from the sum of the marginals' rows; they are derivatives of the optimum."""
    if "lower" not in target:
        return ""
    rest = p.c - target.lower.marginals - target.upper.marginals
    for matrix, name in (("A_ub", "ineqlin"), ("A_eq", "eqlin")):
        if values.get(matrix) is not None:
            rest = rest - _dense(values[matrix]).T @ target[name].marginals
    return f"marginals: c is missed by {np.abs(rest).max()}" if np.abs(rest).max() > 1e-5 * (1.0 + np.abs(p.c).max()) else ""


def _dense(A: Any) -> FloatArray:
    return np.atleast_2d(A.toarray() if sp.issparse(A) else np.asarray(A, dtype=float))


def _matrix(A: FloatArray, rng: np.random.Generator) -> Any:
    """A matrix as lists, as an array, or sparse; of coordinates with every entry in two parts."""
    kind = rng.choice(["lists", "array", "csr", "csc", "parts", "matrix"])
    if kind == "lists":
        return A.tolist()
    if kind == "parts":
        i, j = np.nonzero(A)
        return sp.coo_array((np.concatenate([A[i, j] - 1.0, np.ones(i.size)]), (np.tile(i, 2), np.tile(j, 2))), shape=A.shape)
    return {"array": np.array, "csr": sp.csr_array, "csc": sp.csc_array, "matrix": sp.csr_matrix}[str(kind)](A)


def _linprog_arguments(p: Matrices, rng: np.random.Generator) -> dict[str, Any]:
    equal = p.low == p.high
    above, below = ~equal & np.isfinite(p.high), ~equal & np.isfinite(p.low)
    rows, sides = np.vstack([p.A[above], -p.A[below]]), np.concatenate([p.high[above], -p.low[below]])
    values: dict[str, Any] = {"bounds": _linprog_bounds(p, rng)}
    if sides.size:
        values |= {"A_ub": _matrix(rows, rng), "b_ub": sides.tolist() if rng.random() < 0.5 else sides}
    if equal.any():
        values |= {"A_eq": _matrix(p.A[equal], rng), "b_eq": p.low[equal]}
    if p.integer.any():
        values["integrality"] = p.kinds
    return values


def _linprog_bounds(p: Matrices, rng: np.random.Generator) -> Any:
    """Bounds as one pair, pairs with None, or an array with infinite entries."""
    pairs = [
        (None if math.isinf(low) else low, None if math.isinf(high) else high)
        for low, high in zip(p.lower.tolist(), p.upper.tolist(), strict=True)
    ]
    if p.common and rng.random() < 0.7:
        return None if pairs[0] == (0.0, None) and rng.random() < 0.5 else pairs[0]
    return pairs if rng.random() < 0.5 else np.column_stack([p.lower, p.upper])


def _milp_arguments(p: Matrices, rng: np.random.Generator) -> dict[str, Any]:
    from scipy.optimize import Bounds, LinearConstraint

    values: dict[str, Any] = {}
    one = p.common and rng.random() < 0.7
    if not (p.common and p.lower[0] == 0.0 and math.isinf(p.upper[0]) and rng.random() < 0.5):
        values["bounds"] = Bounds(p.lower[0], p.upper[0]) if one else Bounds(p.lower, p.upper)
    if p.integer.any() or rng.random() < 0.3:
        values["integrality"] = int(p.integer[0]) if (p.integer == p.integer[0]).all() else p.kinds
    constraints: list[Any] = []
    for part in np.array_split(np.arange(p.m), 2):
        if not part.size:
            continue
        low, high = p.low[part], p.high[part]
        sides: list[Any] = [low, high]
        if (low == low[0]).all() and (high == high[0]).all():
            sides = [float(low[0]), float(high[0])]
        if np.isinf(high).all() and rng.random() < 0.5:
            sides = sides[:1]  # the upper side is infinite where it is left out
        matrix = _matrix(p.A[part], rng)
        constraints.append(LinearConstraint(matrix, *sides) if rng.random() < 0.6 else (matrix, *sides))
    if constraints:
        alone = len(constraints) == 1 and not (isinstance(constraints[0], tuple) and len(constraints[0]) < 3)
        values["constraints"] = constraints[0] if alone else constraints  # milp takes one tuple if it has three parts
    return values
