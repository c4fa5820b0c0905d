"""Welch's test of a measured mean against a printed one, from means, deviations and numbers of repetitions."""

from __future__ import annotations

import math

from .record import Published, Value

__all__ = ["LEVEL", "equal_means"]

#: Level of the two-sided test.
LEVEL = 0.05


def equal_means(there: Published | None, here: Value | None) -> bool | None:
    """Return whether the test keeps the hypothesis of equal means; None where a deviation or a number of repetitions is missing.

    The printed mean is any number that rounds to the printed digits, and the hypothesis is kept if the test keeps it for one of
    them. Two samples without a spread are equal if their means are, after rounding.

    Parameters
    ----------
    there : Published or None
        The printed mean, with deviation and repetitions.
    here : Value or None
        The measured mean.

    Returns
    -------
    bool or None
    """
    from scipy.stats import t

    if there is None or here is None or there.deviation is None or here.deviation is None:
        return None
    if there.repetitions is None or min(there.repetitions, here.repetitions) < 2:
        return None
    distance = max(0.0, abs(here.mean - there.value) - 0.5 * there.unit * (1.0 + 1e-9))
    parts = [there.deviation**2 / there.repetitions, here.deviation**2 / here.repetitions]
    error = math.sqrt(sum(parts))
    if error == 0.0:
        return distance == 0.0
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (there.repetitions - 1) + parts[1] ** 2 / (here.repetitions - 1))
    return bool(2.0 * t.sf(distance / error, freedom) >= LEVEL)
