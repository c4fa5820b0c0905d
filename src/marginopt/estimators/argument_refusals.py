"""Refusals of arguments that ``fit`` does not take, with a sentence in place of Python's."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["refuse"]


def refuse(estimator: object, given: Mapping[str, object]) -> None:
    """A `TypeError` as Python's own, which says what to do about weights.

    scikit-learn looks for ``sample_weight`` among the parameters of ``fit`` to learn whether weights are taken, so an estimator
    without weights cannot name such a parameter to refuse it.

    Raises
    ------
    TypeError
        There is such an argument.
    """
    if not given:
        return
    name = type(estimator).__name__
    if "sample_weight" in given:
        raise TypeError(
            f"{name} takes no sample_weight: its model prices all points alike. Repeat points that count more, or take one "
            "that has weights: L2SVC, NCHSVC, HingeSVC, ZeroOneSVC or RampSVC"
        )
    raise TypeError(f"{name}.fit takes X and y; it was given {', '.join(given)}")
