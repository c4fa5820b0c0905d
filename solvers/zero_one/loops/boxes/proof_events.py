"""Events of the proof log, written into the kernels' buffer; `proof.box_writer` reads them."""

from __future__ import annotations

from typing import Any

from ....exact.loops.matching import Pairs
from ..compiled import inner
from .records import Log


@inner
def log_node(log: Log, ident: int, parent: int, side: int) -> None:
    """Write the start of a node: 0, node, parent, side."""
    buffer, start = log.buffer, log.now.log_at
    buffer[start], buffer[start + 1], buffer[start + 2], buffer[start + 3] = 0.0, ident, parent, side
    log.now.log_at = start + 4


@inner
def log_split(log: Log, ident: int, name: float, mid: float) -> None:
    """Write the branching of a node: 2, node, coordinate or -1 - point, branching value."""
    buffer, start = log.buffer, log.now.log_at
    buffer[start], buffer[start + 1], buffer[start + 2], buffer[start + 3] = 2.0, ident, name, mid
    log.now.log_at = start + 4


@inner
def log_multipliers(log: Log, ident: int, idx: Any, z: Any, al: Any, m: int) -> None:
    """Write the multipliers of one round of m points: 1, node, count, then (point, state, α) for every α > 0."""
    buffer, start = log.buffer, log.now.log_at
    buffer[start], buffer[start + 1] = 1.0, ident
    k = start + 3
    for i in range(m):
        if al[i] > 0.0:
            buffer[k], buffer[k + 1], buffer[k + 2] = idx[i], z[i], al[i]
            k += 3
    buffer[start + 2] = (k - start - 3) // 3
    log.now.log_at = k


@inner
def log_scale(log: Log, ident: int, theta: float) -> None:
    """Write the factor on the losses in the next round: 4, node, θ."""
    buffer, start = log.buffer, log.now.log_at
    buffer[start], buffer[start + 1], buffer[start + 2] = 4.0, ident, theta
    log.now.log_at = start + 3


@inner
def log_pairs(log: Log, ident: int, idx: Any, P: Pairs, count: int) -> None:
    """Write the pairs of the next round: 3, node, count, then (point, point, price)."""
    buffer, start = log.buffer, log.now.log_at
    buffer[start], buffer[start + 1], buffer[start + 2] = 3.0, ident, count
    for k in range(count):
        buffer[start + 3 + 3 * k], buffer[start + 4 + 3 * k] = idx[P.points[k, 0]], idx[P.points[k, 1]]
        buffer[start + 5 + 3 * k] = P.price[k]
    log.now.log_at = start + 3 + 3 * count
