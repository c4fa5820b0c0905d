"""Cache in a worker of the arrays that the last tasks used, so that each is fetched once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

__all__ = ["cached"]

#: Most arrays in the cache, and most bytes: beyond them, the least recently used array is dropped.
_MAX_ARRAYS, _MAX_BYTES = 256, 1 << 30
_arrays: OrderedDict[str, Any] = OrderedDict()
_lock = Lock()


def cached(key: str, fetch: Callable[[], Any], writeable: bool) -> Any:
    """Return the array of this name, fetched if it is not cached; it is writeable if the sender's array is.

    Compiled loops are compiled for each kind of array: a read-only or unaligned array would compile them again.
    """
    with _lock:
        if key in _arrays:
            _arrays.move_to_end(key)
            return _arrays[key]
    array = fetch()
    if not array.flags.aligned:
        array = np.array(array, order="K")
    if array.flags.writeable != writeable:
        array = np.array(array, order="K") if writeable else array.view()
        array.flags.writeable = writeable
    with _lock:
        _arrays[key] = array
        total = sum(cached.nbytes for cached in _arrays.values())
        while len(_arrays) > 1 and (len(_arrays) > _MAX_ARRAYS or total > _MAX_BYTES):
            total -= _arrays.popitem(last=False)[1].nbytes
    return array
