"""Events of the proof log, written into its buffer as the search goes; `proof.box_writer` reads them."""

from __future__ import annotations

from typing import Any

from ..compiled import inner
from .records import Log, Pairs


@inner
def log_node(log: Log, ident: int, parent: int, side: int) -> None:
    """A node that is taken up: 0, node, parent, side."""
    to, at = log.buffer, log.now.log_at
    to[at], to[at + 1], to[at + 2], to[at + 3] = 0.0, ident, parent, side
    log.now.log_at = at + 4


@inner
def log_split(log: Log, ident: int, name: float, mid: float) -> None:
    """How it branches: 2, node, coordinate or -1 - point, where."""
    to, at = log.buffer, log.now.log_at
    to[at], to[at + 1], to[at + 2], to[at + 3] = 2.0, ident, name, mid
    log.now.log_at = at + 4


@inner
def log_multipliers(log: Log, ident: int, idx: Any, z: Any, al: Any, m: int) -> None:
    """One round of m points: 1, node, count, then (point, state, α) for every α > 0."""
    to, at = log.buffer, log.now.log_at
    to[at], to[at + 1] = 1.0, ident
    k = at + 3
    for i in range(m):
        if al[i] > 0.0:
            to[k], to[k + 1], to[k + 2] = idx[i], z[i], al[i]
            k += 3
    to[at + 2] = (k - at - 3) // 3
    log.now.log_at = k


@inner
def log_scale(log: Log, ident: int, theta: float) -> None:
    """The round that follows weighs losses θ times: 4, node, θ."""
    to, at = log.buffer, log.now.log_at
    to[at], to[at + 1], to[at + 2] = 4.0, ident, theta
    log.now.log_at = at + 3


@inner
def log_pairs(log: Log, ident: int, idx: Any, P: Pairs, count: int) -> None:
    """The pairs of the round that follows: 3, node, count, then (point, point, price)."""
    to, at = log.buffer, log.now.log_at
    to[at], to[at + 1], to[at + 2] = 3.0, ident, count
    for k in range(count):
        to[at + 3 + 3 * k], to[at + 4 + 3 * k] = idx[P.points[k, 0]], idx[P.points[k, 1]]
        to[at + 5 + 3 * k] = P.price[k]
    log.now.log_at = at + 3 + 3 * count
