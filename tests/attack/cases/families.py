"""One case of an attack: the family that its number says, on its own random numbers, and what came out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from marginopt.errors import MarginoptError

__all__ = ["Family", "tried"]

#: What is wrong with one case of it; empty where nothing is.
Family = Callable[[np.random.Generator], str]


def tried(families: Sequence[Family], stream: int, number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it): an error of ours is no fault, any other exception is one."""
    rng = np.random.default_rng([18, stream, number])
    family = families[number % len(families)]
    what = f"{family.__name__}, {number}"
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return what, family(rng)
    except MarginoptError:
        return what, ""
    except Exception as error:  # noqa: BLE001 - this is what is counted
        return what, f"{type(error).__name__}: {str(error)[:200]}"
