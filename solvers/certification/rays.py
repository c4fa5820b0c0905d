"""Check of a claim of infeasibility by its Farkas multipliers, and of unboundedness by its ray, from the form's data alone.

The form is min ½x'Px + q'x + r subject to F_k x + g_k in the cones K_k and bounds; K_k* is the dual cone of K_k.

*Infeasible* (Farkas): z_k in K_k* and ζ = -ΣF_k'z_k with ζ_j ≥ 0 where x_j has only a lower bound, ≤ 0 where only an upper one,
0 where none; then every x of the form has 0 ≤ Σ<z_k, F_k x + g_k> + Σ ζ_j (x_j - bound_j) = Σ<z_k, g_k> - Σ ζ_j bound_j,
so a negative right side leaves no x. Computed multipliers miss ζ_j = 0 of a free variable by 1e-9 or 1e-16, which excludes only
points up to the reciprocal of that. A *proof* is a positive Lagrangian bound of the objective 0: rounding included, with exact
multipliers shown to exist near the computed ones (`models.program.lagrangian`).

*Unbounded*: a feasible point and d with F_k d in K_k, P d = 0, d_j ≥ 0 (≤ 0) where a lower (an upper) bound exists and q'd < 0.
It is *exact* where these hold without rounding: every inner product is summed exactly, so its sign is known.

`separability` decides with the same two kinds of proof whether signed data have a separating hyperplane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ...errors import SolverError
from ...models.arrays import FloatArray
from ...models.program.cones import Nonnegative, Zero
from ...models.program.form import Block, Constraint, StandardForm
from ...models.program.lagrangian import dual_bound
from ...models.rounding import two_product
from ..rational import Vector, farkas_exists, ray_exists, separating_or_combination
from ..records import Status

#: Largest residual of a ray that supports a claim: Farkas multipliers then exclude every point with ||x||_1 < 1e5.
_SUPPORTED = 1e-5
#: Depth inside a cone, relative to a vector's norm, at which rounding of the vector cannot move it out.
_ROUNDING = 1e-10
#: Largest residual beside which exact multipliers are looked for.
_NEARLY = 1e-9
#: Margin of unit rows below which the tolerance of a linear program hides the sign.
_UNDECIDED = 1e-6


@dataclass(frozen=True)
class RayEvidence:
    """The evidence that a ray gives for a claim of infeasibility or unboundedness.

    Parameters
    ----------
    residual : float or None
        `farkas_residual` or `ray_residual`; None where there is no ray.
    exact : bool
        Whether the ray, or one near it, meets its conditions without rounding.
    rational : bool
        Whether the exact ray is one near the given ray, found in rational arithmetic (`solvers.rational`).
    proved : bool
        Whether the claim follows: from exact Farkas multipliers alone; from an exact ray of descent only with a feasible point
        (`with_feasible_point`).
    """

    residual: float | None = None
    exact: bool = False
    rational: bool = False
    proved: bool = False

    @property
    def with_feasible_point(self) -> RayEvidence:
        """Return the evidence once a feasible point is known: an exact ray of descent then proves unboundedness."""
        return replace(self, proved=self.exact)

    @classmethod
    def of(cls, form: StandardForm, ray: FloatArray | Mapping[str, FloatArray]) -> RayEvidence:
        """Return the evidence of a ray: Farkas multipliers by label, or a direction of descent."""
        if isinstance(ray, Mapping):
            if (form.lower > form.upper).any():  # multipliers of the two bounds, whatever else was given
                return cls(0.0, True, proved=True)
            residual = farkas_residual(form, ray)
            if not residual <= _SUPPORTED or farkas_proves(form, ray):
                return cls(residual, residual <= _SUPPORTED, proved=residual <= _SUPPORTED)
            exact = residual <= _NEARLY and farkas_exists(form, ray)
            return cls(residual, exact, exact, exact)
        residual = ray_residual(form, ray)
        if not residual <= _SUPPORTED or ray_is_exact(form, ray):
            return cls(residual, residual <= _SUPPORTED)
        exact = ray_exists(form, ray)
        return cls(residual, exact, exact)

    @staticmethod
    def descent_remark(ray: Mapping[str, FloatArray]) -> str:
        """Return a sentence that names the blocks along which the objective falls."""
        size = {label: float(np.abs(part).max(initial=0.0)) for label, part in ray.items()}
        moving = [label for label, largest in size.items() if largest > _NEARLY * max(size.values())]
        return (
            f"the objective falls without limit along {', '.join(moving)}: no cost, row or bound stops it (a regulariser would)"
        )

    @property
    def is_invalid(self) -> bool:
        """Return whether a ray was given that misses its conditions by too much to support the claim."""
        return self.residual is not None and not self.residual <= _SUPPORTED

    def explanation(self, status: Status) -> str:
        """Return the sentence on a claim of this status: proved, or claimed and why it is not proved."""
        if self.residual is None:
            return "claimed by the solver, without a ray that could be checked"
        if self.is_invalid:
            needed = f"residual {self.residual:.1e}, {_SUPPORTED:g} is needed"
            return f"the ray that the solver gave does not support the claim: {needed}"
        if status is Status.INFEASIBLE:
            if self.rational:
                return "proved: Farkas multipliers in rational arithmetic, found beside the computed ones, leave no point"
            if self.proved:
                return "proved: Farkas multipliers exclude every point, rounding included"
            reach = f"exclude only points with ||x||_1 < {1 / self.residual:.1e}" if self.residual else "are not exact"
            return f"claimed by the solver: its Farkas multipliers, residual {self.residual:.1e}, {reach}"
        if self.exact:
            ray = "a rational ray of descent, found beside the computed one," if self.rational else "an exact ray of descent"
            if self.proved:
                return f"proved: {ray} from a point that satisfies every constraint exactly"
            return f"claimed by the solver: {ray} leaves no least value if any point is feasible, and none is known exactly"
        return f"claimed by the solver: its ray of descent has a residual of {self.residual:.1e}"


def farkas_proves(form: StandardForm, z: Mapping[str, FloatArray]) -> bool:
    """Return whether multipliers near these prove exactly that the form without its integrality is infeasible."""
    largest = max((float(np.abs(part).max(initial=0.0)) for part in z.values()), default=0.0)
    if not 0.0 < largest < np.inf:
        return False
    empty = form.replace(q=np.zeros(form.n), quadratic=None, r=0.0, integer=np.zeros(form.n, dtype=bool))
    return dual_bound(empty, None, {label: np.asarray(part) / largest for label, part in z.items()}).value > 0.0


def ray_is_exact(form: StandardForm, d: FloatArray) -> bool:
    """Return whether d is exactly a ray of descent: linear rows in exact sums, other cones' rows zero or deep inside."""
    quadratic = form.quadratic
    if quadratic is not None:
        data = quadratic.matrix if quadratic.factor is None else quadratic.factor
        if data is None or any(_products(sp.csr_array(data), d)):
            return False
    for c in form.constraints:
        products = _products(c.F, d)
        if not isinstance(c.cone, (Nonnegative, Zero)):
            if not _deep(c, np.array(products)):
                return False
            continue
        if not all(v >= 0.0 if isinstance(c.cone, Nonnegative) else v == 0.0 for v in products):
            return False
    below, above = d[np.isfinite(form.lower)], d[np.isfinite(form.upper)]
    return bool((below >= 0.0).all() and (above <= 0.0).all()) and _products(sp.csr_array(form.q[None, :]), d)[0] < 0.0


def point_exists(form: StandardForm, x: FloatArray) -> bool:
    """Return whether x or a point near it satisfies every constraint exactly; integers must be integers of x itself.

    (x, 1) is then a ray of {(x, t): F x + g t in K, l t <= x <= u t} along which -t descends.
    """
    integers = x[form.integer]
    if not np.isfinite(x).all() or (integers != np.round(integers)).any():
        return False
    low, high = np.flatnonzero(np.isfinite(form.lower)), np.flatnonzero(np.isfinite(form.upper))
    unit = sp.eye_array(form.n, format="csr")
    rows = [
        replace(c, F=sp.csr_array(sp.hstack([c.F, sp.csr_array(c.g[:, None])])), g=np.zeros(c.rows)) for c in form.constraints
    ]
    for label, F, g in (("lower", unit[low], -form.lower[low]), ("upper", -unit[high], form.upper[high])):
        if not g.size:
            continue
        F = sp.csr_array(sp.hstack([F, sp.csr_array(g[:, None])]))
        rows.append(Constraint(f"{label} bounds", F, np.zeros(g.size), Nonnegative(g.size)))
    free = np.full(form.n + 1, np.inf)
    cone = StandardForm(
        "points", (Block("x", (form.n + 1,)),), np.append(np.zeros(form.n), -1.0), tuple(r for r in rows if r.rows),
        np.append(-free[1:], 0.0), free, np.zeros(form.n + 1, dtype=bool),
    )  # fmt: skip
    direction = np.append(x, 1.0)
    return ray_is_exact(cone, direction) or (not form.integer.any() and ray_exists(cone, direction))


def _deep(c: Constraint, v: FloatArray) -> bool:
    """Return whether each cone of the stack has its vector in the interior with room for rounding, or the vector is zero.

    Rows that are exactly zero need no room.
    """
    if not np.isfinite(v).all():
        return False
    size = np.linalg.norm(c.cone.by_cone(v), axis=1)
    return bool(((size == 0.0) | (c.cone.depth(c.cone.fill_zero_rows(v)) > _ROUNDING * size)).all())


def _products(F: sp.csr_array, d: FloatArray) -> list[float]:
    """Return F d, each sum rounded once, so that zeros and signs are exact unless products underflow."""
    products, errors = two_product(F.data, d[F.indices])
    if not (np.isfinite(products).all() and np.isfinite(errors).all()):
        return [math.nan] * F.shape[0]
    terms, error_terms = products.tolist(), errors.tolist()
    return [math.fsum([*terms[a:b], *error_terms[a:b]]) for a, b in pairwise(F.indptr.tolist())]


def _unit(form: StandardForm) -> float:
    """Return the largest finite bound of a variable, 1 at least."""
    bounds = np.abs(np.concatenate([form.lower[np.isfinite(form.lower)], form.upper[np.isfinite(form.upper)]]))
    return max(1.0, float(bounds.max(initial=0.0)))


def farkas_residual(form: StandardForm, z: Mapping[str, FloatArray]) -> float:
    """Return the largest violation of the proof's conditions, scaled to a right side of -1: 0 is a proof, infinity is none.

    The proof is that of the module's docstring. A residual ε excludes every point with ||x||_1 < 1/ε, in units of the largest
    finite bound of a variable where that exceeds 1: points of that size are usual for the form.
    """
    unit = _unit(form)
    zeta, value, outside = np.zeros(form.n), 0.0, 0.0
    for c in form.constraints:
        part = np.asarray(z.get(c.label, np.zeros(c.rows)), dtype=np.float64)
        zeta -= c.F.T @ part
        value += float(part @ c.g)
        outside = max(outside, c.cone.dual_violation(part))
    low, high = np.isfinite(form.lower), np.isfinite(form.upper)
    up, down = np.maximum(zeta, 0.0), np.maximum(-zeta, 0.0)
    outside = max(outside, float(up[~low].max(initial=0.0)), float(down[~high].max(initial=0.0)))
    value += float(down[high] @ form.upper[high]) - float(up[low] @ form.lower[low])
    return unit * outside / -value if value < 0.0 else float("inf")


def ray_residual(form: StandardForm, d: FloatArray) -> float:
    """Return the largest violation of the ray's conditions, scaled to a slope q'd of -1: 0 is a ray, infinity is none.

    Bounds count in units of the largest finite one, as in `farkas_residual`. The curvature Pd counts relative to |P| |d| as well,
    since a small P still bounds the objective along d.
    """
    unit = _unit(form)
    slope = float(form.q @ d)
    outside = max((c.cone.violation(np.asarray(c.F @ d)) for c in form.constraints if c.rows), default=0.0)
    bent = 0.0
    if form.quadratic is not None:
        curvature = float(np.abs(form.quadratic.product(d)).max(initial=0.0))
        outside = max(outside, curvature)
        largest = float(np.abs(form.quadratic.csc.data).max(initial=0.0)) if curvature else 1.0
        bent = curvature / (largest * float(np.abs(d).max(initial=0.0))) if curvature else 0.0
    outside = max(outside, float(np.maximum(-d, 0.0)[np.isfinite(form.lower)].max(initial=0.0)))
    outside = max(outside, float(np.maximum(d, 0.0)[np.isfinite(form.upper)].max(initial=0.0)))
    return max(unit * outside / -slope, bent) if slope < 0.0 else float("inf")


# Linear separability of signed rows, decided by a linear program: a separating direction, or Farkas multipliers.


@dataclass(frozen=True, eq=False)
class Separability:
    """The answer to whether signed rows a_i of a matrix A have a w with a_i'w ≥ 1 for all i, with its proof.

    Parameters
    ----------
    separable : bool
        Whether there is such a w.
    w : ndarray (p,) or None
        A separating direction, min_i a_i'w = 1 up to rounding.
    farkas : ndarray (n,) or None
        f ≥ 0, Σf = 1, A'f = 0: then 0 = f'Aw ≥ Σf = 1 would follow from a separating w.
    residual : float
        max |A'f| relative to max |A|, of the proof of non-separability.
    """

    separable: bool
    w: FloatArray | None
    farkas: FloatArray | None
    residual: float


def separability(A: FloatArray, computed: bool = False) -> Separability:
    """Decide whether the signed rows a_i = y_i x_i lie strictly on one side of a hyperplane through the origin.

    Solves max t subject to A w ≥ t, |w_j| ≤ 1 on rows scaled to unit length (scaling a row by a positive number changes
    neither answer); t* > 0 separates, and at t* = 0 the rows' multipliers are the Farkas proof. Where t* is within the
    tolerance of the program, rational arithmetic decides. Rows beyond the size of rational arithmetic need multipliers with a
    residual of 1e-9.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i, dense.
    computed : bool
        Whether the rows have rounding errors, as those of a kernel matrix: multipliers with a residual of 1e-9 then decide.

    Returns
    -------
    Separability
        A separating direction w (p,), or multipliers f (n,) of a Farkas proof.

    Raises
    ------
    SolverError
        The linear program could not be solved, or neither proof was found.
    """
    from scipy.optimize import linprog  # imported here: it is slow, and only hard margins (κ = 0) need it

    n, p = A.shape
    norms = np.linalg.norm(A, axis=1)
    if (norms == 0).any():
        farkas = (norms == 0) / np.count_nonzero(norms == 0)
        return Separability(False, None, farkas, 0.0)
    unit = A / norms[:, None]
    answer = linprog(
        np.append(np.zeros(p), -1.0),
        A_ub=np.column_stack([-unit, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(-1.0, 1.0)] * p + [(None, 1.0)],
        method="highs",
    )
    if answer.status != 0:
        raise SolverError(f"the separability test's linear program was not solved: {answer.message}", solver="highs")
    w, margin = answer.x[:p], float(answer.x[p])
    achieved = float((A @ w).min())
    if margin > _UNDECIDED and achieved > 0:
        return Separability(True, w / achieved, None, 0.0)
    f = np.maximum(-answer.ineqlin.marginals, 0.0) / norms
    f /= max(float(f.sum()), 1e-300)
    residual = float(np.abs(A.T @ f).max() / np.abs(A).max()) if f.any() else math.inf
    exact = None if computed else separating_or_combination(A, np.argsort(-f, kind="stable"))
    if exact is not None:
        return _from_rational(A, *exact)
    if residual <= _NEARLY:
        return Separability(False, None, f, residual)
    raise SolverError(
        f"separability is undecided in floating point: margin {margin:.2g} of unit rows, Farkas residual {residual:.2g}"
    )


def _from_rational(A: FloatArray, w: Vector | None, f: Vector | None) -> Separability:
    """Return the answer that a rational w, or rational multipliers f, prove."""
    if f is not None:
        multipliers = np.array([float(v) for v in f])
        return Separability(False, None, multipliers, float(np.abs(A.T @ multipliers).max() / np.abs(A).max()))
    assert w is not None
    return Separability(True, np.array([float(v) for v in w]), None, 0.0)
