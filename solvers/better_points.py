"""Polishing of a solver's point (integers fixed, the rest solved again), and feasible points that refute a solver's claim.

Both solve a continuous program beside the solver's by an interior point. A point counts by its recomputed certificate alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..models.arrays import BoolArray, FloatArray
from ..models.kernels.threads import blas_threads
from ..models.model import BareForm, Model
from ..models.program.bridges import BoundsToRows
from ..models.program.cones import Feature, Nonnegative, Zero
from ..models.program.entries import Entries
from ..models.program.form import Block, Quadratic, StandardForm
from .backends.clarabel import Clarabel
from .certification.certificate import Certificate, certify
from .coordinate_search import LeadingCosts
from .records import Answer, Options, Status

# Mixed-integer points re-solved with the integers fixed, so that incumbents of different solvers compare to 1e-9.

#: Rows and bounds with less slack than this, relative to 1 + their constant, count as active when their equations are solved.
_ACTIVE = 1e-6
#: Residuals of a feasible point, and of one that misses its rows by rounding: more may seem to cost less.
_FEASIBLE, _ROUNDED = 1e-9, 1e-12
#: Shares of the largest continuous entry up to which an entry may be a zero: with rounding, within a solver's tolerance.
_NEARLY_ZERO = (1e-12, 1e-6)
#: The same where the squares of such entries cost less than a feasible point may miss.
_SQUARED_NEARLY_ZERO = 1e-4
#: Coefficients of active rows up to which their equations are solved where the objective is linear.
_LINEAR = 250_000
#: Relative difference of objectives that violated rows explain.
_GAINED = 1e-7


def fix_integers(form: StandardForm, x: FloatArray) -> StandardForm:
    """The continuous form with the integer variables fixed at the nearest integers of x."""
    return form.with_integers(x)


@dataclass(frozen=True, eq=False)
class PolishedPoint:
    """The point that was chosen, and how it was found; the note is empty where it is the given one, rounded."""

    values: dict[str, FloatArray]
    note: str = ""


def polish(form: StandardForm, values: Mapping[str, FloatArray], model: Model | None = None) -> dict[str, FloatArray]:
    """The point of `polished`, without its note."""
    return polished(form, values, model).values


def polished(
    form: StandardForm, values: Mapping[str, FloatArray], model: Model | None = None, seconds: float | None = None
) -> PolishedPoint:
    """A point at least as good with the same integers: interior point, then the active set's equations.

    Where the model knows a simpler problem for fixed integers (`Model.with_integers`) that one is solved. Candidates are first
    counted in exact arithmetic where the model's objective jumps (`Model.recounted`). The point is the rounded input where the
    re-solve is not feasible to 1e-9 or not better; the choice is made by recomputed objectives and residuals only. Where it costs
    less than that tolerance, small entries may be zeros: they are fixed there, and the rest is solved once more. ``seconds``
    limits all together, where the solve itself was limited: what is late is left out.
    """
    begin, x = time.perf_counter(), form.join(values)
    rounded = x.copy()
    rounded[form.integer] = np.round(x[form.integer])
    candidates = [(rounded, "")]
    simpler = None if model is None else model.with_integers(values)
    if simpler is not None and model is not None:
        candidates += [(form.join(model.complete(simpler.split(y))), source) for y, source in _solutions(simpler, seconds)]
    else:
        candidates += _completed(fix_integers(form, x), seconds)
    candidates += [(y, source) for point, source in candidates for y in _with_zeros(form, point)]
    best, source = _chosen(form, model, candidates)
    residues = _residues(form, best, _SQUARED_NEARLY_ZERO)
    left = None if seconds is None else seconds - (time.perf_counter() - begin)
    if (left is None or left > 0.0) and residues.any() and 0.0 < form.objective(best) <= _FEASIBLE:
        zeroed = np.where(residues, 0.0, best)
        fixed = fix_integers(form, zeroed)
        fixed = fixed.replace(lower=np.where(residues, 0.0, fixed.lower), upper=np.where(residues, 0.0, fixed.upper))
        best, source = _chosen(form, model, [(best, source), *_completed(fixed, left)])
    return PolishedPoint(form.split(best), f"integers fixed, the rest solved again by {source}" if source else "")


def _chosen(form: StandardForm, model: Model | None, candidates: list[tuple[FloatArray, str]]) -> tuple[FloatArray, str]:
    """The best feasible candidate, counted exactly where one is allowed; the one that misses least where none is feasible."""
    counted = [] if model is None else [(_recounted(form, model, point), source) for point, source in candidates]
    certified_points: list[tuple[Certificate, FloatArray, str]] = []
    for group in (counted, candidates):  # where no counted point is allowed, one may be that is within rounding
        certified = [(certify(form, form.split(point)), point, source) for point, source in group]
        if any(c.feasible(_FEASIBLE) for c, _, _ in certified):
            _, point, source = certified[_best_feasible([c for c, _, _ in certified])]
            return point, source
        certified_points += certified
    _, point, source = min(certified_points, key=lambda entry: entry[0].primal_residual)
    return point, source


def _recounted(form: StandardForm, model: Model, x: FloatArray) -> FloatArray:
    """Return the point beside x that costs what its coefficients cost: within a solver's tolerance x itself may cost less."""
    return form.join(model.recounted(model.attained(form.split(x))))


def _completed(form: StandardForm, seconds: float | None) -> list[tuple[FloatArray, str]]:
    """Points of a form whose integers are fixed: what is fixed is eliminated, and the rest solved (`_solutions`)."""
    reduced, keep, offset = _eliminate(form)
    points = []
    for piece, source in _solutions(reduced, seconds) if keep.size else []:
        point = offset.copy()
        point[keep] = piece
        points.append((point, source))
    return points


def _with_zeros(form: StandardForm, x: FloatArray) -> Iterator[FloatArray]:
    """Yield the point with zeros for entries that are small beside the largest continuous one."""
    count = 0
    for share in _NEARLY_ZERO:
        small = _residues(form, x, share)
        if small.sum() > count:
            count = int(small.sum())
            yield np.where(small, 0.0, x)


def _residues(form: StandardForm, x: FloatArray, share: float) -> BoolArray:
    """Return the mask of continuous entries that are at most so large a share of the largest, where bounds allow zero."""
    largest = float(np.abs(x[~form.integer]).max(initial=0.0))
    return ~form.integer & (x != 0.0) & (np.abs(x) <= share * largest) & (form.lower <= 0.0) & (form.upper >= 0.0)


def _best_feasible(certificates: list[Certificate]) -> int:
    """Index of the least objective among feasible points; a point that meets its rows to the last digits may cost a little more.

    What is not better by more than rounding is not better, so that an incumbent of exactly zero, which stands first, stays.
    """
    costs = {k: c.objective + (c.rounding if k else 0.0) for k, c in enumerate(certificates) if c.feasible(_FEASIBLE)}
    best = min(costs, key=lambda k: costs[k])
    allowed = costs[best] + _GAINED * abs(costs[best])
    exact = [k for k in costs if certificates[k].feasible(_ROUNDED) and costs[k] <= allowed + 2.0 * certificates[k].rounding]
    return min(exact, key=lambda k: costs[k], default=best)


def _solutions(form: StandardForm, seconds: float | None) -> list[tuple[FloatArray, str]]:
    """Points within a continuous form's bounds and who found them: an interior-point solver's, and, in time, its active set's."""
    begin = time.perf_counter()
    answer = Clarabel().run(BareForm(form), Options(tol=1e-9, time_limit=seconds))
    if answer.values is None:
        return []
    y = np.clip(form.join(answer.values), form.lower, form.upper)  # else what is below zero may seem to cost less than nothing
    is_late = seconds is not None and time.perf_counter() - begin > seconds
    source = f"{Clarabel.info.name} {answer.version}"
    on_active_set = [] if is_late else _on_active_set(form, y)
    return [
        (y, source),
        *((np.clip(x, form.lower, form.upper), f"{source} and the equations of its active set") for x in on_active_set),
    ]


def _eliminate(form: StandardForm) -> tuple[StandardForm, np.ndarray, FloatArray]:
    """Remove the fixed variables of a form: an interior point has no interior otherwise."""
    keep = np.flatnonzero(form.lower < form.upper)
    offset = np.where(form.lower == form.upper, form.lower, 0.0)
    product = np.zeros(form.n) if form.quadratic is None else form.quadratic.product(offset)
    quadratic = None
    if form.quadratic is not None:
        P = form.quadratic.csc  # symmetric: its columns are its rows
        block = Entries(P.data, P.indices, P.indptr, form.n).at(keep).take_columns(keep)
        columns = sp.csc_array((block.data, block.indices, block.indptr), shape=(keep.size, keep.size))
        quadratic = Quadratic(matrix=columns) if block.data.size else None
    constraints = tuple(replace(c, F=Entries.of(c.F).take_columns(keep).csr, g=c.value(offset)) for c in form.constraints)
    blocks = (Block(form.blocks[0].label, (keep.size,)),)  # a label that no constraint has
    reduced = form.replace(
        blocks=blocks,
        q=(form.q + product)[keep],
        r=form.r + float(form.q @ offset) + 0.5 * float(offset @ product),
        quadratic=quadratic,
        constraints=constraints,
        lower=form.lower[keep],
        upper=form.upper[keep],
        integer=np.zeros(keep.size, dtype=bool),
    )
    return reduced, keep, offset


def _on_active_set(form: StandardForm, x: FloatArray) -> list[FloatArray]:
    """Return the least solution of the equations of the (nearly) active constraints, and the solution nearest to x.

    They differ where the equations leave a variable free, as the slack of a point without a cost. A linear objective has the
    nearest one alone. The list is empty for cones that are not polyhedral, and for many equations of a linear objective.
    """
    if any(not isinstance(c.cone, (Zero, Nonnegative)) for c in form.constraints):
        return []
    form = BoundsToRows(form).target if form.has_bounds else form
    F, g = form.rows_matrix()
    slack = np.asarray(F @ x + g)
    equal = np.concatenate([np.full(c.rows, isinstance(c.cone, Zero)) for c in form.constraints] or [np.zeros(0, bool)])
    active = equal | (slack < _ACTIVE * (1.0 + np.abs(g)))
    if form.quadratic is None and active.sum() * form.n > _LINEAR:
        return []
    B, b = F[np.flatnonzero(active)].toarray(), g[active]
    k = B.shape[0]
    with blas_threads(form.n + k, None):
        if form.quadratic is None:
            return [np.asarray(x - np.linalg.lstsq(B, slack[active], rcond=1e-13)[0])]
        system = np.block([[form.quadratic.csc.toarray(), B.T], [B, np.zeros((k, k))]])
        from_zero = np.concatenate([-form.q, -b])
        from_x = np.concatenate([-form.q - form.quadratic.product(x), -slack[active]])
        solution, step = np.linalg.lstsq(system, np.column_stack([from_zero, from_x]), rcond=1e-13)[0][: form.n].T
    return [solution, x + step]


# Points of the model's own beside a solver's claim: a better one refutes an optimum, any one refutes infeasibility.
#
# A solver may call a point optimal that is not: presolve and tolerances that are absolute make it so where the data are large
# or small. To evaluate the objective costs next to nothing, so a few hundred points are tried: zero, multiples of the
# solver's point, coordinate directions, the directions that raise the rows, multiples of the continuous relaxation's
# solution, and what exact searches along coordinates make of them (`coordinate_search`). From the leading block (w of a
# classifier) the model completes the rest; a form without a formulation is tried as it stands. What is found refutes a claim, and
# proves none.

#: The largest entry of a point that refutes infeasibility: beyond it rounding hides violations of 1e-12.
_MODERATE = 1e3
#: Coordinates that are tried, and non-zeros of all tried points together.
_COORDINATES, _WORK = 16, 2e8
#: Non-zeros of a form whose continuous relaxation is solved.
_RELAXED = 5e5
#: Multiples of a direction.
_FACTORS = (1.0, -1.0, 1e-3, 0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 10.0, 1e3, 1e6)
#: Lengths of a direction whose length says nothing, in units of 1/max(|F|).
_LENGTHS = tuple(sign * 2.0**k for k in (-4, -1, 0, 3, 7) for sign in (1.0, -1.0))


@dataclass(frozen=True, eq=False)
class Refutation:
    """A feasible point that a claim excludes, with its certificate and the sentence that says so."""

    values: Mapping[str, FloatArray]
    certificate: Certificate
    remark: str


def refuted(
    model: Model, form: StandardForm, answer: Answer, certificate: Certificate | None, tol: float, seconds: float | None
) -> Refutation | None:
    """Return a feasible point that refutes the claim, the best that is found; None where none does.

    Parameters
    ----------
    model : Model
    form : StandardForm
        The model's.
    answer : Answer
        Whose claim it is: an optimum, infeasibility, or a bound.
    certificate : Certificate or None
        Of the point that was judged.
    tol : float
        Relative gap that the claim is held to.
    seconds : float, optional
        That the search may take.
    """
    level = _level(answer, certificate, tol)
    if level is None:
        return None
    deadline = np.inf if seconds is None else time.perf_counter() + seconds
    best, points = None, 0
    work = 1.0 + _size(form)
    with np.errstate(all="ignore"):
        for x in _points(model, form, answer, seconds, level):
            points += 1
            if points * work > _WORK or time.perf_counter() > deadline:
                break
            if not np.isfinite(x).all() or not form.objective(x) < level:
                continue
            point_certificate = certify(form, form.split(x))
            violation = max(point_certificate.violations.values(), default=0.0)
            if answer.status is Status.INFEASIBLE and (violation > _ROUNDED or np.abs(x).max(initial=0.0) > _MODERATE):
                continue  # small beside the point: where the rows are met at infinity only, large points come near
            if (
                point_certificate.feasible(_ROUNDED)
                and point_certificate.objective + point_certificate.error < level
                and _costs(model, form.split(x), level)
            ):
                level, best = point_certificate.objective, (x, point_certificate)
    return None if best is None else Refutation(form.split(best[0]), best[1], _remark(answer, certificate, best[1]))


def _costs(model: Model, values: Mapping[str, FloatArray], level: float) -> bool:
    """Return whether a point is below the level also where its cost is counted from the data, without a tolerance of rows."""
    counted = model.counted_cost(values)
    return counted is None or (not counted.excess and counted.cost < level)


def unresolved(answer: Answer, certificate: Certificate, tolerance: float, tol: float) -> str:
    """Return the reason why a solver's word on a continuous optimum, without multipliers, tells nothing; empty where it does.

    Its feasibility tolerance is absolute: what it may move the objective by is a share of the objective's terms.
    """
    if answer.multipliers is not None or certificate.integrality is not None or np.isfinite(certificate.bound):
        return ""
    tolerance_shift = tolerance * max(1.0, certificate.scale)
    if tolerance_shift <= tol * abs(certificate.objective):
        return ""
    return (
        f"nothing can be told from the solver's word: it gives no multipliers, its feasibility tolerance, {tolerance:g}, may "
        f"move the objective by {tolerance_shift:.1e}, and that is {certificate.objective:.3g}: "
        "scale the data, or take a conic solver"
    )


def _size(form: StandardForm) -> float:
    """Non-zeros of the rows and of P, at most."""
    P = 0.0 if form.quadratic is None else float(form.quadratic.most_in_columns.sum())
    return P + sum(c.F.nnz for c in form.constraints)


def _level(answer: Answer, certificate: Certificate | None, tol: float) -> float | None:
    """The objective below which a point refutes the claim; None where nothing is claimed, or the claim is proved."""
    if answer.proved or (certificate is not None and (certificate.inner or certificate.nonconvex)):
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
    """The two statements that exclude each other, with both numbers."""
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
    """Points of the form, whole or completed by the model, that may cost less than ``level``; few of them need be feasible."""
    zero = np.zeros(form.n)
    claimed_point = None if answer.values is None else _joined(model, form, answer.values)
    relaxed = _relaxation(form, seconds)
    label = form.blocks[0].label
    points = [point for point in (claimed_point, relaxed) if point is not None]
    if len(form.blocks) == 1 or _joined(model, form, {label: form.split(zero)[label]}) is None:
        for direction in (zero, *points):
            for factor in _FACTORS if direction.any() else (1.0,):
                yield np.clip(factor * direction, form.lower, form.upper)
        costs = LeadingCosts.of(form, slice(0, form.n))
        for start in points or [zero]:
            yield from costs.descend(start)
        return
    yield from points
    block = form.blocks[0]
    unpack = block.unpack if block.symmetric else lambda x: x.reshape(block.shape)
    costs = LeadingCosts.of(form, form.slices[label])
    for leading in _leading(form, costs, [zero, *points]):
        if costs(leading) >= level:
            continue
        point = _joined(model, form, {label: unpack(leading)})
        if point is not None:
            yield point


def _leading(form: StandardForm, costs: LeadingCosts, points: list[FloatArray]) -> Iterator[FloatArray]:
    """Values of the leading block: multiples of those of whole points, coordinates, what raises the rows, and searches."""
    block = form.slices[form.blocks[0].label]
    low, high = form.lower[block], form.upper[block]
    for point in points:
        for factor in _FACTORS if point[block].any() else (1.0,):
            yield np.clip(factor * point[block], low, high)
            if form.integer[block].any() and point[block].any():
                yield np.clip(np.round(factor * point[block]), low, high)
    F, _ = form.rows_matrix()
    part = F[:, block]
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
    """x of values that the model completes; None where it cannot."""
    try:
        return form.join(model.complete(values))
    except (InputError, KeyError):
        return None


def _relaxation(form: StandardForm, seconds: float | None) -> FloatArray | None:
    """The solution of the continuous relaxation by an interior point, integers rounded; None without one."""
    if _size(form) > _RELAXED or form.convexity.refuted:
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
