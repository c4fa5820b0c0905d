"""Where the binaries of a 0-1 loss stand in a form, and what its objective is a multiple of."""

from __future__ import annotations

import numpy as np

from ...errors import InputError
from ...models.model import Model
from ...models.views import ZeroOneProblem

__all__ = ["price_of"]


def price_of(model: Model, problem: ZeroOneProblem, kind: str) -> tuple[str, float]:
    """The label of the block with a binary for each point, and the multiple of λ_i that each costs.

    Raises
    ------
    InputError
        The form has no such block.
    """
    form, n = model.form, problem.weights.size
    for block in form.blocks:
        place = form.slices[block.label]
        whole = form.integer[place].all() and (form.lower[place] >= 0).all() and (form.upper[place] <= 1).all()
        if block.size == n and whole:
            ratio = form.q[place] / problem.weights
            if (ratio > 0).all() and np.ptp(ratio) <= 1e-12 * ratio[0]:
                return block.label, float(ratio[0])
    raise InputError(f"cuts={kind!r} needs a binary for each point with its cost as price; the form of {model.name} has none")
