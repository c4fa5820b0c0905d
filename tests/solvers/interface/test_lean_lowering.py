"""Loops in few instructions mean what Python means by them: indices from both ends, ranges, counts, every type of element."""

import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numba.core.runtime import _nrt_python, rtsys

from marginopt.solvers.interface import lean_compiler
from marginopt.solvers.interface.lean_compiler import LeanLower
from marginopt.solvers.interface.numba_flags import by_reference

#: As `compiled.Loops`, without a cache on disk: what was compiled there knows nothing of changes in the compiler.
_njit: Any = numba.njit
ours_inner = _njit(_nrt=False, error_model="numpy", **lean_compiler.INNER_OPTIONS)
ours = _njit(_nrt=False, error_model="numpy", **lean_compiler.ENTRY_OPTIONS)


@by_reference
class Held(NamedTuple):
    matrix: Any
    counts: Any
    flags: Any
    single: Any


@ours_inner
def _row_sum(row: Any) -> float:
    total = 0.0
    for k in range(row.size):
        total += row[k]
    return total


@ours
def walk(held: Held, out: Any, start: int, stop: int, step: int) -> tuple[int, float]:
    matrix, counts, flags, single = held.matrix, held.counts, held.flags, held.single
    n, p = matrix.shape
    met, last = 0, np.float64(-1.0)
    for i in range(n):
        for j in range(1, p):
            matrix[i, j] += 0.5 * matrix[i - 1, j - 1] - matrix[-1, -j]
        counts[i] += 3 * i - n
        counts[i] <<= 1
        flags[i] = flags[i - 1] or matrix[i, 0] > counts[-1 - i]
        single[i] = matrix[i, -1] / (1.0 + abs(float(single[i])))
        out[i] = _row_sum(matrix[i]) + (float(single[0]) if flags[i] else counts[i] ** 2)
    for k in range(start, stop, step):
        met, last = met + 1, float(k)
    for _ in range(stop, start):
        met -= 1
    while True:
        for k in range(n):
            if k == 2:
                break
            met += k
        else:
            last += 0.25
        if met >= 0:
            break
        met += 100
    return met, last


def held(n: int, p: int, seed: int) -> Held:
    rng = np.random.default_rng(seed)
    return Held(
        rng.standard_normal((n, p)), rng.integers(-5, 5, n), rng.random(n) < 0.5, rng.standard_normal(n).astype(np.float32)
    )


@given(
    n=st.integers(1, 5), p=st.integers(1, 4), seed=st.integers(0, 9), start=st.integers(-4, 4), stop=st.integers(-4, 4),
    step=st.sampled_from([1, 2, 3, -1, -2]),
)  # fmt: skip
def test_loops_mean_what_python_means(n: int, p: int, seed: int, start: int, stop: int, step: int) -> None:
    mine, theirs, out, want = held(n, p, seed), held(n, p, seed), np.zeros(n), np.zeros(n)
    result = walk(mine, out, start, stop, step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(walk.py_func.__globals__, "_row_sum", _row_sum.py_func)
        assert result == walk.py_func(theirs, want, start, stop, step)
    assert out == pytest.approx(want, rel=1e-6)
    for compiled, python in zip(mine, theirs, strict=True):
        assert compiled == pytest.approx(python, rel=1e-6)


def test_a_view_that_is_not_contiguous_is_read_by_its_strides() -> None:
    @ours
    def corner(matrix: Any) -> float:
        return matrix[-1, 1] + matrix[0, matrix.shape[1] - 1]

    matrix = np.arange(24.0).reshape(4, 6)
    for view in (matrix, matrix.T, matrix[::2, 1::2], np.asfortranarray(matrix)):
        assert corner(view) == view[-1, 1] + view[0, -1]


def test_functions_that_make_arrays_release_them() -> None:
    """Counted references are as many after thousands of calls, with arrays made, replaced, returned and iterated over."""

    @_njit(error_model="numpy", **lean_compiler.ENTRY_OPTIONS)
    def made(vector: Any, times: int) -> Any:
        computed = np.zeros(vector.size)
        for _ in range(times):
            fresh = vector.copy()
            for row in fresh.reshape((1, vector.size)):
                computed[0] += row[-1]
            computed, fresh = fresh + computed, computed
        return computed

    vector = np.arange(1.0, 4.0)
    want = np.zeros(3)
    for _ in range(5):
        want[0] += vector[-1]
        want = vector + want
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(100):
        assert np.array_equal(made(vector, 5), want)
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free
    assert sys.getrefcount(vector) == sys.getrefcount(want)


def test_a_range_without_a_step_is_an_error() -> None:
    @ours
    def count(step: int) -> int:
        met = 0
        for _ in range(0, 3, step):
            met += 1
        return met

    assert count(1) == 3 and count(-1) == 0
    with pytest.raises(ValueError):
        count(0)


def test_the_release_is_known_and_used() -> None:
    """With the release that is installed here; if this fails, compare what `lean_compiler` replaces with the new Numba."""
    assert lean_compiler.NUMBA_IS_TESTED
    lowered: list[str] = []

    class Counting(LeanLower):
        def lower(self) -> None:
            lowered.append(self.func_ir.func_id.func_name)
            super().lower()

    @ours
    def alone(x: Any) -> float:
        return x[0] + x[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lean_compiler, "LeanLower", Counting)
        assert alone(np.ones(2)) == 2.0
        assert lowered == ["alone"]
        assert _njit(lambda x: x[0] + x[-1])(np.ones(2)) == 2.0
    assert lowered == ["alone"], "functions of others are compiled as ever"
