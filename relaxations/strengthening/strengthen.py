"""Preparation of an exact solve: an incumbent by a heuristic, the M that it tightens, and a start for the solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InputError, MarginoptError
from ...models.arrays import FloatArray, as_integer
from ...models.conic_bound import repair_gamma
from ...models.formulations.linear import dense_signed_rows
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.model import Model
from ...models.views import ZeroOneProblem
from ...solvers.interface.solver import Gives
from ...solvers.records import Options
from ...solvers.registry import SolverLike, SolverSpec, all_solvers, installed
from ...solvers.solve import solve_problem
from ...solvers.zero_one.heuristic import good_classifier
from ..bounds.combined import Combined
from ..bounds.conic import Conic
from ..composed.reductions import allowed, parts_of
from ..reduction import COST_FORM, PENALISED, Reduction, require, restated
from ..relaxed import relax


def heuristic(
    model: ZeroOneSVM, seed: int | np.random.Generator = 0, rounds: int = 60, starts: Iterable[FloatArray] = ()
) -> tuple[FloatArray, float]:
    """A good classifier for the 0-1 loss and its true objective: that of `zero-one-bb`, without the search for a proof.

    Every start (the hinge path, w = 0, those given: any relaxation's ``w``) is rounded to its best multiple. Given the set of
    points kept, the w of least norm that keeps them is optimal, so that every point found is polished to that. Local searches
    along lines and large neighbourhoods of the best point take turns (`solvers.zero_one.heuristic`).

    Parameters
    ----------
    model : ZeroOneSVM
        In λ form. Constants M play no part.
    seed : int or numpy Generator
        Seed of the searches.
    rounds : int
        Local searches, and neighbourhoods, at most; those in vain end them sooner. 0 for the starts alone.
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
    require(model, "heuristic()", COST_FORM)
    problem = model.view(ZeroOneProblem)
    assert problem is not None  # every λ form has one
    start_points = [_classifier(model, w) for w in starts]
    w = good_classifier(problem, np.random.default_rng(seed), rounds, start_points)
    return w, model.objective(w)


def tighten(model: ZeroOneSVM, w: FloatArray) -> ZeroOneSVM:
    """Return the model with the objective of a classifier w as ``upper_bound``, which tightens its valid M; a better bound that
    it has stays.

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
    return restated(model, upper_bound=value if model.upper_bound is None else min(value, float(model.upper_bound)))


def _classifier(model: ZeroOneSVM, w: FloatArray) -> FloatArray:
    """w as it should be."""
    coefficients, p = np.asarray(w, dtype=np.float64), model.X.shape[1]
    if coefficients.shape != (p,) or not np.isfinite(coefficients).all():
        raise InputError(f"w must hold {p} finite numbers; it has shape {coefficients.shape}", name="w")
    return coefficients


#: Parts of the largest γ_i below which a γ_i is an interior-point method's zero: its cones would cost time and buy nothing.
_NEGLIGIBLE = 1e-6


def strengthen(
    model: ZeroOneSVM,
    seed: int | np.random.Generator = 0,
    rounds: int = 60,
    relaxation: Reduction[Any] | None = None,
    solver: SolverLike | SolverSpec = "auto",
    options: Options | None = None,
) -> ZeroOneSVM:
    """The model in its strengthened encoding, with an incumbent, the M that follows from it, and γ* as data.

    The relaxation is solved, its w rounded and improved by the `heuristic`; γ* is its multipliers moved into Γ exactly (scaled
    until I - Σ γ_i x_i x_i' is positive definite; negligible entries dropped). At γ* the continuous bound of the result is that
    of the relaxation (the SDP's; that of the SDP with big-M rows where the λ_i differ), or more because of its rows with M.
    Every point keeps its big-M row, so nothing here can make the model wrong, however rough γ is.

    Parameters
    ----------
    model : ZeroOneSVM
        M that was given is replaced by the valid one.
    seed, rounds
        Of the `heuristic`.
    relaxation : Reduction, optional
        One whose lifted dual has γ (``hull``): `Conic` where it is not given, `Combined` where the λ_i differ.
    solver : str, Solver or pair
        Of the relaxation, as for ``solve``.
    options : Options, optional
        Of that solve; relative gap 1e-8 where they are not given.

    Returns
    -------
    ZeroOneSVM
        ``start`` is the incumbent's point: ``solve(strong, "scip", start=strong.start)``.

    Raises
    ------
    UnsupportedModelError
        A free intercept.
    InputError
        The relaxation (or its solver) gives no γ.
    """
    require(model, "strengthen()", PENALISED)
    plain = restated(model, big_m="auto", encoding="bigm", gamma=None, rows="bigm")
    starts = [] if plain.incumbent is None else [plain.incumbent]
    equal = plain.sample_weight.min() == plain.sample_weight.max()
    if relaxation is None and equal:
        relaxation = Conic()
    if relaxation is None or relaxation.constants(restated(plain, upper_bound=plain.incumbent_value)) is not None:
        w, _ = heuristic(plain, seed, rounds, starts)  # M of the relaxation comes from the incumbent
        plain, starts, rounds = restated(plain, incumbent=w), [w], 0
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
    return restated(plain, incumbent=w, encoding="strengthened", gamma=_gamma(plain, np.asarray(hull)))


def _gamma(model: ZeroOneSVM, gamma: FloatArray) -> FloatArray:
    rounded_gamma = np.where(gamma > _NEGLIGIBLE * gamma.max(initial=0.0), gamma, 0.0)
    return repair_gamma(dense_signed_rows(model.X, model.y), rounded_gamma, margin=1e-8)


def heuristic_solution(model: Model, options: Options) -> tuple[FloatArray, float] | None:
    """w and its true objective; None where none is known.

    What an exact solver of its own begins with, where there is one (`margin-bb`, `zero-one-bb`: local search from several
    starts); else w = 0 where a problem from parts allows it.
    """
    values = _begun(model, options)
    composed = parts_of(model)
    if composed is None:
        return values
    w = np.zeros(composed.points.shape[1])
    if not allowed(composed, w) or (values is not None and values[1] <= composed.objective(w)):
        return values
    return w, composed.objective(w)


def _begun(model: Model, options: Options) -> tuple[FloatArray, float] | None:
    """The incumbent of a structured branch and bound after its first node."""
    for solver in all_solvers().values():
        if solver.reads_form or Gives.BOUND not in solver.info.gives or not installed(solver):
            continue
        starting = solver.starting
        try:
            if starting.obstacle(model) is not None:
                continue
            result = solve_problem(model, starting, replace(options, node_limit=1))
        except MarginoptError:
            continue  # the exact rows say why
        if "w" in result.values and result.nodes is not None:
            return np.asarray(result.values["w"]), result.objective
    return None
