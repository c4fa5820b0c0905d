"""Propagation in `margin-bb`: bound tightening of a node's box by its restrictions.

These are integers, the limit on non-zero coefficients, linear constraints, *demanded points*, whose margins a_i'w must be at
least 1, and *equal rates*: the groups' shares of positive scores y_i a_i'w may differ by at most ε. Equal rates demand the sign
of a point's margin, and so of its score, where the other sign makes the shares differ by more. A demanded sign also decides on
which side a score of 0 counts.
"""

from __future__ import annotations

import math
from typing import Any

from ...exact.loops import EPS
from ...exact.loops.newton import margins
from .data_structures import LoopNode, LoopProblem, inner

#: Slack of a difference of shares in propagation, and of a feasible point. The checker allows the second one everywhere.
_SLACK, _MET = 2e-9, 1e-9
#: A score counts as 0 if it is at most this share of its terms, and at most this.
_ZERO, _SMALL = 1e-9, 1e-8


@inner
def reset_demands(r: LoopProblem, k: LoopNode) -> None:
    """Reset the node's demanded points to those of the problem, and clear its demanded signs."""
    for i in range(r.points):
        k.demanded[i] = r.kept_points[i]
        k.demanded_signs[i] = 0.0


@inner
def _count(r: LoopProblem, k: LoopNode, b: int) -> None:
    """Count the scores of each group that are decided as positive, by the box or a sign, and the undecided ones."""
    for g in range(r.rate_sizes.shape[1]):
        k.certain[g] = k.undecided_scores[g] = 0
    for i in range(r.points):
        low, high, size = 0.0, 0.0, 0.0
        for j in range(k.lo.size):
            a = r.rows[j, i]
            low += a * (k.lo[j] if a > 0.0 else k.hi[j])
            high += a * (k.hi[j] if a > 0.0 else k.lo[j])
            size += abs(a) * max(abs(k.lo[j]), abs(k.hi[j]))
        error, g = 16.0 * (k.lo.size + 4) * EPS * size + r.row_errors[i], r.rate_groups[b, i]
        if k.demanded_signs[i] != 0.0:
            k.certain[g] += k.demanded_signs[i] * r.labels[i] > 0.0
        elif low > error or high < -error:
            k.certain[g] += (low > error) == (r.labels[i] > 0.0)
        else:
            k.undecided_scores[g] += 1
            k.undetermined[i] = 1.0


@inner
def _count_ranges(r: LoopProblem, k: LoopNode, b: int) -> bool:
    """Store bounds of the number of positive scores of each group; return False if no choice gives close shares.

    ``k.min_positive`` and ``k.max_positive`` hold over all choices that give close shares. The smallest share is one that some
    group can have, and all others exceed it by at most the allowed difference ε.
    """
    groups, any_choice = r.rate_sizes.shape[1], False
    for g in range(groups):
        k.min_positive[g], k.max_positive[g] = k.certain[g] + k.undecided_scores[g] + 1, -1
    for g in range(groups):
        if r.rate_sizes[b, g] == 0:
            continue
        for c in range(k.certain[g], k.certain[g] + k.undecided_scores[g] + 1):
            share, fits = c / r.rate_sizes[b, g], True
            for h in range(groups):
                size = r.rate_sizes[b, h]
                low = max(k.certain[h], math.ceil(size * (share - _SLACK)))
                high = min(k.certain[h] + k.undecided_scores[h], math.floor(size * (share + r.epsilon[b] + _SLACK)))
                fits &= low <= high
            if not fits:
                continue
            any_choice = True
            for h in range(groups):
                size = r.rate_sizes[b, h]
                k.min_positive[h] = min(k.min_positive[h], max(k.certain[h], math.ceil(size * (share - _SLACK))))
                high = min(k.certain[h] + k.undecided_scores[h], math.floor(size * (share + r.epsilon[b] + _SLACK)))
                k.max_positive[h] = max(k.max_positive[h], high)
    return any_choice


@inner
def _demand_signs(r: LoopProblem, k: LoopNode) -> bool:
    """Demand the signs that equal rates imply; return False if no choice of signs gives close shares.

    These are the signs of undecided scores of a group that may have no more positive ones, or that needs all of them.
    """
    for b in range(r.epsilon.size):
        for i in range(r.points):
            k.undetermined[i] = 0.0
        _count(r, k, b)
        if not _count_ranges(r, k, b):
            return False
        for i in range(r.points):
            g = r.rate_groups[b, i]
            if k.undetermined[i] > 0.0 and k.max_positive[g] == k.certain[g]:
                k.demanded_signs[i] = -r.labels[i]
            elif k.undetermined[i] > 0.0 and k.min_positive[g] == k.certain[g] + k.undecided_scores[g]:
                k.demanded_signs[i] = r.labels[i]
    return True


@inner
def _near(share: float, size: Any, count: Any, epsilon: float) -> Any:
    """Return the number of positive scores of a group of ``size`` points nearest to ``count`` that the share allows; -1 without
    one.

    The group's share must lie from ``share`` to ``share + epsilon``.
    """
    low, high = math.ceil(size * (share - _MET)), math.floor(size * (share + epsilon + 0.5 * _MET))
    return -1 if low > high else min(max(count, low), high)


@inner
def rates_are_met(r: LoopProblem, k: LoopNode, u: Any) -> bool:
    """Return whether the node's w, whose margins are u, satisfies the equal rates; a score of 0 may count on either side."""
    for b in range(r.epsilon.size):
        groups = r.rate_sizes.shape[1]
        for g in range(groups):
            k.certain[g] = k.undecided_scores[g] = 0
        for i in range(r.points):
            size, g = 0.0, r.rate_groups[b, i]
            for j in range(k.w.size):
                size += abs(r.rows[j, i] * k.w[j])
            if abs(u[i]) <= min(_ZERO * size, _SMALL):
                k.undecided_scores[g] += 1
            else:
                k.certain[g] += u[i] * r.labels[i] > 0.0
        satisfied = False
        for g in range(groups):
            for added_count in range(k.undecided_scores[g] + 1):
                if satisfied or r.rate_sizes[b, g] == 0:
                    break
                share, fits = (k.certain[g] + added_count) / r.rate_sizes[b, g], True
                for h in range(groups):
                    size = r.rate_sizes[b, h]
                    if size > 0:
                        count = max(k.certain[h], math.ceil(size * share - 1e-12 * size))
                        fits &= count <= k.certain[h] + k.undecided_scores[h] and count / size <= share + r.epsilon[b] + _MET
                satisfied = fits
        if not satisfied:
            return False
    return True


@inner
def choose_signs(r: LoopProblem, k: LoopNode, u: Any) -> None:
    """Demand a sign of every margin so that the equal rates hold.

    The signs are those of the margins u, with the fewest changes, made at the scores nearest to 0.
    """
    for b in range(r.epsilon.size):
        groups = r.rate_sizes.shape[1]
        for g in range(groups):
            k.certain[g] = 0
        for i in range(r.points):
            k.certain[r.rate_groups[b, i]] += u[i] * r.labels[i] > 0.0
        best, fewest = 0.0, math.inf
        for g in range(groups):
            for c in range(r.rate_sizes[b, g] + 1):
                share, changes = c / max(r.rate_sizes[b, g], 1), 0.0
                for h in range(groups):
                    count = _near(share, r.rate_sizes[b, h], k.certain[h], r.epsilon[b])
                    changes += math.inf if count < 0 else abs(count - k.certain[h])
                if changes < fewest:
                    best, fewest = share, changes
        for i in range(r.points):
            g, score, above = r.rate_groups[b, i], u[i] * r.labels[i], 0
            for t in range(r.points):
                other = u[t] * r.labels[t]
                above += r.rate_groups[b, t] == g and (other > score or (other == score and t < i))
            positive = above < _near(best, r.rate_sizes[b, g], k.certain[g], r.epsilon[b])
            k.demanded_signs[i] = r.labels[i] if positive else -r.labels[i]


@inner
def branching_sign(r: LoopProblem, k: LoopNode) -> int:
    """Return the point by the sign of whose score to split; -1 if w satisfies the equal rates, or many scores are undecided.

    The score is the one nearest to 0 of the group with the largest share, if positive, or of the one with the smallest, if
    negative. Boxes decide many signs at once, and leave those of points whose scores are 0 at the optimum.
    """
    u, best = k.relaxation.u, -1
    margins(r.rows, r.point.size, k.w, u)
    if r.epsilon.size == 0 or rates_are_met(r, k, u):
        return -1
    for b in range(r.epsilon.size):
        for i in range(r.points):
            k.undetermined[i] = 0.0
        _count(r, k, b)
        largest, smallest, top, bottom, undecided = -1.0, 2.0, 0, 0, 0
        for g in range(r.rate_sizes.shape[1]):
            undecided += k.undecided_scores[g]
            k.certain[g] = 0
        for i in range(r.points):
            k.certain[r.rate_groups[b, i]] += u[i] * r.labels[i] > 0.0
        for g in range(r.rate_sizes.shape[1]):
            share = k.certain[g] / max(r.rate_sizes[b, g], 1)
            if r.rate_sizes[b, g] > 0 and share > largest:
                largest, top = share, g
            if r.rate_sizes[b, g] > 0 and share < smallest:
                smallest, bottom = share, g
        if largest - smallest <= r.epsilon[b] or undecided > 2 * k.w.size:
            continue
        for i in range(r.points):
            score, g = u[i] * r.labels[i], r.rate_groups[b, i]
            wrong = (g == top and score > 0.0) or (g == bottom and score < 0.0)
            if wrong and k.undetermined[i] > 0.0 and (best < 0 or abs(score) < abs(u[best])):
                best = i
    return best


#: Passes over all rows. Share of an end's size by which ends move less than they could: the checker rounds otherwise.
_PASSES, _PAD = 2, 1e-11


@inner
def _supports(r: LoopProblem, k: LoopNode) -> bool:
    """Count the coefficients that are not 0, and fix the others at 0 if the limit is reached; return False if it is exceeded."""
    lo, hi, used = k.lo, k.hi, 0
    for j in range(lo.size):
        used += r.counted[j] and (k.marks[j] > 0.0 or lo[j] > 0.0 or hi[j] < 0.0)
    if used > r.max_nonzeros:
        return False
    if used == r.max_nonzeros:
        for j in range(lo.size):
            if r.counted[j] and not (k.marks[j] > 0.0 or lo[j] > 0.0 or hi[j] < 0.0):
                lo[j] = hi[j] = 0.0
    return True


@inner
def _integers(r: LoopProblem, k: LoopNode) -> bool:
    for j in range(k.lo.size):
        if r.integer[j]:
            k.lo[j] = math.ceil(k.lo[j] - _PAD * (1.0 + abs(k.lo[j])))
            k.hi[j] = math.floor(k.hi[j] + _PAD * (1.0 + abs(k.hi[j])))
            if k.lo[j] > k.hi[j]:
                return False
    return True


@inner
def _row(k: LoopNode, limit: float, error: float) -> bool:
    """Tighten the ends by a'w ≥ limit - error, a in ``k.edge``; return False if that leaves no point."""
    lo, hi, coefficients, maximum, size = k.lo, k.hi, k.edge, 0.0, abs(limit) + error
    for j in range(lo.size):
        a = coefficients[j]
        if a != 0.0:
            maximum += a * (hi[j] if a > 0.0 else lo[j])
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
    slack = maximum - limit + error + (_PAD + 4.0 * (lo.size + 4) * EPS) * size
    if slack < 0.0:
        return False
    for j in range(lo.size):
        a = coefficients[j]
        if a > 0.0 and lo[j] < hi[j] - slack / a:
            lo[j] = hi[j] - slack / a
        elif a < 0.0 and hi[j] > lo[j] - slack / a:
            hi[j] = lo[j] - slack / a
    return True


@inner
def propagate(r: LoopProblem, k: LoopNode) -> bool:
    """Tighten the node's box without losing a feasible w; return False if the box becomes empty."""
    for _ in range(_PASSES):
        if not _supports(r, k) or not _integers(r, k):
            return False
        for t in range(r.row_lower.size):
            for j in range(k.lo.size):
                k.edge[j] = r.constraints[t, j]
            if not _row(k, r.row_lower[t], 0.0):
                return False
        if not _demand_signs(r, k):
            return False
        for i in range(r.points):
            if k.demanded[i]:
                for j in range(k.lo.size):
                    k.edge[j] = r.rows[j, i]
                if not _row(k, 1.0, r.row_errors[i]):
                    return False
            if k.demanded_signs[i] != 0.0:
                for j in range(k.lo.size):
                    k.edge[j] = k.demanded_signs[i] * r.rows[j, i]
                if not _row(k, 0.0, r.row_errors[i]):
                    return False
    empty = not _supports(r, k) or not _integers(r, k)
    for j in range(k.lo.size):
        empty |= k.lo[j] > k.hi[j]
    return not empty
