"""The parts that backends for linear and quadratic programs share: rows by kind, multipliers by label, starts, refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, MarginoptWarning
from ...models.arrays import BoolArray, FloatArray
from ...models.program.cones import Zero
from ...models.program.form import StandardForm
from ...models.program.linear_arrays import by_label
from ..records.options import Options

__all__ = ["LinearRows", "not_taken", "set_natives", "start_point", "unused_start"]


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The linear rows of a form by kind: E x + e = 0 and G x + h ≥ 0.

    Parameters
    ----------
    form : StandardForm
    equal : ndarray of bool (rows,)
        Which of the form's rows are equalities.
    E, G : csr_array
    e, h : ndarray
    """

    form: StandardForm
    equal: BoolArray
    E: sp.csr_array
    e: FloatArray
    G: sp.csr_array
    h: FloatArray

    @classmethod
    def of(cls, form: StandardForm) -> LinearRows:
        """Split the rows of a form that has linear cones only."""
        rows, g = form.stacked()
        kinds = [np.full(c.rows, isinstance(c.cone, Zero)) for c in form.constraints]
        equal = np.concatenate(kinds) if kinds else np.zeros(0, dtype=bool)
        return cls(form, equal, rows.at(equal).csr, g[equal], rows.at(~equal).csr, g[~equal])

    def multipliers(self, equalities: FloatArray, inequalities: FloatArray) -> dict[str, FloatArray]:
        """z by label from those of E x + e = 0 and of G x + h ≥ 0, both in the form's sign."""
        z = np.empty(self.equal.size)
        z[self.equal] = equalities
        z[~self.equal] = inequalities
        return by_label(self.form, z)


def start_point(form: StandardForm, options: Options) -> tuple[FloatArray | None, dict[str, Any]]:
    """x to start from, for solvers that want every block, and what to note in the result's details.

    Raises
    ------
    InputError
        The start names a block that the form does not have, or has another shape.
    """
    if options.start is None:
        return None, {}
    start = form.values_given(options.start, "start")
    missing = [block.label for block in form.blocks if block.label not in start]
    if missing:
        return None, unused_start("this solver", f"it needs every block; without {', '.join(missing)}")
    return form.join(start), {}


def unused_start(solver: str, why: str) -> dict[str, str]:
    """Warn that a start is not used, and return the note of it for the details."""
    warnings.warn(f"start is not used: {solver}: {why}", MarginoptWarning, stacklevel=2)
    return {"start": f"not used: {why}"}


def not_taken(options: Options, taken: frozenset[str]) -> dict[str, Any]:
    """Note for the details: common options that were given and that the solver has no means to obey."""
    names = ("time_limit", "threads", "iteration_limit", "node_limit", "memory_limit", "callback", "start")
    ignored = [name for name in names if getattr(options, name) is not None and name not in taken]
    return {"options_not_taken": ignored} if ignored else {}


def set_natives(solver: str, native: Mapping[str, Any], assign: Callable[[str, Any], None]) -> None:
    """Assign native options one by one.

    Raises
    ------
    InputError
        The solver does not take a value; names the option, the value and the solver's own reason.
    """
    for name, value in native.items():
        try:
            assign(name, value)
        except (TypeError, ValueError, OverflowError, KeyError) as error:
            raise InputError(f"{solver} does not take {name} = {value!r}: {error}") from error
