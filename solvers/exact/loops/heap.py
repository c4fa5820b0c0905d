"""Binary heap of open nodes for compiled tree searches: the node with the least lower bound first.

A node is an integer code, 2·record + side, with the bound ``key[record, side]``: the two children of a branched node share its
record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import inner


@inner
def push(heap: Any, size: int, key: Any, code: int) -> None:
    """Insert the node ``code`` into a heap of ``size`` nodes with the bounds ``key`` (records, 2); the caller counts nodes."""
    k = size
    x = key[code >> 1, code & 1]
    while k > 0:
        above = (k - 1) >> 1
        if key[heap[above] >> 1, heap[above] & 1] <= x:
            break
        heap[k] = heap[above]
        k = above
    heap[k] = code


@inner
def pop(heap: Any, size: int, key: Any) -> Any:
    """Remove and return the code of the node with the least bound from a heap of ``size`` nodes."""
    top = heap[0]
    code = heap[size - 1]
    size -= 1
    x = key[code >> 1, code & 1]
    k = 0
    while True:
        c = 2 * k + 1
        if c >= size:
            break
        if c + 1 < size and key[heap[c + 1] >> 1, heap[c + 1] & 1] < key[heap[c] >> 1, heap[c] & 1]:
            c += 1
        if key[heap[c] >> 1, heap[c] & 1] >= x:
            break
        heap[k] = heap[c]
        k = c
    heap[k] = code
    return np.int64(top)
