"""Choose σ² and C for the Frank-Wolfe paper's sets on the training part, as §5.2.1 does; it does not print the chosen values.

Pendigits and USPS: 10-fold cross-validation over σ² in 2^-15, .., 2^5 and C in 2^-5, .., 2^15, of features in [0, 1] (of
Pendigits' raw 0, .., 100 no σ² of the grid is as wide as the nearest neighbours' distance). All others: "the default method
employed by CVMs", which in LibCVM, whose code the paper's is based on (§5.2.5), is exp(-2d²/m) with the mean squared distance m,
four times narrower than the printed exp(-d²/2σ²) with σ² = m; C in 2^0, .., 2^12 by a random 30% validation part. Both by CVM's
classifiers, and the same for all algorithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from marginopt.models import RBF, FloatArray, Kernel, Polynomial, gamma_by_rule
from marginopt.solvers import Options

from .data import TrainTestParts, train_test_parts
from .one_versus_one import OneVersusOne, paper_options

#: Name of the kernel width of sets that are not cross-validated, and its γ over that of the printed kernel with σ² = m.
WIDTH, _NARROWER = "LibCVM", 4.0
_CROSS_VALIDATED = ("Pendigits", "USPS")
_FOLDS = 10
#: Exponents of 2: all of the paper's ranges, as §5.8 writes them out for C; where thinned, those near the best of each set (the
#: narrower ones are worse, and CVM takes minutes on them: all points become support vectors).
_SIGMA2 = tuple(range(-15, 6))
_NEAR = {"Pendigits": (-1, 0, 1, 2, 3, 4, 5), "USPS": (3, 4, 5)}
_GRID_C = (tuple(range(-5, 16)), (3, 7, 11))
_POWERS = (tuple(range(13)), (0, 3, 6, 9, 12))
#: Points at most, where thinned: of a cross-validation in all; of a validation for each class, so that every pair has its share.
_FOLDED = (0, 2000)
_A_CLASS = (0, 1000)


@dataclass(frozen=True)
class ChosenParameters:
    """Chosen parameters: C, and γ of the Gaussian kernel, None for the paper's rule."""

    gamma: float | None
    C: float


def kernel_of(kind: str, X: FloatArray, gamma: float | None = None) -> Kernel:
    """Return the kernel of a kind ("rbf" or "polynomial") fitted to X: by the paper's rule, or Gaussian with the given γ."""
    if gamma is not None:
        return RBF(gamma).fitted(X)
    if kind == "rbf":
        return RBF(_NARROWER * gamma_by_rule("frank-wolfe", X)).fitted(X)
    return Polynomial(2, "frank-wolfe-polynomial", 0.0).fitted(X)


def is_cross_validated(name: str) -> bool:
    """Return whether cross-validation chooses σ² of a set together with C."""
    return name in _CROSS_VALIDATED


@lru_cache(maxsize=64)
def choose_parameters(name: str, kind: str, thin: bool) -> ChosenParameters:
    """Choose the parameters on the training part of a set; among equals the smallest C, then the widest kernel."""
    data_parts = train_test_parts(name)
    order = np.random.default_rng(0).permutation(len(data_parts.y))
    if is_cross_validated(name) and kind == "rbf":
        widths = _NEAR[name] if thin else _SIGMA2
        return _cross_validated(data_parts, order[: _FOLDED[int(thin)] or len(order)], widths, _GRID_C[int(thin)])
    held, computed = np.split(order, [int(0.3 * len(order))])
    most = _A_CLASS[int(thin)] * np.unique(data_parts.y).size
    computed, held = (computed[:most], held[:most]) if most else (computed, held)
    kernel = kernel_of(kind, data_parts.X)
    costs = [2.0**power for power in _POWERS[int(thin)]]
    return ChosenParameters(None, costs[int(np.argmax([_right(data_parts, kernel, C, computed, held) for C in costs]))])


def _cross_validated(result: TrainTestParts, points: np.ndarray, widths: Sequence[int], costs: Sequence[int]) -> ChosenParameters:
    from sklearn.model_selection import StratifiedKFold

    folds = list(StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(points, result.y[points]))
    unit = float(np.abs(result.X).max()) ** 2
    candidates = [(1.0 / (2.0 * unit * 2.0**s), 2.0**c) for c, s in product(costs, reversed(widths))]
    scores = [
        np.mean([_right(result, kernel_of("rbf", result.X, gamma), C, points[a], points[b]) for a, b in folds])
        for gamma, C in candidates
    ]
    return ChosenParameters(*candidates[int(np.argmax(scores))])


def _right(result: TrainTestParts, kernel: Kernel, C: float, computed: np.ndarray, held: np.ndarray) -> float:
    """Return the share of ``held`` points that classifiers of ``computed`` points get right, by CVM if k(x, x) is constant."""
    trained = OneVersusOne(result.X[computed], result.y[computed], kernel, C)
    if kernel.constant_diagonal:
        trained.train("cvm", paper_options("CVM", kernel, 0, None))
    else:
        trained.train("smo", Options(tol=1e-4))
    return float((trained.predict_by_votes(trained.scores(result.X[held])) == result.y[held]).mean())
