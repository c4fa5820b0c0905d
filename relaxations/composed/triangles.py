"""Triangle inequalities of products Z_ij of binaries: all of them, or those that solutions violate, round by round.

For i < j < k: Z_ij + Z_ik - Z_jk ≤ z_i and its two turns, and Z_ij + Z_ik + Z_jk ≥ z_i + z_j + z_k - 1 (Padberg: *The boolean
quadric polytope*, 1989, (3.2)-(3.5)).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray, IntArray
from ...models.formulations.margin.assembly import Affine
from ...models.program.entries import Entries

__all__ = ["all_triangles", "triangle_rows", "violated_triangles"]

#: Signs of z_i, z_j, z_k, of Z_ij, Z_ik, Z_jk, and the constant of each kind, all ≥ 0.
_SIGNS = np.array([[1, 0, 0, -1, -1, 1], [0, 1, 0, -1, 1, -1], [0, 0, 1, 1, -1, -1], [-1, -1, -1, 1, 1, 1]], dtype=np.float64)
_CONSTANT = np.array([0.0, 0.0, 0.0, 1.0])


def all_triangles(n: int) -> IntArray:
    """(i, j, k, kind) of all n(n - 1)(n - 2)/6 · 4 inequalities."""
    triples = np.array(list(itertools.combinations(range(n), 3)), dtype=np.int64).reshape(-1, 3)
    return np.column_stack([np.repeat(triples, 4, axis=0), np.tile(np.arange(4), triples.shape[0])])


def triangle_rows(cuts: IntArray, binary: IntArray, x: Affine, products: Sequence[Affine]) -> Affine:
    """The inequalities as rows that are ≥ 0; ``products[i]`` is x z_i, and Z_ij its entry of the j-th binary."""
    width = next(iter(x.terms.values())).width
    signs, rows = _SIGNS[cuts[:, 3]], np.arange(cuts.shape[0])
    entries: dict[str, list[tuple[IntArray, IntArray, FloatArray]]] = {}
    for column in range(3):
        entries.setdefault(x.plain, []).append((rows, binary[cuts[:, column]], signs[:, column]))
    for place, (first, second) in enumerate(((0, 1), (0, 2), (1, 2))):
        for i in np.unique(cuts[:, first]).tolist():
            at = np.flatnonzero(cuts[:, first] == i)
            entries.setdefault(products[i].plain, []).append((at, binary[cuts[at, second]], signs[at, 3 + place]))
    terms = {}
    for label, parts in entries.items():
        at, columns, data = (np.concatenate([part[k] for part in parts]) for k in range(3))
        terms[label] = Entries.of(sp.csr_array((data, (at, columns)), shape=(cuts.shape[0], width)))
    return Affine(terms, _CONSTANT[cuts[:, 3]])


def violated_triangles(values: Mapping[str, FloatArray], binary: IntArray, most: int, least: float) -> IntArray:
    """The inequalities that a solution violates by more than ``least``, the worst first, at most so many."""
    z = values["x"][binary]
    Z = np.array([values[f"x z{j}"][binary] for j in range(binary.size)]).reshape(binary.size, binary.size)
    cuts = all_triangles(binary.size)
    i, j, k = cuts[:, 0], cuts[:, 1], cuts[:, 2]
    terms = np.column_stack([z[i], z[j], z[k], Z[i, j], Z[i, k], Z[j, k]])
    value = (_SIGNS[cuts[:, 3]] * terms).sum(axis=1) + _CONSTANT[cuts[:, 3]]
    worst = np.argsort(value, kind="stable")[:most]
    return np.asarray(cuts[worst[value[worst] < -least]])
