"""Compiled kernels of the incumbent heuristic: exact line searches on the 0-1 objective.

Margins within `NEAR` of 1 count as kept here; `solvers.zero_one.incumbent` makes them exact and evaluates the true objective.
Numba's disk cache does not see edits in other files, so every function that another one calls is here.
"""

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np

_njit = nb.njit(cache=True, nogil=True, error_model="numpy")

NEAR = 1e-9


@_njit
def value(rows: Any, weights: Any, w: Any, free: bool) -> float:
    """||w_pen||² + Σ λ_i 1{g_i'w < 1 - NEAR}."""
    n, p = rows.shape
    f = 0.0
    for j in range(p - 1 if free else p):
        f += w[j] * w[j]
    for i in range(n):
        u = 0.0
        for j in range(p):
            u += rows[i, j] * w[j]
        if u < 1.0 - NEAR:
            f += weights[i]
    return f


@_njit
def line_search(rows: Any, weights: Any, w: Any, d: Any, free: bool) -> tuple[float, float]:
    """Global minimiser t of the 0-1 objective along w + t d and its value: every crossing of a margin is tried."""
    n, p = rows.shape
    a0 = a1 = a2 = 0.0
    for j in range(p - 1 if free else p):
        a0 += w[j] * w[j]
        a1 += w[j] * d[j]
        a2 += d[j] * d[j]
    at, jump = np.empty(n), np.empty(n)
    cost, m = 0.0, 0
    for i in range(n):
        u = r = 0.0
        for j in range(p):
            u += rows[i, j] * w[j]
            r += rows[i, j] * d[j]
        if abs(r) < 1e-13:
            if u < 1.0 - NEAR:
                cost += weights[i]
            continue
        at[m] = (1.0 - u) / r
        jump[m] = weights[i] if r > 0.0 else -weights[i]
        if r > 0.0:
            cost += weights[i]
        m += 1
    order = np.argsort(at[:m])
    valley = -a1 / a2 if a2 > 0.0 else 0.0
    best, step, before = np.inf, 0.0, -np.inf
    for k in range(m + 1):
        here = at[order[k]] if k < m else np.inf
        if before < valley < here:
            f = a0 + valley * (2.0 * a1 + valley * a2) + cost
            if f < best:
                best, step = f, valley
        if k == m:
            break
        if jump[order[k]] > 0.0:
            cost -= jump[order[k]]
        f = a0 + here * (2.0 * a1 + here * a2) + cost
        if f < best:
            best, step = f, here
        if jump[order[k]] < 0.0:
            cost -= jump[order[k]]
        before = here
    return step, best


@_njit
def _tight_direction(rows: Any, near: Any, rng: Any) -> Any:
    """A random direction that (nearly) keeps p - 1 of the margins that are closest to 1."""
    p = rows.shape[1]
    B = np.zeros((p, p))
    for _ in range(p - 1):
        i = near[rng.integers(0, near.size)]
        for a in range(p):
            for b in range(p):
                B[a, b] += rows[i, a] * rows[i, b]
    trace = 0.0
    for a in range(p):
        trace += B[a, a]
    for a in range(p):
        B[a, a] += 1e-10 * trace + 1e-300
    return np.linalg.solve(B, rng.standard_normal(p))


@_njit
def local_search(rows: Any, weights: Any, w: Any, free: bool, fails: int, rng: Any) -> float:
    """Line searches along random and near-tight directions from w (changed in place) until ``fails`` in a row fail."""
    n, p = rows.shape
    step, f = line_search(rows, weights, np.zeros(p), w, free)
    for j in range(p):
        w[j] *= step
    f = value(rows, weights, w, free)
    order = np.argsort(np.abs(rows @ w - 1.0))
    lost = 0
    while lost < fails:
        if rng.random() < 0.4 or p == 1:
            d = rng.standard_normal(p)
        else:
            d = _tight_direction(rows, order[: min(n, 2 * p + 4)], rng)
        norm = math.sqrt((d * d).sum())
        if norm == 0.0 or not math.isfinite(norm):
            lost += 1
            continue
        d /= norm
        step, _ = line_search(rows, weights, w, d, free)
        new = w + step * d
        g = value(rows, weights, new, free)
        if g < f * (1.0 - 1e-10):
            f, lost = g, 0
            w[:] = new
            order = np.argsort(np.abs(rows @ w - 1.0))
        else:
            lost += 1
    return f
