"""Audit of scikit-learn's ``LogisticRegression`` with several classes, which fits the softmax model.

An *audit* (`values.Audit`) is the objective at the stored coefficients, rounded up, and a proved lower bound of the optimum,
rounded down; `auditing.machines` calls `audit_softmax`. X is the training data (n × p), ``codes`` (n,) the class numbers,
``costs`` c_i = C times the weights of class and sample, W (K × p) and b (K,) the weights and intercepts of the K classes.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, xlogy

from ..models.arrays import BoolArray, FloatArray, IntArray
from ..models.rounding import Rounded, dot, gamma, transposed_product
from .linear_machines import check_logistic
from .values import (
    Audit,
    class_codes,
    class_weights,
    finite_numbers,
    half_squared_norm,
    linear_scores,
    make_audit,
    take_from_largest,
)

#: Largest number of L-BFGS steps, and the largest entry of the gradient, per unit of cost, at which they end.
_STEPS, _GRADIENT = 5_000, 1e-9
#: Probabilities are rounded down to multiples of 2⁻ᵏ of the largest cost.
_DIGITS = 32


def audit_softmax(estimator: Any, X: FloatArray, y: Any, weights: FloatArray) -> Audit:
    """Return the audit of a fitted ``LogisticRegression`` of several classes with labels ``y`` and sample ``weights`` (n,).

    Its problem is min ½ Σ_k ||w_k||² + Σ c_i (log Σ_k exp f_k(x_i) - f_{y_i}(x_i)), f_k = w_k'x + b_k. For any probabilities p_i
    of the classes log Σ_k exp f_k ≥ Σ_k p_ik f_k + H(p_i), H the entropy. Minimised over w, the sum is the bound
    Σ c_i H(p_i) - ½ Σ_k ||Σ_i α_ik x_i||² with α_ik = c_i (1{k = y_i} - p_ik), provided that Σ_i α_ik = 0 if intercepts are free.
    """
    check_logistic(estimator)
    codes, W = class_codes(estimator, y), finite_numbers(estimator.coef_)
    costs = estimator.C * weights * class_weights(estimator, codes, weights)
    b = finite_numbers(estimator.intercept_).ravel() if estimator.fit_intercept else None
    counted = costs > 0.0
    X, codes, costs = X[counted], codes[counted], costs[counted]
    words = "no intercepts" if b is None else "free intercepts"
    problem = f"½ Σ_k ||w_k||² + Σ c_i (log Σ_k exp f_k(x_i) - f_{{y_i}}(x_i)), {words}"
    if not codes.size:
        return make_audit("LogisticRegression", problem, half_squared_norm(W, np.zeros_like(W)), Rounded(0.0))
    value = _value(X, codes, costs, W, b)
    bound = max(
        (_bound(X, codes, costs, *point, free=b is not None) for point in ((W, b), _optimum(X, codes, costs, W, b))),
        key=lambda dual: np.nan_to_num(dual.lower, nan=-np.inf),
    )
    return make_audit("LogisticRegression", problem, value, bound)


def _scores(X: FloatArray, W: FloatArray, b: FloatArray | None) -> FloatArray:
    return np.asarray(X @ W.T if b is None else X @ W.T + b)


def _value(X: FloatArray, codes: IntArray, costs: FloatArray, W: FloatArray, b: FloatArray | None) -> Rounded:
    """Return the objective; the log-sum-exp of scores changes by no more than the largest change of a score."""
    rows = np.arange(codes.size)
    f, error = linear_scores(X, W)
    f = f if b is None else f + b
    loss = logsumexp(f, axis=1) - f[rows, codes]
    size = 1.0 + np.abs(f).max(axis=1)
    norm = half_squared_norm(W, np.zeros_like(W))
    return norm + dot(costs, loss, error.max(axis=1) + error[rows, codes] + gamma(W.shape[0] + 16) * size)


def _optimum(
    X: FloatArray, codes: IntArray, costs: FloatArray, W: FloatArray, b: FloatArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Return a point near the optimum, found by L-BFGS on the objective over Σ c_i from the machine's point."""
    (K, p), scale, rows = W.shape, float(costs.sum()), np.arange(codes.size)

    def parts(v: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        return v[: K * p].reshape(K, p), None if b is None else v[K * p :]

    def evaluate(v: FloatArray) -> tuple[float, FloatArray]:
        W, b = parts(v)
        logs = log_softmax(_scores(X, W, b), axis=1)
        residual = np.exp(logs)
        residual[rows, codes] -= 1.0
        residual *= costs[:, None]
        slope = [(W + residual.T @ X).ravel(), *([] if b is None else [residual.sum(axis=0)])]
        objective = 0.5 * float((W * W).sum()) - float(costs @ logs[rows, codes])
        return objective / scale, np.concatenate(slope) / scale

    start = np.concatenate([W.ravel(), *([] if b is None else [b])])
    options = {"maxiter": _STEPS, "maxfun": 2 * _STEPS, "gtol": _GRADIENT, "ftol": 0.0, "maxcor": 30}
    return parts(minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options).x)


def _bound(X: FloatArray, codes: IntArray, costs: FloatArray, W: FloatArray, b: FloatArray | None, free: bool) -> Rounded:
    """Return the dual value at the probabilities of a point; with free intercepts, at balanced ones near them."""
    probabilities = np.exp(log_softmax(_scores(X, W, b), axis=1))
    counts, grid = _counts(probabilities, codes, costs)
    if free:
        _balance(counts, codes)
    rows, masses = np.arange(codes.size), counts * grid  # c_i p_ik, exact; that of the own class is the rest
    alpha = -masses
    alpha[rows, codes] = counts.sum(axis=1) * grid
    masses[rows, codes] = costs - alpha[rows, codes]
    shares = np.maximum(masses / costs[:, None], 0.0)
    entropy = -xlogy(shares, shares).sum(axis=1)
    # an entry that is off by a few roundings of 1 changes -p log p by as many times |log p| at most
    error = gamma(shares.shape[1] + 16) * (1.0 + 40.0 * shares.shape[1]) * np.ones(codes.size)
    products, errors = zip(*(transposed_product(X, a) for a in alpha.T), strict=True)
    return dot(costs, entropy, error) - half_squared_norm(products, errors)


def _counts(probabilities: FloatArray, codes: IntArray, costs: FloatArray) -> tuple[IntArray, float]:
    """Return c_i p_ik of the other classes as multiples of a power of two, rounded down, 0 for the own class; and that power."""
    grid = 2.0 ** (math.frexp(float(costs.max()))[1] - _DIGITS)
    counts = np.floor(costs[:, None] * probabilities / grid).astype(np.int64)
    counts[np.arange(codes.size), codes] = 0
    limits = np.floor(costs / grid).astype(np.int64)
    counts[counts.sum(axis=1) > limits] = 0  # by rounding alone
    return counts, grid


def _balance(counts: IntArray, codes: IntArray) -> None:
    """Reduce the counts, as little as needed, until each class gives as much as it receives.

    A class gives the counts of its points in other classes, and receives those of other points in it: edges between classes.
    Edges are a sum of cycles and of paths from classes that give too much to classes that receive too much; the paths are
    subtracted.
    """
    K = counts.shape[1]
    edges = np.array([counts[codes == k].sum(axis=0) for k in range(K)])
    left = edges.copy()
    while True:
        excess = left.sum(axis=1) - left.sum(axis=0)
        if not excess.any():
            break
        path = _path(left > 0, excess)
        amount = min(int(excess[path[0]]), -int(excess[path[-1]]), *(int(left[edge]) for edge in pairwise(path)))
        for edge in pairwise(path):
            left[edge] -= amount
    for giver, other in np.argwhere(left < edges).tolist():
        members = np.flatnonzero(codes == giver)
        counts[members, other] -= take_from_largest(counts[members, other], int(edges[giver, other] - left[giver, other]))


def _path(edges: BoolArray, excess: IntArray) -> list[int]:
    """Return a shortest path from a class with an excess to one with a deficit."""
    start = int(np.argmax(excess))
    before, queue = {start: start}, deque([start])
    while queue:
        node = queue.popleft()
        if excess[node] < 0:
            path = [node]
            while path[-1] != start:
                path.append(before[path[-1]])
            return path[::-1]
        for other in np.flatnonzero(edges[node]).tolist():
            if other not in before:
                before[other] = node
                queue.append(other)
    raise AssertionError("edges are a sum of cycles and paths from an excess to a deficit")
