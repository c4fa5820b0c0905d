"""Structured scalars: one memory, read by name in Python and in compiled code."""

from __future__ import annotations

import numba as nb
import numpy as np
import pytest

from marginopt.solvers.interface.named_scalars import integers_and_floats


def test_compiled_code_and_python_see_the_same_numbers() -> None:
    numbers = np.zeros(1, integers_and_floats("iteration", "gap"))[0]

    @nb.njit
    def step(scalars):  # type: ignore[no-untyped-def]
        scalars.iteration += 1
        scalars.gap += 0.5

    step(numbers)
    numbers.iteration += 2
    step(numbers)
    assert (numbers.iteration, numbers.gap) == (4, 1.0)
    assert isinstance(numbers.iteration, np.int64)


def test_a_name_that_numpy_uses_is_refused() -> None:
    with pytest.raises(ValueError):
        integers_and_floats("iteration size", "gap")
