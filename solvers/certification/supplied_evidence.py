"""Evidence that a solver did not give, supplied from the data (`evidence`), and what the data say against its claim.

Answers whose point or multipliers are not as good as is said, made exact where the active constraints tell how.

Interior points stop where their errors are small beside the objective's terms, first-order methods earlier; where terms cancel,
or an optimum is degenerate, that is not enough for the certificate. Newton's method on what is active (`newton_polish`) gives a
point and multipliers that are good to rounding. They count only if the certificate, which sees nothing but the data, then proves
an optimum to the tolerance, near the answer that the solver gave; whoever reads the result is told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray, IntArray
from ...models.model import Model
from ...models.program.cones import Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...models.program.form import Constraint, StandardForm
from ...models.program.lagrangian import lagrangian
from ...models.program.multiplier_repair import Multipliers
from ..records import Answer, Status
from .certificate import Certificate, Certifier, certify, nonnegative
from .evidence import ByLabel, ConeRows, FormRows, ScaledRows, interior
from .rays import Ray, point_exists
from .verdict import conditions_met, proves_optimum

#: A point that violates its rows by no more than this is feasible.
_FEASIBLE = 1e-9
#: A ray of the solver's whose residual is larger is none.
_ROUGH = 1e-2
#: Shares of inner multipliers that are tried.
_INWARDS = (1e-12, 1e-11, 1e-10, 1e-8, 1e-6)
_MOVED = "moved inwards by {:g}: the solver's are within rounding of a bound"
#: Lengths along a ray of descent at which points are tried, in units of the starting point and of the ray.
_LENGTHS = (1e2, 1e4)
#: What contradicts a claim that the objective has no least value.
_BOUNDED = "the solver says unbounded, and {}"
_BY_MULTIPLIERS = "multipliers bound the objective (minimised) by {:.6g}"
_NOTE = "by least squares: the solver gave none that bound the objective"
#: Digits behind the point to which multipliers are rounded.
_DIGITS = (2, 3, 5)
_WHOLE = "rounded to {} digits behind the point: they meet the dual's equations exactly"


@dataclass(frozen=True, eq=False)
class CompletedClaim:
    """A claim of infeasibility or unboundedness: the answer with the best ray, its worth, and what speaks against the claim."""

    answer: Answer
    ray: Ray
    objection: str = ""


def complete_claim(
    form: StandardForm,
    answer: Answer,
    ray: Ray,
    points: Sequence[FloatArray] = (),
    bounded: str = "",
    seconds: float | None = None,
) -> CompletedClaim:
    """Complete a claim of infeasibility or unboundedness with a ray that proves it where the solver's does not, or contradict it.

    Integers count as real numbers: Farkas multipliers of that relaxation leave no integers either.

    Parameters
    ----------
    form : StandardForm
    answer : Answer
        It claims one of the two.
    ray : Ray
        Of the answer.
    points : sequence of ndarray
        Points that may be feasible, from which a ray of descent would go on.
    bounded : str
        The reason why the objective has a lower bound (`known_bound`); empty where none is known.
    seconds : float, optional
        That the search may take.
    """
    if ray.proved and answer.status is Status.INFEASIBLE:
        return CompletedClaim(answer, ray)
    integer = bool(form.integer.any())
    rows = _rows(form.replace(integer=np.zeros(form.n, dtype=bool)) if integer else form, seconds)
    z, x = (None, None) if rows is None else rows.farkas()
    empty = Ray() if z is None else Ray.of(form, Status.INFEASIBLE, z)
    if answer.status is Status.INFEASIBLE:
        if x is not None and not integer and _feasible(form, x):
            remark = (
                f"the solver says infeasible, and a point violates no constraint by more than {_FEASIBLE:g}: details['point']"
            )
            return CompletedClaim(replace(answer, details={**answer.details, "point": form.split(x)}), ray, remark)
        better = z is not None and not _false(ray) and (empty.proved or ray.residual is None)
        return CompletedClaim(replace(answer, farkas=z), empty) if better else CompletedClaim(answer, ray)
    if empty.proved:
        remark = "the solver says unbounded, and Farkas multipliers prove that there is no point: details['farkas multipliers']"
        return CompletedClaim(replace(answer, details={**answer.details, "farkas multipliers": z}), ray, remark)
    if bounded:
        return CompletedClaim(answer, ray, _BOUNDED.format(bounded))
    completed = CompletedClaim(answer, ray) if rows is None or integer else _descent(form, rows, answer, ray)
    starts = (*points, *(() if x is None else (x,)))
    candidates = (*starts, *_far_points(form, completed.answer, starts))
    if completed.ray.exact and any(point_exists(form, point) for point in candidates):
        return replace(completed, ray=completed.ray.start)
    return completed


def _far_points(form: StandardForm, answer: Answer, points: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """Yield points far along the ray of descent: one that leads into a cone's interior ends at points with room for rounding."""
    if answer.ray is None:
        return
    direction = form.join(answer.ray)
    for point in (np.zeros(form.n), *points):
        for length in _LENGTHS:
            yield point + length * max(1.0, float(np.abs(point).max(initial=0.0))) * direction


def known_bound(model: Model, form: StandardForm, answer: Answer) -> str:
    """Return why the objective has a lower bound, by what it is made of or by multipliers at hand; empty where neither tells.

    The answer's multipliers are tried, and zero.
    """
    reason = model.bounded_below or ("no term of it can be negative" if nonnegative(form) else "")
    if reason:
        return f"the objective has a lower bound: {reason}"
    multipliers = [answer.multipliers, {c.label: np.zeros(c.rows) for c in form.constraints}]
    with np.errstate(all="ignore"):
        bounds = [model.bound(np.zeros(form.n), z) for z in multipliers if z is not None]
    best = max((b.value for b in bounds if not b.condition), default=-np.inf)
    return _BY_MULTIPLIERS.format(best) if np.isfinite(best) else ""


def _false(ray: Ray) -> bool:
    """Return whether a ray was given that is none, and not one with the errors of a first-order method, beside which a proof
    counts.
    """
    return ray.residual is not None and not ray.residual <= _ROUGH


def _descent(form: StandardForm, rows: ScaledRows, answer: Answer, ray: Ray) -> CompletedClaim:
    """A ray of descent, or a bound that speaks against one."""
    if ray.exact:
        return CompletedClaim(answer, ray)
    d = rows.ray()
    if d is not None:
        descent_ray = Ray.of(form, Status.UNBOUNDED, d)
        better = not _false(ray) and (descent_ray.exact or ray.residual is None)
        return CompletedClaim(replace(answer, ray=form.split(d)), descent_ray) if better else CompletedClaim(answer, ray)
    bounding = rows.bounding_multipliers()
    if bounding is None:
        return CompletedClaim(answer, ray)
    bound = lagrangian(form, bounding[2], bounding[0])
    if bound.condition or not np.isfinite(bound.value):
        return CompletedClaim(answer, ray)
    return CompletedClaim(answer, ray, _BOUNDED.format(_BY_MULTIPLIERS.format(bound.value)))


def unbounded_integer_ray(form: StandardForm) -> str:
    """Return the reason why a mixed-integer linear program with a point has no least value; empty where nothing says so.

    Along a rational direction of descent that the rows and bounds allow without end, whole multiples keep integers integers.
    """
    falls = ((form.q > 0.0) & np.isneginf(form.lower)) | ((form.q < 0.0) & np.isposinf(form.upper))
    if form.quadratic is not None or not form.integer.any() or not falls.any():
        return ""
    relaxed = form.replace(integer=np.zeros(form.n, dtype=bool))
    rows = FormRows.of(relaxed)
    d = None if rows is None else rows.ray()
    if d is None or not Ray.of(relaxed, Status.UNBOUNDED, d).exact:
        return ""
    return f"the solver says optimal, and there is no least value: {Ray.moves(form.split(d))}"


def with_multipliers(
    certifier: Certifier,
    answer: Answer,
    values: Mapping[str, FloatArray],
    certificate: Certificate,
    tol: float,
    seconds: float | None = None,
) -> tuple[Answer, Certificate]:
    """Replace missing or useless multipliers by ones computed from the data if those yield a bound.

    Parameters
    ----------
    certifier : Certifier
        Of a model with a form.
    answer : Answer
    values : mapping of label to array
        The point that the certificate is of: the answer's, with the blocks that the model completes.
    certificate : Certificate
    tol : float
        Relative gap that an optimum is held to.
    seconds : float, optional
        That the search for multipliers deep inside their cones may take.
    """
    form = certifier.form
    if form is None or not certificate.wants_multipliers:
        return answer, certificate
    rows, x = _rows(form, seconds), form.join(values)
    inner = interior(form, x, seconds) if rows is None else rows.interior_multipliers(x, seconds)
    if rows is None and inner is None and answer.multipliers is None:
        return answer, certificate
    # what a solver says, by conditions that are met or (of cones) at all, makes way for a proof of as much, not for any bound
    is_decided = not (rows is not None and rows.decides) and (answer.multipliers is not None or answer.bound is not None)
    satisfied = conditions_met(certificate, tol) and certificate.feasible(_FEASIBLE)
    spoils, best = is_decided or satisfied, (answer, certificate)
    for candidate in _own(form, answer, rows, inner, x):
        if rows is not None and time.perf_counter() > rows.deadline:
            break
        better = certifier(candidate, values)
        if _close(better, tol):
            return candidate, better
        if better.bound > best[1].bound and not spoils:
            best = candidate, better
    return best


def _own(form: StandardForm, answer: Answer, rows: ScaledRows | None, inner: ByLabel | None, x: FloatArray) -> Iterator[Answer]:
    """The answer with other multipliers, the best first: the solver's rounded or moved inwards, those of x, these moved
    inwards, any.
    """
    if answer.multipliers is not None and not (rows is not None and rows.decides):
        yield from _rounded(form, answer, answer.multipliers)
    if answer.multipliers is not None and inner is not None:
        yield from _moved(form, answer, answer.multipliers, inner)
    multipliers = None if rows is None else rows.multipliers(x)
    if multipliers is not None:
        completed = replace(
            answer, multipliers=multipliers[0], reduced=multipliers[1], details={**answer.details, "multipliers": _NOTE}
        )
        yield completed
        if inner is not None:
            yield from _moved(form, completed, multipliers[0], inner)
    any_that_bound = None if rows is None else rows.bounding_multipliers()
    if any_that_bound is not None:
        z, reduced, _ = any_that_bound
        yield replace(answer, multipliers=z, reduced=reduced, details={**answer.details, "multipliers": _NOTE})


def _rounded(form: StandardForm, answer: Answer, z: Mapping[str, FloatArray]) -> Iterator[Answer]:
    """The multipliers rounded to few digits, where these meet the dual's equations exactly.

    Where the dual has no strict interior no multipliers beside the computed ones need meet the equations, however near they are;
    those of an optimum are often small numbers there.
    """
    free = ~(np.isfinite(form.lower) & np.isfinite(form.upper))
    if form.quadratic is not None:
        return
    for digits in _DIGITS:
        rounded = {label: np.round(value, digits) + 0.0 for label, value in z.items()}
        projected = Multipliers.projected(form, rounded)
        if projected is not None and not projected.exact_lagrangian_gradient(free).any():
            yield replace(answer, multipliers=rounded, details={**answer.details, "multipliers": _WHOLE.format(digits)})
            return


def _moved(form: StandardForm, answer: Answer, z: Mapping[str, FloatArray], inner: Mapping[str, FloatArray]) -> Iterator[Answer]:
    """(1 - t)z + t z_inner, from t = 1e-12 on: slopes that must not be negative are then positive by more than they are rounded.

    The Lagrangian is concave in z, so this costs t times what the inner multipliers miss.
    """
    if any(np.shape(z[c.label]) != (c.rows,) for c in form.constraints if c.label in z):
        return
    for t in _INWARDS:
        mixed = {c.label: (1.0 - t) * z.get(c.label, np.zeros(c.rows)) + t * inner[c.label] for c in form.constraints}
        yield replace(answer, multipliers=mixed, details={**answer.details, "multipliers": _MOVED.format(t)})


def _close(certificate: Certificate, tol: float) -> bool:
    """Return whether the bound is as near to the objective as is asked."""
    objective, bound = certificate.objective, certificate.bound
    return bool(np.isfinite(bound)) and abs(objective - bound) <= tol * max(abs(objective), abs(bound))


def _rows(form: StandardForm, seconds: float | None) -> ScaledRows | None:
    """Its rows, as those can be used that find evidence about it, with the seconds that the search may take from here on."""
    rows = FormRows.of(form) or ConeRows.of(form)
    return rows if rows is None or seconds is None else replace(rows, deadline=time.perf_counter() + seconds)


def _feasible(form: StandardForm, x: FloatArray) -> bool:
    return bool(np.isfinite(x).all()) and certify(form, form.split(x)).feasible(_FEASIBLE)


# An optimum of exactly zero: the point that attains it, and a bound of exactly zero, in place of a point and a bound beside
# it.
#
# An interior-point method ends at 1e-10 where the optimum is 0, and no relative gap says how good that is. Where the model
# knows a feasible point of objective zero (`Model.zero_objective_point`) and it is proved that no point costs less, that point
# is the answer. There are two proofs. No term of the objective is negative within the bounds. Or Px = 0 at the point: the
# objective is at least q'd at x + d, the rows that are slack at x are left out, and the other rows, in d, have no constant, so a
# finite bound of it is zero (`models.program.lagrangian`). Neither proof asks how small a number is.

NOTE = "the point of objective zero, beside which the solver stopped"


def certify_zero_objective(certifier: Certifier, answer: Answer, values: Mapping[str, FloatArray]) -> Certificate | None:
    """Return the certificate of the model's point of objective zero, if it is proved that no point costs less; else None.

    Parameters
    ----------
    certifier : Certifier
        Without a form the model's own bound must be zero.
    answer : Answer
        Its multipliers are tried for the proof.
    values : mapping of label to array
        The point (`Model.zero_objective_point`).
    """
    form, certificate = certifier.form, certifier(answer, values)
    if not (certificate.objective == 0.0 and certificate.error == 0.0 and certificate.primal_residual == 0.0):
        return None
    if certificate.bound == 0.0:
        return certificate
    argument = "" if form is None else prove_zero_is_least(form, form.join(values), answer.multipliers)
    return replace(certificate, bound=0.0, bound_error=0.0, argument=argument) if argument else None


def prove_zero_is_least(form: StandardForm, x: FloatArray, multipliers: Mapping[str, FloatArray] | None) -> str:
    """Return why no feasible point costs less than x, a feasible one that costs zero; empty where that is not proved."""
    if nonnegative(form):
        return "no term of the objective is negative within the bounds"
    curved = form.quadratic is not None
    if form.r != 0.0 or x[form.q != 0.0].any() or (curved and (x.any() or not form.convexity.exact)):
        return ""
    active = ((c, *_active_rows(c, x)) for c in form.constraints if c.cone.convex)
    cone = form.replace(
        quadratic=None,
        constraints=tuple(rows for c, rows, slack in active if isinstance(c.cone, Nonnegative) or not slack),
        lower=np.where(form.lower < x, -np.inf, 0.0),
        upper=np.where(form.upper > x, np.inf, 0.0),
        integer=np.zeros(form.n, dtype=bool),
    )
    labels = {c.label: c.rows for c in cone.constraints}
    z = {k: np.ravel(v) for k, v in (multipliers or {}).items() if np.size(v) == labels.get(k)}
    origin = np.zeros(form.n)
    if lagrangian(cone, origin, z).value == 0.0:
        return _ARGUMENT
    rows = FormRows.of(cone)
    exact = None if rows is None else rows.bounding_multipliers()
    return _ARGUMENT if exact is not None and lagrangian(cone, origin, exact[0]).value == 0.0 else ""


_ARGUMENT = "the objective's gradient at the point descends in no direction that the rows active there allow"


def _active_rows(c: Constraint, x: FloatArray) -> tuple[Constraint, bool]:
    """Return the rows F d of those with F x + g = 0, counted exactly, with zeros for the others; and whether there are others."""
    entries = c.F[:, np.flatnonzero(x)].tocoo()
    values = {row: Fraction(float(c.g[row])) for row in np.unique(entries.row).tolist()}
    for row, a, y in zip(entries.row.tolist(), entries.data.tolist(), x[x != 0.0][entries.col].tolist(), strict=True):
        values[row] += Fraction(a) * Fraction(y)
    slack = c.g != 0.0
    slack[list(values)] = [value != 0 for value in values.values()]
    F = c.F if not slack.any() else sp.csr_array(sp.diags_array((~slack).astype(np.float64)) @ c.F)
    return Constraint(c.label, F, np.zeros(c.rows), c.cone, points=c.points), bool(slack.any())


# A point and multipliers of a second-order cone program made exact by Newton's method on the active constraints.
#
# Interior points over quadratic constraints (Gurobi's) end with an objective good to 1e-9 and a point good only to its root,
# since the objective is flat to first order along a curved cone; the multipliers inherit that error. The point is near enough
# to tell what is active, and the optimality conditions of what is active are smooth equations:
#
#     P x + q - Σ_a F_a'z_a - ζ_a - Σ_k μ_k F_k'T v_k = 0,   v_a = 0,   x_a = bound,   ½ v_k'T v_k = 0,
#
# over active rows and bounds a and cones k with v_k = F_k x + g_k on the boundary, where z_k = μ_k T v_k: T v is (t, -c) in a
# second-order cone, (b, a, -c) in a rotated one. A cone whose point is (nearly) the apex has v_k = 0 and a free z_k.

#: Larger systems are left as they are: the dense solve would cost more than the solver did.
_LARGEST = 2000
#: A cone's point is taken for its apex where it is this much smaller than its multiplier, or than 1e-2 (a solver without
#: cones may give no multiplier there).
_APEX = 1e-4
_STEPS = 6
#: Seconds of a step for the cube of its unknowns.
_SECONDS = 5e-10
#: Price over slack from which a constraint counts as active, in each attempt.
_RATIOS = (1.0, 1e3)


def newton_polish(
    form: StandardForm,
    x: FloatArray,
    multipliers: Mapping[str, FloatArray],
    reduced: FloatArray,
    seconds: float | None = None,
    largest: int = _LARGEST,
) -> tuple[FloatArray, dict[str, FloatArray], FloatArray]:
    """x, z and ζ after Newton steps, or what was given where these do not come nearer to optimality.

    Rows, bounds and cones count as active where their price exceeds their slack (in a second attempt: a thousand times
    their slack); the others get no price. Semidefinite cones are not read.

    Parameters
    ----------
    form : StandardForm
        Continuous.
    x : ndarray (n,)
    multipliers : mapping of label to array
        z_k.
    reduced : ndarray (n,)
        ζ.
    seconds : float, optional
        No step begins that would not be done by then, as far as its size tells.
    largest : int
        Variables and active rows at most.
    """
    begin = time.perf_counter()
    point = x, dict(multipliers), reduced
    best = _error(form, *point)
    for ratio in _RATIOS:
        active = _active(form, x, multipliers, reduced, ratio)
        if form.n + active.size > largest:
            continue
        y, weights = x, active.weights
        step = _SECONDS * (form.n + active.size) ** 3
        for _ in range(_STEPS):
            if seconds is not None and time.perf_counter() - begin + step > seconds:
                return point
            y, weights = _step(form, active, y, weights)
            new = y, active.multipliers(form, y, weights), active.reduced(form.n, weights)
            error = _error(form, *new)
            if not error < best:
                break
            best, point = error, new
    return point


@dataclass(frozen=True, eq=False)
class _Active:
    """The active rows. ``linear`` are rows with v = 0 (of all constraints stacked), ``cones`` ranges of rows on the boundary."""

    F: sp.csr_array
    g: FloatArray
    linear: IntArray
    bounds: IntArray
    at: FloatArray
    cones: tuple[tuple[slice, bool], ...]
    weights: FloatArray

    @property
    def size(self) -> int:
        return self.weights.size

    def complement(self, v: FloatArray, cone: tuple[slice, bool]) -> FloatArray:
        """T v."""
        reflected = -v[cone[0]]
        if cone[1]:
            reflected[0], reflected[1] = -reflected[1], -reflected[0]
        else:
            reflected[0] = -reflected[0]
        return reflected

    def stacked(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """z of all rows."""
        v, z = self.F @ x + self.g, np.zeros(self.g.size)
        z[self.linear] = weights[: self.linear.size]
        mu = weights[self.linear.size + self.bounds.size :]
        for cone, m in zip(self.cones, mu, strict=True):
            z[cone[0]] = m * self.complement(v, cone)
        return z

    def multipliers(self, form: StandardForm, x: FloatArray, weights: FloatArray) -> dict[str, FloatArray]:
        """z by label, projected on the dual cones."""
        stops = np.cumsum([c.rows for c in form.constraints], dtype=np.int64)
        pieces = np.split(self.stacked(x, weights), stops)  # the last one is empty
        return {c.label: c.cone.project_dual(z) for c, z in zip(form.constraints, pieces, strict=False)}

    def reduced(self, n: int, weights: FloatArray) -> FloatArray:
        """ζ."""
        zeta = np.zeros(n)
        zeta[self.bounds] = weights[self.linear.size : self.linear.size + self.bounds.size]
        return zeta


def _active(form: StandardForm, x: FloatArray, z: Mapping[str, FloatArray], zeta: FloatArray, ratio: float) -> _Active:
    F, g = form.rows_matrix()
    linear: list[int] = []
    prices: list[float] = []
    cones: list[tuple[slice, bool]] = []
    mu: list[float] = []
    first = 0
    for c in form.constraints:
        v, price = c.cone.stacked(c.value(x)), c.cone.stacked(np.asarray(z[c.label]))
        if isinstance(c.cone, (Zero, Nonnegative)):
            active_rows = np.flatnonzero(np.isinf(_slack(c.cone, v)) | (price > ratio * v).ravel())
            linear += (first + active_rows).tolist()
            prices += price.ravel()[active_rows].tolist()
        else:
            rotated = isinstance(c.cone, RotatedSecondOrder)
            inside, sizes = _slack(c.cone, v), np.linalg.norm(price, axis=1)
            for k in range(c.cone.count):
                rows = slice(first + k * c.cone.dim, first + (k + 1) * c.cone.dim)
                size = float(np.linalg.norm(v[k]))
                if size < _APEX * max(sizes[k], 1e-2):
                    linear += range(rows.start, rows.stop)
                    prices += price[k].tolist()
                elif ratio * inside[k] < sizes[k]:
                    cones.append((rows, rotated))
                    mu.append(float(sizes[k]) / size)
        first += c.rows
    bounds = np.flatnonzero(np.abs(zeta) > ratio * np.abs(np.where(zeta > 0, x - form.lower, form.upper - x)))
    bound_values = np.where(zeta > 0, form.lower, form.upper)[bounds]
    weights = np.concatenate([prices, zeta[bounds], mu])
    return _Active(F, g, np.array(linear, dtype=np.int64), bounds, bound_values, tuple(cones), weights)


def _slack(cone: object, v: FloatArray) -> FloatArray:
    """Return the distance of every point from the boundary of its cone; infinite marks equalities."""
    if isinstance(cone, Zero):
        return np.full(v.shape[0], np.inf)
    if isinstance(cone, Nonnegative):
        return v.ravel()
    rotated = (
        v if isinstance(cone, SecondOrder) else RotatedSecondOrder(v.shape[1], v.shape[0]).rotate(v.ravel()).reshape(v.shape)
    )
    return np.asarray(rotated[:, 0] - np.linalg.norm(rotated[:, 1:], axis=1))


def _step(form: StandardForm, active: _Active, x: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One Newton step on the equations of the module."""
    n = form.n
    v = active.F @ x + active.g
    H = np.zeros((n, n)) if form.quadratic is None else form.quadratic.csc.toarray()
    rows = [active.F[active.linear].toarray(), np.eye(n)[active.bounds]]
    values = [v[active.linear], x[active.bounds] - active.at]
    for cone, m in zip(active.cones, weights[active.linear.size + active.bounds.size :], strict=True):
        Fk = active.F[cone[0]].toarray()
        complements = np.column_stack([active.complement(column, (slice(None), cone[1])) for column in Fk.T])
        H -= m * (Fk.T @ complements)
        Tv = active.complement(v, cone)
        rows.append((Tv @ Fk)[None, :])
        values.append(np.array([0.5 * (Tv @ v[cone[0]])]))
    J, level = np.vstack(rows), np.concatenate(values)
    k = J.shape[0]
    system = np.block([[H, -J.T], [J, np.zeros((k, k))]])
    gradient = form.gradient(x) - active.F.T @ active.stacked(x, weights) - active.reduced(n, weights)
    change = np.linalg.lstsq(system, -np.concatenate([gradient, level]), rcond=1e-14)[0]
    return x + change[:n], weights + change[n:]


def _error(form: StandardForm, x: FloatArray, z: Mapping[str, FloatArray], zeta: FloatArray) -> float:
    """Largest violation of stationarity, constraints, bounds and complementarity; a price of no bound violates stationarity."""
    residual = form.gradient(x) - zeta
    worst = float(np.maximum(np.maximum(form.lower - x, x - form.upper), 0.0).max(initial=0.0))
    for c in form.constraints:
        value = c.value(x)
        residual = residual - c.F.T @ z[c.label]
        worst = max(worst, c.cone.violation(value), abs(float(value @ z[c.label])))
    gap = np.where(zeta > 0, x - form.lower, np.where(zeta < 0, form.upper - x, 0.0))
    worst = max(worst, float(np.abs(np.where(np.isfinite(gap), gap, 1.0) * zeta).max(initial=0.0)))
    return max(worst, float(np.abs(residual).max(initial=0.0)))


NEWTON_NOTE = "made exact by Newton's method on the constraints that are active at the solver's point"
#: The answer, its point and their certificate.
Refined: TypeAlias = tuple[Answer, Mapping[str, FloatArray], Certificate]
#: A point that violates its rows or the optimality conditions by more is none to begin at; the objective may move by this share.
_NEARLY = 1e-4
#: Variables and active rows: a step takes half a second then.
_LARGEST_REFINED = 1200


def refine_by_newton(certifier: Certifier, start: Refined, tol: float, seconds: float | None = None) -> Refined | None:
    """Return a proved optimum beside an answer with multipliers that claims one and does not prove it; None where none is found.

    Parameters
    ----------
    certifier : Certifier
    start : Refined
        The answer that claims an optimum, its point and their certificate.
    tol : float
        Relative gap that an optimum is held to.
    seconds : float, optional
        That this may take.
    """
    (answer, values, certificate), form = start, certifier.form
    if form is None or answer.multipliers is None:
        return None
    if not _readable(form) or certificate.nonconvex or certificate.condition or certificate.inner:
        return None
    if not (certificate.feasible(_NEARLY) and conditions_met(certificate, _NEARLY)):
        return None  # what is no optimum by its own evidence stays what it is
    x = form.join(values)
    z = {c.label: np.ravel(answer.multipliers.get(c.label, np.zeros(c.rows))) for c in form.constraints}
    reduced = np.zeros(form.n) if answer.reduced is None else answer.reduced
    if any(z[c.label].shape != (c.rows,) or not np.isfinite(z[c.label]).all() for c in form.constraints):
        return None
    y, w, zeta = newton_polish(form, x, z, reduced, seconds, _LARGEST_REFINED)
    if y is x:
        return None
    refined_answer = replace(answer, multipliers=w, reduced=zeta)
    for point, prices in ((y, refined_answer), (y, answer), (x, refined_answer)):
        for blocks in _with_recounted(certifier.model, form.split(point)):
            refined = with_multipliers(certifier, prices, blocks, certifier(prices, blocks), tol, seconds)
            change = abs(refined[1].objective - certificate.objective)
            if proves_optimum(*refined, tol) and change <= _NEARLY * max(abs(certificate.objective), certificate.scale):
                return refined[0], blocks, refined[1]
    return None


def _with_recounted(model: Model, blocks: dict[str, FloatArray]) -> list[dict[str, FloatArray]]:
    """Return the points to choose from: the one beside this that keeps in exact arithmetic what must be kept, then this one."""
    recounted = model.recounted(blocks)
    unchanged = all(np.array_equal(recounted[label], block) for label, block in blocks.items())
    return [blocks] if unchanged else [recounted, blocks]


def _readable(form: StandardForm) -> bool:
    """Real variables, cones that are polyhedral or of second order, a P that is a matrix."""
    if form.integer.any() or (form.quadratic is not None and form.quadratic.operator is not None):
        return False
    return all(isinstance(c.cone, (Zero, Nonnegative, SecondOrder, RotatedSecondOrder)) for c in form.constraints)
