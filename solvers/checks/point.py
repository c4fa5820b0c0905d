"""``certify`` as users call it: what a point is worth, whoever found it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...errors import InputError, TooLargeError, UnsupportedModelError
from ...models.arrays import FloatArray, as_array
from ...models.bare_form import as_model
from ...models.model import Model
from ...models.program.form import StandardForm
from ..certification.certificate import Certificate, certify as certify_form, certify_by_model

__all__ = ["certify"]


def certify(
    model: Model | StandardForm,
    values: Mapping[str, FloatArray],
    multipliers: Mapping[str, FloatArray] | None = None,
    reduced: FloatArray | None = None,
) -> Certificate:
    """Return the certificate of a point of a formulation or a form, recomputed from the data without any claim.

    Parameters
    ----------
    model : Model or StandardForm
    values : mapping of label to array
        The point by block. Blocks that a formulation completes by itself may be left out.
    multipliers : mapping of label to array, optional
        z_k by constraint, in the signs of `models.program.form`; a bound follows from them.
    reduced : ndarray (n,), optional
        ζ; zero where it is not given.

    Raises
    ------
    InputError
        Blocks that are missing or misshaped, or numbers that are not finite; multipliers that are no numbers by label.
    """
    stated = as_model(model)
    if multipliers is not None:
        multipliers = _numbers(multipliers, "multipliers")
    reduced = None if reduced is None else np.asarray(as_array(reduced, "reduced"), dtype=np.float64)
    try:
        form = stated.form
    except (TooLargeError, UnsupportedModelError):  # the formulation appraises its own points
        return certify_by_model(stated, _finite(values), multipliers)
    point = form.values_given(values, "values")
    try:
        complete = stated.complete(point)
    except KeyError as missing:
        raise InputError(f"values for {missing} are missing; the form has {', '.join(form.slices)}") from None
    return certify_form(form, complete, multipliers, reduced, stated)


def _finite(values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    numbers = _numbers(values, "values")
    wrong = [label for label, value in numbers.items() if not np.isfinite(value).all()]
    if wrong:
        raise InputError(f"values must be finite; {', '.join(wrong)} is not")
    return numbers


def _numbers(given: Mapping[str, FloatArray], what: str) -> dict[str, FloatArray]:
    if not isinstance(given, Mapping):
        raise InputError(f"{what} must be arrays by label, {{label: array}}; they are {type(given).__name__}")
    return {label: as_array(value, f"{what}[{label!r}]") for label, value in given.items() if value is not None}
