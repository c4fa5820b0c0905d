"""The points' convexified losses in cones: what every form of Conic (13) and (21) has, whatever stands for ||w||².

With u_i = a_i'w and r_i = 1 - u_i = r_i⁺ - r_i⁻, the loss of point i and its square are told apart by z_i:

    r_i⁺ - r_i⁻ + u_i - 1 = 0,     s_i z_i ≥ (r_i⁺)²,     t_i (1 - z_i) ≥ (r_i⁻)².
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..arrays import FloatArray, IntArray
from ..program.cones import RotatedSecondOrder, Zero
from ..program.form import Constraint

__all__ = ["Columns", "loss_constraints"]


@dataclass(frozen=True, eq=False)
class Columns:
    """Labelled columns side by side, and sparse rows over them.

    Parameters
    ----------
    sizes : mapping of label to int
        How many columns each label has, in their order.
    """

    sizes: Mapping[str, int]

    @cached_property
    def total(self) -> int:
        """The number of cones."""
        return sum(self.sizes.values())

    @cached_property
    def starts(self) -> dict[str, int]:
        """The first of each label."""
        return dict(zip(self.sizes, np.cumsum([0, *self.sizes.values()])[:-1].tolist(), strict=True))

    def rows(self, count: int, **parts: FloatArray | float) -> sp.csr_array:
        """Rows from parts: a matrix as it is, a vector as a diagonal, a number as a multiple of the identity."""
        kind = self._index_type(count)
        at: list[npt.NDArray[Any]] = []
        columns: list[npt.NDArray[Any]] = []
        data: list[FloatArray] = []
        for label in self.sizes:
            part = parts.get(label)
            if part is None:
                continue
            if np.ndim(part) == 2:
                matrix = np.asarray(part)
                row, column = np.nonzero(matrix)
                values = matrix[row, column]
            else:
                diagonal = np.broadcast_to(np.asarray(part, dtype=np.float64), count)
                row = column = np.flatnonzero(diagonal)
                values = diagonal[row]
            at, columns, data = [*at, row], [*columns, self.starts[label] + column], [*data, values]
        where = np.concatenate(at).astype(kind), np.concatenate(columns).astype(kind)
        return sp.csr_array((np.concatenate(data), where), shape=(count, self.total))

    def triples(self, points: IntArray, *parts: tuple[str, float]) -> sp.csr_array:
        """Three rows for each point, each a multiple of one variable; z is looked up at the point, the others in their order."""
        kind = self._index_type(3 * points.size)
        order = np.arange(points.size)
        places = [self.starts[label] + (points if label == "z" else order) for label, _ in parts]
        data = np.tile([factor for _, factor in parts], points.size)
        starts = np.arange(3 * points.size + 1, dtype=kind)
        return sp.csr_array((data, np.column_stack(places).ravel().astype(kind), starts), shape=(3 * points.size, self.total))

    def _index_type(self, rows: int) -> type[np.signedinteger[Any]]:
        """Of indices, as SciPy chooses it."""
        return np.int32 if max(rows, 1) * self.total < 2**31 else np.int64


def loss_constraints(columns: Columns, A: FloatArray, points: IntArray | None = None) -> tuple[Constraint, ...]:
    """``split`` r⁺ - r⁻ + u - 1 = 0, ``violated`` (s/2, z, r⁺) and ``kept`` (t/2, 1 - z, r⁻) in rotated cones.

    Parameters
    ----------
    columns : Columns
        With labels ``w``, ``z`` (n), and ``r_plus``, ``r_minus``, ``s``, ``t`` of one column for each point with cones.
    A : ndarray (n, p)
        Rows a_i.
    points : ndarray of int (m,), optional
        Those with cones, in their order; all of them where it is not given.
    """
    chosen = np.arange(A.shape[0]) if points is None else points
    m, rows = chosen.size, A if points is None else A[points]
    one_less = np.zeros((m, 3))
    one_less[:, 1] = 1.0
    cone = RotatedSecondOrder(3, m)
    return (
        Constraint("split", columns.rows(m, w=rows, r_plus=1.0, r_minus=-1.0), -np.ones(m), Zero(m)),
        Constraint("violated", columns.triples(chosen, ("s", 0.5), ("z", 1.0), ("r_plus", 1.0)), np.zeros(3 * m), cone),
        Constraint("kept", columns.triples(chosen, ("t", 0.5), ("z", -1.0), ("r_minus", 1.0)), one_less.ravel(), cone),
    )
