"""The base class of all estimators: scikit-learn's, whose pickles say with which layout of attributes they were written."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ..errors import DataError

__all__ = ["Estimator"]

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
