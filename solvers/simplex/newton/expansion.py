"""Rows B with Q ≈ B'B + D, D diagonal: Nyström's on random landmarks, or the leading terms of the kernel's own series.

Landmarks lie where the points do, terms do not know of clusters but leave less where the points fill all directions (20 normal
features, 256 rows: the largest eigenvalue that is left is a third of Nyström's). A sample of the diagonal decides.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ....models.arrays import IntArray
from ....models.kernels.float32 import SingleArray
from ....models.kernels.gram import GramOperator
from ....models.kernels.series import Series
from ....models.kernels.threads import cuts, share, workers
from .krylov import COLUMNS, shifted_cholesky

__all__ = ["EACH", "FEWEST", "expansion", "rows_within"]

#: One row for so many points, or for so many where that leaves much; between so many of them.
_PER_ROW, _PER_MORE, FEWEST, _MOST = 100, 40, 256, 2048
#: Bytes for each row and point: B, and a copy of what belongs to the support; the most of the memory that they take.
EACH, _PART = 8, 0.75
#: Share of the landmarks' own diagonal that is added to it: their matrix may be singular.
_SHIFT = 1e-6
#: Points of whose diagonal it is compared what is left.
_SAMPLE = 1024


def rows_within(n: int, limit: float, *, more: bool = False) -> int:
    """Rows for n points and so many bytes: more for many points, where products are dear, since each round then needs fewer."""
    return int(max(min(n // (_PER_MORE if more else _PER_ROW), _MOST, _PART * limit / (EACH * n)), FEWEST))


def expansion(gram: GramOperator, count: int, rng: np.random.Generator) -> SingleArray:
    """B, at most ``count`` × n, in float32; its first rows are such a model themselves, a rougher one.

    Q without its known ridge, which belongs to D.
    """
    order = rng.permutation(gram.n)
    chosen, others = np.sort(order[:count]), np.sort(order[count : count + _SAMPLE])
    series = gram.series(count)
    factor = _factor(gram, chosen)
    if series is not None and others.size:
        terms = np.empty((series.count, others.size), dtype=np.float32)
        series.rows(others, terms)
        landmarks = gram.single_block(chosen, others)
        _solve(factor, landmarks)
        if float((terms * terms).sum()) > float((landmarks * landmarks).sum()):
            return _terms(gram.n, series)
    rows = gram.single_columns(chosen)
    rows[np.arange(chosen.size), chosen] -= gram.loading[chosen].astype(np.float32)
    _solve(factor, rows)
    return rows


def _factor(gram: GramOperator, chosen: IntArray) -> SingleArray:
    """L with LL' = Q_PP for the landmarks P."""
    A = gram.single_block(chosen, chosen).astype(np.float64)
    A[np.diag_indices_from(A)] -= gram.loading[chosen]
    return np.asarray(shifted_cholesky(0.5 * (A + A.T), _SHIFT).astype(np.float32))


def _solve(factor: SingleArray, rows: SingleArray) -> None:
    """rows ← L⁻¹ rows."""
    parts = cuts(rows.shape[1], workers(rows.size))

    def solve(k: int) -> None:
        for some in _blocks(parts[k]):
            rows[:, some] = scipy.linalg.solve_triangular(factor, rows[:, some], lower=True, check_finite=False)

    share(solve, len(parts))


def _terms(n: int, series: Series) -> SingleArray:
    """The series' rows at all points."""
    rows = np.empty((series.count, n), dtype=np.float32)
    parts = cuts(n, workers(rows.size))

    def fill(k: int) -> None:
        for some in _blocks(parts[k]):
            series.rows(np.arange(some.start, some.stop), rows[:, some])

    share(fill, len(parts))
    return rows


def _blocks(part: slice) -> list[slice]:
    return [slice(start, min(start + COLUMNS, part.stop)) for start in range(part.start, part.stop, COLUMNS)]
