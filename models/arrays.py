"""Array types, the checks that every model makes of its data and parameters, and limits of memory and of BLAS threads.

The checks copy nothing that already has the wanted form and never write to what they are given; dense arrays come back read-only.
"""

from __future__ import annotations

import functools
import numbers
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from ..errors import InputError, TooLargeError, short_text
from ..rows import MemoryRows, Rows

#: Arrays of float64, float32, int64 and bool, of any shape.
FloatArray: TypeAlias = npt.NDArray[np.float64]
SingleArray: TypeAlias = npt.NDArray[np.float32]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
#: Big-M constants as they are given: a number, one for each row, or "auto" for constants that follow from the data.
BigM: TypeAlias = "Literal['auto'] | float | FloatArray"
#: Rows of data: a dense array or a CSR array, n × p.
Points: TypeAlias = "FloatArray | sp.csr_array"
#: Relative size up to which a weight (beside the largest weight) or a slack (beside the size of its row) counts as zero.
ZERO = 1e-6


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view of ``array`` (itself where it is read-only); the given array stays as it is."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def as_points(X: object, name: str = "X", columns: int | None = None) -> Points:
    """Check an n × p matrix of real, finite rows and return it as float64 (dense, C order) or CSR.

    ``columns`` is the p that new rows must have to fit a model.

    Parameters
    ----------
    X : array_like or sparse array (n, p)
    name : str
        Name of the argument in messages.
    columns : int, optional

    Returns
    -------
    ndarray or csr_array (n, p)

    Raises
    ------
    InputError
        Not a matrix of real, finite numbers, no row or column, another number of columns, or rows that come in blocks.
    """
    if isinstance(X, Rows):
        raise InputError(
            f"{name} comes in blocks of rows, which HingeSVM and Margin with Hinge or SquaredHinge read; this needs the whole "
            "matrix: marginopt.read reads it into memory",
            name=name,
        )
    points = _as_csr(X, name) if sp.issparse(X) else _as_dense(X, name)
    if columns is not None and points.shape[1] != columns:
        raise InputError(f"{name} must have the model's {columns} columns; it has {points.shape[1]}", name=name)
    return points


def as_rows(X: object) -> Points | Rows:
    """Return X itself if its rows come in blocks, else as `as_points`: for formulations that need only products with X."""
    return X if isinstance(X, Rows) else as_points(X)


def as_row_blocks(X: Points | Rows) -> Rows:
    """Return X as `Rows`: an array is wrapped in `MemoryRows`."""
    return X if isinstance(X, Rows) else MemoryRows(X)


def in_memory(X: Points | Rows, noun: str) -> Points:
    """Return X if it is an array; raise `TooLargeError` naming ``noun`` if its rows come in blocks."""
    if isinstance(X, Rows):
        raise TooLargeError(
            f"{noun} needs the rows in memory, and these come in blocks: solve it by one that reads blocks (linear-newton), "
            "or read the data set with marginopt.read",
            name="X",
        )
    return X


def _as_dense(X: object, name: str) -> FloatArray:
    dense = _as_float(X, name, "must be a numeric n × p matrix with rows of one length")
    if dense.ndim != 2:
        raise InputError(f"{name} must have two dimensions (rows are samples); it has shape {dense.shape}", name=name)
    _check_not_empty(dense.shape, name)
    _check_finite(dense, name)
    return frozen(np.ascontiguousarray(dense))


def as_labels(
    y: object, n: int, name: str = "y", *, unlabelled: BoolArray | None = None, require_both: bool = True
) -> FloatArray:
    """Check n labels in {-1, +1} with both classes present (unless ``require_both=False``); returned as read-only float64.

    Labels of points ``unlabelled`` may be 0.

    Parameters
    ----------
    y : array_like (n,)
    n : int
        Number of points.
    name : str
        Name of the argument in messages.
    unlabelled : ndarray of bool (n,), optional
        Points whose label may be 0.
    require_both : bool
        Whether both classes must be present.

    Returns
    -------
    ndarray (n,)
        Read-only float64.

    Raises
    ------
    InputError
        Wrong length, values other than -1 and +1, or one class only.
    """
    labels = _as_float(y, name, f"must hold {n} labels -1 or +1")
    if labels.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), one label for each row of X; it has {labels.shape}", name=name)
    missing = np.zeros(n, dtype=np.bool_) if unlabelled is None else unlabelled & (labels == 0.0)
    if (np.not_equal(np.abs(labels), 1.0) & ~missing).any():
        shown = ", ".join(f"{v:g}" for v in np.unique(labels)[:6])
        raise InputError(
            f"{name} must hold the labels -1 and +1; it holds {shown}. Instance.pair(a, b) relabels two classes of a set",
            name=name,
        )
    if require_both and abs(labels.sum()) == n:
        raise InputError(f"{name} must hold both classes; every label is {labels[0]:+g}", name=name)
    return frozen(np.ascontiguousarray(labels))


def as_classes(labels: object, n: int, name: str = "y", *, smallest: int = 2) -> npt.NDArray[Any]:
    """Check n labels of any kind, of at least two classes with at least ``smallest`` points each, and return them as an array."""
    try:
        label_array = np.asarray(labels)
        np.unique(label_array)
    except (TypeError, ValueError) as error:  # ragged, or of kinds that have no order
        raise InputError(f"{name} must be labels of one kind, one for each row of X: {error}", name=name) from error
    if label_array.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), one label for each row of X; it has {label_array.shape}", name=name)
    if label_array.dtype.kind == "f" and not np.isfinite(label_array).all():
        raise InputError(f"{name} must be finite", name=name)
    classes, counts = np.unique(label_array, return_counts=True)
    if classes.size < 2:
        raise InputError(f"{name} must hold at least two classes; every label is {short_text(classes[0])}", name=name)
    if counts.min() < smallest:
        raise InputError(
            f"every class needs at least two points; {short_text(classes[counts.argmin()])} has one: drop or merge it", name=name
        )
    return label_array


def as_positive(value: object, name: str, *, zero: bool = False, infinite: bool = False) -> float:
    """Check one finite number > 0 (≥ 0 with ``zero=True``; infinity too with ``infinite=True``) and return it as a float."""
    condition = "≥ 0" if zero else "> 0"
    if isinstance(value, (str, bytes)):
        raise InputError(f"{name} must be a number {condition}; it is the text {short_text(value)}", name=name)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a number {condition}; it is {short_text(value)}", name=name) from error
    if not (np.isfinite(number) or (infinite and number == np.inf)) or number < 0 or (number == 0 and not zero):
        raise InputError(f"{name} must be a {'' if infinite else 'finite '}number {condition}; it is {number:g}", name=name)
    return number


def as_integer(value: object, name: str, minimum: int = 0) -> int:
    """Check one integer ≥ ``minimum``, Python's or NumPy's."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise InputError(f"{name} must be an integer ≥ {minimum}; it is {short_text(value)}", name=name)
    return int(value)


def plain_fields(part: Any) -> None:
    """Replace NumPy's scalars in the fields of a frozen data class by Python's numbers, so that its repr shows plain numbers."""
    for name in [item.name for item in fields(part)]:
        value = getattr(part, name)
        if isinstance(value, np.generic):
            object.__setattr__(part, name, value.item())
        elif isinstance(value, list | tuple):
            entries = [entry.item() if isinstance(entry, np.generic) else entry for entry in value]
            object.__setattr__(part, name, type(value)(entries))


def as_share(value: object, name: str, *, zero: bool = False) -> float:
    """Check one number in (0, 1] ([0, 1] with ``zero=True``)."""
    share = as_positive(value, name, zero=zero)
    if share > 1.0:
        raise InputError(f"{name} must be in {'[' if zero else '('}0, 1]; it is {short_text(value)}", name=name)
    return share


def as_divisor(value: object, name: str) -> float:
    """Check one finite number > 0 whose reciprocal is finite too: it is divided by."""
    number = as_positive(value, name)
    if not np.isfinite(1.0 / number):
        raise InputError(f"{name} is divided by, and 1/{name} must be a finite number; {name} is {number:g}", name=name)
    return number


def as_vector(value: object, n: int, name: str) -> FloatArray:
    """Check n finite real numbers; a single number stands for n equal ones."""
    vector = _as_float(value, name, f"must hold {n} numbers")
    if vector.ndim == 0:
        vector = np.full(n, float(vector))
    if vector.shape != (n,):
        raise InputError(f"{name} must have shape ({n},); it has {vector.shape}", name=name)
    _check_finite(vector, name)
    return frozen(np.ascontiguousarray(vector))


def as_big_m(value: object, n: int) -> BigM:
    """Check big-M constants, "auto" or None for it, a number ≥ 0, or n of them, and return "auto", a float or an array (n,)."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return "auto"
    if isinstance(value, str):
        raise InputError(f"big_m must be 'auto', a number or {n} numbers; it is {short_text(value)}", name="big_m")
    constants = as_vector(value, n, "big_m")
    if not (constants >= 0).all():
        raise InputError(f"big_m must be ≥ 0; it is {constants.min():g}", name="big_m")
    return float(constants[0]) if np.ndim(value) == 0 else constants  # type: ignore[arg-type]


def as_weights(value: object, n: int, name: str = "sample_weight") -> FloatArray | None:
    """Check n finite numbers > 0; None stays None."""
    if value is None:
        return None
    weights = as_vector(value, n, name)
    if not (weights > 0).all():
        raise InputError(f"{name} must be > 0 (leave points of weight 0 out); its least entry is {weights.min():g}", name=name)
    return weights


def as_costs(value: Any, n: int, name: str, *, zero: bool = True) -> float | FloatArray:
    """Check one finite number for all points, or n of them, ≥ 0 (> 0 with ``zero=False``); a single number is returned as one."""
    costs = as_vector(value, n, name)
    if costs.min() < 0 or (costs.min() == 0 and not zero):
        raise InputError(f"{name} must be {'≥' if zero else '>'} 0; it is {costs.min():g}", name=name)
    return float(costs[0]) if np.ndim(value) == 0 else costs


def row_norms_squared(X: Points) -> FloatArray:
    """Return the squared Euclidean norm of every row, of dense and CSR data."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    if X.has_canonical_format:  # else entries may be parts of one
        return np.asarray(type(X)((X.data * X.data, X.indices, X.indptr), shape=X.shape) @ np.ones(X.shape[1]))
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()


def nonzero_mask(weights: FloatArray) -> BoolArray:
    """Return the mask of the weights that are not zero up to `ZERO` of the largest."""
    return np.asarray(np.abs(weights) > ZERO * float(np.abs(weights).max(initial=0.0)))


def entry_count(X: Points | Rows) -> int:
    """Return the number of stored entries: n p of a dense array, the stored ones of a CSR array or of blocks."""
    if isinstance(X, Rows):
        return X.entries
    return int(X.size if isinstance(X, np.ndarray) else X.nnz)


def to_dense(X: Points | sp.csc_array) -> FloatArray:
    """Return X as a dense array, not copied where it is dense already.

    Parameters
    ----------
    X : ndarray, csr_array or csc_array (n, p)

    Returns
    -------
    ndarray (n, p)
        Not a copy where X is dense.
    """
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


def as_array(value: object, name: str) -> FloatArray:
    """Return ``value`` as a float64 array of any shape, not copied where it is one.

    Raises
    ------
    InputError
        It cannot be read as numbers.
    """
    return _as_float(value, name, "must be an array of numbers")


def _as_float(value: object, name: str, condition: str) -> FloatArray:
    """Return ``value`` as float64; text, dates and complex numbers are refused, which NumPy would convert or cut."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its entries are of type {array.dtype}")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} {condition}; it cannot be read as numbers: {error}", name=name) from error


def _as_csr(X: sp.sparray, name: str) -> sp.csr_array:
    """Return CSR rows with sorted, unique indices: the same arrays if they are in that format, else a copy."""
    if X.ndim != 2:
        raise InputError(f"{name} must have two dimensions (rows are samples); it has shape {X.shape}", name=name)
    if X.dtype.kind not in "biuf":
        raise InputError(f"{name} must be a numeric n × p matrix; its entries are of type {X.dtype}", name=name)
    sparse = sp.csr_array(X, dtype=np.float64)
    if not sparse.has_canonical_format:
        sparse = sparse.copy()
        sparse.sum_duplicates()
    _check_not_empty(sparse.shape, name)
    if not np.isfinite(sparse.data).all():
        bad = np.flatnonzero(~np.isfinite(sparse.data))
        row = int(np.searchsorted(sparse.indptr, bad[0], side="right")) - 1
        position = (row, int(sparse.indices[bad[0]]))
        raise InputError(f"{name} must be finite; it has {bad.size} NaN or infinite values, the first at {position}", name=name)
    return sparse


def _check_finite(values: npt.NDArray[Any], name: str) -> None:
    if not np.isfinite(values).all():
        bad = np.argwhere(~np.isfinite(values))
        position = tuple(int(i) for i in bad[0])
        raise InputError(f"{name} must be finite; it has {len(bad)} NaN or infinite values, the first at {position}", name=name)


def _check_not_empty(shape: tuple[int, ...], name: str) -> None:
    if 0 in shape:
        raise InputError(f"{name} must have at least one row and one column; its shape is {shape}", name=name)


#: Files with the memory limit of a container (control groups, versions 2 and 1); a limit that is not set is no number, or huge.
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def usable_memory() -> int:
    """Return the bytes that this process may hold: the machine's memory, or less by ``ulimit -v`` or the limit of a container."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    try:
        import resource
    except ImportError:  # Windows
        return limits[0]
    limits += [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min(limit for limit in (*limits, *_container_limits()) if limit != resource.RLIM_INFINITY)


@functools.cache
def _container_limits() -> tuple[int, ...]:
    limits = []
    for name in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):
            limits.append(int(Path(name).read_text()))
    return tuple(limits)


def materialise_limit() -> int:
    """Return the bytes that a form may take: half of `usable_memory`, or the environment variable MARGINOPT_MAX_BYTES.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    InputError
        The variable holds no number, or an infinite one.
    """
    value = os.environ.get("MARGINOPT_MAX_BYTES")
    if value is None:
        return usable_memory() // 2
    try:
        return int(float(value))
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"MARGINOPT_MAX_BYTES must be a number of bytes; it is {short_text(value)}", name="MARGINOPT_MAX_BYTES"
        ) from error


def check_bytes(size: int, noun: str) -> None:
    """Raise `TooLargeError` if ``noun`` would need more bytes than `materialise_limit`."""
    limit = materialise_limit()
    if size > limit:
        raise TooLargeError(
            f"{noun} would need {size:,} bytes ({size / 2**30:.1f} GiB); the limit is {limit:,} (half of the usable memory, "
            "or MARGINOPT_MAX_BYTES). Choose an algorithm that needs no matrix: marginopt.solvers.table() lists them",
            name="X",
        )


@contextmanager
def memory_errors(computation: str) -> Iterator[None]:
    """Raise `TooLargeError`, which names the computation, where memory runs out inside the ``with`` block."""
    try:
        yield
    except MemoryError as error:
        words = str(error) or "memory ran out"
        raise TooLargeError(
            f"{computation} needs more memory than there is: {words}. Give fewer points, or a solver that needs no matrix",
            name="X",
        ) from error


def peak_memory() -> int:
    """Return the largest number of bytes that this process has held, its interpreter included.

    On Linux it is read from /proc: ``ru_maxrss`` may include what the parent process held.

    Raises
    ------
    ImportError
        On Windows, where Python has no module ``resource``.
    """
    import resource

    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            # exempt (text): Linux's table of what a process holds
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


#: Order of a system of equations from which several BLAS threads save time.
LARGE_SYSTEM = 1500
#: Threads that `available_threads` returns; None for as many as BLAS may use.
_reserved: ContextVar[int | None] = ContextVar("marginopt_threads", default=None)


@functools.cache
def blas_controller() -> Any:
    """Return the controller of the loaded BLAS libraries (threadpoolctl), found once."""
    return ThreadpoolController().select(user_api="blas")


def _threads_of_blas() -> int:
    counts = [library.num_threads for library in blas_controller().lib_controllers]
    return max(counts) if counts else os.cpu_count() or 1


def available_threads() -> int:
    """Return the number of threads that an enclosing `reserve_threads` allows, else the number of BLAS threads."""
    return _reserved.get() or _threads_of_blas()


@contextmanager
def reserve_threads(threads: int | None) -> Iterator[None]:
    """Limit BLAS to one thread inside the ``with`` block, and let `available_threads` return ``threads``.

    None stands for the number that an enclosing block reserved, or else for the number of BLAS threads. The limit of BLAS is the
    whole process's.
    """
    blas = _threads_of_blas()
    token = _reserved.set(threads or _reserved.get() or blas)
    try:
        with blas_controller().limit(limits=1) if blas > 1 else nullcontext():
            yield
    finally:
        _reserved.reset(token)


def blas_threads(order: int, threads: int | None = None) -> AbstractContextManager[Any]:
    """Return a context that limits BLAS to ``threads``; by default to one thread for systems of an order below `LARGE_SYSTEM`.

    NumPy and SciPy each bring their own BLAS. Two thread pools that wait for each other actively make small factorisations tens
    of times slower on a busy machine.
    """
    if threads is None and order >= LARGE_SYSTEM:
        return nullcontext()
    if threads is None or threads == 1:
        return reserve_threads(threads)
    limited: AbstractContextManager[Any] = blas_controller().limit(limits=threads)
    return limited
