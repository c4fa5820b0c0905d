"""Incumbents: feasible classifiers for the 0-1 loss by the exact solver's own heuristic, and the M that they tighten."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.views import ZeroOneProblem
from ...solvers.zero_one.classifiers import good_classifier
from ..reduction import COST_FORM, require, restated

__all__ = ["heuristic", "tighten"]


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
    if not isinstance(rounds, int) or rounds < 0:
        raise InputError(f"rounds must be an integer ≥ 0; it is {rounds!r}")
    require(model, "heuristic()", COST_FORM)
    problem = model.view(ZeroOneProblem)
    assert problem is not None  # every λ form has one
    start_points = [_classifier(model, w) for w in starts]
    w = good_classifier(problem, np.random.default_rng(seed), rounds, start_points)
    return w, model.objective(w)


def tighten(model: ZeroOneSVM, w: FloatArray) -> ZeroOneSVM:
    """The model with the objective of a classifier w as ``upper_bound``, which tightens its valid M; a better bound that it
    has stays.

    Raises
    ------
    InputError
        w has the wrong shape or is not finite.
    """
    value = model.objective(_classifier(model, w))
    return restated(model, upper_bound=value if model.upper_bound is None else min(value, float(model.upper_bound)))


def _classifier(model: ZeroOneSVM, w: FloatArray) -> FloatArray:
    """w as it should be.

    Raises
    ------
    InputError
    """
    coefficients, p = np.asarray(w, dtype=np.float64), model.X.shape[1]
    if coefficients.shape != (p,) or not np.isfinite(coefficients).all():
        raise InputError(f"w must hold {p} finite numbers; it has shape {coefficients.shape}")
    return coefficients
