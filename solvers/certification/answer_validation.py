"""An answer reduced to what can be judged: arrays of the form's shapes with finite numbers, and the rest left out and named.

A solver may return anything: NaN, arrays of other shapes or kinds, labels that the form has not. None of it is believed, and
none of it may stop the judging of what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.form import StandardForm
from ..records.answer import Answer

__all__ = ["validate_answer"]

#: Beyond this the square of a number is no number.
_LARGEST = 1e150


def validate_answer(answer: Answer, form: StandardForm | None) -> Answer:
    """The answer without what is no number, or does not fit the form; ``details["refused"]`` names it.

    A point with one block that does not fit is no point (blocks that the model completes may be missing); multipliers with
    one array that does not fit are none. Claims of numbers that are NaN, or of the wrong infinity, are no claims.

    Parameters
    ----------
    answer : Answer
    form : StandardForm or None
        None where the model has none: then only kinds and finiteness are looked at.
    """
    blocks = None if form is None else {b.label: b.shape for b in form.blocks}
    rows = None if form is None else {c.label: (c.rows,) for c in form.constraints}
    refused: list[str] = []
    changes: dict[str, Any] = {}
    for part, shapes in (("values", blocks), ("ray", blocks), ("multipliers", rows), ("farkas", rows)):
        part_value = getattr(answer, part)
        if part_value is not None:
            changes[part] = _arrays(part_value, shapes, part, refused)
    if changes.get("ray") is not None and blocks is not None and not blocks.keys() <= changes["ray"].keys():
        refused.append("ray: blocks are missing")
        changes["ray"] = None
    if answer.reduced is not None:
        reduced = _array(answer.reduced, None if form is None else (form.n,))
        refused += [] if reduced is not None else ["reduced costs"]
        changes["reduced"] = reduced
    for name in ("objective", "bound", "root_bound"):
        value = getattr(answer, name)
        if value is not None and not (isinstance(value, int | float) and abs(value) <= _LARGEST):
            changes[name] = None
    details = answer.details if not refused else {**answer.details, "refused": "; ".join(refused)}
    return replace(answer, **changes, details=details)


def _arrays(
    given: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]] | None, part: str, refused: list[str]
) -> dict[str, FloatArray] | None:
    """Arrays by label, or None where one of them does not fit; labels of nothing in the form stay only where there is no form."""
    arrays = {}
    for label, value in given.items():
        if shapes is not None and label not in shapes and part in ("multipliers", "farkas"):
            refused.append(f"{part}: the form has no constraint {label}")
            continue
        array = _array(value, None if shapes is None else shapes.get(label))
        if array is None:
            refused.append(f"{part}: {label} is no array of finite numbers of its shape")
            return None
        arrays[label] = array
    return arrays


def _array(value: Any, shape: tuple[int, ...] | None) -> FloatArray | None:
    """The value as it is, if it holds finite real numbers in this shape."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or (shape is not None and array.shape != shape):
        return None
    numbers = array if array.dtype == np.float64 else array.astype(np.float64)
    return numbers if float(np.abs(numbers).max(initial=0.0)) <= _LARGEST else None  # false for NaN
