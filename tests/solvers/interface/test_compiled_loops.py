"""Loops that pass named tuples by reference, and functions that only compiled code calls."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from marginopt.solvers.interface import lean_compiler, numba_flags
from marginopt.solvers.interface.named_scalars import integers_and_floats
from marginopt.solvers.interface.numba_flags import by_reference

NOW = integers_and_floats("steps", "total")


@by_reference
class Inside(NamedTuple):
    values: Any
    flags: Any


@by_reference
class Outside(NamedTuple):
    first: Inside
    second: Inside
    matrix: Any
    scale: float
    turned: bool
    scalars: Any


def state(turned: bool) -> Outside:
    rng = np.random.default_rng(0)
    inside = [Inside(rng.standard_normal(5), np.arange(5) % (k + 2) == 0) for k in range(2)]
    return Outside(inside[0], inside[1], rng.standard_normal((5, 5)), 0.5, turned, np.zeros(1, NOW)[0])


def loops() -> Any:
    """An entry over two functions, one of which is called twice and by the other."""
    ours = numba_flags.Loops({"contract"})

    @ours.inner
    def chosen(part: Inside, k: int) -> float:
        return part.values[k] if part.flags[k] else 0.0

    @ours.inner
    def row(all_: Outside, i: int) -> float:
        total = chosen(all_.second, i)
        for k in range(all_.matrix.shape[1]):
            total += all_.matrix[i, k] * chosen(all_.first, k)
        return -total if all_.turned else total

    @ours.entry
    def sweep(all_: Outside, out: Any) -> int:
        for i in range(out.size):
            out[i] = all_.scale * row(all_, i)
            all_.first.values[i] += 1.0
            all_.scalars.steps += 1
            all_.scalars.total += out[i]
        return all_.scalars.steps

    return sweep


def expected(values_passed: Outside) -> tuple[Any, float]:
    values = values_passed.first.values.copy()
    out = np.zeros(5)
    for i in range(5):
        mask = np.where(values_passed.first.flags, values, 0.0)
        total = values_passed.matrix[i] @ mask + (values_passed.second.values[i] if values_passed.second.flags[i] else 0.0)
        out[i] = values_passed.scale * (-total if values_passed.turned else total)
        values[i] += 1.0
    return out, out.sum()


@pytest.mark.parametrize("known", [True, False])
def test_fields_are_read_and_arrays_written_whoever_links(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a release of Numba that is not known it does all by itself, to the same end."""
    if not known:
        monkeypatch.setattr(numba_flags, "INNER_OPTIONS", {"no_cpython_wrapper": True})
        monkeypatch.setattr(numba_flags, "ENTRY_OPTIONS", {})
    sweep = loops()
    for turned in (False, True):
        inputs, out = state(turned), np.zeros(5)
        want, total = expected(inputs)
        before = inputs.first.values.copy()
        assert sweep(inputs, out) == 5
        assert out == pytest.approx(want) and inputs.scalars.total == pytest.approx(total)
        assert np.array_equal(inputs.first.values, before + 1.0)
    assert len(sweep.signatures) == 1


def test_what_is_passed_belongs_to_the_caller() -> None:
    sweep, inputs, out = loops(), state(False), np.zeros(5)
    sweep(inputs, out)
    held = [sys.getrefcount(array) for array in (inputs.matrix, inputs.first.values, inputs.scalars, out)]
    for _ in range(50):
        sweep(inputs, out)
    assert [sys.getrefcount(array) for array in (inputs.matrix, inputs.first.values, inputs.scalars, out)] == held


def test_other_types_compile_another_variant() -> None:
    sweep, inputs = loops(), state(False)
    single = inputs._replace(matrix=inputs.matrix.astype(np.float32))
    out = np.zeros(5)
    sweep(single, out)
    assert out == pytest.approx(expected(state(False))[0], rel=1e-5)
    sweep(inputs, out)
    assert len(sweep.signatures) == 2


def test_no_library_is_finished_for_what_python_never_calls() -> None:
    """With the release that is installed here; if this fails, compare what `lean_compiler` replaces with the new Numba."""
    assert "pipeline_class" in lean_compiler.INNER_OPTIONS
    ours = numba_flags.Loops({"contract"})

    @ours.inner
    def twice(x: float) -> float:
        return 2.0 * x

    @ours.entry
    def run(x: float) -> float:
        return twice(x) + 1.0

    assert run(3.0) == 7.0
    (part,) = twice.overloads.values()
    assert isinstance(part.library, lean_compiler._Part)
    with pytest.raises(TypeError):
        twice(3.0)
