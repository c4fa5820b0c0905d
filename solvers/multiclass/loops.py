"""Compiled block steps and conjugate gradients on the dual of a multiclass SVM.

The dual maximises Σα - ½||W(α)||² over α_ik ≥ 0, k ≠ y_i, with Σ_k α_ik ≤ c_i (``shared``) or α_ik ≤ c_i; `ascent` states the
problem, and ``w`` is its `AscentWork`. The block of point i is its α_ik, k ≠ y_i. All other blocks fixed, with s = ||x_i||², T =
Σ_k α_ik and the slopes g_k = 1 - (w_y - w_k)'x_i at the present α, the dual is maximal at the new α_ik = clip(v_k - θ, 0, c_i),
v_k = α_ik + g_k/s + T: with θ the sum of the new α_ik, or a larger θ where Σ_k α_ik ≤ c_i binds. Both are the root of a piecewise
linear function of one number (Keerthi et al. 2008 and Wang and Scott 2021 solve the same blocks).

A *face* fixes the multipliers of some points that are at a bound, and the sums that are at c_i; the other multipliers are free.
Rows are dense, and w_k is row k of a K × p matrix; or they are in CSR, and w_k is column k of a p × K matrix.
"""

from __future__ import annotations

from typing import Any

from ..interface.numba_flags import entry, inner

#: Most Newton steps for a root; each drops at least one piece.
_STEPS = 200


@inner
def _scores(w: Any, W: Any, i: int) -> None:
    """Write w_k'x_i of all classes into ``w.scores``."""
    scores = w.scores
    if w.scalars.dense:
        x = w.data[i]
        for k in range(scores.size):
            row = W[k]
            score = 0.0
            for j in range(x.size):
                score += x[j] * row[j]
            scores[k] = score
    else:
        for k in range(scores.size):
            scores[k] = 0.0
        for e in range(w.indptr[i], w.indptr[i + 1]):
            value, row = w.values[e], W[w.indices[e]]
            for k in range(scores.size):
                scores[k] += value * row[k]


@inner
def _add(w: Any, W: Any, i: int, change: Any) -> None:
    """Add the change of a block to W: w_y grows by the sum of the others' changes, and w_k falls by its own."""
    label, total = w.codes[i], 0.0
    change[label] = 0.0
    for k in range(change.size):
        total += change[k]
    change[label] = -total
    if w.scalars.dense:
        x = w.data[i]
        for k in range(change.size):
            step = change[k]
            if step != 0.0:
                row = W[k]
                for j in range(x.size):
                    row[j] -= step * x[j]
    else:
        for e in range(w.indptr[i], w.indptr[i + 1]):
            value, row = w.values[e], W[w.indices[e]]
            for k in range(change.size):
                row[k] -= value * change[k]
    change[label] = 0.0


@inner
def _shared_root(v: Any, own_class: int, c: float) -> float:
    """Return θ of α_k = max(v_k - θ, 0) with Σα = min(θ, c): Newton from the left on a convex function, which is finite."""
    theta = -1e300
    for bound in range(2):  # without the bound c, then with it
        constant = -c if bound else 0.0
        for _ in range(_STEPS):
            count, total = 0.0 if bound else 1.0, constant
            for k in range(v.size):
                if k != own_class and v[k] > theta:
                    total += v[k]
                    count += 1.0
            new = total / count
            if new <= theta:
                break
            theta = new
        if theta <= c:
            return theta
    return theta


@inner
def _separate_root(v: Any, own_class: int, c: float, start: float) -> float:
    """Return θ = Σ_k clip(v_k - θ, 0, c): Newton within a bracket, exact once the piece is the right one."""
    low, high, theta = 0.0, c * (v.size - 1), start
    for _ in range(_STEPS):
        value, free = -theta, 1.0
        for k in range(v.size):
            if k != own_class:
                a = v[k] - theta
                if a >= c:
                    value += c
                elif a > 0.0:
                    value += a
                    free += 1.0
        if value > 0.0:
            low = max(low, theta)
        else:
            high = min(high, theta)
        new = theta + value / free
        if new < low or new > high:
            new = 0.5 * (low + high)
        if abs(new - theta) <= 1e-15 * c:
            return new
        theta = new
    return theta


@inner
def _block(w: Any, i: int) -> bool:
    """Maximise over the block of i and write its change into ``w.change``; return whether there is one.

    Adds the block's part of the duality gap, c_i ℓ_i - Σ_k α_ik g_k, to the sum of the sweep.
    """
    label, c, s, v = w.codes[i], w.costs[i], w.squares[i], w.change
    alpha, scores, shared = w.alpha[i], w.scores, w.scalars.shared
    base, sum_alpha, worst, short, slopes = scores[label], 0.0, 0.0, 0.0, 0.0
    for k in range(v.size):
        if k != label:
            g = 1.0 - base + scores[k]
            v[k] = g
            sum_alpha += alpha[k]
            slopes += alpha[k] * g
            worst = max(worst, g)
            short += max(g, 0.0)
    gap = c * (worst if shared else short) - slopes
    w.scalars.gap += gap
    if gap <= w.scalars.small * c:
        return False
    for k in range(v.size):
        if k != label:
            v[k] = alpha[k] + v[k] / s + sum_alpha
    theta = _shared_root(v, label, c) if shared else _separate_root(v, label, c, sum_alpha)
    for k in range(v.size):
        if k != label:
            new = min(max(v[k] - theta, 0.0), c)
            v[k] = new - alpha[k]
            alpha[k] = new
    return True


@entry
def sweep(w: Any, first: int, last: int) -> None:
    """Take a block step on each of the points ``order[first:last]``."""
    for t in range(first, last):
        i = w.order[t]
        _scores(w, w.W, i)
        if _block(w, i):
            _add(w, w.W, i, w.change)


@inner
def _project(w: Any, i: int, r: Any) -> None:
    """Project a block onto the face: 0 at entries that are not free, mean 0 where the block's sum is at its bound."""
    free, count, total = w.free[i], 0.0, 0.0
    for k in range(r.size):
        if free[k]:
            count += 1.0
            total += r[k]
    mean = total / count if w.tight[i] else 0.0
    for k in range(r.size):
        r[k] = r[k] - mean if free[k] else 0.0


@entry
def begin_face(w: Any, count: int) -> None:
    """Start conjugate gradients for the dual's maximum on the face of the points ``order[:count]``, blocks scaled by ||x_i||²."""
    w.scalars.product = 0.0
    for t in range(count):
        i = w.order[t]
        label, slope, r = w.codes[i], w.slope[i], w.residual[i]
        _scores(w, w.W, i)
        for k in range(r.size):
            slope[k] = r[k] = 1.0 - w.scores[label] + w.scores[k]
        _project(w, i, r)
        for k in range(r.size):
            w.step[i, k] = 0.0
            w.direction[i, k] = r[k] / w.squares[i]
            w.scalars.product += r[k] * w.direction[i, k]
    w.scalars.enough = 1e-12 * w.scalars.product


@entry
def face_products(w: Any, count: int, products: int) -> bool:
    """Take up to ``products`` steps of conjugate gradients on the face of the points ``order[:count]``.

    Return whether the steps have converged, or there is no curvature left.
    """
    for _ in range(products):
        w.V[:, :] = 0.0
        scale, square = 0.0, 0.0
        for t in range(count):
            i = w.order[t]
            for k in range(w.change.size):
                w.change[k] = w.direction[i, k]
                scale += w.change[k] * w.change[k] * w.squares[i]
            _add(w, w.V, i, w.change)
        for a in range(w.V.shape[0]):
            for b in range(w.V.shape[1]):
                square += w.V[a, b] * w.V[a, b]
        if square <= 1e-14 * scale:
            return True
        length, following = w.scalars.product / square, 0.0
        for t in range(count):
            i = w.order[t]
            label, r, d = w.codes[i], w.residual[i], w.direction[i]
            _scores(w, w.V, i)
            for k in range(r.size):
                w.change[k] = w.scores[label] - w.scores[k]
            _project(w, i, w.change)
            for k in range(r.size):
                w.step[i, k] += length * d[k]
                r[k] -= length * w.change[k]
                following += r[k] * r[k] / w.squares[i]
        ratio = following / w.scalars.product
        w.scalars.product = following
        if following <= w.scalars.enough:
            return True
        for t in range(count):
            i = w.order[t]
            for k in range(w.change.size):
                w.direction[i, k] = w.residual[i, k] / w.squares[i] + ratio * w.direction[i, k]
    return False


@inner
def _feasible(w: Any, i: int) -> None:
    """Make ``w.step[i]`` the way from α_i to the point α_i + step moved into the block's feasible set."""
    alpha, step, free, c = w.alpha[i], w.step[i], w.free[i], w.costs[i]
    total = 0.0
    for k in range(step.size):
        if free[k]:
            step[k] = min(max(alpha[k] + step[k], 0.0), c)
            total += step[k]
        else:
            total += alpha[k]
    factor = c / total if w.scalars.shared and total > c else 1.0
    for k in range(step.size):
        step[k] = factor * (step[k] if free[k] else alpha[k]) - alpha[k]


@inner
def _longest(w: Any, i: int) -> float:
    """Return how far α_i can move along its step, 1 at most."""
    alpha, step, c, shared = w.alpha[i], w.step[i], w.costs[i], w.scalars.shared
    length, total, change = 1.0, 0.0, 0.0
    for k in range(step.size):
        total += alpha[k]
        change += step[k]
        if step[k] < 0.0 and alpha[k] < -length * step[k]:
            length = alpha[k] / -step[k]
        if not shared and step[k] > 0.0 and c - alpha[k] < length * step[k]:
            length = max(c - alpha[k], 0.0) / step[k]
    if shared and not w.tight[i] and change > 0.0 and c - total < length * change:
        length = max(c - total, 0.0) / change
    return float(length)


@inner
def _image(w: Any, steps: Any, count: int) -> float:
    """Write W of the steps into V; return the dual's slope along them. The squared norm of V is ``w.scalars.square``."""
    w.V[:, :] = 0.0
    rise, square = 0.0, 0.0
    for t in range(count):
        i = w.order[t]
        for k in range(w.change.size):
            w.change[k] = steps[i, k]
            rise += w.change[k] * w.slope[i, k]
        _add(w, w.V, i, w.change)
    for a in range(w.V.shape[0]):
        for b in range(w.V.shape[1]):
            square += w.V[a, b] * w.V[a, b]
    w.scalars.square = square
    return rise


@entry
def end_face(w: Any, count: int) -> bool:
    """Move along the steps of ``order[:count]`` to the first bound or to a feasible end, whichever raises the dual more.

    Returns
    -------
    bool
        Whether the maximum on the face was reached: no bound was in the way.
    """
    longest = 1.0
    for t in range(count):
        longest = min(longest, _longest(w, w.order[t]))
    rise = _image(w, w.step, count)
    straight = longest * (rise - 0.5 * longest * w.scalars.square)
    for t in range(count):
        i = w.order[t]
        for k in range(w.change.size):
            w.direction[i, k] = w.step[i, k]
        _feasible(w, i)
    rise = _image(w, w.step, count)
    length = 1.0 if w.scalars.square <= rise else max(rise, 0.0) / w.scalars.square
    bent = length * (rise - 0.5 * length * w.scalars.square)
    steps = w.step
    if straight >= bent:
        length, steps = longest, w.direction
        _image(w, steps, count)
    for t in range(count):
        i = w.order[t]
        c = w.costs[i]
        for k in range(w.change.size):
            new = w.alpha[i, k] + length * steps[i, k]
            new = 0.0 if new <= 1e-14 * c else new
            w.alpha[i, k] = c if new >= c * (1.0 - 1e-14) else new
    for a in range(w.V.shape[0]):
        for b in range(w.V.shape[1]):
            w.W[a, b] += length * w.V[a, b]
    return bool(longest >= 1.0)
