"""Compiled products of a few points with sparse data, by features (CSC) or by points (CSR)."""

from __future__ import annotations

from typing import Any

from ....code_cache import kept

__all__ = ["LANES", "PANEL", "gather_rows", "scatter_rows"]

#: Points whose products are taken together, and points of the data between two transpositions.
LANES, PANEL = 32, 64

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


@_njit
def gather_rows(first: Any, features: Any, values: Any, dense: Any, room: Any, out: Any) -> None:
    """out_l = X times column l of ``dense``, X by rows (CSR); ``dense`` has `LANES` columns, ``room`` is `PANEL` × `LANES`.

    A stored number meets all columns at once, in vector instructions; sums stay in ``room`` until they are transposed.
    """
    n, lanes = first.size - 1, room.shape[1]
    for b in range(0, n, room.shape[0]):
        e = min(n, b + room.shape[0])
        for j in range(b, e):
            sums = room[j - b]
            for t in range(lanes):
                sums[t] = 0.0
            for k in range(first[j], first[j + 1]):
                value, row = values[k], dense[features[k]]
                for t in range(lanes):
                    sums[t] += value * row[t]
        for t in range(out.shape[0]):
            row = out[t]
            for j in range(b, e):
                row[j] = room[j - b, t]
