"""Tasks as they travel: pickled without their large arrays, which are named by their content and travel once.

Arrays that one task alone has (`Own`) travel with it, copied once. (Buffers that nobody copies ended the process, by a garbage
collection that found one still exported.)
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

__all__ = ["LARGE", "Own", "Packer", "Payload", "unpack"]

#: Bytes from which on an array travels by itself, once for all tasks that hold it.
LARGE = 4096


@dataclass(frozen=True)
class Payload:
    """A task without its large arrays, and the names of these."""

    body: bytes
    keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Own:
    """Arrays of a task that no other task has: nobody asks for their names, or keeps them.

    What arrives may be read-only and need not be aligned: who computes with it copies it first.
    """

    arrays: Mapping[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        known = {name: (array.dtype.str, array.shape) for name, array in self.arrays.items()}
        return _own, (known, [array.tobytes() for array in self.arrays.values()])


def _own(known: Mapping[str, tuple[str, tuple[int, ...]]], buffers: list[bytes]) -> Own:
    found = zip(known.items(), buffers, strict=True)
    return Own({name: np.frombuffer(buffer, dtype).reshape(shape) for (name, (dtype, shape)), buffer in found})


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Leaves the packer's arrays out."""

    def __init__(self, file: io.BytesIO, packer: Packer) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.packer, self.keys = packer, dict[str, None]()

    def persistent_id(self, value: Any) -> str | None:
        if type(value) is not np.ndarray or value.nbytes < LARGE or value.dtype.hasobject:
            return None
        key = self.packer.name(value)
        self.keys[key] = None
        return key


class _Unpickler(pickle.Unpickler):
    """Puts them back."""

    def __init__(self, parcel: Payload, arrays: Mapping[str, Any]) -> None:
        super().__init__(io.BytesIO(parcel.body))
        self._arrays = arrays

    def persistent_load(self, key: str) -> Any:
        return self._arrays[key]


class Packer:
    """Packs tasks whose arrays do not change in between.

    ``arrays`` holds every array met so far by its name, a digest of type, shape, order, flag and content; of several with the
    same name the first.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self._met: dict[int, tuple[weakref.ref[Any], str]] = {}  # ids of arrays that are gone are others' in time

    def name(self, array: Any) -> str:
        """The name of an array."""
        met = self._met.get(id(array))
        if met is not None and met[0]() is array:
            return met[1]
        columns = array.flags.f_contiguous and not array.flags.c_contiguous
        order, flat = ("F", array.T) if columns else ("C", np.ascontiguousarray(array))
        found = hashlib.blake2b(digest_size=20)
        found.update(f"{flat.dtype.str} {flat.shape} {order} {array.flags.writeable}".encode())
        found.update(flat.reshape(-1).view(np.uint8).data)
        key = found.hexdigest()
        self._met[id(array)] = weakref.ref(array), key
        self.arrays.setdefault(key, array)
        return key

    def pack(self, task: Any) -> Payload:
        """The task as it travels."""
        file = io.BytesIO()
        pickler = _Pickler(file, self)
        pickler.dump(task)
        return Payload(file.getvalue(), tuple(pickler.keys))


def unpack(parcel: Payload, arrays: Mapping[str, Any]) -> Any:
    """The task again, its arrays those of ``arrays``."""
    return _Unpickler(parcel, arrays).load()
