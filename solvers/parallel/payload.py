"""Serialisation of tasks: pickled without their large arrays, which are named by their content and sent once.

Arrays that one task alone has (`Own`) are sent with it, copied once. (Buffers without a copy crashed the process: a garbage
collection found one still exported.)
"""

from __future__ import annotations

import hashlib
import io
import pickle
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cloudpickle
import numpy as np

__all__ = ["LARGE_ARRAY_BYTES", "Packer", "Payload", "TaskArrays", "unpack"]

#: Bytes from which an array is sent separately, once for all tasks that hold it.
LARGE_ARRAY_BYTES = 4096


@dataclass(frozen=True)
class Payload:
    """A task without its large arrays, and the names of these."""

    body: bytes
    keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TaskArrays:
    """Arrays that one task alone has: they get no names and are not cached.

    The received arrays may be read-only and need not be aligned: code that computes with them copies them first.
    """

    arrays: Mapping[str, Any]

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

    def __init__(self, parcel: Payload, arrays: Mapping[str, Any]) -> None:
        super().__init__(io.BytesIO(parcel.body))
        self._arrays = arrays

    def persistent_load(self, key: str) -> Any:
        return self._arrays[key]


class Packer:
    """Packer of tasks whose arrays do not change in between.

    ``arrays`` holds every array by its name, a digest of type, shape, order, flag and content; of several with the same name the
    first.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self._met: dict[int, tuple[weakref.ref[Any], str]] = {}  # the id of a deleted array may be reused by another one

    def name(self, array: Any) -> str:
        """Return the name of an array."""
        met = self._met.get(id(array))
        if met is not None and met[0]() is array:
            return met[1]
        columns = array.flags.f_contiguous and not array.flags.c_contiguous
        order, flat = ("F", array.T) if columns else ("C", np.ascontiguousarray(array))
        digest = hashlib.blake2b(digest_size=20)
        digest.update(f"{flat.dtype.str} {flat.shape} {order} {array.flags.writeable}".encode())
        digest.update(flat.reshape(-1).view(np.uint8).data)
        key = digest.hexdigest()
        self._met[id(array)] = weakref.ref(array), key
        self.arrays.setdefault(key, array)
        return key

    def pack(self, task: Any) -> Payload:
        """Return the task in serialised form."""
        file = io.BytesIO()
        pickler = _Pickler(file, self)
        pickler.dump(task)
        return Payload(file.getvalue(), tuple(pickler.keys))


def unpack(parcel: Payload, arrays: Mapping[str, Any]) -> Any:
    """Return the task with the arrays of ``arrays``."""
    return _Unpickler(parcel, arrays).load()
