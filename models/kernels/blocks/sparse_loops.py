"""Compiled products of a few points with sparse data that are stored by features (CSC)."""

from __future__ import annotations

from typing import Any

from ...code_cache import kept

__all__ = ["scatter_rows"]

_njit = kept(frozenset({"reassoc", "contract", "nsz", "nnan", "arcp"}))


@_njit
def scatter_rows(chosen: Any, first: Any, features: Any, values: Any, start: Any, points: Any, data: Any, out: Any) -> None:
    """out_l = Σ over the stored numbers v of point chosen_l, at feature f, of v times row f of X'.

    ``first``, ``features``, ``values`` are X by rows (CSR), ``start``, ``points``, ``data`` X by columns (CSC).
    """
    for r in range(chosen.size):
        row, i = out[r], chosen[r]
        for j in range(row.size):
            row[j] = 0.0
        for t in range(first[i], first[i + 1]):
            f, value = features[t], values[t]
            for k in range(start[f], start[f + 1]):
                row[points[k]] += value * data[k]
