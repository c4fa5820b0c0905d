"""Compiled: systems by descent. One coefficient at a time takes its best value; where none helps, one gives way to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from .bounds import ALL
from .compiled import entry, inner

__all__ = ["best_intercept", "descend"]


@inner
def _right_from(rows: Any, t: Any, score: Any, i: Any) -> Any:
    """The least intercept at which a point of class +1 in row i is right, and the largest for class -1."""
    return np.ceil(t - score[i] - 1e-9), np.floor(-t - score[i] + 1e-9)


@inner
def _offset(rows: Any, t: Any, low: Any, high: Any, score: Any, hist: Any) -> Any:
    """The best intercept for these scores: (errors in units, intercept); by counting in a short range, else by sorting."""
    m = score.size
    short = high - low + 2 <= hist.shape[1]
    if short:
        width = high - low + 1
        hist[:, : width + 1] = 0
        for i in range(m):
            above, below = _right_from(rows, t, score, i)
            if rows.positive[i] > 0:
                hist[0, max(min(np.int64(above) - low, width), 0)] += rows.positive[i]  # wrong below here
            if rows.negative[i] > 0:
                hist[1, max(min(np.int64(below) - low + 1, width), 0)] += rows.negative[i]  # wrong from here on
        wrong = np.int64(0)
        for v in range(width + 1):
            wrong += hist[0, v]
        best, at, found = wrong, low, False
        for v in range(width):
            wrong += hist[1, v] - hist[0, v]
            if not found or wrong < best:
                best, at, found = wrong, low + v, True
        return best, at
    events, gain = np.empty(2 * m), np.empty(2 * m, np.int64)
    wrong = np.int64(0)
    for i in range(m):
        above, below = _right_from(rows, t, score, i)
        events[i], gain[i] = max(above, float(low)), -rows.positive[i]
        events[m + i], gain[m + i] = max(below + 1.0, float(low)), rows.negative[i]
        wrong += rows.positive[i]
    best, at, found = wrong, low, False
    turns = np.argsort(events)
    for v in range(2 * m):
        if events[turns[v]] > high:
            break
        if v == 0 and events[turns[0]] > low:
            best, at, found = wrong, low, True
        wrong += gain[turns[v]]
        if (v + 1 == 2 * m or events[turns[v + 1]] > events[turns[v]]) and (not found or wrong < best):
            best, at, found = wrong, np.int64(events[turns[v]]), True
    return best, at


@entry
def best_intercept(rows: Any, t: Any, low: Any, high: Any, rho: Any, hist: Any) -> Any:
    """The best intercept of a system: (errors in units, intercept)."""
    score = np.zeros(rows.Z.shape[0])
    for j in range(rho.size):
        if rho[j] != 0:
            score += rho[j] * rows.Z[:, j]
    return _offset(rows, t, low, high, score, hist)


@inner
def _best_value(rows: Any, t: Any, box: Any, score: Any, rho: Any, j: Any, used: Any, hist: Any) -> Any:
    """The best value of one coefficient, whose share the scores do not hold: (cost of errors and of it, value, intercept)."""
    lower, upper, low, high = box
    best, value, at = ALL, 0, 0
    other = np.empty(score.size)
    for v in range(lower[j], upper[j] + 1):
        if v != 0 and used >= rows.most:
            continue
        own = 0 if v == 0 else rows.price + rows.size_price * abs(v)
        if own >= best:
            continue
        for i in range(score.size):
            other[i] = score[i] + v * rows.Z[i, j]
        errors, b = _offset(rows, t, low, high, other, hist)
        if errors + own < best:
            best, value, at = errors + own, v, b
    return best, value, at


@inner
def _total(rows: Any, rho: Any) -> Any:
    units, used = np.int64(0), 0
    for j in range(rho.size):
        if rho[j] != 0:
            units += rows.price + rows.size_price * abs(rho[j])
            used += 1
    return units, used


@entry
def descend(rows: Any, t: Any, box: Any, rho: Any, order: Any, swaps: Any, hist: Any) -> Any:
    """Improve rho in place: (cost in units, intercept). ``swaps``: coefficients that may give way, each for any other."""
    d = rho.size
    score = np.zeros(rows.Z.shape[0])
    for j in range(d):
        score += rho[j] * rows.Z[:, j]
    errors, intercept = _offset(rows, t, box[2], box[3], score, hist)
    units, used = _total(rows, rho)
    best, moved = errors + units, True
    while moved:
        moved = False
        for j in order:
            units, used = _total(rows, rho)
            if rho[j] != 0:
                units -= rows.price + rows.size_price * abs(rho[j])
                used -= 1
                score -= rho[j] * rows.Z[:, j]
            cost, value, at = _best_value(rows, t, box, score, rho, j, used, hist)
            if cost + units < best:
                best, rho[j], intercept, moved = cost + units, value, at, True
            score += rho[j] * rows.Z[:, j]
        if moved:
            continue
        for out in order:
            if rho[out] == 0 or swaps <= 0:
                continue
            swaps -= 1
            units, used = _total(rows, rho)
            units -= rows.price + rows.size_price * abs(rho[out])
            score -= rho[out] * rows.Z[:, out]
            for j in range(d):
                if rho[j] == 0:
                    cost, value, at = _best_value(rows, t, box, score, rho, j, used - 1, hist)
                    if cost + units < best and value != 0:
                        best, rho[j], rho[out], intercept, moved = cost + units, value, 0, at, True
                        score += value * rows.Z[:, j]
                        break
            if moved:
                break
            score += rho[out] * rows.Z[:, out]
    return best, intercept
