r"""Presolve of the 0-1 problem: heuristic incumbents, and the fixed z_i, tighter M_i and strengthened encoding that follow.

The problem is min ||w||² + Σ λ_i z_i, z_i = 1{r_i > 0}, r_i = 1 - a_i'w, a_i = y_i x_i (λ form; the κ form bounds Σ z_i instead).
Its *encoding* states r_i > 0 ⇒ z_i = 1: by big-M rows a_i'w ≥ 1 - M_i z_i or, *strengthened*, by cones with γ as data as well. An
incumbent of objective UB and a relaxation's multipliers γ prove that z_i is fixed and that M_i is valid: `fix_variables` uses
both, `tighten` lowers M, `strengthen` states the strengthened encoding with an incumbent.

The proof of `Fixings`: let γ in Γ = {γ ≥ 0 : Σ γ_i a_i a_i' ⪯ I} and V be a dual point with value D
(`relaxations.bounds.convexification`; γ = 0 for the big-M relaxation), S = I - Σ γ_i a_i a_i', ŵ = ½S⁻¹ Σ (V_i - 2γ_i) a_i and
r̂_i = 1 - a_i'ŵ. χ_j is the convex envelope of λ_j 1{r > 0} + γ_j r² on r ≤ M_j, χ*_j its conjugate. For every w, with
χ_j(r) ≥ V_j r - χ*_j(V_j),

    ||w||² + Σ λ_j z_j  ≥  D + (w - ŵ)'S(w - ŵ):

the left is at least the Lagrangian, a quadratic with Hessian 2S and its minimum D at ŵ. Take the i-th loss itself,
λ_i z_i + γ_i r_i², in place of its lower bound, and use (w - ŵ)'S(w - ŵ) ≥ (r_i - r̂_i)²/h_i with h_i = a_i'S⁻¹a_i. So

    z_i = 0:  objective ≥ D + χ*_i(V_i) + min { (r - r̂_i)²/h_i - V_i r + γ_i r²        : r ≤ 0 }        =: D_i⁰
    z_i = 1:  objective ≥ D + χ*_i(V_i) + min { (r - r̂_i)²/h_i - V_i r + γ_i r² + λ_i  : 0 ≤ r ≤ M_i }  =: D_i¹

If D_i⁰ > UB, every w with an objective of at most UB has z_i = 1; if D_i¹ > UB, z_i = 0. Otherwise the r of the second line
whose value is at most UB form an interval, and its right end is a valid M_i: the row a_i'w ≥ 1 - M_i z_i holds for every w with
an objective of at most UB. UB is the objective of a known classifier, so an optimal solution is never lost. A bound of its
rounding errors is subtracted from D; γ is scaled until S ⪰ 1e-6 I, which keeps the errors of S⁻¹ (about 1e-10) well below the
1e-8, relative to UB, by which UB is raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sl

from ..errors import InputError, MarginoptError
from ..models.arrays import BoolArray, FloatArray, as_integer, as_positive, as_vector
from ..models.conic_bound import coordinates, repair_gamma
from ..models.formulations.features import dense_signed_rows
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.model import Model
from ..models.program.form import StandardForm
from ..models.program.lagrangian import dual_bound_value
from ..models.views import ZeroOneProblem
from ..solvers.interface.solver import Gives
from ..solvers.polishing import polish
from ..solvers.records import Options
from ..solvers.registry import SolverLike, SolverSpec, all_solvers, is_installed
from ..solvers.solve import solve_problem
from ..solvers.zero_one.heuristic import good_classifier
from .bounds.conic import Combined, Conic
from .bounds.convexification import PointLosses, combined_bound, combined_value
from .margin_reduction import as_margin, satisfies_restrictions
from .reduction import COST_FORM, PENALISED, Direction, LiftedDual, Need, Reduction, best_multiple, replace_fields, require_needs
from .relaxation_result import relax

#: Relative amount by which a bound must exceed UB.
_SAFETY = 1e-8
#: Smallest eigenvalue of S after γ is scaled.
_MARGIN = 1e-6
#: Multiples of γ that are tried.
_MULTIPLES = (1.0, 0.9, 0.7, 0.4, 0.0)
#: Smallest M_i: those of points with z_i = 0 for certain would go to zero, and slopes λ/M to infinity.
_LEAST_M = 1e-3


@dataclass(frozen=True, eq=False)
class Fixings:
    """Fixed z_i and valid M_i that a dual point and an incumbent prove.

    Parameters
    ----------
    zero, one : ndarray of bool (n,)
        Points with z_i = 0, z_i = 1 in every solution with an objective of at most UB.
    big_m : ndarray (n,)
        Valid M_i for those solutions: at most the model's.
    bound_zero, bound_one : ndarray (n,)
        Largest D_i⁰ and D_i¹. The tightened M used for them hold for objectives of at most UB only, so the proved bound for every
        w with z_i = 0 (z_i = 1) is min(D_i, UB).
    value : float
        Largest D, a lower bound of the optimum if it is at most UB.
    """

    zero: BoolArray
    one: BoolArray
    big_m: FloatArray
    bound_zero: FloatArray
    bound_one: FloatArray
    value: float

    @classmethod
    def without_fixed(cls, big_m: FloatArray) -> Fixings:
        """Return fixings that fix no z_i, with the given M."""
        no_points, low = np.zeros(big_m.size, dtype=bool), np.full(big_m.size, -np.inf)
        return cls(no_points, no_points, big_m, low, low, -np.inf)

    def merge(self, other: Fixings) -> Fixings:
        """Return the fixings that this and another proof give together."""
        return Fixings(
            self.zero | other.zero,
            self.one | other.one,
            np.minimum(self.big_m, other.big_m),
            np.maximum(self.bound_zero, other.bound_zero),
            np.maximum(self.bound_one, other.bound_one),
            max(self.value, other.value),
        )


@dataclass(frozen=True, eq=False)
class Fixing(Reduction[StandardForm]):
    """The reduction to the model's form with the z_i fixed and the M_i tightened that γ in Γ and an upper bound prove.

    At the multipliers γ* of the SDP the bound D is best, but S is nearly singular, so that (w - ŵ)'S(w - ŵ) restricts w little.
    Smaller multiples of γ have a worse D and restrict w more. So several multiples are tried, down to γ = 0 (the big-M
    relaxation), each with the best V (`combined_bound`) for the M of the multiples before; every multiple is a proof by itself.

    Parameters
    ----------
    gamma : ndarray (n,)
        Multipliers γ of any quality; they are clipped and scaled into Γ.
    upper_bound : float
        Objective of a known classifier.
    rounds : int
        How often all multiples are tried, each time with the M of the round before.

    Raises
    ------
    InputError
        Numbers that are not finite, a negative upper bound, or rounds below 1.
    """

    gamma: FloatArray
    upper_bound: float
    rounds: int = 2

    direction: ClassVar[Direction] = Direction.EQUIVALENT

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", as_vector(self.gamma, np.size(self.gamma), "gamma"))
        object.__setattr__(self, "upper_bound", as_positive(self.upper_bound, "upper_bound", zero=True))
        object.__setattr__(self, "rounds", as_integer(self.rounds, "rounds", 1))

    name = "fixing from incumbent"

    @property
    def needs(self) -> tuple[Need, ...]:
        """Return the requirements of a cost λ and a penalised intercept."""
        return (*super().needs, PENALISED)

    def fixings(self, model: ZeroOneSVM) -> Fixings:
        """Return the fixings of a model; the module's docstring has the proof.

        Raises
        ------
        InputError
            Another number of points than γ has.
        UnsupportedModelError
            A free intercept, or a κ form.
        """
        self.check(model)
        n = model.X.shape[0]
        if self.gamma.size != n:
            raise InputError(f"gamma is that of {self.gamma.size} points; the model has {n}", name="gamma")
        A = dense_signed_rows(model.X, model.y)
        gamma = repair_gamma(A, self.gamma, margin=_MARGIN)
        fixings = Fixings.without_fixed(np.maximum(model.big_m_values, _LEAST_M))
        for _ in range(self.rounds):
            for multiple in _MULTIPLES:
                fixings = fixings.merge(_fixed_at(A, model.sample_weight, multiple * gamma, fixings.big_m, self.upper_bound))
        return fixings

    def apply(self, model: ZeroOneSVM) -> StandardForm:
        """Return the model's form, in its encoding, with tightened M and fixed z."""
        fixings = self.fixings(model)
        form = replace_fields(model, big_m=fixings.big_m).form
        lower, upper = form.lower.copy(), form.upper.copy()
        z = form.slices["z"]
        upper[z] = np.where(fixings.zero, 0.0, upper[z])
        lower[z] = np.where(fixings.one, 1.0, lower[z])
        return form.with_bounds(lower, upper)

    def recover(self, model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return a point of the original: the target's z, and the best w for it (`polish`)."""
        return polish(model.form, model.point(best_multiple(model, np.asarray(values["w"], dtype=np.float64))), model)[0]

    def lift(self, model: ZeroOneSVM, target: StandardForm, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the smaller of UB and the Lagrangian bound, with fixed z, by multipliers of the big-M rows (``margin``)."""
        # another encoding has other rows, and its multipliers of ``margin`` are taken for those of the big-M form
        form = (
            target
            if model.encoding in ("auto", "bigm")
            else self.apply(replace_fields(model, encoding="bigm", gamma=None, rows="bigm"))
        )
        alpha = np.maximum(np.asarray(multipliers["margin"], dtype=np.float64), 0.0)
        value = min(self.upper_bound, dual_bound_value(form, None, {"margin": alpha}))
        return LiftedDual(
            value, {"margin": alpha}, "a solution better than UB satisfies the fixings, and then the Lagrangian bounds it"
        )

    def big_m_constants(self, model: ZeroOneSVM) -> FloatArray:
        """Return the tightened M_i."""
        return self.fixings(model).big_m

    def m_source(self, model: ZeroOneSVM) -> str:
        """Return the source of M in words: the dual point and UB."""
        return "dual point and incumbent, valid"

    def caveat(self, model: ZeroOneSVM) -> str:
        """Return the caveat of `BigM` that the model's own M is below the smallest one proved valid; empty if it is not."""
        from .bounds.big_m import BigM

        return BigM("stated").caveat(replace_fields(model, upper_bound=self.upper_bound))


def _fixed_at(A: FloatArray, weights: FloatArray, gamma: FloatArray, M: FloatArray, upper_bound: float) -> Fixings:
    """Return the fixings that the module's proof gives at one γ with S ⪰ 1e-6 I."""
    n = A.shape[0]
    dual = combined_bound(A, weights, M, gamma)
    rows, gamma, V = coordinates(A).rows, dual.gamma, dual.slope
    losses = PointLosses.of(weights, M, gamma)
    value = combined_value(rows, losses, V)
    factor = np.linalg.cholesky(np.eye(rows.shape[1]) - (rows * gamma[:, None]).T @ rows)
    centre = 0.5 * sl.cho_solve((factor, True), rows.T @ (V - 2.0 * gamma))
    lifted = sl.solve_triangular(factor, rows.T, lower=True)
    h = np.maximum(np.einsum("ij,ij->j", lifted, lifted), 1e-300)
    excess = _Excess(1.0 - rows @ centre, 1.0 / h, gamma, V)
    base = value + losses.conjugate(V)
    zero = base + excess.least(np.full(n, -np.inf), np.zeros(n))
    one = base + weights + excess.least(np.zeros(n), M)
    limit = upper_bound * (1.0 + _SAFETY)
    tight = np.clip(excess.last(limit - base - weights), _LEAST_M, M)
    return Fixings(one > limit, zero > limit, np.where(one > limit, _LEAST_M, tight), zero, one, value)


@dataclass(frozen=True, eq=False)
class _Excess:
    """e(r) = (r - centre)²·curvature - V r + γ r², a convex quadratic in r for each point."""

    centre: FloatArray
    curvature: FloatArray
    gamma: FloatArray
    V: FloatArray

    def at(self, r: FloatArray) -> FloatArray:
        return np.asarray((r - self.centre) ** 2 * self.curvature - self.V * r + self.gamma * r * r)

    @property
    def minimiser(self) -> FloatArray:
        return np.asarray((self.centre * self.curvature + 0.5 * self.V) / (self.curvature + self.gamma))

    def least(self, low: FloatArray, high: FloatArray) -> FloatArray:
        return self.at(np.clip(self.minimiser, low, high))

    def last(self, level: FloatArray) -> FloatArray:
        """Return the largest r with e(r) ≤ level, -∞ if none; e is its minimum plus (curvature + γ)(r - minimiser)²."""
        best = self.minimiser
        slack = level - self.at(best)
        reach = np.sqrt(np.maximum(slack, 0.0) / (self.curvature + self.gamma))
        return np.where(slack >= 0.0, (best + reach) * (1.0 + 1e-12), -np.inf)


def fix_variables(
    model: ZeroOneSVM, relaxation: Reduction[Any] | None = None, solver: SolverLike = "auto", options: Options | None = None
) -> Fixing:
    """Solve a relaxation and return the `Fixing` with its multipliers γ and the model's upper bound.

    Parameters
    ----------
    model : ZeroOneSVM
        A model with an incumbent or an upper bound (`tighten`, `strengthen`).
    relaxation : Reduction, optional
        The relaxation that gives γ; `Combined`, with M from the incumbent, by default. A relaxation without γ gives γ = 0.
    solver, options
        Solver and options of the relaxation, as in `solve`.

    Returns
    -------
    Fixing
        The reduction whose target has the proved z_i fixed.

    Raises
    ------
    InputError
        The model has no incumbent and no upper bound, or the relaxation gave no multipliers.
    UnsupportedModelError
        A free intercept, or a κ form.
    """
    require_needs(model, "fix_variables()", PENALISED)
    if model.upper_bound is None and model.incumbent is None:
        raise InputError(
            "fixing needs a model with an incumbent: strengthen(model), or tighten(model, w) for a classifier w", name="model"
        )
    lifted = relax(model, Combined() if relaxation is None else relaxation, solver, options).lifted
    if lifted is None:
        raise InputError("the relaxation's solver gave no multipliers to fix variables with; choose another solver")
    gamma = lifted.multipliers.get("hull", np.zeros(model.X.shape[0]))
    return Fixing(np.asarray(gamma), model.incumbent_value)


def heuristic(
    model: ZeroOneSVM, seed: int | np.random.Generator = 0, rounds: int = 60, starts: Iterable[FloatArray] = ()
) -> tuple[FloatArray, float]:
    """Return a good classifier for the 0-1 loss and its true objective: the heuristic of `zero-one-bb`, without its search.

    Every start (hinge-loss SVMs, w = 0, and ``starts``, such as a relaxation's w) is scaled to its best multiple. Given the
    points that meet their margins, the w of least norm that meets them is optimal, so every classifier is replaced by that w.
    Local searches along lines and large neighbourhoods of the best classifier take turns (`solvers.zero_one.heuristic`).

    Parameters
    ----------
    model : ZeroOneSVM
        A model in λ form; its constants M are not used.
    seed : int or numpy Generator
        Seed of the searches.
    rounds : int
        Largest number of local searches, and of neighbourhoods; failures in a row end them sooner. 0: the starts alone.
    starts : iterable of ndarray (p,)
        Further classifiers to begin with.

    Returns
    -------
    w : ndarray (p,)
    objective : float
        ``model.objective(w)``.

    Raises
    ------
    InputError
        rounds < 0, or a start of the wrong shape.
    UnsupportedModelError
        A κ form.
    """
    rounds = as_integer(rounds, "rounds")
    require_needs(model, "heuristic()", COST_FORM)
    problem = model.view(ZeroOneProblem)
    assert problem is not None  # every λ form has one
    start_points = [_classifier(model, w) for w in starts]
    w = good_classifier(problem, np.random.default_rng(seed), rounds, start_points)
    return w, model.objective(w)


def tighten(model: ZeroOneSVM, w: FloatArray) -> ZeroOneSVM:
    """Return the model with the objective of a classifier w as ``upper_bound``, which tightens its valid M; a smaller upper bound
    of the model stays.

    Parameters
    ----------
    model : ZeroOneSVM
    w : ndarray (p,)
        A classifier.

    Returns
    -------
    ZeroOneSVM
        The same problem with smaller M.

    Raises
    ------
    InputError
        w has the wrong shape or is not finite.
    """
    value = model.objective(_classifier(model, w))
    return replace_fields(model, upper_bound=value if model.upper_bound is None else min(value, float(model.upper_bound)))


def _classifier(model: ZeroOneSVM, w: FloatArray) -> FloatArray:
    coefficients, p = np.asarray(w, dtype=np.float64), model.X.shape[1]
    if coefficients.shape != (p,) or not np.isfinite(coefficients).all():
        raise InputError(f"w must hold {p} finite numbers; it has shape {coefficients.shape}", name="w")
    return coefficients


#: A γ_i below this share of the largest counts as an interior-point method's zero: its cones would cost time and not help.
_NEGLIGIBLE = 1e-6


def strengthen(
    model: ZeroOneSVM,
    seed: int | np.random.Generator = 0,
    rounds: int = 60,
    relaxation: Reduction[Any] | None = None,
    solver: SolverLike | SolverSpec = "auto",
    options: Options | None = None,
) -> ZeroOneSVM:
    """Return the model in its strengthened encoding, with an incumbent, the M that follows from it, and γ* as data.

    The relaxation is solved, and its w is scaled and improved by the `heuristic`. γ* are its multipliers moved into Γ (scaled
    until I - Σ γ_i x_i x_i' is positive definite; negligible entries dropped). At γ* the continuous bound of the result is that
    of the relaxation (the SDP, or the SDP with big-M rows if the λ_i differ), or more because of its rows with M. Every point
    keeps its big-M row, so the model is right however rough γ is.

    Parameters
    ----------
    model : ZeroOneSVM
        The model; its own M are replaced by valid ones.
    seed, rounds
        Arguments of the `heuristic`.
    relaxation : Reduction, optional
        A relaxation whose lifted dual has γ (``hull``): by default `Conic`, or `Combined` if the λ_i differ.
    solver : str, Solver or pair
        Solver of the relaxation, as for ``solve``.
    options : Options, optional
        Options of that solve; by default a relative gap of 1e-8.

    Returns
    -------
    ZeroOneSVM
        Its ``start`` is the incumbent's point: ``solve(strong, "scip", start=strong.start)``.

    Raises
    ------
    UnsupportedModelError
        A free intercept, or a κ form.
    InputError
        The relaxation (or its solver) gives no γ.
    """
    require_needs(model, "strengthen()", PENALISED)
    plain = replace_fields(model, big_m="auto", encoding="bigm", gamma=None, rows="bigm")
    starts = [] if plain.incumbent is None else [plain.incumbent]
    equal = plain.sample_weight.min() == plain.sample_weight.max()
    if relaxation is None and equal:
        relaxation = Conic()
    if relaxation is None or relaxation.big_m_constants(replace_fields(plain, upper_bound=plain.incumbent_value)) is not None:
        w, _ = heuristic(plain, seed, rounds, starts)  # M of the relaxation comes from the incumbent
        plain, starts, rounds = replace_fields(plain, incumbent=w), [w], 0
    relaxed = relax(
        plain, Combined() if relaxation is None else relaxation, solver, Options(tol=1e-8) if options is None else options
    )
    if relaxed.values is not None:
        starts = [*starts, relaxed.values["w"]]
    w, _ = heuristic(plain, seed, rounds, starts)
    hull = None if relaxed.lifted is None else relaxed.lifted.multipliers.get("hull")
    if hull is None:
        raise InputError(
            f"{relaxed.reduction.name} by {relaxed.result.solver} gave no gamma; use Conic() or Combined()", name="relaxation"
        )
    return replace_fields(plain, incumbent=w, encoding="strengthened", gamma=_gamma(plain, np.asarray(hull)))


def _gamma(model: ZeroOneSVM, gamma: FloatArray) -> FloatArray:
    rounded_gamma = np.where(gamma > _NEGLIGIBLE * gamma.max(initial=0.0), gamma, 0.0)
    return repair_gamma(dense_signed_rows(model.X, model.y), rounded_gamma, margin=1e-8)


def heuristic_solution(model: Model, options: Options) -> tuple[FloatArray, float] | None:
    """Return the first incumbent of an exact solver that reads the model, as w and its objective; None if no point is known.

    `margin-bb` and `zero-one-bb` find it by local search from several starts. For a composition w = 0 is returned instead if it
    is allowed and has a smaller objective, or no other point is known.
    """
    values = _first_incumbent(model, options)
    composed = as_margin(model)
    if composed is None:
        return values
    w = np.zeros(composed.points.shape[1])
    if not satisfies_restrictions(composed, w) or (values is not None and values[1] <= composed.objective(w)):
        return values
    return w, composed.objective(w)


def _first_incumbent(model: Model, options: Options) -> tuple[FloatArray, float] | None:
    """Return the incumbent of a structured branch and bound after its first node."""
    for solver in all_solvers().values():
        if solver.reads_form or Gives.BOUND not in solver.info.gives or not is_installed(solver):
            continue
        starting = solver.for_start_search
        try:
            if starting.obstacle(model) is not None:
                continue
            result = solve_problem(model, starting, replace(options, node_limit=1))
        except MarginoptError:
            continue  # this solver gives no incumbent
        if "w" in result.values and result.nodes is not None:
            return np.asarray(result.values["w"]), result.objective
    return None
