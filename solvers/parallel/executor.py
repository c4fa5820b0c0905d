"""Executors of independent tasks: base classes, tasks as bytes without their large arrays, and the workers' cache of these.

*Serialisation of tasks: pickled without their large arrays, which are named by their content and sent once.* Arrays that
one task alone has (`TaskArrays`) are sent with it, copied once.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import weakref
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeAlias

import cloudpickle
import numpy as np

from ...errors import ClusterError

#: A worker's function of a task and of its share of the machine's threads (None: no other task runs there).
Job: TypeAlias = Callable[[Any, "int | None"], Any]


@dataclass(frozen=True)
class TaskResult:
    """A finished task: its number, and its value or error."""

    number: int
    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Return the value.

        Raises
        ------
        Exception
            What the task raised.
        """
        if self.error is not None:
            raise self.error
        return self.value


class Executor(ABC):
    """Workers that run tasks.

    Tasks must not depend on each other nor change their arrays, and the arrays must not change while the executor is open: they
    are sent once, for all runs. A task is a value, so a task whose worker is lost runs again on another worker; its result counts
    once.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the present number of concurrent tasks."""

    @abstractmethod
    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield number and result of every task, as they are done."""

    def all(self, job: Job, tasks: Iterable[Any]) -> list[Any]:
        """Return the results, in the order of the tasks."""
        results = dict(self.run(job, tasks))
        return [results[number] for number in range(len(results))]

    def close(self) -> None:  # noqa: B027 -- most executors hold no resources
        """Release the resources that the executor itself opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class SerialExecutor(Executor):
    """The calling process, which runs tasks one after the other."""

    @property
    def size(self) -> int:
        """Return one."""
        return 1

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Run the tasks in order."""
        for number, task in enumerate(tasks):
            yield number, job(task, None)


class AsynchronousExecutor(Executor):
    """Remote workers: tasks are submitted one by one and collected when they are done."""

    #: Waiting tasks at the cluster for each running one.
    ahead = 1

    def __init__(self, jobs: int | None = None) -> None:
        self._max_tasks = jobs if jobs is not None and jobs > 0 else None

    @property
    @abstractmethod
    def slots(self) -> int:
        """Return the number of tasks that the cluster runs at a time at present; 0 while it has no worker."""

    @property
    def size(self) -> int:
        """Return `slots`, or the user's limit, at least one."""
        slots = max(self.slots, 1)
        return slots if self._max_tasks is None else min(slots, self._max_tasks)

    @abstractmethod
    def submit(self, number: int, job: Job, task: Any) -> None:
        """Submit a task."""

    @abstractmethod
    def collect(self, seconds: float) -> list[TaskResult]:
        """Return the tasks done since the last call, after waiting for at most ``seconds`` for the first.

        Raises
        ------
        ClusterError
            The cluster is gone.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Cancel every submitted task that is not collected."""

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield results as they are done; submit at most as many tasks as the cluster runs, and `ahead` for each of them."""
        todo = enumerate(tasks)
        waiting, has_tasks = 0, True
        try:
            while waiting or has_tasks:
                while has_tasks and waiting < (1 + (self.ahead if self._max_tasks is None else 0)) * self.size:
                    number, task = next(todo, (-1, None))
                    has_tasks = number >= 0
                    if has_tasks:
                        self.submit(number, job, task)
                        waiting += 1
                for outcome in self.collect(1.0) if waiting else ():
                    waiting -= 1
                    yield outcome.number, outcome.result()
        finally:
            self.cancel()


def share_of_cores(tasks: int) -> int:
    """Return the threads for each of so many tasks on this machine."""
    return max(1, (os.cpu_count() or 1) // tasks)


def worker_lost(message: str, task: int | None = None) -> ClusterError:
    """Return the error for a task that no worker survives, or for a cluster that is gone."""
    return ClusterError(f"{message}; what was done before is kept where a store or a checkpoint was given", task)


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
        packed_name = self._met.get(id(array))
        if packed_name is not None and packed_name[0]() is array:
            return packed_name[1]
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
