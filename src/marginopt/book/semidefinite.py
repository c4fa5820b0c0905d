"""Semidefinite programs of the open book of margins: their data from SDPA files, values and bounds in rational arithmetic.

    min c'x  such that  S = Σ x_k F_k - F_0 ⪰ 0;      the dual: max F_0 • Y  such that  F_k • Y = c_k, Y ⪰ 0,

with symmetric block matrices F_k, ⪰ 0 for positive semidefinite and F • Y = Tr FY.

Points of solvers violate their constraints by rounding errors. So the solver gets the program with a shift δ > 0: F_0 + δI for
F_0 and c_k - δ Tr F_k for c_k. A solution of it has S ⪰ δI in the published program, and with its multipliers Y' the matrix
Y = Y' + δI satisfies F_k • Y = c_k, Y ⪰ δI. The equations are then solved in rational arithmetic. The price is a gap of
δ (Tr S + Tr Y).

X has a row (k, block, i, j, v) for each entry v of F_k with i ≤ j, numbers from 1 on, 0 for F_0; y is c. A symmetric matrix as a
vector, *svec*, is its lower triangle, row by row, with the entries off the diagonal times √2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..models.arrays import FloatArray
from ..models.export.sdpa import read_matrices
from ..models.program.cones import PSD
from ..models.program.form import Block, Constraint, StandardForm
from ..models.program.quadratic import is_semidefinite
from ..solvers.rational import solve_linear

#: A square matrix, as rows of exact numbers.
_Matrix = list[list[Fraction]]
#: Entries of one F_k: block, row, column (from 0 on, row ≤ column) and value.
_Entries = list[tuple[int, int, int, Fraction]]


def read_sdpa(path: Path) -> tuple[FloatArray, FloatArray]:
    """Return X, the entries of the matrices, and y, the costs, of an SDPA file; a diagonal block becomes blocks of order 1."""
    program = read_matrices(path)
    firsts = np.cumsum([1, *(max(1, -size) for size in program.sizes)]).tolist()
    rows = []
    for k, block, i, j, text in program.entries:
        first, value = firsts[block - 1], float(text)
        rows.append([k, first + i - 1, 1, 1, value] if program.sizes[block - 1] < 0 else [k, first, i, j, value])
    return np.array(rows, dtype=np.float64).reshape(-1, 5), program.costs


def shifted_form(X: FloatArray, y: FloatArray, shift: float) -> StandardForm:
    """Return the program with F_0 + δI for F_0 and c_k - δ Tr F_k for c_k, δ = ``shift``."""
    places = X[:, :4].astype(np.int64) - [0, 1, 1, 1]
    costs = y.copy()
    traces = np.bincount(places[:, 0], X[:, 4] * (X[:, 2] == X[:, 3]), len(y) + 1)
    costs -= shift * traces[1:]
    constraints = []
    for block, order in enumerate(_orders(X)):
        in_block = places[:, 1] == block
        k, (i, j), values = places[in_block, 0], places[in_block, 2:].T, X[in_block, 4]
        scaled = values * np.where(i == j, 1.0, np.sqrt(2.0))
        shape = (order * (order + 1) // 2, len(y) + 1)
        columns = sp.csc_array((scaled, (j * (j + 1) // 2 + i, k)), shape=shape)
        constant = -columns[:, [0]].toarray().ravel()
        constant[[m * (m + 3) // 2 for m in range(order)]] -= shift
        constraints.append(Constraint(f"block{block + 1}", sp.csr_array(columns[:, 1:]), constant, PSD.of_order(order)))
    free = np.full(len(y), np.inf)
    integer = np.zeros(len(y), dtype=bool)
    return StandardForm("semidefinite", (Block("x", (len(y),)),), costs, tuple(constraints), -free, free, integer)


def dual_matrices(svecs: Sequence[FloatArray], shift: float) -> list[float]:
    """Return the lower triangles of Y = Y' + δI, row by row and block by block, δ = ``shift``.

    ``svecs`` has the svec of each block of Y', the multipliers of `shifted_form`.
    """
    numbers: list[float] = []
    for svec in svecs:
        order = int(np.sqrt(2 * len(svec)))
        for i in range(order):
            row = svec[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
            numbers += [*(row[:-1] / np.sqrt(2.0)).tolist(), float(row[-1]) + shift]
    return numbers


def exact_cost(X: FloatArray, y: FloatArray, x: Sequence[Fraction]) -> Fraction:
    """Return c'x at a point x (m,); raise InputError unless Σ x_k F_k - F_0 is positive semidefinite."""
    matrices = _matrices(X, len(y))
    slack = [_zeros(order) for order in _orders(X)]
    for weight, entries in zip([Fraction(-1), *x], matrices, strict=True):
        _add(slack, weight, entries)
    if not all(map(is_semidefinite, slack)):
        raise InputError("the point is not feasible: Σ x_k F_k - F_0 is not positive semidefinite")
    return sum((Fraction(cost) * value for cost, value in zip(y.tolist(), x, strict=True)), Fraction(0))


def exact_dual_value(X: FloatArray, y: FloatArray, triangles: Sequence[Fraction]) -> Fraction:
    """Return the dual value F_0 • Y at the Y with F_k • Y = c_k for all k that is nearest to the given matrices.

    Parameters
    ----------
    X, y : ndarray
        The program's entries and costs.
    triangles : sequence of Fraction
        The lower triangles of the given matrices, as `dual_matrices` returns them.

    Raises
    ------
    InputError
        Triangles of other sizes, no such Y, or one that is not positive semidefinite.
    """
    orders = _orders(X)
    if len(triangles) != sum(order * (order + 1) // 2 for order in orders):
        raise InputError("the multipliers must be the lower triangles of all blocks", name="multipliers")
    numbers = iter(triangles)
    Y = [_zeros(order) for order in orders]
    for block in Y:
        for i, row in enumerate(block):
            for j in range(i + 1):
                row[j] = block[j][i] = next(numbers)
    constant, *matrices = _matrices(X, len(y))
    residuals = [Fraction(cost) - _inner(entries, Y) for cost, entries in zip(y.tolist(), matrices, strict=True)]
    weights = solve_linear(_gram(matrices), residuals)
    if weights is None:
        raise InputError("no multipliers have F_k • Y = c_k, or there are too many variables", name="multipliers")
    for weight, entries in zip(weights, matrices, strict=True):
        _add(Y, weight, entries)
    if not all(map(is_semidefinite, Y)):
        raise InputError("the multipliers with F_k • Y = c_k are not positive semidefinite", name="multipliers")
    return _inner(constant, Y)


def _orders(X: FloatArray) -> list[int]:
    """Return the order of each block: the largest index of its entries."""
    blocks = X[:, 1].astype(np.int64)
    return [max(1, int(X[blocks == block, 3].max(initial=1))) for block in range(1, int(blocks.max(initial=0)) + 1)]


def _matrices(X: FloatArray, m: int) -> list[_Entries]:
    """Return the entries of F_0, .., F_m."""
    matrices: list[_Entries] = [[] for _ in range(m + 1)]
    for k, block, i, j, value in X.tolist():
        matrices[int(k)].append((int(block) - 1, int(i) - 1, int(j) - 1, Fraction(value)))
    return matrices


def _zeros(order: int) -> _Matrix:
    return [[Fraction(0)] * order for _ in range(order)]


def _add(blocks: list[_Matrix], weight: Fraction, entries: _Entries) -> None:
    """Add a multiple of F_k."""
    for block, i, j, value in entries:
        blocks[block][i][j] += weight * value
        if i != j:
            blocks[block][j][i] += weight * value


def _inner(entries: _Entries, blocks: list[_Matrix]) -> Fraction:
    """Return F_k • Y."""
    return sum((value * blocks[block][i][j] * (1 if i == j else 2) for block, i, j, value in entries), Fraction(0))


def _gram(matrices: list[_Entries]) -> _Matrix:
    """Return the inner products F_k • F_l."""
    holders: dict[tuple[int, int, int], list[tuple[int, Fraction]]] = defaultdict(list)
    for k, entries in enumerate(matrices):
        for block, i, j, value in entries:
            holders[block, i, j].append((k, value))
    gram = _zeros(len(matrices))
    for (_, i, j), factors in holders.items():
        for k, first in factors:
            for other, second in factors:
                gram[k][other] += first * second * (1 if i == j else 2)
    return gram
