"""The linear programs of `ramp-bb`, in HiGHS: a node's relaxation, the least margin of a point, and conflicts of the root.

The relaxation in w, weights β of the atoms and losses ξ_i = c_i ρ_i is

    min Σ|β| + Σ ξ_i    with    w = Σ β_j x_j,    a_i'w + σ_i ξ_i/c_i ≥ r,    0 ≤ ξ_i ≤ h c_i,
                                Σ_i L_ki ξ_i/c_i ≥ t_k for each conflict,    a_i'w ≤ q and ξ_i = h c_i where i is given up.

Symbols are those of `solvers.ramp.dual`: the loss ρ is h at the margin q and 0 from r on, σ_i = (r - min(l_i, q))/h, c_i is the
cost of point i, a_i its row, l_i a proved lower bound of its margin, x_j an atom, L and t are loads and thresholds of conflicts.
A point is *given up* if its margin is at most q, and *kept* if l_i ≥ q. A *conflict* is a combination u ≥ 0 of rows with Σ u_i
a_i ≈ 0: its points cannot all be without loss, which is the row with L and t. The dual simplex method starts from the basis of
the last node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from ...models.arrays import BoolArray, FloatArray
from ..interface.timeouts import call_outside_fork
from .dual import RampConflicts, RampProblem

#: Feasibility of rows and reduced costs.
_PRECISION = 1e-9
#: Least relative violation of a conflict that is added; conflicts that are searched for in a round; most rounds; least relative
#: rise of the relaxation's value over the last `_PATIENCE` rounds; rise of a point's price when a conflict has used it.
_VIOLATED, _AT_ONCE, _ROUNDS, _WORTH, _PATIENCE, _USED = 1e-3, 8, 40, 0.02, 4, 0.2
#: Price of points without a loss, and multipliers that count as zero.
_LEAST_PRICE, _TINY = 1e-3, 1e-9
#: Lower bound of margins, in widths of the ramp, where none is known.
_FAR = 1e3


def _new_program() -> tuple[Any, Any]:
    import highspy  # imported here: it is slow, and few problems need it

    native: Any = highspy
    highs = native.Highs()
    options = {
        "output_flag": False, "solver": "simplex", "threads": 1, "presolve": "off",
        "primal_feasibility_tolerance": _PRECISION, "dual_feasibility_tolerance": _PRECISION,
    }  # fmt: skip
    for name, value in options.items():
        highs.setOptionValue(name, value)
    return highs, native.HighsModelStatus


def _add_rows(highs: Any, rows: Any, lower: FloatArray, upper: FloatArray) -> None:
    A = sp.csr_array(rows)
    highs.addRows(lower.size, lower, upper, A.nnz, A.indptr[:-1].astype(np.int32), A.indices.astype(np.int32), A.data)


def _add_columns(highs: Any, costs: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    empty = np.zeros(0, dtype=np.int32)
    highs.addCols(costs.size, costs, lower, upper, 0, np.zeros(costs.size, dtype=np.int32), empty, np.zeros(0))


@dataclass(frozen=True, eq=False)
class RampSolution:
    """A solution of a node's program, or the multipliers that prove it infeasible."""

    value: float  #: objective, or the margin that `RampProgram.least_margin` minimises; ∞ for an infeasible program
    w: FloatArray  #: (p,) coefficients; empty for an infeasible program
    losses: FloatArray  #: (n,) ξ; empty for an infeasible program
    norm: float  #: Σ|β|; ∞ for an infeasible program
    multipliers: FloatArray  #: (n + K,) dual multipliers ≥ 0 of the points' rows, then of the K conflicts
    theta: float  #: the multiplier θ of the objective: 1, or that of its limit


@final
class RampProgram:
    """The relaxation of a node in HiGHS; `set_node` changes it to that of another node."""

    def __init__(self, problem: RampProblem) -> None:
        view = self._view = problem.view
        self._problem = problem
        self._highs, self._status = _new_program()
        n, p, m = *view.A.shape, len(view.atoms)
        self._n, self._p, self._m = n, p, m
        self._slack, self._kept = np.ones(n), np.zeros(n, dtype=np.bool_)
        self._loads, self._kept_loads = np.zeros((0, n)), np.zeros((0, n))
        inf = np.full(p, np.inf)
        self._columns = np.arange(p + 2 * m + n, dtype=np.int32)
        self._costs = np.concatenate([np.zeros(p), np.ones(2 * m + n)])
        #: ends of the losses and of the margins' rows, as HiGHS has them
        self._ends = np.array([
            np.zeros(n), problem.height * view.costs, np.full(n, problem.zero_loss_margin), np.full(n, np.inf)
        ])  # fmt: skip
        _add_columns(self._highs, self._costs[:p], -inf, inf)
        _add_columns(self._highs, self._costs[p:], np.zeros(2 * m + n), np.concatenate([np.full(2 * m, np.inf), self._ends[1]]))
        coupled = np.ones(p) if not view.intercept else np.concatenate([[0.0], np.ones(p - 1)])
        rows = sp.vstack([
            sp.hstack([view.A, sp.csr_array((n, 2 * m)), sp.diags_array(self._slack)]),
            sp.hstack([sp.diags_array(coupled), -view.atoms.T, view.atoms.T, sp.csr_array((p, n))]),
            self._costs[None],
        ])  # fmt: skip
        free = np.full(n + p + 1, np.inf)
        free[n : n + p] = 0.0
        _add_rows(self._highs, rows, np.concatenate([self._ends[2], np.zeros(p), [-np.inf]]), free)

    def add_conflicts(self, conflicts: RampConflicts) -> None:
        """Add the rows of conflicts, with the loads of points that may be given up; call it only while no point is kept."""
        self._loads = np.vstack([self._loads, conflicts.loads / self._view.costs])
        self._kept_loads = np.vstack([self._kept_loads, conflicts.kept_loads / self._view.costs])
        count = conflicts.thresholds.size
        loads = sp.csr_array(conflicts.loads / self._view.costs)
        rows = sp.hstack([sp.csr_array((count, self._p + 2 * self._m)), loads])
        _add_rows(self._highs, rows, conflicts.thresholds, np.full(count, np.inf))

    def set_node(self, lower: FloatArray, given_up: BoolArray) -> None:
        """Change the program to a node with these lower bounds of margins and these points given up."""
        r, most = self._problem.zero_loss_margin, self._problem.height * self._view.costs
        self._update(
            np.where(given_up, 0.0, self._problem.shortfall_per_loss(lower) / self._view.costs),
            np.where(given_up, most, 0.0), most,
            np.where(given_up, -np.inf, r), np.where(given_up, self._problem.full_loss_margin, np.inf),
        )  # fmt: skip
        self._keep(lower >= self._problem.full_loss_margin)

    def fit(self, given_up: BoolArray) -> RampSolution | None:
        """Return the best point if given-up points pay h and others h (r - m)_+/(r - q), without a cap; None if HiGHS fails."""
        problem, costs = self._problem, self._view.costs
        infinite, zero = np.full(costs.size, np.inf), np.zeros(costs.size)
        slack = np.where(given_up, 0.0, problem.shortfall_per_loss(np.full(costs.size, problem.full_loss_margin)) / costs)
        most = problem.height * costs
        self._update(
            slack, np.where(given_up, most, zero), np.where(given_up, most, infinite),
            np.where(given_up, -infinite, problem.zero_loss_margin), infinite,
        )  # fmt: skip
        return self.relax()

    def _update(self, slack: FloatArray, *ends: FloatArray) -> None:
        """Pass the differences from the last node to HiGHS: σ/c, ends of losses, ends of rows."""
        first, changed = self._p + 2 * self._m, np.array(ends)
        for i in np.flatnonzero(slack != self._slack).tolist():
            self._highs.changeCoeff(i, first + i, float(slack[i]))
        differs = changed != self._ends
        for i in np.flatnonzero(differs[:2].any(axis=0)).tolist():
            self._highs.changeColBounds(first + i, *changed[:2, i].tolist())
        for i in np.flatnonzero(differs[2:].any(axis=0)).tolist():
            self._highs.changeRowBounds(i, *changed[2:, i].tolist())
        self._slack, self._ends = slack, changed

    def _keep(self, is_kept: BoolArray) -> None:
        """Change the loads of points that are kept, or are no longer."""
        first, base = self._p + 2 * self._m, self._n + self._p + 1
        for i in np.flatnonzero(is_kept != self._kept).tolist():
            loads = self._kept_loads[:, i] if is_kept[i] else self._loads[:, i]
            for k in np.flatnonzero(self._loads[:, i]).tolist():
                self._highs.changeCoeff(base + k, first + i, float(loads[k]))
        self._kept = is_kept

    def relax(self) -> RampSolution | None:
        """Solve the node's relaxation and return its solution; None if HiGHS fails."""
        return self._solve(self._costs, np.inf)

    def least_margin(self, i: int, cut: float) -> RampSolution | None:
        """Minimise the margin of a point over the relaxation's points that cost at most ``cut``; None if HiGHS fails."""
        costs = np.zeros(self._costs.size)
        costs[: self._p] = self._view.A[i]
        return self._solve(costs, cut)

    def _solve(self, costs: FloatArray, cut: float) -> RampSolution | None:
        highs, n, p, limit = self._highs, self._n, self._p, self._n + self._p
        highs.changeRowBounds(limit, -np.inf, cut)
        highs.changeColsCost(costs.size, self._columns, costs)
        call_outside_fork("highspy", highs.run)
        status, empty = highs.getModelStatus(), np.zeros(0)
        if status == self._status.kInfeasible:
            _, is_there, ray = highs.getDualRay()
            if not is_there:
                return None
            duals = np.abs(np.array(ray))
            return RampSolution(
                np.inf, empty, empty, np.inf, np.concatenate([duals[:n], duals[limit + 1 :]]), float(duals[limit])
            )
        if status != self._status.kOptimal:
            return None
        solution = highs.getSolution()
        x, duals = np.array(solution.col_value), np.abs(np.array(solution.row_dual))
        theta = 1.0 if cut == np.inf else float(duals[limit])
        multipliers = np.concatenate([duals[:n], duals[limit + 1 :]])
        w, weights, losses = np.split(x, [p, p + 2 * self._m])
        value = highs.getInfo().objective_function_value
        return RampSolution(value, w, losses, float(np.abs(weights).sum()), multipliers, theta)


def with_root_conflicts(problem: RampProblem) -> RampProblem:
    """Return the problem with conflicts that its root relaxation violates, separated in rounds as long as its value rises."""
    view, n = problem.view, len(problem.view.A)
    highs, status = _new_program()
    _add_columns(highs, np.zeros(n), np.zeros(n), np.full(n, np.inf))
    sums = np.concatenate([np.zeros(view.A.shape[1]), [1.0]])
    _add_rows(highs, np.vstack([view.A.T, np.ones(n)]), sums, sums)
    program, columns, values = RampProgram(problem), np.arange(n, dtype=np.int32), list[float]()
    program.set_node(np.full(n, -_FAR), np.zeros(n, dtype=np.bool_))
    for _ in range(_ROUNDS):
        solution = program.relax()
        if (
            solution is None
            or not solution.losses.size
            or (len(values) > _PATIENCE and solution.value < values[-_PATIENCE] * (1.0 + _WORTH))
        ):
            return problem
        losses = solution.losses / view.costs
        values.append(solution.value)
        prices, points = losses + _LEAST_PRICE, list[Any]()
        for _ in range(_AT_ONCE):
            highs.changeColsCost(n, columns, prices)
            call_outside_fork("highspy", highs.run)
            if highs.getModelStatus() != status.kOptimal:
                return problem
            u = np.array(highs.getSolution().col_value)
            u[u < _TINY] = 0.0
            prices = prices + _USED * (u > 0.0)
            if (point := problem.rounded_multipliers(u, np.ones(n))) is not None:
                points.append(point)
        candidates = RampProblem(view, tuple(points)).conflict_arrays
        violated = candidates.loads @ losses < candidates.thresholds * (1.0 - _VIOLATED)
        if not violated.any():
            return problem
        additional = RampProblem(view, tuple(points[k] for k in np.flatnonzero(violated)))
        program.add_conflicts(additional.conflict_arrays)
        problem = RampProblem(view, problem.conflicts + additional.conflicts)
    return problem
