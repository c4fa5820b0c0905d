"""Cuts of the 0-1 loss for SCIP and Gurobi: the option, the separator's interface, and perspective cuts.

*Perspective cuts of the 0-1 loss.* The form minimises scale ||w||² and the costs, with an epigraph variable τ ≥ scale ||w||².
Let γ be in Γ, that is S = Σ γ_i a_i a_i' with I - S ⪰ 0, Conic (13), and u_i = a_i'w. Then

    ||w||² = w'(I - S)w + Σ γ_i u_i²,

the first term is convex and lies above its tangent at any w̄, and for every t

    u_i² ≥ 2t u_i - t²                           (t ≥ 1: the tangent),
    u_i² ≥ 1 - 2t + 2t u_i - (1 - t)² z_i        (t ≤ 1)

at every point with z_i = 1, or with z_i = 0 and u_i ≥ 1. *Proof.* z_i = 1: the right-hand side is 2t u_i - t², and
(u_i - t)² ≥ 0. z_i = 0: the difference is (u_i - t)² - (1 - t)², and u_i - t ≥ 1 - t ≥ 0. At t = (u_i - 1 + z_i)/z_i this is
the tangent of the hull of both cases (1 - z + (u - 1 + z)²/z for u < 1): the cone of the strengthened encoding, without its
variables. So τ is at least

    scale [2w̄'(I - S)w - w̄'(I - S)w̄ + Σ γ_i (the line of t_i)],

a linear row that no feasible point violates. It is added if the relaxation violates it. γ is that of the conic relaxation, Conic
(23) by `conic-ipm` at the mean cost, projected into Γ.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, MarginoptWarning
from ..models.arrays import FloatArray, IntArray
from ..models.conic_bound import repair_gamma
from ..models.formulations.conic import ConicSVM
from ..models.model import Model
from ..models.program.form import StandardForm
from ..models.views import ZeroOneProblem
from .conic.ipm import ConicIPM
from .records import Options
from .zero_one.incumbent import penalised_rows
from .zero_one.reduced import ReducedZeroOneProblem, reduce_problem

__all__ = ["CUTS", "Cut", "PerspectiveCuts", "Separator", "cuts_of", "price_of", "with_cuts"]


def price_of(model: Model, problem: ZeroOneProblem, kind: str) -> tuple[str, float]:
    """Return the label of the block with one binary variable per point, and the ratio of its costs to the λ_i.

    Raises
    ------
    InputError
        The form has no such block.
    """
    form, n = model.form, problem.weights.size
    for block in form.blocks:
        place = form.slices[block.label]
        binary = form.integer[place].all() and (form.lower[place] >= 0).all() and (form.upper[place] <= 1).all()
        if block.size == n and binary:
            ratio = form.q[place] / problem.weights
            if (ratio > 0).all() and np.ptp(ratio) <= 1e-12 * ratio[0]:
                return block.label, float(ratio[0])
    raise InputError(f"cuts={kind!r} needs a binary for each point with its cost as price; the form of {model.name} has none")


@dataclass(frozen=True, eq=False)
class Cut:
    """The row Σ coefficients_k x[where_k] ≥ least, where x are the variables that the separator reads."""

    where: IntArray
    coefficients: FloatArray
    least: float


class Separator(ABC):
    """A separator of one kind of cuts for one model."""

    #: Value of the option ``cuts=``.
    kind: ClassVar[str]
    #: Whether a cut may remove feasible points that are worse than a known solution.
    lazy: ClassVar[bool]
    #: Whether the separator needs an epigraph variable of the quadratic objective.
    epigraph: ClassVar[bool]

    @abstractmethod
    def places(self, form: StandardForm) -> IntArray:
        """Return the indices of the variables that the separator reads in the solver's form, bridged or not."""

    @abstractmethod
    def cuts(self, x: FloatArray, known: float) -> list[Cut]:
        """Return the cuts that ``x`` violates; ``known`` is the objective of a known solution, ∞ without one."""


#: Least violation, relative to the epigraph's value; least t, which bounds the coefficients of z.
_LEAST_VIOLATION, _LEAST_T = 1e-4, -20.0
#: Allowance for rounding in the coefficients, relative to the terms.
_ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class PerspectiveCuts(Separator):
    """The separator of perspective cuts for one model.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i.
    gamma : ndarray (n,)
        Multipliers in Γ.
    rest : ndarray (p, p)
        I - Σ γ_i a_i a_i'.
    label : str
        Label of the form's block of z.
    scale : float
        Ratio of the form's objective to that of the problem.
    """

    kind: ClassVar[str] = "perspective"
    lazy: ClassVar[bool] = False
    epigraph: ClassVar[bool] = True

    A: FloatArray
    gamma: FloatArray
    rest: FloatArray
    label: str
    scale: float

    @classmethod
    def of(cls, model: Model, problem: ZeroOneProblem) -> PerspectiveCuts:
        """Return the separator of a 0-1 loss problem whose form has w, z and the Hessian 2·scale·I.

        Raises
        ------
        InputError
            The intercept is free, or the form has another objective (the strengthened encoding contains these rows as cones).
        """
        label, scale = price_of(model, problem, "perspective")
        if not problem.penalised.all():
            raise InputError("cuts='perspective' needs every coefficient in the norm; a free intercept has no curvature to share")
        form = model.form
        P = None if form.quadratic is None else form.quadratic.materialised
        w = form.slices.get("w")
        expected_diagonal = np.zeros(form.n)
        expected_diagonal[w if w is not None else slice(0, 0)] = 2.0 * scale
        if P is None or w is None or abs(P - np.diag(expected_diagonal)).max() > 1e-12 * scale:
            raise InputError(
                f"cuts='perspective' needs the objective ||w||² and costs of z; that of {model.name} has other terms"
            )
        gamma = repair_gamma(problem.A, _gamma(problem), margin=1e-8)
        remainder = np.eye(problem.A.shape[1]) - (problem.A * gamma[:, None]).T @ problem.A
        return cls(problem.A, gamma, 0.5 * (remainder + remainder.T), label, scale)

    def places(self, form: StandardForm) -> IntArray:
        """Return the indices of w, z and the epigraph variable in the solver's form."""
        slices = [form.slices[label] for label in ("w", self.label, "epigraph")]
        return np.concatenate([np.arange(block.start, block.stop) for block in slices])

    def cuts(self, x: FloatArray, known: float) -> list[Cut]:
        """Return the row of the module's docstring at w̄ and z̄ if τ violates it."""
        n, p = self.A.shape
        w, z, tau = x[:p], np.clip(x[p : p + n], 0.0, 1.0), float(x[-1])
        u = self.A @ w
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(u >= 1.0, u, np.maximum(np.where(z > 0.0, (u - 1.0 + z) / z, 1.0), _LEAST_T))
        low = t <= 1.0
        slope, constant = self.rest @ w, np.where(low, 1.0 - 2.0 * t, -t * t)
        w_coefficients = self.scale * (2.0 * slope + self.A.T @ (2.0 * self.gamma * t))
        z_coefficients = -self.scale * self.gamma * np.where(low, (1.0 - t) ** 2, 0.0)
        terms = self.gamma * constant
        right_side = self.scale * (float(terms.sum()) - float(w @ slope))
        size = self.scale * (float(np.abs(terms).sum()) + abs(float(w @ slope))) + float(np.abs(w_coefficients) @ np.abs(w))
        right_side -= _ROUNDING * (size + float(np.abs(z_coefficients).sum()))
        if float(w_coefficients @ w + z_coefficients @ z) + right_side - tau <= _LEAST_VIOLATION * max(
            abs(tau), 1e-3 * self.scale
        ):
            return []
        return [Cut(np.arange(x.size), np.concatenate([-w_coefficients, -z_coefficients, [1.0]]), right_side)]


def _gamma(problem: ZeroOneProblem) -> FloatArray:
    """Return γ of the conic relaxation. The rows are signed already, so any labels serve."""
    y = np.where(np.arange(len(problem.A)) % 2 == 0, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)
        model = ConicSVM(problem.A * y[:, None], y, lam=float(problem.weights.mean()))
        answer = ConicIPM().run(model, Options(tol=1e-6))
    hull = None if answer.multipliers is None else answer.multipliers.get("hull")
    if hull is None:
        raise InputError("cuts='perspective': the conic relaxation gave no gamma; scale the data")
    return np.maximum(np.asarray(hull, dtype=np.float64), 0.0)


# Conflict cuts: sets of points that no better classifier keeps, separated at the relaxation of a node.
#
# The problem is min Σ_j d_j w_j² + Σ_i λ_i z_i with z_i = 1 if the margin of point i is violated (`models.views.ZeroOneProblem`).
# For a set S of points let
#
#     ν(S) = min Σ_j d_j w_j²  subject to  a_i'w ≥ 1 for i in S    (∞ if S cannot be kept).
#
# *The cut is valid.* A solution that keeps S has an objective of at least ν(S), since costs are not negative. Let UB be the
# objective of a known solution. If ν(S) > UB then no solution of objective at most UB keeps all of S. So every such solution, and
# in particular every optimum, satisfies
#
#     Σ_{i in S} z_i ≥ 1.
#
# ν(S) is not computed. Multipliers u ≥ 0 of the points prove ν(S) ≥ (Σu)²/||Σ u_i a_i||², with every rounding error on the safe
# side (the dual active-set method of `zero-one-bb`; pairs of points of the two classes eliminate a free intercept). UB is
# increased by a millionth, because the solver's solutions are feasible only to tolerances.
#
# At most p + 1 points (2p with a free intercept) have u_i > 0. Points that the relaxation keeps (small z̄_i) enter first, so that
# S has a small Σ z̄_i. The cut is added if it is violated, Σ_S z̄_i < 1. Later conflicts of the same node exclude the points of
# earlier ones.

#: Relative increase of the known objective, since a solver's solution is feasible only to its tolerances.
_SAFETY = 1e-6
#: Largest number of cuts per node; least violation of a cut; z̄ from which a point is excluded.
_MAX_CUTS, _OPTIONS_LEAST_VIOLATION, _EXCLUDED = 8, 1e-3, 0.999


@dataclass(frozen=True, eq=False)
class ConflictCuts(Separator):
    """The separator of conflict cuts for one model.

    Parameters
    ----------
    reduced : Reduced
        The problem in the exact solver's coordinates.
    label : str
        Label of the form's block of z, one variable per point.
    scale : float
        Ratio of the form's objective to that of the problem.
    """

    kind: ClassVar[str] = "conflicts"
    lazy: ClassVar[bool] = True
    epigraph: ClassVar[bool] = False

    reduced: ReducedZeroOneProblem
    label: str
    scale: float

    @cached_property
    def rows(self) -> Any:
        """The points for the dual method, with thresholds that are valid for every w no worse than a trivial one."""
        reduced = self.reduced
        return penalised_rows(reduced, np.ascontiguousarray(reduced.thresholds(reduced.trivial)))

    @classmethod
    def of(cls, model: Model, problem: ZeroOneProblem) -> ConflictCuts:
        """Return the separator of a 0-1 loss problem with a binary variable for each point.

        Raises
        ------
        InputError
            The form has no such binaries.
        """
        label, scale = price_of(model, problem, cls.kind)
        return cls(reduce_problem(problem), label, scale)

    def places(self, form: StandardForm) -> IntArray:
        """Return the indices of z in the solver's form."""
        place = form.slices[self.label]
        return np.arange(place.start, place.stop)

    def cuts(self, x: FloatArray, known: float) -> list[Cut]:
        """Return the cuts Σ z_i ≥ 1 over the sets of `separate`."""
        return [Cut(points, np.ones(points.size), 1.0) for points in self.separate(x, known)]

    def separate(self, z: FloatArray, known: float) -> list[IntArray]:
        """Return sets of points whose cuts the relaxation's ``z`` violates.

        ``known`` is the objective of a known solution, ∞ without one. w = 0 (with b = ±1) is always known.
        """
        from .zero_one.loops.conflicts import CONFLICT, active_set, empty_scratch, no_active

        if not self.reduced.rows.size:
            return []
        rows, upper = self.rows, self._norm_threshold(known)
        z_by_row, member = self._least_z_by_row(z)
        n, p = rows.a.shape
        conflicts: list[IntArray] = []
        kept = z_by_row < _EXCLUDED
        priority = 1.0 / (z_by_row + 0.02)
        scratch = empty_scratch(n, p)
        while len(conflicts) < _MAX_CUTS and kept.any():
            active = no_active(p)
            status, _ = active_set(rows, kept, priority, upper, active, scratch)
            if status != CONFLICT:
                break
            support = np.unique(active.pair[: int(active.count[0])][active.u[: int(active.count[0])] > 0.0])
            support = support[support >= 0]
            if z_by_row[support].sum() < 1.0 - _OPTIONS_LEAST_VIOLATION:
                conflicts.append(np.sort(member[support]))
            kept[support] = False
        return conflicts

    def _norm_threshold(self, known: float) -> float:
        """Return the reduced squared norm that certainly exceeds the known objective, or that of a trivial point."""
        reduced = self.reduced
        reduced_objective = (known / self.scale - reduced.constant) / reduced.unit
        upper = min(reduced_objective, reduced.trivial)
        return float((upper + _SAFETY * max(abs(upper), 1e-3)) / (1.0 - reduced.shrink))

    def _least_z_by_row(self, z: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the least z̄ among the points of each distinct row, and a point that attains it: keeping it keeps all of them."""
        reduced = self.reduced
        z_by_row, member = np.full(len(reduced.weights), np.inf), np.zeros(len(reduced.weights), dtype=np.int64)
        for i in np.argsort(-z, kind="stable"):
            row = reduced.member[i]
            if row >= 0:
                z_by_row[row], member[row] = max(float(z[i]), 0.0), i
        return z_by_row, member


#: Name of the option.
CUTS = "cuts"
_KINDS: dict[str, type[ConflictCuts] | type[PerspectiveCuts]] = {kind.kind: kind for kind in (ConflictCuts, PerspectiveCuts)}


def with_cuts(model: Model, options: Options) -> Options:
    """Return the options with the separator in place of its name.

    Raises
    ------
    InputError
        The name is unknown, or the model has no such cuts.
    """
    name = options.native.get(CUTS)
    if name is None or isinstance(name, Separator):
        return options
    if not isinstance(name, str) or name not in _KINDS:
        raise InputError(f"cuts takes {' or '.join(map(repr, _KINDS))}; it is {name!r}")
    problem = model.view(ZeroOneProblem)
    if problem is None:
        raise InputError(
            f"cuts={name!r} needs a 0-1 loss with ||w||² (ZeroOneSVM with λ, or Margin with 'zero-one' and 'l2'); "
            f"{model.name} is none"
        )
    return Options.of(options, native={CUTS: _KINDS[name].of(model, problem)})


def cuts_of(options: Options) -> tuple[Separator | None, dict[str, Any]]:
    """Return the separator, and the solver's native options without it."""
    native = dict(options.native)
    separator = native.pop(CUTS, None)
    return (separator if isinstance(separator, Separator) else None), native
