"""Search for a counterexample to a solver's claim: a feasible point that costs less than the claimed optimum or bound.

A stage of `solvers.judgement` runs it. A claim of infeasibility is refuted by any feasible point.

A solver may claim that a point is optimal which is not: presolve and absolute tolerances cause that if the data are large or
small. The objective is cheap to evaluate, so a few hundred points are tried: zero, multiples of the solver's
point, coordinate directions, the directions that raise the rows, multiples of the continuous relaxation's solution, and the
minima of exact searches along coordinates. The model completes each point from its leading block; for a form without a
formulation whole points are tried. A counterexample refutes a claim; a search without one proves nothing. Data far from the
origin are searched in the variables of `Centring`.

*Exact searches along coordinates.* The leading block is the first block of the form's variables: w of a classifier. Most of the
other variables are slacks: each has rows of its own, and its least feasible value is the largest that these rows require, rounded
up if it is an integer. The cost of w is then known without a solver. Along a coordinate it is a piecewise quadratic with *kinks*
and jumps, where a row meets a bound of its slack: a margin its threshold, a coefficient zero. Between two neighbouring kinks or
jumps the cost is smooth, so its minimum is at a kink, just beside it, or where the derivative vanishes between two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..models.arrays import BoolArray, FloatArray, IntArray
from ..models.model import BareForm, Model
from ..models.program.cones import Feature, Nonnegative, Zero
from ..models.program.form import StandardForm
from .backends.clarabel import Clarabel
from .certification.certificate import Certificate, certify
from .records import Answer, Options, Status

#: Largest relative residual of a counterexample: a point that violates its rows by more may cost less for that reason.
_ROUNDED = 1e-12
#: The largest entry of a point that refutes infeasibility: beyond it rounding hides violations of 1e-12.
_MODERATE = 1e3
#: Largest number of coordinates that are tried, and of non-zeros of the form times tried points.
_COORDINATES, _WORK = 16, 2e8
#: Largest number of non-zeros of a form whose continuous relaxation is solved.
_RELAXED = 5e5
#: Multiples of a direction.
_FACTORS = (1.0, -1.0, 1e-3, 0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 10.0, 1e3, 1e6)
#: Lengths that are tried for a direction without a natural length, in units of 1/max(|F|).
_LENGTHS = tuple(sign * 2.0**k for k in (-4, -1, 0, 3, 7) for sign in (1.0, -1.0))


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A feasible point that a claim excludes, with its certificate and the sentence on both."""

    values: Mapping[str, FloatArray]  #: the point, by block
    certificate: Certificate  #: the certificate of the point, recomputed
    remark: str  #: the sentence on the claim and the point


def find_counterexample(
    model: Model, form: StandardForm, answer: Answer, certificate: Certificate | None, tol: float, seconds: float | None
) -> Counterexample | None:
    """Return the best feasible point found that the answer's claim excludes; None without one.

    The certificate is that of the answer's point, ``tol`` the relative gap of an optimum; ``seconds`` limits the search.
    """
    level = _level(answer, certificate, tol)
    if level is None:
        return None
    deadline = np.inf if seconds is None else time.perf_counter() + seconds
    best, points = None, 0
    work = 1.0 + _size(form)
    with np.errstate(all="ignore"):
        for point in _points(model, form, answer, seconds, level):
            x = np.where(form.integer, np.round(point) + 0.0, point)  # of an integer off by 1e-15 data of 1e15 make a unit
            points += 1
            if points * work > _WORK or time.perf_counter() > deadline:
                break
            if not np.isfinite(x).all() or not form.objective(x) < level:
                continue
            point_certificate = certify(form, form.split(x))
            violation = max(point_certificate.violations.values(), default=0.0)
            if answer.status is Status.INFEASIBLE and (violation > _ROUNDED or np.abs(x).max(initial=0.0) > _MODERATE):
                continue  # large points may nearly satisfy rows that can only be satisfied at infinity
            if (
                point_certificate.feasible(_ROUNDED)
                and point_certificate.objective + point_certificate.error < level
                and _costs_less(model, form.split(x), level)
            ):
                level, best = point_certificate.objective, (x, point_certificate)
    return None if best is None else Counterexample(form.split(best[0]), best[1], _remark(answer, certificate, best[1]))


def _costs_less(model: Model, values: Mapping[str, FloatArray], level: float) -> bool:
    """Return whether a point costs less than the level also by the data in exact arithmetic, if the model can evaluate it so."""
    counted = model.exact_cost(values)
    return counted is None or (not counted.excess and counted.cost < level)


def _size(form: StandardForm) -> float:
    """Return an upper bound of the non-zeros of the rows and of P."""
    P = 0.0 if form.quadratic is None else float(form.quadratic.column_count_bounds.sum())
    return P + sum(c.F.nnz for c in form.constraints)


def _level(answer: Answer, certificate: Certificate | None, tol: float) -> float | None:
    """Return the objective below which a point refutes the claim; None where nothing is claimed, or the certificate proves it."""
    if certificate is not None and (certificate.inner or certificate.nonconvex):
        return None
    if answer.status is Status.INFEASIBLE:
        return np.inf
    if certificate is None or not np.isfinite(certificate.objective):
        return None
    objective, errors = certificate.objective, certificate.error + certificate.bound_error
    size = max(abs(objective), abs(certificate.bound) if np.isfinite(certificate.bound) else 0.0)
    if answer.status is Status.OPTIMAL:
        if np.isfinite(certificate.bound) and objective - certificate.bound <= tol * size + errors:
            return None
        return objective - 2.0 * tol * size - certificate.error - _ROUNDED * certificate.scale
    bound = answer.bound
    if certificate.integrality is None or bound is None or not np.isfinite(bound):
        return None
    return bound - 2.0 * tol * max(abs(bound), abs(objective)) - certificate.error - _ROUNDED * certificate.scale


def _remark(answer: Answer, certificate: Certificate | None, better: Certificate) -> str:
    """Return the sentence on the two statements that exclude each other, with both numbers."""
    if answer.status is Status.INFEASIBLE or certificate is None:
        return (
            f"the solver says infeasible, and a point of objective {better.objective:.10g} (minimised) satisfies all constraints"
        )
    if answer.status is Status.OPTIMAL:
        claim = f"the solver says that {certificate.objective:.10g} is optimal"
    else:
        claim = f"the solver's bound is {answer.bound:.10g}"
    return f"{claim}, and a feasible point, which is returned, costs {better.objective:.10g} (both minimised)"


def _points(model: Model, form: StandardForm, answer: Answer, seconds: float | None, level: float) -> Iterator[FloatArray]:
    """Yield points of the form, whole or completed by the model, that may cost less than ``level``; most are infeasible."""
    zero, centring = np.zeros(form.n), Centring.of(form)
    claimed_point = None if answer.values is None else _joined(model, form, answer.values)
    relaxed = _relaxation(centring.form, seconds)
    label = form.blocks[0].label
    points = [] if claimed_point is None else [centring.centred(claimed_point)]
    points += [] if relaxed is None else [relaxed]
    if len(form.blocks) == 1 or _joined(model, form, {label: form.split(zero)[label]}) is None:
        for direction in (zero, *points):
            for factor in _FACTORS if direction.any() else (1.0,):
                yield from centring.original(np.clip(factor * direction, centring.form.lower, centring.form.upper))
        costs = LeadingCosts.of(centring.form, slice(0, form.n))
        for start in points or [zero]:
            for point in costs.descend(start):
                yield from centring.original(point)
        return
    for point in points:
        yield from centring.original(point)
    block, columns = form.blocks[0], form.slices[label]
    costs = LeadingCosts.of(centring.form, columns)
    for leading in _leading(centring.form, costs, [zero, *points]):
        if costs(leading) >= level:
            continue
        for w in centring.original(np.concatenate([leading, zero[columns.stop :]])):
            completed = _joined(model, form, {label: block.unpack(w[columns])})
            if completed is not None:
                yield completed


def _leading(form: StandardForm, costs: LeadingCosts, points: list[FloatArray]) -> Iterator[FloatArray]:
    """Yield values of the leading block: multiples of those of the points, multiples of directions, minima of line searches."""
    block = form.slices[form.blocks[0].label]
    low, high = form.lower[block], form.upper[block]
    for point in points:
        for factor in _FACTORS if point[block].any() else (1.0,):
            yield np.clip(factor * point[block], low, high)
            if form.integer[block].any() and point[block].any():
                yield np.clip(np.round(factor * point[block]), low, high)
    part = costs.columns
    largest = float(np.abs(part.data).max(initial=0.0))
    unit = 1.0 / largest if largest > 0.0 else 1.0
    raising = np.asarray(part.sum(axis=0)).ravel()
    size = float(np.abs(raising).max(initial=0.0))
    count = part.shape[1]
    directions = [unit * np.eye(1, count, j).ravel() for j in range(min(count, _COORDINATES))]
    if size > 0.0 and np.isfinite(size):
        directions += [raising / size, unit * raising / size]
    for direction in directions:
        for length in _LENGTHS:
            yield np.clip(length * direction, low, high)
    for point in points[1:] or points:
        yield from costs.descend(point[block])


def _joined(model: Model, form: StandardForm, values: Mapping[str, FloatArray]) -> FloatArray | None:
    """Return x for values that the model completes; None where it cannot."""
    try:
        return form.join(model.complete(values))
    except (InputError, KeyError):
        return None


def _relaxation(form: StandardForm, seconds: float | None) -> FloatArray | None:
    """Return the interior-point solution of the continuous relaxation, integers rounded; None without one."""
    if _size(form) > _RELAXED or form.convexity.is_refuted:
        return None
    relaxed = BareForm(form.relax_integrality() if form.features & {Feature.INTEGER, Feature.INDICATOR} else form)
    solver = Clarabel()
    if solver.obstacle(relaxed) is not None:
        return None
    answer = solver.run(relaxed, Options(tol=1e-9, time_limit=seconds))
    if answer.values is None:
        return None
    x = form.join(answer.values)
    return np.where(form.integer, np.round(x), x)


#: Amount by which an integer slack may fall short of the value that its row requires.
_INTEGRAL = 1e-9
#: Distance of a point from a kink, relative to the kink: a margin computed in float64 is then on the right side.
_BESIDE = 1e-12
#: Number of passes over the coordinates, and largest number of entries of the table of costs for one search.
_PASSES, _TABLE = 2, 2e5
#: Least relative decrease of the cost.
_FALL = 1e-12


#: A column is centred if its part along the column without cost is this many times the rest.
_FAR = 30.0
#: Relative growth of points in centred variables: rounding errors of large terms that cancel then violate no margin.
_GROWTH = (0.0, 1e-9, 1e-7)


@dataclass(frozen=True, eq=False)
class Centring:
    """A change of variables x_b = u_b - r'u, x_j = u_j otherwise, where x_b is without cost, as an intercept is. Bounds of
    x_b are left out.

    With r_j = F_b'F_j / F_b'F_b the columns F_j - r_j F_b are orthogonal to F_b: for rows y_i (1, x_i) these are the deviations
    from the columns' means. Where the data are far from the origin, a step along a coordinate of x changes all margins by as
    much, and one along a coordinate of u does not.
    """

    form: StandardForm  #: the form in the variables u
    column: int  #: b
    shares: FloatArray  #: r; zero for b, beyond the leading block, and everywhere where nothing is to be centred

    @classmethod
    def of(cls, form: StandardForm) -> Centring:
        """Return the change of variables for the first column without cost; none where no column is far from it."""
        leading = form.slices[form.blocks[0].label]
        free = ~form.has_cost & ~form.integer
        F = sp.csc_array(form.rows_matrix()[0])
        sizes = np.asarray(F.multiply(F).sum(axis=0)).ravel()
        candidates = np.flatnonzero(free[leading] & (sizes[leading] > 0.0))
        if not candidates.size:
            return cls(form, 0, np.zeros(form.n))
        b = int(candidates[0])
        shares = np.asarray(F.T @ _column(F, b)).ravel() / sizes[b]
        parallel = shares**2 * sizes[b]
        is_far = parallel > _FAR**2 * (sizes - parallel)
        is_far[b], is_far[leading.stop :] = False, False
        if not is_far.any():
            return cls(form, b, np.zeros(form.n))
        shares = np.where(is_far, shares, 0.0)
        change = sp.eye_array(form.n, format="lil")
        change[[b], :] -= shares[None, :]
        change = sp.csr_array(change)
        rows = tuple(replace(c, F=sp.csr_array(c.F @ change)) for c in form.constraints)
        lower, upper = form.lower.copy(), form.upper.copy()
        lower[b], upper[b] = -np.inf, np.inf
        return cls(form.replace(constraints=rows, lower=lower, upper=upper), b, shares)

    def centred(self, x: FloatArray) -> FloatArray:
        """Return u of x."""
        u = x.copy()
        u[self.column] += self.shares @ x
        return u

    def original(self, u: FloatArray) -> Iterator[FloatArray]:
        """Yield x of u; where columns are centred, also of slightly larger u."""
        for growth in _GROWTH if self.shares.any() else _GROWTH[:1]:
            x = u * (1.0 + growth)
            x[self.column] -= self.shares @ x
            yield x


@dataclass(frozen=True, eq=False)
class LeadingCosts:
    """The least cost of feasible points with given values w of the leading block.

    It is a lower bound of that cost if rows contain several other variables, or bound one from above. It is not known if the
    quadratic terms contain other variables.
    """

    P: sp.csr_array | None  #: quadratic term of the leading block
    q: FloatArray  #: linear costs of the leading block
    r: float  #: constant of the objective
    columns: sp.csr_array  #: columns of the leading block in all rows
    rows: sp.csc_array  #: rows of one slack each, by slack; the slack is at least -(row @ w + constant) / coefficient
    constants: FloatArray  #: constants of these rows
    coefficients: FloatArray  #: coefficient of the slack in each row
    groups: IntArray  #: first row of each slack that has rows
    slacks: IntArray  #: slack of each group, by its number among the other variables
    linear_costs: FloatArray  #: linear costs of all other variables
    lower: FloatArray  #: lower bounds of all other variables
    upper: FloatArray  #: their upper bounds
    integer: BoolArray  #: mask of the other variables that are integers
    determined: bool  #: False if quadratic terms contain other variables: the cost is not known
    low: FloatArray  #: lower bounds of the leading block
    high: FloatArray  #: its upper bounds
    integer_leading: BoolArray  #: mask of its integers
    own_rows: sp.csc_array  #: rows of the leading block alone: own_rows @ w is at least -own_constants, or equal
    own_constants: FloatArray  #: constants of these rows
    equations: BoolArray  #: mask of these rows that are equations

    @classmethod
    def of(cls, form: StandardForm, first: slice) -> LeadingCosts:
        """Return the costs of a form's leading block, the variables ``first``."""
        others = np.r_[0 : first.start, first.stop : form.n]
        P = None if form.quadratic is None else form.quadratic.csc
        F, g = form.rows_matrix()
        columns, other_columns = sp.csr_array(F[:, first]), sp.csr_array(F[:, others])
        linear, equations = form.rows_mask(Zero, Nonnegative), form.rows_mask(Zero)
        counts = np.diff(other_columns.indptr)
        lone_rows = np.flatnonzero(linear & (counts == 0))
        rows = np.flatnonzero(linear & (counts == 1))
        rows = rows[other_columns.data[other_columns.indptr[rows]] > 0.0]
        rows = rows[np.argsort(other_columns.indices[other_columns.indptr[rows]], kind="stable")]
        slacks, groups = np.unique(other_columns.indices[other_columns.indptr[rows]], return_index=True)
        return cls(
            P=None if P is None else sp.csr_array(P[first, first]),
            q=form.q[first],
            r=form.r,
            columns=columns,
            rows=sp.csc_array(columns[rows]),
            constants=g[rows],
            coefficients=other_columns.data[other_columns.indptr[rows]],
            groups=groups,
            slacks=slacks,
            linear_costs=form.q[others],
            lower=form.lower[others],
            upper=form.upper[others],
            integer=form.integer[others],
            determined=P is None or not P[:, others].nnz,
            low=form.lower[first],
            high=form.upper[first],
            integer_leading=form.integer[first],
            own_rows=sp.csc_array(columns[lone_rows]),
            own_constants=g[lone_rows],
            equations=equations[lone_rows],
        )

    def __call__(self, w: FloatArray, tolerance: float = _INTEGRAL) -> float:
        """Return the cost of one w; -inf if it is not known. Integers may fall short of the required value by the tolerance."""
        if not self.determined:
            return -np.inf
        curvature = 0.0 if self.P is None else 0.5 * float(w @ (self.P @ w))
        return curvature + float(self.q @ w) + float(self._slack_costs((self.rows @ w)[None], tolerance)[0]) + self.r

    def _slack_costs(self, activity: FloatArray, tolerance: float = 0.0) -> FloatArray:
        """Return the cost of the other variables for each line of a table of row activities."""
        values = np.broadcast_to(self.lower, (len(activity), self.lower.size)).copy()
        if self.groups.size:
            needs = np.maximum.reduceat(-(activity + self.constants) / self.coefficients, self.groups, axis=1)
            values[:, self.slacks] = np.maximum(values[:, self.slacks], needs)
        values[:, self.integer] = np.ceil(values[:, self.integer] - tolerance)
        costs = np.where(
            self.linear_costs > 0.0,
            self.linear_costs * values,
            np.where(self.linear_costs < 0.0, self.linear_costs * self.upper, 0.0),
        )
        return np.asarray(costs.sum(axis=1))

    def breakpoints(self, activity: FloatArray, column: FloatArray) -> FloatArray:
        """Return the steps along a column of the rows at which a row meets a threshold of its slack, sorted.

        ``activity`` is rows @ w at the steps' start. The thresholds are the slack's lower bound and, for an integer, that bound
        plus 1.
        """
        sizes = np.diff(np.append(self.groups, self.constants.size))
        lower = np.repeat(self.lower[self.slacks], sizes)
        integer = np.repeat(self.integer[self.slacks], sizes)
        moving = column != 0.0
        steps = []
        for threshold, rows in ((lower, moving), (lower + 1.0, moving & integer)):
            missing = -(activity + self.constants + self.coefficients * threshold)[rows]
            steps.append(missing / column[rows])
        kinks = np.unique(np.concatenate(steps))
        return kinks[np.isfinite(kinks)]

    def step_limits(self, w: FloatArray, j: int) -> tuple[float, float]:
        """Return the least and the largest step of coordinate j that keep its bounds and the rows of the leading block alone."""
        column, slack = _column(self.own_rows, j), self.own_rows @ w + self.own_constants
        steps = np.divide(-slack, column, out=np.zeros(slack.size), where=column != 0.0)
        below = steps[(column > 0.0) | (self.equations & (column != 0.0))]
        above = steps[(column < 0.0) | (self.equations & (column != 0.0))]
        lowest_step, highest_step = max([float(self.low[j] - w[j]), *below]), min([float(self.high[j] - w[j]), *above])
        return (lowest_step, highest_step) if lowest_step <= highest_step else (0.0, 0.0)

    def line_minimum(self, w: FloatArray, j: int) -> float:
        """Return the value of coordinate j that costs least for the given other coordinates.

        With more kinks than the table of costs holds, evenly spaced ones are evaluated, then all between the neighbours of the
        best.
        """
        activity, column, limits = self.rows @ w, _column(self.rows, j), self.step_limits(w, j)
        curvature = 0.0 if self.P is None else float(self.P[j, j])
        slope = float(self.q[j]) + (0.0 if self.P is None else float((self.P[[j]] @ w)[0]))

        def costs(steps: FloatArray) -> FloatArray:
            slacks = self._slack_costs(activity + steps[:, None] * column)
            return np.asarray(slope * steps + 0.5 * curvature * steps**2 + slacks)

        ends = [step for step in limits if np.isfinite(step)]
        kinks = np.unique(np.clip(self.breakpoints(activity, column), *limits))
        most = max(8, int(_TABLE / (6.0 * (1.0 + activity.size))))
        while kinks.size > most:
            stride = -(-kinks.size // most)
            best = int(np.argmin(costs(kinks[::stride]))) * stride
            kinks = kinks[max(best - stride, 0) : best + stride + 1]
        nudge = _BESIDE * (np.abs(kinks) + abs(float(w[j])))
        at_kinks = np.concatenate([[0.0, -w[j]], ends, kinks - nudge, kinks + nudge])
        steps = np.clip(np.append(at_kinks, _between(kinks, curvature, costs)), *limits)
        if self.integer_leading[j]:
            steps = np.concatenate([np.floor(w[j] + steps), np.ceil(w[j] + steps)]) - w[j]
            steps = steps[(steps >= limits[0]) & (steps <= limits[1])]
        return float(w[j] + steps[int(np.argmin(costs(steps)))]) if steps.size else float(w[j])

    def descend(self, start: FloatArray) -> Iterator[FloatArray]:
        """Yield the point after each pass of exact searches along one coordinate after the other that lowers the cost.

        If costs are not known, the points are the start with one coordinate at zero.
        """
        w = np.clip(start, self.low, self.high)
        if not self.determined:
            for j in range(min(w.size, _COORDINATES)):
                yield np.clip(np.where(np.arange(w.size) == j, 0.0, w), self.low, self.high)
            return
        lowest_cost = self(w, 0.0)
        for _ in range(_PASSES):
            before = lowest_cost
            for j in range(min(w.size, _COORDINATES)):
                trial = w.copy()
                trial[j] = self.line_minimum(w, j)
                cost = self(trial, 0.0)
                if cost < lowest_cost - _FALL * abs(lowest_cost):
                    w, lowest_cost = trial, cost
            if not lowest_cost < before:
                return
            yield w


def _column(rows: sp.csc_array, j: int) -> FloatArray:
    column = np.zeros(rows.shape[0])
    entries = slice(rows.indptr[j], rows.indptr[j + 1])
    column[rows.indices[entries]] = rows.data[entries]
    return column


def _between(kinks: FloatArray, curvature: float, costs: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the steps between two kinks, or beyond all, at which the derivative vanishes.

    Two costs of each interval give the slope there: apart from the quadratic term the cost is linear.
    """
    if curvature <= 0.0:
        return np.zeros(0)
    kinks = kinks if kinks.size else np.zeros(1)
    ends = np.concatenate([[kinks[0] - 1.0 - abs(kinks[0])], kinks, [kinks[-1] + 1.0 + abs(kinks[-1])]])
    width = np.diff(ends)
    first, second = ends[:-1] + width / 3.0, ends[:-1] + 2.0 * width / 3.0
    slope = (costs(second) - costs(first)) / (second - first) - 0.5 * curvature * (first + second)
    steps = np.asarray(-slope / curvature)
    lowest_step, highest_step = np.append(-np.inf, kinks), np.append(kinks, np.inf)
    return steps[(steps >= lowest_step) & (steps <= highest_step)]
