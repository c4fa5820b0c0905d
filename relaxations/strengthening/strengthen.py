"""The solves before a mixed-integer solver starts: an incumbent, the M that it tightens, and γ* of the SDP."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.conic_dual.bound import repair_gamma
from ...models.formulations.linear import dense_signed_rows
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...solvers.records.options import Options
from ...solvers.registry import SolverLike, SolverSpec
from ..bounds.combined import Combined
from ..bounds.conic import Conic
from ..reduction import PENALISED, Reduction, require, restated
from ..relax import relax
from .incumbent import heuristic

__all__ = ["strengthen"]

#: Parts of the largest γ_i below which a γ_i is an interior-point method's zero: its cones would cost time and buy nothing.
_NEGLIGIBLE = 1e-6


def strengthen(
    model: ZeroOneSVM,
    rng: int | np.random.Generator = 0,
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
    rng, rounds
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
    plain = restated(model, M=None, encoding="bigm", gamma=None, rows="bigm")
    starts = [] if plain.incumbent is None else [plain.incumbent]
    equal = plain.weights.min() == plain.weights.max()
    if relaxation is None and equal:
        relaxation = Conic()
    if relaxation is None or relaxation.constants(restated(plain, upper_bound=plain.incumbent_value)) is not None:
        w, _ = heuristic(plain, rng, rounds, starts)  # M of the relaxation comes from the incumbent
        plain, starts, rounds = restated(plain, incumbent=w), [w], 0
    relaxed = relax(
        plain, Combined() if relaxation is None else relaxation, solver, Options(tol=1e-8) if options is None else options
    )
    if relaxed.values is not None:
        starts = [*starts, relaxed.values["w"]]
    w, _ = heuristic(plain, rng, rounds, starts)
    hull = None if relaxed.lifted is None else relaxed.lifted.multipliers.get("hull")
    if hull is None:
        raise InputError(f"{relaxed.reduction.name} by {relaxed.result.solver} gave no gamma; use Conic() or Combined()")
    return restated(plain, incumbent=w, encoding="strengthened", gamma=_gamma(plain, np.asarray(hull)))


def _gamma(model: ZeroOneSVM, gamma: FloatArray) -> FloatArray:
    rounded_gamma = np.where(gamma > _NEGLIGIBLE * gamma.max(initial=0.0), gamma, 0.0)
    return repair_gamma(dense_signed_rows(model.X, model.y), rounded_gamma, margin=1e-8)
