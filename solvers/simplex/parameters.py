"""Checks of parameters that the simplex algorithms share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from ..interface.algorithm import Algorithm
from ..records.options import Options

__all__ = ["check_parameters", "iterations_allowed"]

#: Parameters that are integers ≥ 1, and what None means where it is allowed.
_WHOLE = {"sampling": ", or None for a full scan", "stride": ", or None", "prefetch": "", "block": ""}


def check_parameters(algorithm: Algorithm[Any, Any]) -> None:
    """``precision``, ``prefetch``, ``block``, ``stride`` and ``sampling``, those that the algorithm has.

    Raises
    ------
    InputError
        One of them is out of range.
    """
    precision = getattr(algorithm, "precision", "double")
    if precision not in ("single", "double"):
        raise InputError(f"precision must be 'single' or 'double'; it is {precision!r}")
    for name, otherwise in _WHOLE.items():
        value = getattr(algorithm, name, None)
        if value is not None and value < 1:
            raise InputError(f"{name} must be an integer ≥ 1{otherwise}; it is {value!r}")


def iterations_allowed(options: Options) -> int:
    """The iteration limit, or the largest integer."""
    return int(np.iinfo(np.int64).max) if options.iteration_limit is None else options.iteration_limit
