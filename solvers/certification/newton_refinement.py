"""Refinement of a claimed optimum by Newton's method on its active constraints, where the first certificate proves nothing.

Interior points stop where their errors are small beside the objective's terms, first-order methods earlier; where terms cancel,
or an optimum is degenerate, that is not enough for a certificate. Over quadratic constraints an objective good to 1e-9 comes with
a point good only to its root, since the objective is flat to first order along a curved cone. The point is near enough to tell
the active constraints, and their optimality conditions are smooth equations:

    P x + q - Σ_a F_a'z_a - ζ_a - Σ_k μ_k F_k'T v_k = 0,   v_a = 0,   x_a = bound,   ½ v_k'T v_k = 0,

for a form min ½x'Px + q'x + r with rows v = F x + g, multipliers z of the rows and ζ of the bounds. The sums are over active rows
and bounds a, and over cones k with v_k on the boundary, where z_k = μ_k T v_k: T maps (t, c) to (t, -c) for a second-order cone,
(a, b, c) to (b, a, -c) for a rotated one. A cone whose point is (nearly) the apex has v_k = 0 and a free z_k.

A refined answer counts only if the certificate then proves an optimum to the tolerance, near the solver's answer
(`refine_by_newton`, which `solvers.judgement` calls). The backend of Gurobi calls `newton_polish` for its cones.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray, IntArray
from ...models.model import Model
from ...models.program.cones import Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...models.program.form import StandardForm
from ..records import Answer
from .answer_completion import improve_multipliers
from .certificate import Certificate, Certifier
from .verdict import conditions_met, proves_optimum

#: Largest number of variables and active rows: for more the dense solve would cost more than the solver did.
_LARGEST = 2000
#: A cone's point counts as its apex if its norm is below this share of its multiplier's norm, or of 1e-2 if that is larger (a
#: solver without cones may give no multiplier there).
_APEX = 1e-4
#: Largest number of Newton steps in an attempt.
_STEPS = 6
#: Seconds of a step for each unit of the cube of the number of unknowns.
_SECONDS = 5e-10
#: Ratio of multiplier to slack from which a constraint counts as active, in each attempt.
_RATIOS = (1.0, 1e3)


def newton_polish(
    form: StandardForm,
    x: FloatArray,
    multipliers: Mapping[str, FloatArray],
    reduced: FloatArray,
    seconds: float | None = None,
    largest: int = _LARGEST,
) -> tuple[FloatArray, dict[str, FloatArray], FloatArray]:
    """Return x, z and ζ after Newton steps, or the given ones if no step comes nearer to optimality.

    Rows, bounds and cones count as active if their multiplier exceeds their slack (in a second attempt: a thousand times their
    slack); all others get the multiplier 0. The form is continuous, with linear rows and second-order cones. No step begins that
    would take longer than what is left of ``seconds``, or with more than ``largest`` variables and active rows.
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
    """The active constraints: ``linear`` indices of rows with v = 0, ``bounds`` variables at a bound and ``at`` these bounds.

    ``cones`` are the ranges of rows of cones on the boundary, and whether each is rotated. ``weights`` are the multipliers of
    the linear rows, of the bounds, and μ of the cones; ``F`` and ``g`` are all rows of the form.
    """

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
        """Return T v."""
        reflected = -v[cone[0]]
        if cone[1]:
            reflected[0], reflected[1] = -reflected[1], -reflected[0]
        else:
            reflected[0] = -reflected[0]
        return reflected

    def stacked(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Return z of all rows."""
        v, z = self.F @ x + self.g, np.zeros(self.g.size)
        z[self.linear] = weights[: self.linear.size]
        mu = weights[self.linear.size + self.bounds.size :]
        for cone, m in zip(self.cones, mu, strict=True):
            z[cone[0]] = m * self.complement(v, cone)
        return z

    def multipliers(self, form: StandardForm, x: FloatArray, weights: FloatArray) -> dict[str, FloatArray]:
        """Return z by label, projected on the dual cones."""
        stops = np.cumsum([c.rows for c in form.constraints], dtype=np.int64)
        pieces = np.split(self.stacked(x, weights), stops)  # the last one is empty
        return {c.label: c.cone.project_dual(z) for c, z in zip(form.constraints, pieces, strict=False)}

    def reduced(self, n: int, weights: FloatArray) -> FloatArray:
        """Return ζ."""
        zeta = np.zeros(n)
        zeta[self.bounds] = weights[self.linear.size : self.linear.size + self.bounds.size]
        return zeta


def _active(form: StandardForm, x: FloatArray, z: Mapping[str, FloatArray], zeta: FloatArray, ratio: float) -> _Active:
    F, g = form.rows_matrix()
    linear: list[int] = []
    active_multipliers: list[float] = []
    cones: list[tuple[slice, bool]] = []
    mu: list[float] = []
    first = 0
    for c in form.constraints:
        v, multiplier = c.cone.by_cone(c.value(x)), c.cone.by_cone(np.asarray(z[c.label]))
        if isinstance(c.cone, (Zero, Nonnegative)):
            active_rows = np.flatnonzero(np.isinf(_slack(c.cone, v)) | (multiplier > ratio * v).ravel())
            linear += (first + active_rows).tolist()
            active_multipliers += multiplier.ravel()[active_rows].tolist()
        else:
            rotated = isinstance(c.cone, RotatedSecondOrder)
            inside, sizes = _slack(c.cone, v), np.linalg.norm(multiplier, axis=1)
            for k in range(c.cone.count):
                rows = slice(first + k * c.cone.dim, first + (k + 1) * c.cone.dim)
                size = float(np.linalg.norm(v[k]))
                if size < _APEX * max(sizes[k], 1e-2):
                    linear += range(rows.start, rows.stop)
                    active_multipliers += multiplier[k].tolist()
                elif ratio * inside[k] < sizes[k]:
                    cones.append((rows, rotated))
                    mu.append(float(sizes[k]) / size)
        first += c.rows
    bounds = np.flatnonzero(np.abs(zeta) > ratio * np.abs(np.where(zeta > 0, x - form.lower, form.upper - x)))
    bound_values = np.where(zeta > 0, form.lower, form.upper)[bounds]
    weights = np.concatenate([active_multipliers, zeta[bounds], mu])
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
    """Return point and weights after one Newton step on the module's equations."""
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
    """Return the largest violation of stationarity, constraints, bounds and complementarity."""
    residual = form.gradient(x) - zeta
    worst = float(np.maximum(np.maximum(form.lower - x, x - form.upper), 0.0).max(initial=0.0))
    for c in form.constraints:
        value = c.value(x)
        residual = residual - c.F.T @ z[c.label]
        worst = max(worst, c.cone.violation(value), abs(float(value @ z[c.label])))
    gap = np.where(zeta > 0, x - form.lower, np.where(zeta < 0, form.upper - x, 0.0))
    worst = max(worst, float(np.abs(np.where(np.isfinite(gap), gap, 1.0) * zeta).max(initial=0.0)))
    return max(worst, float(np.abs(residual).max(initial=0.0)))


#: The note on the origin of a refined point.
REFINEMENT_NOTE = "made exact by Newton's method on the constraints that are active at the solver's point"
#: The answer, its point and their certificate.
Refined: TypeAlias = tuple[Answer, Mapping[str, FloatArray], Certificate]
#: Largest relative violation of rows and optimality conditions at a start; largest relative change of the objective.
_NEARLY = 1e-4
#: Variables and active rows: a step takes half a second then.
_LARGEST_REFINED = 1200


def refine_by_newton(certifier: Certifier, start: Refined, tol: float, seconds: float | None = None) -> Refined | None:
    """Return a proved optimum near an answer with multipliers that claims one and does not prove it; None if none is found."""
    (answer, values, certificate), form = start, certifier.form
    if form is None or answer.multipliers is None:
        return None
    if not _applies(form) or certificate.nonconvex or certificate.condition or certificate.inner:
        return None
    if not (certificate.feasible(_NEARLY) and conditions_met(certificate, _NEARLY)):
        return None  # the answer's own multipliers do not support an optimum
    x = form.join(values)
    z = {c.label: np.ravel(answer.multipliers.get(c.label, np.zeros(c.rows))) for c in form.constraints}
    reduced = np.zeros(form.n) if answer.reduced is None else answer.reduced
    if any(z[c.label].shape != (c.rows,) or not np.isfinite(z[c.label]).all() for c in form.constraints):
        return None
    y, w, zeta = newton_polish(form, x, z, reduced, seconds, _LARGEST_REFINED)
    if y is x:
        return None
    refined_answer = replace(answer, multipliers=w, reduced=zeta)
    for point, source_answer in ((y, refined_answer), (y, answer), (x, refined_answer)):
        for blocks in _with_exact_point(certifier.model, form.split(point)):
            refined = improve_multipliers(certifier, source_answer, blocks, certifier(source_answer, blocks), tol, seconds)
            change = abs(refined[1].objective - certificate.objective)
            if proves_optimum(*refined, tol) and change <= _NEARLY * max(abs(certificate.objective), certificate.scale):
                return refined[0], blocks, refined[1]
    return None


def _with_exact_point(model: Model, blocks: dict[str, FloatArray]) -> list[dict[str, FloatArray]]:
    """Return the candidates: the model's exact point near this one (`Model.exact_point`) if it differs, then this one."""
    exact_blocks = model.exact_point(blocks)
    unchanged = all(np.array_equal(exact_blocks[label], block) for label, block in blocks.items())
    return [blocks] if unchanged else [exact_blocks, blocks]


def _applies(form: StandardForm) -> bool:
    """Return whether the method applies: real variables, polyhedral or second-order cones, a P that is a matrix."""
    if form.integer.any() or (form.quadratic is not None and form.quadratic.operator is not None):
        return False
    return all(isinstance(c.cone, (Zero, Nonnegative, SecondOrder, RotatedSecondOrder)) for c in form.constraints)
