"""Serialisation of tasks for workers: each large array is named by a digest of its content, sent once and cached by the worker.

Arrays that belong to a single task (`TaskArrays`) are sent with it and not cached.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import cloudpickle
import numpy as np

#: Bytes from which an array is sent separately, once for all tasks that hold it.
LARGE_ARRAY_BYTES = 4096


@dataclass(frozen=True)
class Payload:
    """A serialised task without its large arrays, and the names of these."""

    body: bytes  #: serialised task, names in place of the large arrays
    keys: tuple[str, ...]  #: names of the large arrays
    writeable: tuple[bool, ...]  #: for each array, whether the worker may write to it


@dataclass(frozen=True, eq=False)
class TaskArrays:
    """Arrays that belong to a single task: they are sent within the task, without a digest, and not cached.

    The received arrays may be read-only and need not be aligned: code that computes with them copies them first.
    """

    arrays: Mapping[str, Any]  #: the arrays, by any names

    def __reduce__(self) -> tuple[Any, ...]:
        layouts = {name: (array.dtype.str, array.shape) for name, array in self.arrays.items()}
        return _restore_task_arrays, (layouts, [array.tobytes() for array in self.arrays.values()])


def _restore_task_arrays(layouts: Mapping[str, tuple[str, tuple[int, ...]]], buffers: list[bytes]) -> TaskArrays:
    items = zip(layouts.items(), buffers, strict=True)
    return TaskArrays({name: np.frombuffer(buffer, dtype).reshape(shape) for (name, (dtype, shape)), buffer in items})


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickler that leaves the packer's arrays out."""

    def __init__(self, file: io.BytesIO, packer: Packer) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.packer, self.keys = packer, dict[str, None]()

    def persistent_id(self, value: Any) -> str | None:
        if type(value) is not np.ndarray or value.nbytes < LARGE_ARRAY_BYTES or value.dtype.hasobject:
            return None
        key = self.packer.name(value)
        self.keys[key] = None
        return key


class _Unpickler(pickle.Unpickler):
    """Unpickler that restores the packer's arrays."""

    def __init__(self, payload: Payload, arrays: Mapping[str, Any]) -> None:
        super().__init__(io.BytesIO(payload.body))
        self._arrays = arrays

    def persistent_load(self, key: str) -> Any:
        return self._arrays[key]


class Packer:
    """Serialiser of tasks, which must not change their arrays meanwhile.

    ``arrays`` holds every large array by its name, a digest of type, shape, order, writeability and content. Equal arrays are
    held once.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self._names: dict[int, tuple[weakref.ref[Any], str]] = {}  # the id of a deleted array may be reused by another one

    def name(self, array: Any) -> str:
        """Return the name of an array, and hold the array in ``arrays``."""
        packed_name = self._names.get(id(array))
        if packed_name is not None and packed_name[0]() is array:
            return packed_name[1]
        columns = array.flags.f_contiguous and not array.flags.c_contiguous
        order, flat = ("F", array.T) if columns else ("C", np.ascontiguousarray(array))
        digest = hashlib.blake2b(digest_size=20)
        digest.update(f"{flat.dtype.str} {flat.shape} {order} {array.flags.writeable}".encode())
        digest.update(flat.reshape(-1).view(np.uint8).data)
        key = digest.hexdigest()
        self._names[id(array)] = weakref.ref(array), key
        self.arrays.setdefault(key, array)
        return key

    def pack(self, task: Any) -> Payload:
        """Return the serialised task; its large arrays are then in ``arrays``."""
        file = io.BytesIO()
        pickler = _Pickler(file, self)
        pickler.dump(task)
        keys = tuple(pickler.keys)
        return Payload(file.getvalue(), keys, tuple(bool(self.arrays[key].flags.writeable) for key in keys))


def unpack(payload: Payload, fetch: Callable[[str], Any]) -> Any:
    """Return the task of a payload; ``fetch`` returns an array, by its name, that the worker has not cached."""
    names = zip(payload.keys, payload.writeable, strict=True)
    return _Unpickler(payload, {key: cached_array(key, fetch, writeable) for key, writeable in names}).load()


#: Most arrays in the cache, and most bytes: beyond them, the least recently used array is dropped.
_MAX_ARRAYS, _MAX_BYTES = 256, 1 << 30
#: The cache of arrays by their names, the least recently used first, and its lock.
_arrays: OrderedDict[str, Any] = OrderedDict()
_lock = Lock()


def cached_array(key: str, fetch: Callable[[str], Any], writeable: bool) -> Any:
    """Return the array with the name ``key`` from this worker's cache, or fetch and cache it, aligned, and writeable as asked.

    Compiled loops are compiled for each kind of array: a read-only or unaligned array would compile them again.
    """
    with _lock:
        if key in _arrays:
            _arrays.move_to_end(key)
            return _arrays[key]
    array = fetch(key)
    if not array.flags.aligned:
        array = np.array(array, order="K")
    if array.flags.writeable != writeable:
        array = np.array(array, order="K") if writeable else array.view()
        array.flags.writeable = writeable
    with _lock:
        _arrays[key] = array
        total = sum(entry.nbytes for entry in _arrays.values())
        while len(_arrays) > 1 and (len(_arrays) > _MAX_ARRAYS or total > _MAX_BYTES):
            total -= _arrays.popitem(last=False)[1].nbytes
    return array
