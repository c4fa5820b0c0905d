"""Tasks as they travel: pickled without their large arrays, which are named by their content and travel once.

Arrays that one task alone has (`Own`) travel with it, as they lie in memory: no copy is made on the way to the network.
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

__all__ = ["LARGE", "Own", "Packer", "Parcel", "unpack"]

#: Bytes from which on an array travels by itself, once for all tasks that hold it.
LARGE = 4096


@dataclass(frozen=True)
class Parcel:
    """A task without its large arrays, the names of these, and the bytes of arrays that it alone has."""

    body: bytes
    keys: tuple[str, ...]
    buffers: tuple[Any, ...] = ()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Buffers travel without copies from protocol 5 on, and as bytes before it."""
        buffers = self.buffers if protocol >= 5 else tuple(bytes(buffer) for buffer in self.buffers)
        return Parcel, (self.body, self.keys, buffers)


@dataclass(frozen=True, eq=False)
class Own:
    """Arrays of a task that no other task has: nobody asks for their names, or keeps them.

    What arrives may be read-only and need not be aligned: who computes with it copies it first.
    """

    arrays: Mapping[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        known = {name: (array.dtype.str, array.shape) for name, array in self.arrays.items()}
        return _own, (known, [pickle.PickleBuffer(np.ascontiguousarray(array).data) for array in self.arrays.values()])


def _own(known: Mapping[str, tuple[str, tuple[int, ...]]], buffers: list[Any]) -> Own:
    found = zip(known.items(), buffers, strict=True)
    return Own({name: np.frombuffer(buffer, dtype).reshape(shape) for (name, (dtype, shape)), buffer in found})


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Leaves the packer's arrays out."""

    def __init__(self, file: io.BytesIO, packer: Packer) -> None:
        self.packer, self.keys, self.buffers = packer, dict[str, None](), list[Any]()
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=self._stays)

    def _stays(self, buffer: pickle.PickleBuffer) -> bool:
        """Whether bytes are in the body: a few of them are."""
        if buffer.raw().nbytes < LARGE:
            return True
        self.buffers.append(buffer)
        return False

    def persistent_id(self, value: Any) -> str | None:
        if type(value) is not np.ndarray or value.nbytes < LARGE or value.dtype.hasobject:
            return None
        key = self.packer.name(value)
        self.keys[key] = None
        return key


class _Unpickler(pickle.Unpickler):
    """Puts them back."""

    def __init__(self, parcel: Parcel, arrays: Mapping[str, Any]) -> None:
        super().__init__(io.BytesIO(parcel.body), buffers=parcel.buffers)
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

    def pack(self, task: Any) -> Parcel:
        """The task as it travels."""
        file = io.BytesIO()
        pickler = _Pickler(file, self)
        pickler.dump(task)
        return Parcel(file.getvalue(), tuple(pickler.keys), tuple(pickler.buffers))


def unpack(parcel: Parcel, arrays: Mapping[str, Any]) -> Any:
    """The task again, its arrays those of ``arrays``."""
    return _Unpickler(parcel, arrays).load()
