"""A change of a model in its relaxation: rows over blocks that both have."""

from __future__ import annotations

from ...models.model import Model
from ...models.program.form import StandardForm

__all__ = ["with_changed_rows"]


def with_changed_rows(model: Model, target: StandardForm) -> StandardForm:
    """The target with what the changes of a model say of blocks that both have; a change of other blocks is left out.

    Valid: every point of the changed model is one of the model before it, has a point of the target, and keeps these rows.
    """
    for change in model.changes:
        target = change.carried(target)
    return target
