"""Branch and bound for `write_vipr` (VIPR certificates): each node stores the rational combination of rows that proves its bound.

The program is the float64 data of a form, taken as rational numbers. A sum of its rows and bounds with rational multipliers is an
inequality that holds exactly.
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import qr

from ...errors import SolverError, UnsupportedModelError
from ...models.arrays import FloatArray
from ...models.export.highs_model import to_highs
from ...models.program.cones import Feature, Zero
from ...models.program.form import StandardForm
from ..interface.timeouts import call_outside_fork
from ..rational import Bounds, RationalForm, Vector, solve_linear


@dataclass(frozen=True)
class LinearConstraint:
    """The row Σ v_j x_j ≥ side, or = side."""

    terms: list[tuple[int, Fraction]]  #: pairs (j, v_j)
    equal: bool  #: whether the row is an equation
    side: Fraction  #: right-hand side


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """The program min cost'x subject to rows and bounds, some x integer: float64 data of a form, taken as rational numbers."""

    exact: RationalForm  #: the form in rational arithmetic
    rows: list[LinearConstraint]  #: in the order of the form's rows
    cost: Vector  #: (n,) objective coefficients
    lower: Bounds  #: (n,) lower bounds; None where there is none
    upper: Bounds  #: (n,) upper bounds; None where there is none

    @classmethod
    def of(cls, form: StandardForm) -> LinearProgram:
        """Return the program of a linear form; raise UnsupportedModelError for a quadratic objective, cones or indicators."""
        unsupported = sorted(feature.value for feature in form.features - {Feature.INTEGER})
        if unsupported:
            raise UnsupportedModelError(
                f"VIPR certificates are of mixed-integer linear programs; {form.name} has {', '.join(unsupported)}. For "
                "the 0-1 loss with ½||w||² and scoring systems, solve(model, proof=path) writes a log that check_proof verifies",
                name="model",
            )
        exact = RationalForm(form)
        rows = [
            LinearConstraint(terms, isinstance(c.cone, Zero), -Fraction(g))
            for c in form.constraints
            for terms, g in zip(exact.rows[c.label], c.g.tolist(), strict=True)
        ]
        return cls(exact, rows, exact.point(form.q), _bounds(form.lower), _bounds(form.upper))

    @property
    def form(self) -> StandardForm:
        """The form whose numbers the program takes."""
        return self.exact.form

    def value(self, x: Vector) -> Fraction:
        """Return cost'x, without the constant of the objective, which the format cannot hold."""
        return sum((c * v for c, v in zip(self.cost, x, strict=True) if c), Fraction(0))

    def feasible(self, x: Vector) -> bool:
        """Return whether x satisfies every row, bound and integrality, exactly."""
        return not any(self.exact.violations(x).values())


def _bounds(values: FloatArray) -> Bounds:
    return [Fraction(value) if np.isfinite(value) else None for value in values.tolist()]


#: Multipliers below this are omitted: the reduced costs take their contribution.
_NEGLIGIBLE = 1e-11
#: Largest denominators of multipliers that are as near to a simple fraction as rounding allows.
_MAX_DENOMINATOR = 10**6
#: Reduced costs of variables with an infinite bound are corrected to zero if their size is below this or they need that bound.
_SMALL = 1e-7


@dataclass(frozen=True, eq=False)
class RationalSum:
    """The sum Σ rows[i] · row i + Σ reduced[j] · bound of j, which reads cost'x ≥ side, or 0 ≥ side."""

    rows: dict[int, Fraction]  #: multipliers of the rows by index; those of inequalities are nonnegative
    reduced: dict[int, Fraction]  #: reduced costs: positive ones multiply lower bounds, negative ones upper bounds
    side: Fraction  #: right-hand side


def _bounding_sum(program: LinearProgram, y: FloatArray, cost: Vector, lower: Bounds, upper: Bounds) -> RationalSum | None:
    """Return the sum with multipliers near y whose left side is ``cost``; None if it needs a bound that a variable lacks.

    Any y that is nonnegative for inequalities gives a true inequality; optimal multipliers give the largest right side.
    """
    rows = _simple(program, y)
    reduced = _slopes(program, rows, cost)
    if not _bounded(reduced, lower, upper):
        open_ended = [j for j in range(len(cost)) if lower[j] is None or upper[j] is None]
        loose = [j for j in open_ended if abs(reduced[j]) < _SMALL or not _bounded({j: reduced[j]}, lower, upper)]
        if not _correct(program, rows, loose, reduced):
            return None
        reduced = _slopes(program, rows, cost)
        if not _bounded(reduced, lower, upper):
            return None
    nonzero = {j: r for j, r in reduced.items() if r}
    side = sum((price * program.rows[i].side for i, price in rows.items()), Fraction(0))
    for j, r in nonzero.items():
        end = lower[j] if r > 0 else upper[j]
        assert end is not None
        side += r * end
    return RationalSum(rows, nonzero, side)


def _simple(program: LinearProgram, y: FloatArray) -> dict[int, Fraction]:
    """Return the multipliers as fractions, simple ones if they are near; those of inequalities are clipped at zero."""
    rows = {}
    for i, price in enumerate(y.tolist()):
        if abs(price) <= _NEGLIGIBLE or (price < 0 and not program.rows[i].equal):
            continue
        exact = Fraction(price)
        simple = exact.limit_denominator(_MAX_DENOMINATOR)
        rows[i] = simple if simple and abs(simple - exact) <= abs(exact) / 10**9 else exact
    return rows


def _slopes(program: LinearProgram, rows: dict[int, Fraction], cost: Vector) -> dict[int, Fraction]:
    """Return cost - A'y."""
    slopes = dict(enumerate(cost))
    for i, price in rows.items():
        for j, v in program.rows[i].terms:
            slopes[j] -= price * v
    return slopes


def _bounded(reduced: dict[int, Fraction], lower: Bounds, upper: Bounds) -> bool:
    return all(r == 0 or (lower[j] if r > 0 else upper[j]) is not None for j, r in reduced.items())


def _correct(program: LinearProgram, rows: dict[int, Fraction], loose: list[int], reduced: dict[int, Fraction]) -> bool:
    """Change as many multipliers as there are reduced costs in ``loose`` so that these become zero, in place.

    Return False if no change makes them zero, or if a multiplier of an inequality becomes negative.
    """
    places = {j: k for k, j in enumerate(loose)}
    used = [i for i in range(len(program.rows)) if i in rows or program.rows[i].equal]
    columns = [[Fraction(0)] * len(loose) for _ in used]
    for column, i in zip(columns, used, strict=True):
        for j, v in program.rows[i].terms:
            if j in places:
                column[places[j]] = v
    if not used:
        return False
    # the largest multipliers first: they admit a change of their own size
    sizes = np.array([max(abs(float(rows.get(i, Fraction(0)))), 1e-6) for i in used])
    table = np.array([[float(v) for v in column] for column in columns]).T
    order = qr(table * sizes, mode="r", pivoting=True)[1][: len(loose)].tolist()
    change = solve_linear([[columns[k][m] for k in order] for m in range(len(loose))], [reduced[j] for j in loose])
    if change is None:
        return False
    for k, delta in zip(order, change, strict=True):
        rows[used[k]] = rows.get(used[k], Fraction(0)) + delta
    return all(price >= 0 or program.rows[i].equal for i, price in rows.items())


# Linear relaxations of nodes by HiGHS: the point and the multipliers from which a node's rational sum is computed.

#: HiGHS's feasibility tolerance of rows, bounds and reduced costs.
_TOLERANCE = 1e-9
#: Relative tightenings of inequalities with which a rounded point satisfies them exactly; tried in turn.
_MARGINS = (1e-13, 1e-11, 1e-9, 1e-7)


@dataclass(frozen=True, eq=False)
class NodeRelaxation:
    """Result of HiGHS for the relaxation of a node."""

    x: FloatArray | None  #: a point; None without one
    #: multipliers of the rows: optimal ones, nonnegative for inequalities up to rounding; without a point a Farkas ray up to sign
    y: FloatArray


class RelaxationSolver:
    """The linear relaxations of nodes in HiGHS: one model whose bounds of variables change from node to node."""

    def __init__(self, program: LinearProgram) -> None:
        import highspy

        self._highspy: Any = highspy
        self._program = program
        self._columns = np.arange(program.form.n, dtype=np.int32)
        self._highs = self._loaded(program.form.relax_integrality())

    def _loaded(self, form: StandardForm) -> Any:
        highs: Any = self._highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("solver", "simplex")
        highs.setOptionValue("presolve", "off")  # Farkas multipliers must be those of the unpresolved rows
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, _TOLERANCE)
        highs.passModel(to_highs(self._highspy, form))
        return highs

    def solve(self, lower: FloatArray, upper: FloatArray) -> NodeRelaxation:
        """Return the result for the given bounds of variables; raise SolverError if HiGHS finds neither a point nor a ray."""
        self._highs.changeColsBounds(self._columns.size, self._columns, lower, upper)
        call_outside_fork("highspy", self._highs.run)
        status = self._highs.getModelStatus()
        if status == self._highspy.HighsModelStatus.kOptimal:
            solution = self._highs.getSolution()
            return NodeRelaxation(np.array(solution.col_value), np.array(solution.row_dual))
        if status == self._highspy.HighsModelStatus.kInfeasible:
            _, has_ray, ray = self._highs.getDualRay()
            if has_ray:
                return NodeRelaxation(None, np.array(ray))
        raise SolverError(f"the relaxation of a node has no bound: HiGHS ends with {status.name}", solver="highs")

    def exact_point(self, x: FloatArray) -> Vector | None:
        """Return a point with the rounded integers of x that satisfies the program exactly; None if none is found."""
        program, form = self._program, self._program.form
        rounded = np.where(form.integer, np.round(x), x)
        point = program.exact.point(rounded)
        if program.feasible(point) or form.integer.all():
            return point if program.feasible(point) else None
        fixed = form.with_integers_fixed(x)
        vertex = self._vertex(fixed)
        if vertex is not None:
            return vertex
        # inside by a margin larger than rounding; equalities hold without one or not at all
        for margin in _MARGINS:
            inner = self._inner(fixed, margin)
            if inner is not None:
                point = program.exact.point(np.where(form.integer, np.round(x), inner))
                if program.feasible(point):
                    return point
        return None

    def _vertex(self, fixed: StandardForm) -> Vector | None:
        """Return the optimal vertex of a form without integers, solved in rational arithmetic from HiGHS's basis.

        Columns that are not basic stand at bounds and rows that are not basic at their sides: with the equalities these are the
        equations of the basic columns. Return None if they have no solution, or one that violates the program.
        """
        highs = self._loaded(fixed)
        highs.run()
        if highs.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return None
        status, basis, rows = self._highspy.HighsBasisStatus, highs.getBasis(), self._program.rows
        low, high = fixed.lower.tolist(), fixed.upper.tolist()
        point: Vector = [Fraction(0)] * fixed.n
        unknown: list[int] = []
        for j, state in enumerate(basis.col_status):
            if state == status.kBasic and low[j] < high[j]:
                unknown.append(j)
            elif np.isfinite(end := high[j] if state == status.kUpper else low[j]):
                point[j] = Fraction(end)
        tight = [row for row, state in zip(rows, basis.row_status, strict=True) if row.equal or state != status.kBasic]
        places = {j: k for k, j in enumerate(unknown)}
        table = [[Fraction(0)] * len(unknown) for _ in tight]
        sides = [row.side for row in tight]
        for i, row in enumerate(tight):
            for j, v in row.terms:
                if j in places:
                    table[i][places[j]] = v
                else:
                    sides[i] -= v * point[j]
        solution = solve_linear(table, sides) if unknown else []
        if solution is None:
            return None
        for j, value in zip(unknown, solution, strict=True):
            point[j] = value
        return point if self._program.feasible(point) else None

    def _inner(self, fixed: StandardForm, margin: float) -> FloatArray | None:
        """Return the best point of a form without integers whose inequalities are tightened."""
        width = np.where(fixed.lower < fixed.upper, margin * np.minimum(1.0, fixed.upper - fixed.lower), 0.0)
        highs = self._loaded(fixed.with_bounds(fixed.lower + width, fixed.upper - width))
        sides = np.array([float(row.side) for row in self._program.rows])
        equal = np.array([row.equal for row in self._program.rows], dtype=bool)
        tight = np.where(equal, sides, sides + margin * np.maximum(1.0, np.abs(sides)))
        highs.changeRowsBounds(sides.size, np.arange(sides.size, dtype=np.int32), tight, np.where(equal, sides, np.inf))
        call_outside_fork("highspy", highs.run)
        optimal = highs.getModelStatus() == self._highspy.HighsModelStatus.kOptimal
        return np.array(highs.getSolution().col_value) if optimal else None


#: A value as near to an integer as this is rounded to it for a trial.
_WHOLE = 1e-6
#: Integers of a point count as integral if they are off by no more than this.
_ROUNDING = 1e-9
#: A node is closed if its bound is within this, times max(1, |cutoff|), of the cutoff.
_GAP = 1e-9


@dataclass(frozen=True)
class Branch:
    """The branch x_variable ≤ value (``above`` false) or ≥ value."""

    variable: int  #: index of the variable
    above: bool  #: whether the branch is x ≥ value
    value: int  #: an integer


@dataclass(eq=False)
class ProofNode:
    """A node with the rational sum that proves its bound cost'x ≥ side, or its infeasibility."""

    path: tuple[Branch, ...]  #: branches from the root to the node
    proof: RationalSum  #: of the bound, or of infeasibility
    infeasible: bool  #: whether the sum proves that no point satisfies the node
    children: tuple[ProofNode, ...] = ()  #: two or none: the child with x ≤ value, then that with x ≥ value + 1


@dataclass(frozen=True, eq=False)
class Tree:
    """The search tree of `branch_and_bound` at its end."""

    root: ProofNode  #: the root, whose ``children`` lead to all other nodes
    nodes: int  #: number of nodes
    best: Vector | None  #: (n,) the best exactly feasible point found; None without one


class _Search:
    """The search: its relaxations, the best exactly feasible point, and the average gains of branches."""

    def __init__(self, program: LinearProgram, start: FloatArray | None) -> None:
        self.program = program
        self.relaxations = RelaxationSolver(program)
        self.best: Vector | None = None
        self.cutoff = math.inf
        self.nodes = 0
        self._gains = np.zeros((2, program.form.n))
        self._counts = np.zeros((2, program.form.n))
        if start is not None:
            self.try_incumbent(start)
            self.cutoff = math.inf if self.best is None else self.cutoff

    def try_incumbent(self, x: FloatArray) -> None:
        """Keep the point with the integers of x if it is feasible exactly and better.

        A point that is feasible up to rounding only, as rows with equality make it, lowers the cutoff but is no upper bound.
        """
        point = self.relaxations.exact_point(x)
        if point is not None and (self.best is None or self.program.value(point) < self.program.value(self.best)):
            self.best, self.cutoff = point, min(self.cutoff, float(self.program.value(point)))
        elif point is None and np.abs(x - np.round(x))[self.program.form.integer].max(initial=0.0) <= _ROUNDING:
            self.cutoff = min(self.cutoff, float(self.program.form.q @ x))

    def is_fathomed(self, node: ProofNode) -> bool:
        """Return whether the node is infeasible or its bound reaches the cutoff, up to `_GAP`."""
        return node.infeasible or float(node.proof.side) >= self.cutoff - _GAP * max(1.0, abs(self.cutoff))

    def node(self, path: tuple[Branch, ...]) -> tuple[ProofNode, FloatArray | None]:
        """Return the node of a path with its relaxation solved and its sum computed, and the relaxation's point."""
        lower, upper = self.bounds_of(path)
        relaxation = self.relaxations.solve(_floats(lower, -np.inf), _floats(upper, np.inf))
        self.nodes += 1
        proof = self._proof(relaxation, lower, upper)
        if proof is None:
            claim = "emptiness" if relaxation.x is None else "bound"
            raise SolverError(f"the {claim} of a node at depth {len(path)} could not be made rational (variables without bounds)")
        return ProofNode(path, proof, relaxation.x is None), relaxation.x

    def _proof(self, relaxation: NodeRelaxation, lower: Bounds, upper: Bounds) -> RationalSum | None:
        if relaxation.x is not None:
            return _bounding_sum(self.program, relaxation.y, self.program.cost, lower, upper)
        zeros = [Fraction(0)] * len(self.program.cost)
        size = float(np.abs(relaxation.y).max(initial=0.0))
        for ray in (relaxation.y / size, -relaxation.y / size) if size > 0.0 else ():
            empty = _bounding_sum(self.program, ray, zeros, lower, upper)
            if empty is not None and empty.side > 0:
                return empty
        return None

    def bounds_of(self, path: tuple[Branch, ...]) -> tuple[Bounds, Bounds]:
        lower, upper = list(self.program.lower), list(self.program.upper)
        for branch in path:
            (lower if branch.above else upper)[branch.variable] = Fraction(branch.value)
        return lower, upper

    def split(self, node: ProofNode, x: FloatArray) -> tuple[Branch, Branch] | None:
        """Return the branches of the fractional variable with the largest product of expected gains.

        If the integers of x are integral, return branches of one that is not fixed, or None if all are fixed.
        """
        integer = self.program.form.integer
        fractionality = np.where(integer, np.abs(x - np.round(x)), 0.0)
        if fractionality.max(initial=0.0) <= _WHOLE:
            lower, upper = self.bounds_of(node.path)
            loose = [j for j in np.flatnonzero(integer).tolist() if lower[j] is None or lower[j] != upper[j]]
            if not loose:
                return None
            j = max(loose, key=lambda k: fractionality[k])
            low, high = lower[j], upper[j]
            floor = math.floor(x[j]) if x[j] != round(x[j]) else round(x[j]) - int(high is not None and x[j] >= high)
            floor = floor if low is None else max(floor, int(low))
        else:
            down, up = x - np.floor(x), np.ceil(x) - x
            mean = self._gains.sum(axis=1) / np.maximum(self._counts.sum(axis=1), 1.0)
            rate = np.where(self._counts > 0, self._gains / np.maximum(self._counts, 1.0), np.maximum(mean, 1e-6)[:, None])
            score = np.maximum(rate[0] * down, 1e-9) * np.maximum(rate[1] * up, 1e-9)
            j = int(np.argmax(np.where(fractionality > _WHOLE, score, -1.0)))
            floor = math.floor(x[j])
        return Branch(j, False, floor), Branch(j, True, floor + 1)

    def update_gains(self, branch: Branch, parent: ProofNode, child: ProofNode, x: FloatArray) -> None:
        """Record how much the child's bound rose above the parent's, per unit of the variable's change."""
        if child.infeasible:
            return
        distance = abs(branch.value - x[branch.variable])
        if distance > _WHOLE:
            self._gains[int(branch.above), branch.variable] += float(child.proof.side - parent.proof.side) / distance
            self._counts[int(branch.above), branch.variable] += 1.0


def branch_and_bound(program: LinearProgram, start: FloatArray | None, time_limit: float | None, node_limit: int | None) -> Tree:
    """Return the tree at the end of the search, or at a limit: open nodes are leaves with their own bounds."""
    begin = time.perf_counter()
    search = _Search(program, start)
    root, x = search.node(())
    open_nodes: list[tuple[float, int, ProofNode, FloatArray]] = []
    count = 0
    pending = [(root, x)]
    while True:
        for node, point in pending:
            if point is None or search.is_fathomed(node):
                continue
            if np.abs(point - np.round(point))[program.form.integer].max(initial=0.0) <= _WHOLE:
                search.try_incumbent(point)
            if not search.is_fathomed(node):
                heapq.heappush(open_nodes, (float(node.proof.side), count, node, point))
                count += 1
        pending = []
        limit = node_limit is not None and search.nodes >= node_limit
        timed_out = time_limit is not None and time.perf_counter() - begin >= time_limit
        if not open_nodes or limit or timed_out:
            return Tree(root, search.nodes, search.best)
        _, _, node, point = heapq.heappop(open_nodes)
        branches = None if search.is_fathomed(node) else search.split(node, point)
        if branches is not None:
            pending = [search.node((*node.path, branch)) for branch in branches]
            node.children = tuple(child for child, _ in pending)
            for branch, (child, _) in zip(branches, pending, strict=True):
                search.update_gains(branch, node, child, point)


def _floats(bounds: Bounds, missing: float) -> FloatArray:
    return np.array([missing if end is None else float(end) for end in bounds])
