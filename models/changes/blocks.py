"""The blocks of a form as CVXPY's variables: what the user's expressions are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import MissingPackageError
from ..program.form import Block, StandardForm
from ..program.svec import svec_indices

__all__ = ["BlockVariables", "cvxpy_module", "variables_behind"]


def cvxpy_module() -> Any:
    """CVXPY.

    Raises
    ------
    MissingPackageError
        It is not installed.
    """
    try:
        import cvxpy
    except ImportError as error:
        raise MissingPackageError("constraints are stated in CVXPY, which is not installed: pip install cvxpy") from error
    return cvxpy


class BlockVariables:
    """``v.w``, or ``v["alpha plus"]``: a CVXPY variable of the block's shape; of a symmetric block the matrix.

    Variables that are added at the same time, ``new``, are there by their names. A block with lower bounds ≥ 0 is known to CVXPY
    as nonnegative, one with upper bounds ≤ 0 as nonpositive.

    Raises
    ------
    InputError
        There is no such block; names those that there are.
    """

    def __init__(self, form: StandardForm, new: Sequence[Any] = ()) -> None:
        self._form = form
        self._expressions: dict[str, Any] = {variable.name(): variable for variable in new}
        self._variables: list[Any] = []

    def __getitem__(self, label: str) -> Any:
        if label not in self._expressions:
            self._expressions[label] = self._made(self._form.block(label))
        return self._expressions[label]

    def __getattr__(self, label: str) -> Any:
        if label.startswith("_"):  # what copies and notebooks ask every object for
            raise AttributeError(label)
        return self[label]

    def __dir__(self) -> list[str]:
        return [b.label for b in self._form.blocks]

    def __repr__(self) -> str:
        return "variables " + ", ".join(f"{b.label} {b.shape}" for b in self._form.blocks)

    def _made(self, block: Block) -> Any:
        cvxpy = cvxpy_module()
        s = self._form.slices[block.label]
        if block.symmetric:
            entries = cvxpy.Variable(block.size, name=block.label)
            self._variables.append(entries)
            return cvxpy.reshape(_smat(block.shape[0]) @ entries, block.shape, order="C")
        sign = {}
        if block.size and (self._form.lower[s] >= 0).all():
            sign["nonneg"] = True
        elif block.size and (self._form.upper[s] <= 0).all():
            sign["nonpos"] = True
        made = cvxpy.Variable(block.shape, name=block.label, **sign)
        self._variables.append(made)
        return made


def variables_behind(v: BlockVariables) -> tuple[Any, ...]:
    """The CVXPY variables of the blocks that were asked for; no property of ``v``, whose names are the blocks'."""
    return tuple(v._variables)


def _smat(order: int) -> sp.csr_array:
    """From an svec to the matrix, by rows."""
    rows, columns = svec_indices(order)
    entries = np.arange(rows.size)
    off = rows != columns
    where = np.concatenate([rows * order + columns, (columns * order + rows)[off]])
    scale = np.where(off, np.sqrt(0.5), 1.0)
    places = (where, np.concatenate([entries, entries[off]]))
    return sp.csr_array((np.concatenate([scale, scale[off]]), places), shape=(order**2, rows.size))
