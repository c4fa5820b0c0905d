"""Choose γ of a Gaussian kernel, and C, for the two-hulls classifier `ConvexHullsDual`: `select`, by one of five selectors.

The kernel is k(x, x') = exp(-γ||x - x'||²). Classifier and grids are those of Luo et al. (2023), *MaxMin-L2-SVC-NCH* ("MaxMin").

The selectors are `CrossValidation`, `Fisher` (Fisher's ratio), `LikelihoodDensity`, `Bat` (random search) and `MaxMinSelector`
(gradient ascent). Another selector is a subclass of `Selector`, which gets a `Sample` (data, candidates, options), may train
models by a `Trainer`, and returns a `Choice`; `select` makes a `Selection` of it. A `Split` has the indices of the training rows
and of the rows on which accuracy is measured; `C_GRID` and `GAMMA_GRID` are the default candidates.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import InputError, short_text
from ..models.arrays import FloatArray, Points, as_integer, as_labels, as_points, as_positive, to_dense
from ..solvers.parallel import Cluster, choose_executor
from ..solvers.registry import SolverLike, resolve_solver
from .base import C_GRID, GAMMA_GRID, Choice, Sample, Selection, Selector, Split, Trainer
from .selectors import Bat, CrossValidation, Fisher, LikelihoodDensity, MaxMinSelector

__all__ = [
    "C_GRID",
    "GAMMA_GRID",
    "SELECTORS",
    "Bat",
    "Choice",
    "CrossValidation",
    "Fisher",
    "LikelihoodDensity",
    "MaxMinSelector",
    "Sample",
    "Selection",
    "Selector",
    "Split",
    "Trainer",
    "select",
]

#: One selector of each kind.
_SELECTORS: tuple[Selector, ...] = (CrossValidation(), Fisher(), LikelihoodDensity(), Bat(), MaxMinSelector())
#: The selectors by name, with their default parameters.
SELECTORS: dict[str, Selector] = {selector.name: selector for selector in _SELECTORS}


# exempt (arguments): users give them by name
def select(
    X: object,
    y: object,
    selector: str | Selector = "cv",
    *,
    C: float | Sequence[float] | None = None,
    gammas: Sequence[float] | None = None,
    seed: int = 0,
    tol: float = 1e-6,
    solver: SolverLike = "smo",
    jobs: int | None = None,
    cluster: Cluster = None,
) -> Selection:
    """Choose γ of a Gaussian kernel, and C, for the two-hulls classifier `ConvexHullsDual`.

    Every selector trains the same model by the same solver, to the same tolerance, on X and y alone, so that their costs can be
    compared. The data are not standardised: do it first, by the training part.

    Parameters
    ----------
    X : array_like or CSR (n, p)
        The training points.
    y : array_like (n,)
        Labels -1, +1.
    selector : {"cv", "fisher", "likelihood-density", "bat", "maxmin"} or Selector
        A name, or an object with parameters of its own, such as ``CrossValidation(folds=10)``.
    C : float or sequence of float, optional
        Candidates of C, > 0. By default MaxMin's grid 2^-5, 2^-3, .., 2^15, and 1 for "maxmin", which takes one number.
    gammas : sequence of float, optional
        Candidates of γ, > 0; "bat" and "maxmin" search between the smallest and the largest. Default 2^-15, 2^-13, .., 2^3.
    seed : int
        Seed of the splits and of the bat algorithm.
    tol : float
        Relative gap of every model trained.
    solver : str, Solver or pair
        Solver of every model trained, as for ``solve``, but not "auto". "maxmin" needs an algorithm that reads `SimplexQP`.
    jobs : int, optional
        For "cv": number of values of γ in parallel, by joblib; -1 for all cores. Where it is not given, one, or the number of an
        enclosing ``joblib.parallel_config``.
    cluster : distributed.Client or str, optional
        For "cv": a Dask cluster for the values of γ (a client, or its scheduler's address), or "ray" for this session's Ray
        cluster.

    Returns
    -------
    Selection
        The chosen γ and C, and the cost of their selection.

    Raises
    ------
    InputError
        An unknown selector, labels other than -1 and +1, candidates that are not positive, all rows equal, a class too small
        to be split, several C for "maxmin".
    MissingPackageError
        "bat" without NiaPy.
    SolverError
        A model was not solved.
    """
    chosen = _selector(selector)
    begin = time.perf_counter()
    sample = _sample(chosen, X, y, C, gammas, seed, tol, solver)
    with choose_executor(jobs, cluster) as executor:
        choice = chosen.choose(replace(sample, executor=executor))
    facts = vars(choice) | {"details": {**choice.details, "unsolved": choice.unsolved}}
    return Selection(**facts, selector=chosen.name, seconds=time.perf_counter() - begin, notes=_notes(sample, choice))


def _selector(selector: str | Selector) -> Selector:
    if isinstance(selector, Selector):
        return selector
    if selector not in SELECTORS:
        raise InputError(
            f"selector must be one of {', '.join(SELECTORS)}, or a Selector; it is {short_text(selector)}", name="selector"
        )
    return SELECTORS[selector]


def _sample(
    selector: Selector,
    X: object,
    y: object,
    C: float | Sequence[float] | None,
    gammas: Sequence[float] | None,
    seed: int,
    tol: float,
    solver: SolverLike,
) -> Sample:
    points = as_points(X)
    labels = as_labels(y, points.shape[0])
    seed = as_integer(seed, "seed")
    if not (_spread(points) > 0).any():
        raise InputError("all rows of X are equal: no kernel tells them apart, so there is no gamma to select", name="X")
    if resolve_solver(solver).auto:
        raise InputError("select trains its models by one solver, which is named: 'smo', 'mfw', ...; it is 'auto'", name="solver")
    costs = _candidates(selector.default_C if C is None else C, "C")
    candidates = _candidates(GAMMA_GRID if gammas is None else gammas, "gammas")
    return Sample(points, labels, candidates, costs, int(seed), as_positive(tol, "tol"), solver)


def _candidates(values: float | Sequence[float], name: str) -> FloatArray:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or not array.size or not np.isfinite(array).all() or not (array > 0).all():
        raise InputError(f"{name} must be a number or a sequence of finite numbers > 0; it is {short_text(values)}", name=name)
    return np.unique(array)


def _spread(X: Points) -> FloatArray:
    """Return the largest minus the smallest value of every feature."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.ptp(X, axis=0))
    return to_dense(X.max(axis=0) - X.min(axis=0)).ravel()


def _notes(sample: Sample, choice: Choice) -> tuple[str, ...]:
    """Return notes on peculiar data or choices, in sentences."""
    notes = []
    constant = int((_spread(sample.X) == 0).sum())
    if constant:
        notes.append(f"{constant} of {sample.X.shape[1]} features are constant: a Gaussian kernel does not see them")
    labelled = _with_both_labels(sample)
    if labelled:
        notes.append(
            f"{labelled} points coincide with a point of the other class: the classes' hulls touch for every gamma, "
            "and their distance comes from 1/C alone"
        )
    ends = {float(sample.gammas[0]): "lower", float(sample.gammas[-1]): "upper"}
    if sample.gammas.size > 1 and choice.gamma in ends:
        notes.append(f"gamma = {choice.gamma:g} is the {ends[choice.gamma]} end of its range: a wider range may do better")
    if choice.unsolved:
        notes.append(f"{choice.unsolved} of {choice.models_trained} models stopped short of the tolerance {sample.tol:g}")
    return tuple(notes)


def _with_both_labels(sample: Sample) -> int:
    """Return the number of points that equal one of the other class."""
    positive = to_dense(sample.X)[sample.y > 0]
    negative = to_dense(sample.X)[sample.y < 0]
    first = {row.tobytes() for row in positive + 0.0}
    second = {row.tobytes() for row in negative + 0.0}
    return sum(row.tobytes() in second for row in positive + 0.0) + sum(row.tobytes() in first for row in negative + 0.0)
