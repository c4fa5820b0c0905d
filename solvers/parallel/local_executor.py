"""Executor on joblib's own backends: processes and threads of this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from .executor import Executor, Job, Packer, Payload, cached, share_of_cores, unpack


class JoblibExecutor(Executor):
    """Executor on the backend of an enclosing ``joblib.parallel_config``, or on loky's processes.

    Processes of this machine read large arrays from files, each written once and mapped into memory; threads share them. Closing
    the executor removes the files.

    Parameters
    ----------
    jobs : int, optional
        As joblib's ``n_jobs``.
    """

    def __init__(self, jobs: int | None) -> None:
        self._jobs = jobs
        self._backend, _ = joblib.parallel.get_active_backend()
        self._packer, self._written = Packer(), set[str]()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def size(self) -> int:
        """Return joblib's number of jobs."""
        return int(joblib.effective_n_jobs(self._jobs))

    def run(self, job: Job, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield results as they are done if the backend can; else all at the end."""
        threads = share_of_cores(self.size)
        order = "generator_unordered" if self._backend.supports_return_generator else "list"
        parallel = joblib.Parallel(n_jobs=self._jobs, return_as=order, batch_size=1, pre_dispatch="2*n_jobs")
        if getattr(self._backend, "supports_sharedmem", False):
            yield from parallel(joblib.delayed(_call)(number, job, task, threads) for number, task in enumerate(tasks))
            return
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="marginopt-", ignore_cleanup_errors=True)
        yield from parallel(self._parcels(job, tasks, threads, Path(self._folder.name)))

    def _parcels(self, job: Job, tasks: Iterable[Any], threads: int, folder: Path) -> Iterator[Any]:
        packer = self._packer
        for number, task in enumerate(tasks):
            parcel = packer.pack((job, task))
            for key in parcel.keys:
                if key not in self._written:
                    np.save(folder / f"{key}.npy", packer.arrays[key], allow_pickle=False)
                    self._written.add(key)
            flags = tuple(bool(packer.arrays[key].flags.writeable) for key in parcel.keys)
            yield joblib.delayed(_open)(number, parcel, flags, str(folder), threads)

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()
        self._folder, self._packer, self._written = None, Packer(), set()


def _call(number: int, job: Job, task: Any, threads: int) -> tuple[int, Any]:
    return number, job(task, threads)


def _open(number: int, parcel: Payload, flags: tuple[bool, ...], folder: str, threads: int) -> tuple[int, Any]:
    """Run a task in a worker, its arrays read from their files."""
    items = zip(parcel.keys, flags, strict=True)
    arrays = {key: cached(key, lambda key=key: _mapped(Path(folder) / f"{key}.npy"), flag) for key, flag in items}  # type: ignore[misc]
    job, task = unpack(parcel, arrays)
    return number, job(task, threads)


def _mapped(path: Path) -> Any:
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
