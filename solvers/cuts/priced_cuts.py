"""Identification of the binary variables of a 0-1 loss in a form, and of the scale of its objective."""

from __future__ import annotations

import numpy as np

from ...errors import InputError
from ...models.model import Model
from ...models.views import ZeroOneProblem

__all__ = ["price_of"]


def price_of(model: Model, problem: ZeroOneProblem, kind: str) -> tuple[str, float]:
    """Return the label of the block with one binary variable per point, and the ratio of its costs to the λ_i.

    Raises
    ------
    InputError
        The form has no such block.
    """
    form, n = model.form, problem.weights.size
    for block in form.blocks:
        place = form.slices[block.label]
        binary = form.integer[place].all() and (form.lower[place] >= 0).all() and (form.upper[place] <= 1).all()
        if block.size == n and binary:
            ratio = form.q[place] / problem.weights
            if (ratio > 0).all() and np.ptp(ratio) <= 1e-12 * ratio[0]:
                return block.label, float(ratio[0])
    raise InputError(f"cuts={kind!r} needs a binary for each point with its cost as price; the form of {model.name} has none")
