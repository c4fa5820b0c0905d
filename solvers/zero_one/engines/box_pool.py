"""Construction and growth of the arrays of the box search."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....models.arrays import BoolArray, FloatArray
from ...interface.algorithm import named_scalars
from ..loops import boxes as k

__all__ = ["empty_pool", "grown", "plant_root"]


def empty_pool(n: int, p: int, log: int, records: int = 0, pages: int = 0) -> k.BoxPool:
    """Return a pool without open nodes.

    Parameters
    ----------
    n, p : int
        Numbers of points and coordinates.
    log : int
        Length of the log buffer.
    records, pages : int
        Additional capacity.
    """
    f, i = np.float64, np.int64
    records, pages = records + 4096, pages + 2 * k.RESERVE * (n // k.PAGE + 2) + 4096
    return k.BoxPool(
        lo=np.zeros((records, p), f), hi=np.zeros((records, p), f), w=np.zeros((records, p), f), base=np.zeros(records, f),
        split=np.zeros(records, np.int32), mid=np.zeros(records, f), page=np.full(records, -1, np.int32),
        count=np.zeros(records, np.int32), refs=np.zeros(records, np.int8), key=np.zeros((records, 2), f),
        ident=np.full(records, -1, i), free_records=np.zeros(records, np.int32), heap=np.zeros(2 * records, np.int32),
        point=np.zeros((pages, k.PAGE), np.int32), lower=np.zeros((pages, k.PAGE), f),
        state=np.zeros((pages, k.PAGE), np.int8), link=np.full(pages, -1, np.int32), free_pages=np.zeros(pages, np.int32),
        now=named_scalars(k.NOW), found=np.zeros(p + 2, f), leaf=np.zeros(n, np.int8), log=np.zeros(log, f),
    )  # fmt: skip


def plant_root(pool: k.BoxPool, half: FloatArray | None, kept: BoolArray | None) -> None:
    """Mark all records and pages as free and, unless ``half`` is None, make the box |w| ≤ half the current node."""
    now, n = pool.now, len(pool.leaf)
    pool.free_records[:] = np.arange(len(pool.base))[::-1]
    pool.free_pages[:] = np.arange(len(pool.link))[::-1]
    now.records, now.pages, now.current = len(pool.base), len(pool.link), -1
    if half is None or kept is None:
        return
    now.records -= 1
    now.current = 0
    pool.lo[0], pool.hi[0], pool.count[0], pool.refs[0], pool.split[0] = -half, half, n, 1, 0
    pool.mid[0] = half[0] if half.size else 0.0
    page = -1
    for start in range(0, n, k.PAGE):
        now.pages -= 1
        new_page = pool.free_pages[now.pages]
        pool.link[new_page] = -1
        if page < 0:
            pool.page[0] = new_page
        else:
            pool.link[page] = new_page
        page = new_page
        indices = np.arange(start, min(start + k.PAGE, n))
        pool.point[page, : len(indices)] = indices
        pool.state[page, : len(indices)] = np.where(kept[indices], k.KEPT, k.FREE)
        pool.lower[page, : len(indices)] = -np.inf


def grown(pool: k.BoxPool, times: int = 2) -> k.BoxPool:
    """Return the same pool with ``times`` as many records or pages, each where it runs short."""
    now = pool.now
    records, pages = len(pool.base), len(pool.link)
    more_records = (times - 1) * records if now.records < max(2 * k.RESERVE, records // 2) else 0
    more_pages = (times - 1) * pages if now.pages < max(k.RESERVE * (len(pool.leaf) // k.PAGE + 2), pages // 2) else 0

    def extended(array: Any, extra: int) -> Any:
        if not extra:
            return array
        result = np.zeros((len(array) + extra, *array.shape[1:]), array.dtype)  # untouched pages take no memory
        result[: len(array)] = array
        return result

    by_record = ("lo", "hi", "w", "base", "split", "mid", "page", "count", "refs", "key", "ident", "free_records")
    changes = {name: extended(getattr(pool, name), more_records) for name in by_record}
    changes |= {name: extended(getattr(pool, name), more_pages) for name in ("point", "lower", "state", "link", "free_pages")}
    changes["heap"] = extended(pool.heap, 2 * more_records)
    for name, old_size, extra in (("records", records, more_records), ("pages", pages, more_pages)):
        free_count = int(now[name])
        changes[f"free_{name}"][free_count : free_count + extra] = np.arange(old_size, old_size + extra)[::-1]
        now[name] += extra
    return pool._replace(**changes)
