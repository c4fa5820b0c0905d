"""Labels of several classes, checked."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import InputError

__all__ = ["as_classes"]


def as_classes(labels: object, n: int, name: str = "labels") -> npt.NDArray[Any]:
    """Check n class labels of at least two classes with at least two points each.

    Raises
    ------
    InputError
        Wrong length; fewer than two classes; a class of one point.
    """
    try:
        label_array = np.asarray(labels)
        np.unique(label_array)
    except (TypeError, ValueError) as error:  # ragged, or of kinds that have no order
        raise InputError(f"{name} must be labels of one kind, one for each row of X: {error}") from error
    if label_array.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), one label for each row of X; it has {label_array.shape}")
    if label_array.dtype.kind == "f" and not np.isfinite(label_array).all():
        raise InputError(f"{name} must be finite")
    classes, counts = np.unique(label_array, return_counts=True)
    if classes.size < 2:
        raise InputError(f"{name} must hold at least two classes; every label is {classes[0]!r}")
    if counts.min() < 2:
        raise InputError(f"every class needs at least two points; {classes[counts.argmin()]!r} has one: drop or merge it")
    return label_array
