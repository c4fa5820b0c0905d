"""`Assembly`, the builder of a standard form to which the parts of a `Margin` add variables, costs and constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ....errors import InputError
from ...arrays import FloatArray
from ...program.cones import Cone, Indicator, Nonnegative
from ...program.csr_rows import CSRRows
from ...program.form import Block, Constraint, StandardForm
from ...program.quadratic import Quadratic


@dataclass(frozen=True, eq=False)
class Affine:
    """Affine expressions Σ_label T_label x_label + constant, one a row, in the variables of an `Assembly`.

    Parameters
    ----------
    terms : mapping of label to CSRRows
        T_label, by the label of a block of variables.
    constant : ndarray (rows,)
        The constant of each expression.
    plain : str
        The block's label if the expressions are one block unchanged; else empty.

    Notes
    -----
    ``+`` and ``-`` take expressions of as many rows, an array with a number for each row, or a number; ``*`` takes numbers;
    ``A @`` takes a matrix, or a vector for one row. Other shapes are an `InputError`.
    """

    #: With None, NumPy uses this class's operators in ``array + expression`` and the like.
    __array_ufunc__: ClassVar[None] = None

    terms: Mapping[str, CSRRows]
    constant: FloatArray
    plain: str = ""

    @property
    def rows(self) -> int:
        """Return the number of expressions."""
        return int(self.constant.size)

    def __add__(self, other: Affine | ArrayLike) -> Affine:
        if not isinstance(other, Affine):
            return Affine(self.terms, self.constant + self._per_row(other))
        if other.rows != self.rows:
            raise InputError(
                f"expressions of {self.rows} and of {other.rows} rows have no sum; np.ones((n, 1)) @ expression repeats one row, "
                "expression.at(rows) selects rows"
            )
        merged = dict(self.terms)
        for label, entries in other.terms.items():
            merged[label] = CSRRows.from_matrix(merged[label].csr + entries.csr) if label in merged else entries
        return Affine(merged, self.constant + other.constant)

    def __neg__(self) -> Affine:
        return Affine({label: -entries for label, entries in self.terms.items()}, -self.constant + 0.0)

    def __sub__(self, other: Affine | ArrayLike) -> Affine:
        return self + (-other if isinstance(other, Affine) else -self._per_row(other))

    def __radd__(self, other: ArrayLike) -> Affine:
        return self + other

    def __rsub__(self, other: ArrayLike) -> Affine:
        return -self + other

    def __mul__(self, factors: ArrayLike) -> Affine:
        return self.scaled(factors)

    def __rmul__(self, factors: ArrayLike) -> Affine:
        return self.scaled(factors)

    def __rmatmul__(self, matrix: Any) -> Affine:
        matrix = matrix if sp.issparse(matrix) else np.atleast_2d(np.asarray(matrix, dtype=np.float64))
        if matrix.ndim != 2 or matrix.shape[1] != self.rows:
            raise InputError(f"a matrix times these expressions needs {self.rows} columns; its shape is {matrix.shape}")
        return self.premultiplied(matrix)

    def _per_row(self, numbers: ArrayLike) -> FloatArray:
        """Return a number for each row."""
        try:
            return np.broadcast_to(np.asarray(numbers, dtype=np.float64), self.constant.shape)
        except (TypeError, ValueError) as error:
            shape = f", shape {np.shape(numbers)}" if isinstance(numbers, np.ndarray | list | tuple) else ""
            raise InputError(
                f"expressions of {self.rows} rows take one number, or {self.rows}; got {type(numbers).__name__}{shape}"
            ) from error

    def scaled(self, factors: ArrayLike) -> Affine:
        """Return the expressions, each times its factor."""
        factors = self._per_row(factors)
        return Affine({label: entries.scale_rows(factors) for label, entries in self.terms.items()}, self.constant * factors)

    def at(self, rows: Any) -> Affine:
        """Return the expressions of the given rows."""
        return Affine({label: entries.take_rows(rows) for label, entries in self.terms.items()}, self.constant[rows])

    def premultiplied(self, matrix: Any) -> Affine:
        """Return the expressions matrix @ (these expressions)."""
        if self.plain:  # no product with the identity
            return Affine({self.plain: (entries := CSRRows.from_matrix(matrix))}, np.zeros(entries.rows))
        left_factor = sp.csr_array(matrix)
        terms = {label: CSRRows.from_matrix(left_factor @ entries.csr) for label, entries in self.terms.items()}
        return Affine(terms, np.asarray(left_factor @ self.constant))

    @staticmethod
    def interleaved(*parts: Affine) -> Affine:
        """Return row 0 of every part, then row 1 of every part, ...: a stack of cones, each with one row of every part."""
        n, k = parts[0].rows, len(parts)
        widths = {label: entries.width for part in parts for label, entries in part.terms.items()}
        woven = {}
        for label, width in widths.items():
            terms = [(j, part.terms[label]) for j, part in enumerate(parts) if label in part.terms]
            counts = np.zeros((n, k), dtype=terms[0][1].indptr.dtype)
            for j, entries in terms:
                counts[:, j] = entries.row_counts
            indptr = np.concatenate([[0], np.cumsum(counts)]).astype(counts.dtype)
            indices, data = np.empty(indptr[-1], dtype=counts.dtype), np.empty(indptr[-1])
            for j, entries in terms:
                places = entries.entry_positions(indptr[:-1].reshape(n, k)[:, j])
                indices[places], data[places] = entries.indices, entries.data
            woven[label] = CSRRows(data, indices, indptr, width)
        return Affine(woven, np.stack([part.constant for part in parts], axis=1).ravel())


class Assembly:
    """A standard form under construction: the methods add variables, constraints and costs, and `form` returns the result.

    Parameters
    ----------
    name : str
        Name of the form.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._blocks: list[Block] = []
        self._lower: list[FloatArray] = []
        self._upper: list[FloatArray] = []
        self._integer: list[bool] = []
        self._rows: list[tuple[str, Affine, Cone, Sequence[int] | None]] = []
        self._linear: list[tuple[Affine, FloatArray]] = []
        self._squares: list[tuple[Affine, FloatArray]] = []
        self._forms: list[tuple[Affine, FloatArray]] = []
        self._prefix = ""
        self._members: Sequence[int] | None = None

    @contextmanager
    def labelled(self, prefix: str, members: Sequence[int]) -> Iterator[None]:
        """Prefix the labels of everything added inside the ``with`` block, whose point i is point ``members[i]`` of the data."""
        before = self._prefix, self._members
        self._prefix, self._members = prefix, members
        try:
            yield
        finally:
            self._prefix, self._members = before

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of all blocks and constraints so far."""
        return (*(block.label for block in self._blocks), *(label for label, *_ in self._rows))

    def variables(
        self,
        label: str,
        size: int,
        lower: FloatArray | float = -np.inf,
        upper: FloatArray | float = np.inf,
        *,
        integer: bool = False,
        shape: tuple[int, ...] | None = None,
        symmetric: bool = False,
    ) -> Affine:
        """Add a block of variables with bounds, and return it as an expression.

        Parameters
        ----------
        label : str
            Label of the block, after the prefix of `labelled`.
        size : int
            Number of variables.
        lower, upper : float or ndarray
            Bounds, one for all variables or one each.
        integer : bool
            Whether the variables are integers.
        shape : tuple of int, optional
            Shape of the block's values, filled row by row.
        symmetric : bool
            Whether the block is the svec of a symmetric matrix.

        Returns
        -------
        Affine
            The variables as expressions.
        """
        label = self._prefix + label
        self._blocks.append(Block(label, (size,) if shape is None else shape, symmetric))
        self._lower.append(np.array(np.broadcast_to(np.asarray(lower, dtype=np.float64), size)))
        self._upper.append(np.array(np.broadcast_to(np.asarray(upper, dtype=np.float64), size)))
        self._integer.append(integer)
        return Affine({label: CSRRows.identity(size)}, np.zeros(size), label)

    def is_integer(self, expression: Affine) -> bool:
        """Return whether all variables of an expression are integers."""
        integers = {block.label for block, integer in zip(self._blocks, self._integer, strict=True) if integer}
        return set(expression.terms) <= integers

    def binaries(self, label: str, size: int) -> Affine:
        """Add variables in {0, 1}, and return them as an expression."""
        return self.variables(label, size, 0.0, 1.0, integer=True)

    def require(self, label: str, rows: Affine, cone: Cone, points: Sequence[int] | None = None) -> None:
        """Add the constraint that the rows lie in the cone; ``points`` are the points that the rows constrain (`Constraint`)."""
        if points is not None and self._members is not None:
            points = [int(self._members[i]) for i in points]
        if rows.rows:
            self._rows.append((self._prefix + label, rows, cone, points))

    def require_nonnegative(self, label: str, rows: Affine, points: Sequence[int] | None = None) -> None:
        """Add the constraint rows ≥ 0."""
        self.require(label, rows, Nonnegative(max(rows.rows, 1)), points)

    def switch(
        self, label: str, binary: Affine, rows: Affine, big_m: FloatArray | None, points: Sequence[int] | None = None
    ) -> None:
        """Add binary_i = 0 ⇒ rows_i ≥ 0: as rows + M·binary ≥ 0, or as indicators if ``big_m`` is None."""
        if big_m is not None:
            self.require_nonnegative(label, rows + binary.scaled(big_m), points)
            return
        self.require(label, Affine.interleaved(binary, rows), Indicator(2, rows.rows), points)

    def cost(self, weights: FloatArray | float, rows: Affine) -> None:
        """Add Σ weights_i rows_i to the objective, which is minimised."""
        self._linear.append((rows, np.array(np.broadcast_to(np.asarray(weights, dtype=np.float64), rows.rows))))

    def cost_of_squares(self, weights: FloatArray | float, rows: Affine) -> None:
        """Add Σ weights_i rows_i² to the objective.

        Raises
        ------
        InputError
            A weight is negative.
        """
        factors = np.array(np.broadcast_to(np.asarray(weights, dtype=np.float64), rows.rows))
        if (factors < 0).any():
            raise InputError(f"the weight of a square must be ≥ 0; it is {factors.min():g}")
        self._squares.append((rows, factors))

    def gain_of_squares(self, weights: FloatArray | float, rows: Affine) -> None:
        """Subtract Σ weights_i rows_i² from the objective; the caller ensures that the sum stays convex."""
        self._squares.append((rows, -np.array(np.broadcast_to(np.asarray(weights, dtype=np.float64), rows.rows))))

    def cost_of_quadratic_form(self, matrix: FloatArray, rows: Affine) -> None:
        """Add the quadratic form rows'·matrix·rows (symmetric) to the objective; the caller ensures that the sum stays convex."""
        self._forms.append((rows, matrix))

    def form(self) -> StandardForm:
        """Return the standard form of all variables, constraints and costs so far."""
        widths = {block.label: block.size for block in self._blocks}
        first = dict(zip(widths, np.cumsum([0, *widths.values()]).tolist(), strict=False))
        q, r = np.zeros(sum(widths.values())), 0.0
        for rows, weights in self._linear:
            for label, entries in rows.terms.items():
                q[first[label] : first[label] + entries.width] += entries.weighted_sum(weights)
            r += float(weights @ rows.constant)
        quadratic, r = self._quadratic(widths, first, q, r)
        return StandardForm(
            name=self._name,
            blocks=tuple(self._blocks),
            q=q,
            constraints=tuple(
                Constraint(k, self._stack(rows, widths), rows.constant, cone, points=points)
                for k, rows, cone, points in self._rows
            ),
            lower=np.concatenate(self._lower),
            upper=np.concatenate(self._upper),
            integer=np.concatenate([np.full(b.size, i) for b, i in zip(self._blocks, self._integer, strict=True)]),
            quadratic=quadratic,
            r=r,
        )

    def _quadratic(
        self, widths: Mapping[str, int], first: Mapping[str, int], q: FloatArray, r: float
    ) -> tuple[Quadratic | None, float]:
        """Return the quadratic part of the objective and its constant; linear terms of the squares are added to q in place."""
        if not self._forms and all(_single(rows) for rows, _ in self._squares):
            return self._diagonal(first, q.size), r
        P = sp.csc_array((q.size, q.size))
        for rows, weights in self._squares:
            E = self._stack(rows, widths)
            scaled = sp.csr_array(E.multiply(weights[:, None]))
            P = P + 2.0 * (E.T @ scaled)
            q += 2.0 * (scaled.T @ rows.constant)
            r += float(weights @ rows.constant**2)
        for rows, matrix in self._forms:
            E = self._stack(rows, widths)
            P = P + 2.0 * sp.csc_array(E.T @ sp.csr_array(matrix) @ E)
            q += 2.0 * (E.T @ (matrix @ rows.constant))
            r += float(rows.constant @ matrix @ rows.constant)
        P.eliminate_zeros()
        return Quadratic(matrix=sp.csc_array(0.5 * (P + P.T))) if P.nnz else None, r

    def _diagonal(self, first: Mapping[str, int], n: int) -> Quadratic | None:
        """Return the matrix of squares of single variables without products of sparse matrices, which are slow."""
        diagonal = np.zeros(n)
        for rows, weights in self._squares:
            ((label, entries),) = rows.terms.items()
            diagonal[first[label] + entries.indices] += 2.0 * (entries.data * (entries.data * weights))
        used = np.flatnonzero(diagonal).astype(np.int32)
        if not used.size:
            return None
        ends = np.searchsorted(used, np.arange(n + 1)).astype(np.int32)
        return Quadratic(matrix=sp.csc_array((diagonal[used], used, ends), shape=(n, n)))

    def _stack(self, rows: Affine, widths: Mapping[str, int]) -> sp.csr_array:
        parts, column = [], 0
        for label, width in widths.items():
            if label in rows.terms:
                parts.append((rows.terms[label], column))
            column += width
        stacked = CSRRows.hstack(parts, rows.rows, column).csr
        if not stacked.has_sorted_indices:  # products leave them in any order, and some solvers go by it
            stacked.sort_indices()
        return stacked


def _single(rows: Affine) -> bool:
    """Return whether each row is a multiple of one variable, a different one in each row, without a constant."""
    if rows.plain:
        return rows.rows > 0
    if len(rows.terms) != 1 or rows.constant.any():
        return False
    (entries,) = rows.terms.values()
    one_each = bool((entries.row_counts == 1).all() and entries.data.all())
    return one_each and rows.rows > 0 and int(np.bincount(entries.indices).max()) == 1
