"""The base class of all estimators, their records, and refusals of arguments that fit does not take.

The base class of all estimators: scikit-learn's, whose pickles say with which layout of attributes they were written.

Refusals of arguments that ``fit`` does not take, with a sentence in place of Python's.

The record of an estimator: what it solves, and how tests make a quick one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import BaseEstimator

from ..errors import DataError
from ..models.model import Model

__all__ = ["Estimator", "EstimatorInfo", "refuse"]

#: Layout of the fitted attributes. A change of what is kept needs a new number.
_LAYOUT = 2
_KEY = "_marginopt_layout"


class Estimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that refuses the pickle of another layout, since its predictions would not be those that were fitted."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes and their layout."""
        return {**super().__getstate__(), _KEY: _LAYOUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes.

        Raises
        ------
        DataError
            They were written with another layout.
        """
        state = dict(state)
        if state.pop(_KEY, None) != _LAYOUT:
            raise DataError(f"this {type(self).__name__} was written by an earlier version of marginopt; fit it again")
        super().__setstate__(state)


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


@dataclass(frozen=True)
class EstimatorInfo:
    """The record of one estimator, at the end of its own file in ``ESTIMATORS``; `marginopt.estimators` collects them.

    Parameters
    ----------
    estimator : type
        The class.
    model : type of Model
        The formulation that it solves.
    summary : str
        One line: what it is, and what it finds by itself.
    quick : mapping
        Parameters with which it fits small data in a moment: those of scikit-learn's checks.
    """

    estimator: type[Any]
    model: type[Model]
    summary: str
    quick: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The class's name."""
        return self.estimator.__name__

    def make(self) -> Any:
        """A quick one."""
        return self.estimator(**self.quick)
