"""The standard form, a labelled mathematical program: every formulation compiles to it, every backend and file writer reads it.

    minimise    ½ x'P x + q'x + r
    subject to  F_k x + g_k in K_k      (one label for each k)
                l ≤ x ≤ u,  some x integer

Conventions, once and for all. Minimisation; a model that maximises sets ``maximise`` and its objective is the negative
of the form's. Lagrangian f(x) - Σ_k <z_k, F_k x + g_k> - <ζ, x> with z_k in the dual cone of K_k and
ζ = ζ_l - ζ_u the reduced costs of the bounds, so stationarity reads ``P x + q = Σ_k F_k'z_k + ζ`` and every
multiplier has one sign. Symmetric blocks are stored as svec (`models.program.cones`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...display import Display, Displayed
from ...drawing import Picture
from ...errors import InputError, UnsupportedModelError
from ..arrays import BoolArray, FloatArray, IntArray, as_array, check_bytes, frozen, to_dense
from ..deadline import check_scan
from ..export_methods import ExportMethods
from ..kernels.gram import GramOperator
from ..rounding import Rounded, dot, gamma, transposed_product
from ..statement import latex_document, latex_numbers, latex_words, program_latex, program_text
from .algebra import abstract_lines, is_small, program_lines, summary_lines
from .cones import Cone, Feature, Indicator, Nonnegative, Zero, smat, svec, svec_indices, svec_size
from .convexity import LARGEST_VERIFIED_ORDER, Convexity, Evidence, convexity_on_equalities, matrix_convexity
from .csr_rows import CSRRows, csc_triangle, dense_to_csc
from .inspection import FormReport, inspect_form, spy
from .name_lookup import find_entry, find_indexed_entries, split_indexed_values


def entries_identity(value: object) -> dict[str, object]:
    """Return the parts of a block's identity that its entries are: none without them, as stored digests have it."""
    return {} if value is None else {"entries": value}


@dataclass(frozen=True)
class Block:
    """A labelled block of variables: a scalar (shape ()), a vector, a matrix, or a symmetric matrix stored as svec.

    ``given_names`` names each of its scalar variables (else InputError) where they were named elsewhere, in a file for example.

    Parameters
    ----------
    label : str
    shape : tuple of int
        () for a scalar, (n,), (n, k), or (p, p) with ``symmetric``.
    symmetric : bool
        Whether the block is a symmetric matrix: stored as svec, or as its ``entries``.
    given_names : tuple of str, optional
        One name for each scalar variable.
    entries : tuple of pairs of int, optional
        Row and column of each scalar variable in a matrix that they determine, such as a diagonal one. All further entries are
        zero, or mirror images with ``symmetric``.
    """

    label: str
    shape: tuple[int, ...]
    symmetric: bool = False
    given_names: tuple[str, ...] | None = None
    entries: tuple[tuple[int, int], ...] | None = field(default=None, metadata={"identity": entries_identity})

    def __post_init__(self) -> None:
        _check_names(self.label, self.given_names, self.size)

    @property
    def size(self) -> int:
        """Return the number of scalar variables."""
        if self.entries is not None:
            return len(self.entries)
        return svec_size(self.shape[0]) if self.symmetric else math.prod(self.shape)

    @property
    def indices(self) -> tuple[IntArray, ...]:
        """The index of each scalar variable in the block's own shape, an array for each axis."""
        if self.entries is not None:
            rows, columns = np.array(self.entries, dtype=np.intp).reshape(-1, 2).T
            return rows, columns
        return svec_indices(self.shape[0]) if self.symmetric else np.unravel_index(np.arange(self.size), self.shape)

    @property
    def entry_scale(self) -> FloatArray:
        """Return the scalar variables over the entries of the block's own value: √2 off the diagonal of an svec, else 1."""
        if not self.symmetric or self.entries is not None:
            return np.ones(self.size)
        rows, columns = self.indices
        return np.where(rows == columns, 1.0, np.sqrt(2.0))

    @property
    def expansion(self) -> sp.csr_array:
        """Return the matrix that maps the slice of x to the block's own value by rows."""
        size, places = math.prod(self.shape), np.arange(self.size)
        positions = np.ravel_multi_index(self.indices, self.shape) if self.shape else places
        weights = 1.0 / self.entry_scale
        if self.symmetric:
            rows, columns = self.indices
            mirrored = rows != columns
            positions = np.concatenate([positions, np.ravel_multi_index((columns, rows), self.shape)[mirrored]])
            places, weights = np.concatenate([places, places[mirrored]]), np.concatenate([weights, weights[mirrored]])
        return sp.csr_array((weights, (positions, places)), shape=(size, self.size))

    def names(self) -> list[str]:
        """Return one name for each scalar variable: its own, or ``w[3]``, ``W[0,2]`` (for a symmetric block: that svec entry)."""
        if self.given_names is not None:
            return list(self.given_names)
        if not self.shape:
            return [self.label]
        indices = zip(*(axis.tolist() for axis in self.indices), strict=True)
        return [f"{self.label}[{','.join(map(str, index))}]" for index in indices]

    def index(self, place: int) -> tuple[int, ...]:
        """Return the index (row, column, ...) of the entry at this place of the block's slice of x."""
        if self.entries is not None:
            return self.entries[place]
        index = [axis[place] for axis in svec_indices(self.shape[0])] if self.symmetric else np.unravel_index(place, self.shape)
        return tuple(map(int, index))

    def unpack(self, x: FloatArray) -> FloatArray:
        """Return the block's value in its own shape from its slice of x."""
        if self.entries is None:
            return smat(x) if self.symmetric else x.reshape(self.shape)
        value = np.zeros(self.shape)
        value[self.indices] = x
        if self.symmetric:
            value[self.indices[::-1]] = x
        return value

    def pack(self, value: FloatArray) -> FloatArray:
        """Return the block's slice of x from its value: the inverse of `unpack`.

        Raises
        ------
        InputError
            The value has another shape than the block, or entries that it does not have.
        """
        value = np.asarray(value, dtype=np.float64)
        if value.shape != self.shape:
            raise InputError(f"values[{self.label!r}] must have shape {self.shape}; it has {value.shape}", name=self.label)
        if self.entries is None:
            return svec(value) if self.symmetric else value.ravel()
        x = value[self.indices]
        if not np.allclose(self.unpack(x), value, rtol=1e-9, atol=1e-12, equal_nan=True):
            sort = "symmetric" if self.symmetric else f"zero but for {len(self.entries)} entries"
            raise InputError(f"values[{self.label!r}] must be {sort}; it is {value.tolist()}", name=self.label)
        return np.asarray(x)


@dataclass(frozen=True, eq=False)
class Constraint:
    """The rows ``F x + g`` in ``cone``, under one label.

    ``given_names`` are the rows' own names, where they have any; ``points`` are the data points whose margins the rows bound.

    Parameters
    ----------
    label : str
    F : csr_array (rows, n)
    g : ndarray (rows,)
    cone : Cone
        The cone (or set) that F x + g lies in.
    given_names : tuple of str, optional
        One name for each row.
    points : sequence of int, optional
        Index of the data point of each row (or cone).
    """

    label: str
    F: sp.csr_array
    g: FloatArray
    cone: Cone
    given_names: tuple[str, ...] | None = None
    points: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.F, sp.csr_array) and self.F.dtype == np.float64):
            object.__setattr__(self, "F", sp.csr_array(self.F, dtype=np.float64))
        object.__setattr__(self, "g", frozen(np.asarray(self.g, dtype=np.float64)))
        if self.F.shape[0] != self.cone.rows or self.g.shape != (self.cone.rows,):
            raise InputError(f"{self.label}: F {self.F.shape}, g {self.g.shape} and {self.cone} do not fit", name="F")
        if not (np.isfinite(self.F.data).all() and np.isfinite(self.g).all()):
            raise InputError(f"{self.label}: F and g must be finite", name="F")
        _check_names(self.label, self.given_names, self.rows)
        _check_names(self.label, self.points, self.rows // self.cone.group_size, "points", "rows or cones")

    @property
    def rows(self) -> int:
        """Return the number of scalar rows."""
        return self.g.size

    def names(self) -> list[str]:
        """Return one name for each row: its own, ``margin[3]``, or ``hull[3,0]`` (cone, row in the cone) for cones of several
        rows.
        """
        if self.given_names is not None:
            return list(self.given_names)
        if self.cone.count == 1 or self.cone.dim == 1:
            return [self.label] if self.rows == 1 else [f"{self.label}[{i}]" for i in range(self.rows)]
        return [f"{self.label}[{k},{i}]" for k in range(self.cone.count) for i in range(self.cone.dim)]

    def pack(self, value: FloatArray) -> FloatArray:
        """Return the rows' multipliers as they are, one for each row."""
        return np.asarray(value, dtype=np.float64)

    @cached_property
    def row_maxima(self) -> FloatArray:
        """Return max_j |F_ij| of every row; 0 for an empty row."""
        filled = self.F.indptr[1:] > self.F.indptr[:-1]
        largest = np.zeros(self.F.shape[0])
        if self.F.data.size:
            largest[filled] = np.maximum.reduceat(np.abs(self.F.data), self.F.indptr[:-1][filled])
        return frozen(largest)

    def value(self, x: FloatArray) -> FloatArray:
        """Return ``F x + g``."""
        return np.asarray(self.F @ x + self.g)

    def rmatvec(self, z: FloatArray) -> FloatArray:
        """Return ``F'z``."""
        return CSRRows.from_matrix(self.F).weighted_sum(z)


class NamedValues(dict[str, FloatArray]):
    """A dictionary of values by block that also answers to the name of a single variable, ``values["X1"]`` or
    ``values["w[age]"]``.

    The name of an indexed variable of another package stands for all its entries, one after the other: ``values["open"]`` for
    ``open[north]`` and ``open[south]``. Multipliers by constraint answer to the names of rows so.

    Parameters
    ----------
    values : mapping of label to array
    blocks : callable
        The blocks, or the constraints, of the form, asked for at the first name that is no label.
    """

    def __init__(
        self, values: Mapping[str, FloatArray], blocks: Callable[[], Sequence[Block]] | Callable[[], Sequence[Constraint]]
    ) -> None:
        super().__init__(values)
        self._blocks = blocks

    def __missing__(self, name: str) -> FloatArray:
        form_blocks: dict[str, Any] = {block.label: block for block in self._blocks()}
        blocks = [form_blocks.get(label) or Block(label, np.shape(value)) for label, value in self.items()]
        if entries := find_indexed_entries(blocks, name):
            packed = {block.label: block.pack(self[block.label]).reshape(-1) for block, _ in entries}
            if len(packed) > 1 and isinstance(entries[0][0], Constraint):
                raise KeyError(f"{name} has rows of several senses, which are apart: {', '.join(packed)}")
            return np.array([packed[block.label][place] for block, place in entries])
        try:
            block, place = find_entry(blocks, name, "entry")
        except InputError as error:
            raise KeyError(str(error)) from None
        return np.asarray(block.pack(self[block.label]).reshape(-1)[place])

    def __reduce__(self) -> tuple[type[dict[str, FloatArray]], tuple[dict[str, FloatArray]]]:
        """Pickle as a plain dictionary: the form is not part of the values."""
        return dict, (dict(self),)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The symmetric matrix P of ½x'Px, perhaps indefinite: dense, sparse, factored as P = R'R, or known by its columns.

    Parameters
    ----------
    matrix : ndarray or csc_array (n, n), optional
        P itself, symmetric.
    factor : ndarray or csr_array (k, n), optional
        R of P = R'R, which is positive semidefinite by construction.
    operator : GramOperator, optional
        P by its columns.

    Raises
    ------
    InputError
        Not exactly one of the three, or a matrix that is not square, symmetric and finite.
    """

    matrix: FloatArray | sp.csc_array | None = None
    factor: FloatArray | sp.csr_array | None = None
    operator: GramOperator | None = None

    def __post_init__(self) -> None:
        if sum(data is not None for data in (self.matrix, self.factor, self.operator)) != 1:
            raise InputError("give one of the matrix P, its factor R and an operator", name="matrix")
        if self.matrix is not None:
            _check_symmetric(self.matrix)

    @property
    def n(self) -> int:
        """Return the number of variables."""
        if self.operator is not None:
            return self.operator.n
        data = self.matrix if self.matrix is not None else self.factor
        assert data is not None
        return int(data.shape[1])

    @property
    def bytes(self) -> int:
        """Return the bytes that P takes as a matrix."""
        if self.matrix is not None and not isinstance(self.matrix, np.ndarray):
            return int(self.matrix.data.nbytes + self.matrix.indices.nbytes)
        return 8 * self.n**2

    @cached_property
    def materialised(self) -> FloatArray | sp.csc_array:
        """Return P as a matrix, dense or CSC.

        Raises
        ------
        TooLargeError
            It would need more than `models.arrays.materialise_limit` bytes.
        """
        if self.matrix is not None:
            return self.matrix
        check_bytes(self.bytes, "the matrix P of the quadratic objective")
        check_scan(self.bytes // 8)
        if self.operator is not None:
            return self.operator.dense
        assert self.factor is not None
        product = self.factor.T @ self.factor
        return sp.csc_array(product) if sp.issparse(product) else np.asarray(product)

    @cached_property
    def csc(self) -> sp.csc_array:
        """Return P as CSC with sorted indices and no explicit zeros; the given matrix itself where it is such."""
        stored = self.materialised
        check_scan(stored.size)
        if isinstance(stored, np.ndarray) and stored.all():
            return dense_to_csc(stored)
        if isinstance(stored, sp.csc_array) and stored.has_sorted_indices and stored.data.all():
            return stored
        matrix = sp.csc_array(stored, copy=True)  # it may be shared with other forms
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return matrix

    def submatrix(self, chosen: IntArray) -> FloatArray:
        """Return the chosen rows and columns of P, in ascending order, as a dense matrix."""
        P = self.materialised
        if isinstance(P, np.ndarray):
            return np.asarray(P[np.ix_(chosen, chosen)])
        return (
            CSRRows(P.data, P.indices, P.indptr, self.n).take_rows(chosen).take_columns(chosen).dense()
        )  # symmetric: columns are rows

    @cached_property
    def upper(self) -> sp.csc_matrix:
        """Return the upper triangle of P, as native interfaces take it."""
        return csc_triangle(self._full_or_csc, upper=True)

    @cached_property
    def lower(self) -> sp.csc_matrix:
        """Return the lower triangle of P, by columns."""
        return csc_triangle(self._full_or_csc, upper=False)

    @property
    def _full_or_csc(self) -> FloatArray | sp.csc_array:
        check_scan(self.materialised.size)
        return P if isinstance(P := self.materialised, np.ndarray) and P.all() else self.csc

    @property
    def column_count_bounds(self) -> FloatArray:
        """Return an upper bound of the number of non-zeros of each column of P, without materialising it."""
        P, R = self.matrix, self.factor
        if P is not None and not isinstance(P, np.ndarray):
            return np.diff(P.indptr) * 1.0
        return np.minimum(CSRRows.from_matrix(R).overlap_counts, self.n) if sp.issparse(R) else np.full(self.n, float(self.n))

    @cached_property
    def convexity(self) -> Convexity:
        """Return what is known of P ⪰ 0: by its factor, its kernel's theorem, or a factorisation (`models.program.convexity`)."""
        if self.factor is not None:
            return Convexity(Evidence.CONSTRUCTION, "P = R'R")
        if self.operator is not None:
            if self.operator.semidefinite:
                return Convexity(Evidence.CONSTRUCTION, self.operator.semidefinite)
            if self.n > LARGEST_VERIFIED_ORDER:
                return Convexity(Evidence.UNKNOWN, f"no theorem says so, and order {self.n} is too large to factor")
        return matrix_convexity(self.materialised)

    @cached_property
    def _row_norms(self) -> FloatArray:
        data = self.matrix if self.matrix is not None else self.factor
        assert data is not None
        if isinstance(data, np.ndarray):
            return np.asarray(np.sqrt((data * data).sum(axis=0)))
        if not data.has_canonical_format:
            (data := data.copy()).sum_duplicates()
        squares = np.bincount(data.indices, weights=data.data * data.data, minlength=self.n)
        return np.asarray(np.sqrt(squares))  # of columns; P is symmetric: its rows are its columns

    def evaluate(self, x: FloatArray) -> Rounded:
        """Return x'Px with a bound of its rounding error; ||R x||² where P is factored."""
        if not isinstance(self.factor, np.ndarray):
            return dot(x, self.product(x), self.product_error(x))
        y, error = transposed_product(self.factor.T, x)
        square = dot(y, y)
        return Rounded(square.value, (square.error + 2.0 * float(np.abs(y) @ error) + float(error @ error)) * (1.0 + 1e-9))

    def product_error(self, x: FloatArray) -> FloatArray:
        """Return a bound of |computed - exact| for every entry of `product`."""
        if self.operator is not None:
            return self.operator.product_error(x)
        norm = float(np.linalg.norm(x))
        if self.matrix is not None:
            return np.asarray(gamma(self.n + 8) * self._row_norms * norm)
        assert self.factor is not None
        frobenius = float(np.linalg.norm(self._row_norms))
        return np.asarray(2.0 * gamma(self.n + self.factor.shape[0] + 16) * self._row_norms * frobenius * norm)

    @property
    def diagonal(self) -> FloatArray:
        """Return the diagonal P_jj."""
        if self.operator is not None:
            return self.operator.diagonal
        return np.asarray(self._row_norms**2 if self.matrix is None else self.matrix.diagonal(), dtype=np.float64)

    def product(self, x: FloatArray) -> FloatArray:
        """Return ``P x``, without forming P where it is factored."""
        if self.factor is not None:
            return np.asarray(self.factor.T @ (self.factor @ x))
        if self.operator is not None:
            return self.operator.product(x)
        assert self.matrix is not None
        return np.asarray(self.matrix @ x)


def _check_names(label: str, given_names: Sized | None, size: int, noun: str = "names", entries: str = "scalars") -> None:
    if given_names is not None and len(given_names) != size:
        raise InputError(f"{label}: {len(given_names)} {noun} for {size} {entries}", name=label)


def _exactly_symmetric(P: FloatArray | sp.csc_array) -> bool:
    """To the bit, entries in order: a difference of sparse matrices takes ten times as long to say so."""
    if isinstance(P, np.ndarray):
        return bool(np.array_equal(P, P.T))
    rows = P.tocsr()
    return all(bool((getattr(P, name) == getattr(rows, name)).all()) for name in ("indptr", "indices", "data"))


def _check_symmetric(P: FloatArray | sp.csc_array) -> None:
    data = P if isinstance(P, np.ndarray) else P.data
    if P.ndim != 2 or P.shape[0] != P.shape[1] or not np.isfinite(data).all():
        raise InputError(f"P must be a finite square matrix; its shape is {P.shape}", name="P")
    if _exactly_symmetric(P):
        return
    asymmetry = float(abs(P - P.T).max()) if data.size else 0.0
    if asymmetry > 1e-12 * max(float(np.abs(data).max(initial=0.0)), 1.0):
        raise InputError(f"P must be symmetric; it differs from its transpose by {asymmetry:.3g}", name="P")


@dataclass(frozen=True)
class FormDelta:
    """The difference between two forms, as `StandardForm.diff` finds it.

    Parameters
    ----------
    structure : tuple of str
        Why the second form has another structure (blocks, labels, cones, sense); empty when only numbers differ.
        When it is not empty the other fields compare nothing.
    quadratic : bool
        P differs.
    q, lower, upper, integer : ndarray of int
        Indices of the variables whose entry differs.
    r : bool
        The constant differs.
    F, g : tuple of str
        Labels of the constraints whose matrix or constant differs.
    """

    structure: tuple[str, ...]
    quadratic: bool
    q: IntArray
    r: bool
    F: tuple[str, ...]
    g: tuple[str, ...]
    lower: IntArray
    upper: IntArray
    integer: IntArray

    @property
    def empty(self) -> bool:
        """Return whether the forms are equal when materialised."""
        vectors = (self.q, self.lower, self.upper, self.integer)
        return not (self.structure or self.quadratic or self.r or self.F or self.g or any(v.size for v in vectors))

    @classmethod
    def between(cls, old: StandardForm, new: StandardForm) -> FormDelta:
        """Compare two forms; arrays that they share are not read."""
        empty = np.zeros(0, dtype=np.int64)
        structure = tuple(_structure(old, new))
        if structure:
            return cls(structure, False, empty, False, (), (), empty, empty, empty)
        pairs = list(zip(old.constraints, new.constraints, strict=True))
        return cls(
            structure=(),
            quadratic=not _same_quadratic(old.quadratic, new.quadratic),
            q=_changed(old.q, new.q),
            r=old.r != new.r,
            F=tuple(a.label for a, b in pairs if not _same_matrix(a.F, b.F)),
            g=tuple(a.label for a, b in pairs if _changed(a.g, b.g).size),
            lower=_changed(old.lower, new.lower),
            upper=_changed(old.upper, new.upper),
            integer=_changed(old.integer, new.integer),
        )

    def __str__(self) -> str:
        if self.empty:
            return "no difference"
        parts = list(self.structure)
        parts += ["quadratic term"] if self.quadratic else []
        parts += ["constant of the objective"] if self.r else []
        names = ("q", "lower", "upper", "integer")
        vectors = (self.q, self.lower, self.upper, self.integer)
        parts += [
            f"{name}: {v.size} {'entry' if v.size == 1 else 'entries'}" for name, v in zip(names, vectors, strict=True) if v.size
        ]
        parts += [f"F of {label}" for label in self.F] + [f"g of {label}" for label in self.g]
        return "; ".join(parts)


def changed_entries(old: Any, new: Any) -> tuple[list[int], list[int], list[float]]:
    """Return row, column and new value of the entries that differ between two sparse matrices of one sparsity pattern."""
    before, after = sp.coo_array(old), sp.coo_array(new)
    changed = np.flatnonzero(before.data != after.data)
    return after.row[changed].tolist(), after.col[changed].tolist(), after.data[changed].tolist()


def _structure(old: StandardForm, new: StandardForm) -> list[str]:
    reasons = []
    if old.blocks != new.blocks:
        reasons.append(f"blocks {_labels(old.blocks)} → {_labels(new.blocks)}")
    if [(c.label, c.cone) for c in old.constraints] != [(c.label, c.cone) for c in new.constraints]:
        reasons.append(f"constraints {_labels(old.constraints)} → {_labels(new.constraints)}")
    if old.maximise != new.maximise:
        reasons.append("sense of the objective")
    return reasons


def _labels(items: tuple[Any, ...]) -> str:
    return "(" + ", ".join(item.label for item in items) + ")"


def _changed(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> IntArray:
    return np.zeros(0, dtype=np.int64) if a is b else np.flatnonzero(a != b)


def _same_matrix(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if _same_places(a, b):
        return bool(np.array_equal(a.data, b.data))
    if sp.issparse(a) or sp.issparse(b):
        difference = sp.csr_array(a) - sp.csr_array(b)
        return difference.nnz == 0 or not difference.data.any()
    return bool(np.array_equal(a, b))


def _same_places(a: Any, b: Any) -> bool:
    """Two CSR or two CSC matrices with the same pattern (the common case, forms of one model): numbers compare as they lie."""
    if not (sp.issparse(a) and sp.issparse(b) and a.format == b.format and a.format in ("csr", "csc") and a.shape == b.shape):
        return False
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def _same_quadratic(a: Quadratic | None, b: Quadratic | None) -> bool:
    if a is b:
        return True
    if a is None or b is None:
        present = a if a is not None else b
        assert present is not None
        return not present.csc.nnz
    return _same_matrix(a.materialised, b.materialised)


def multipliers_by_label(form: StandardForm, z: FloatArray) -> dict[str, FloatArray]:
    """Split the multipliers of all rows, in the order of the form, by the label of the constraint."""
    stops = accumulate(c.rows for c in form.constraints)
    return {c.label: z[stop - c.rows : stop] for c, stop in zip(form.constraints, stops, strict=True)}


@dataclass(frozen=True, eq=False)
class LinearArrays:
    """The arrays of a quadratic program, min ½x'Px + q'x + r subject to l ≤ Ax ≤ u, which most QP solvers take.

    The rows of A are those of the form's constraints, in their order, then one for each variable that has a bound.

    Parameters
    ----------
    form : StandardForm
        Continuous, with linear rows alone.

    Raises
    ------
    UnsupportedModelError
        A cone that is not linear, indicators or integers.

    Examples
    --------
    >>> P, q, A, l, u = form.linear()  # doctest: +SKIP
    """

    form: StandardForm

    def __post_init__(self) -> None:
        other = [c.label for c in self.form.constraints if not isinstance(c.cone, Nonnegative | Zero)]
        if other:
            raise UnsupportedModelError(f"{self.form.name} is no quadratic program: {other[0]} is no linear row")
        if self.form.integer.any():
            raise UnsupportedModelError(f"{self.form.name} has integer variables; form.relaxed() has none")

    def __iter__(self) -> Iterator[sp.csc_matrix | FloatArray]:
        return iter((self.P, self.q, self.A, self.lower, self.upper))

    @cached_property
    def P(self) -> sp.csc_matrix:
        """Return P (n, n), symmetric; zero for a linear program."""
        upper = self.upper_P
        return sp.csc_matrix(upper + sp.triu(upper, 1).T)

    @property
    def upper_P(self) -> sp.csc_matrix:
        """Return the upper triangle of P."""
        form = self.form
        return sp.csc_matrix((form.n, form.n)) if form.quadratic is None else form.quadratic.upper

    @property
    def q(self) -> FloatArray:
        """Return q (n,), a copy."""
        return np.array(self.form.q)

    @property
    def r(self) -> float:
        """Return the constant of the objective."""
        return self.form.r

    @cached_property
    def bounded_variables(self) -> IntArray:
        """Return the indices of the variables that have a bound, and so a row of A."""
        return np.flatnonzero(np.isfinite(self.form.lower) | np.isfinite(self.form.upper))

    @cached_property
    def A(self) -> sp.csc_matrix:
        """Return A (rows, n)."""
        bounded = self.bounded_variables
        single = sp.csr_array((np.ones(bounded.size), (np.arange(bounded.size), bounded)), shape=(bounded.size, self.form.n))
        return sp.csc_matrix(sp.vstack([self.form.rows_matrix()[0], single]))

    @cached_property
    def lower(self) -> FloatArray:
        """Return l (rows,), -∞ where there is none."""
        return np.concatenate([np.zeros(0), *(-c.g for c in self.form.constraints), self.form.lower[self.bounded_variables]])

    @cached_property
    def upper(self) -> FloatArray:
        """Return u (rows,), ∞ where there is none."""
        sides = (-c.g if isinstance(c.cone, Zero) else np.full(c.rows, np.inf) for c in self.form.constraints)
        return np.concatenate([np.zeros(0), *sides, self.form.upper[self.bounded_variables]])

    def multipliers(self, y: FloatArray) -> dict[str, FloatArray]:
        """Return z by constraint, in the form's sign, from multipliers y of the rows with Px + q + A'y = 0."""
        return multipliers_by_label(self.form, -y)

    def reduced(self, y: FloatArray) -> FloatArray:
        """Return the reduced costs ζ of the bounds (n,), in the form's sign, from the same y."""
        zeta = np.zeros(self.form.n)
        zeta[self.bounded_variables] = -y[y.size - self.bounded_variables.size :]
        return zeta


#: Attribute in which a form keeps the record of the program that it was imported from.
_IMPORT = "_import"


@dataclass(frozen=True, eq=False)
class StandardForm(Displayed, ExportMethods):
    """One mathematical program with labelled variables and constraints; immutable.

    Parameters
    ----------
    name : str
    blocks : tuple of Block
        Consecutive pieces of x.
    q, r : ndarray (n,), float
        Linear objective and constant.
    constraints : tuple of Constraint
    lower, upper : ndarray (n,)
        Bounds; infinite where there is none.
    integer : ndarray of bool (n,)
    quadratic : Quadratic, optional
    maximise : bool
        The stated model maximises the negative of this objective.

    Raises
    ------
    InputError
        Shapes that do not fit, labels that are not unique, or numbers that are not finite.
    """

    name: str
    blocks: tuple[Block, ...]
    q: FloatArray
    constraints: tuple[Constraint, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    quadratic: Quadratic | None = None
    r: float = 0.0
    maximise: bool = False
    slices: Mapping[str, slice] = field(init=False, repr=False)

    @property
    def form(self) -> StandardForm:
        """Return the form itself, as a formulation returns its form."""
        return self

    @property
    def imports(self) -> tuple[Any, ...]:
        """Return the record of the program of another package that the form was made from (`models.importing.source.Import`);
        empty for derived forms.
        """
        return tuple(filter(None, [vars(self).get(_IMPORT)]))

    def with_import(self, record: Any) -> StandardForm:
        """Return a copy of the form that keeps ``record`` of the foreign program that it was made from; pickling drops it."""
        copy = replace(self)
        vars(copy)[_IMPORT] = record
        return copy

    def __getstate__(self) -> dict[str, Any]:
        """Without its import, which holds an object of another package."""
        return {name: value for name, value in vars(self).items() if name != _IMPORT}

    def display(self) -> Display:
        """Return the notebook view: a small program as mathematics, with its text folded; else blocks and constraints."""
        lines = str(self).splitlines()
        return Display(lines[0], latex=self.latex() if is_small(self) else "", text="\n".join(lines[1:]))

    def inspect(self) -> FormReport:
        """Return ranges of coefficients, conditioning, convexity and scaling advice, printable (`models.program.inspection`)."""
        return inspect_form(self)

    def spy(self) -> Picture:
        """Draw the structure: where the non-zeros are, by block and constraint (`models.program.inspection`)."""
        return spy(self)

    def replace(self, **changes: Any) -> StandardForm:
        """Return a new form with these fields replaced; every other array is shared."""
        return replace(self, **changes)

    def linear(self) -> LinearArrays:
        """Return the arrays P, q, A, l, u of a linear or quadratic program, and the way back: see `LinearArrays`.

        Raises
        ------
        UnsupportedModelError
            A cone that is not linear, indicators or integers.
        """
        return LinearArrays(self)

    def with_names(self, label: str, *axes: Sequence[str]) -> StandardForm:
        """Return the form with the entries of a block named ``label[name]``, or ``label[name,name]`` by the names of both axes.

        The names of an axis are different, one an index; else the form is returned as it is.
        """
        shape = tuple(map(len, axes))
        blocks = [block for block in self.blocks if block.label == label and block.shape == shape and block.given_names is None]
        if not blocks or any(len(set(names)) < len(names) for names in axes):
            return self
        indices = map(blocks[0].index, range(blocks[0].size))
        given_names = tuple(f"{label}[{','.join(names[i] for names, i in zip(axes, ix, strict=True))}]" for ix in indices)
        named = replace(blocks[0], given_names=given_names)
        return self.replace(blocks=tuple(named if block is blocks[0] else block for block in self.blocks))

    def with_point_names(self, names: Sequence[str]) -> StandardForm:
        """Return the form whose rows of points, one a point, are named ``label[name]`` after them; the names differ.

        These are the rows that keep points, and the constraint ``margin`` where it has one for each.
        """

        def named(c: Constraint) -> Constraint:
            points = range(c.rows) if c.points is None and c.label == "margin" and c.rows == len(names) else c.points
            if points is None or c.given_names is not None or c.rows != len(points):
                return c
            return replace(c, given_names=tuple(f"{c.label}[{names[i]}]" for i in points))

        return self.replace(constraints=tuple(map(named, self.constraints))) if names else self

    def relax_integrality(self) -> StandardForm:
        """Return the continuous relaxation: the same form without integrality.

        Constraints that are not convex go: the closed convex hull of an indicator says no more than the bounds 0 ≤ a ≤ 1, that
        of a bilinear row nothing.
        """
        convex = tuple(c for c in self.constraints if c.cone.convex)
        return self.replace(name=f"{self.name}, continuous", integer=np.zeros(self.n, dtype=bool), constraints=convex)

    def with_integers_fixed(self, x: FloatArray) -> StandardForm:
        """Return the continuous form with the integer variables fixed at the nearest integers of x; indicators become rows or are
        dropped.
        """
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[self.integer] = upper[self.integer] = np.round(x[self.integer])
        decided = tuple(_decided(c, x) for c in self.constraints)
        fixed = self.replace(constraints=tuple(c for c in decided if c is not None))
        return fixed.relax_integrality().with_bounds(lower, upper)

    def with_bounds(self, lower: FloatArray, upper: FloatArray) -> StandardForm:
        """Return the same form with other bounds (fixing variables, branching)."""
        return self.replace(lower=np.asarray(lower), upper=np.asarray(upper))

    def diff(self, other: StandardForm) -> FormDelta:
        """Return the changes that turn this form into ``other``; see `FormDelta`."""
        return FormDelta.between(self, other)

    def equals(self, other: StandardForm) -> bool:
        """Return whether both forms have the same labels, cones and numbers when materialised."""
        return self.diff(other).empty

    def __post_init__(self) -> None:
        labels = [b.label for b in self.blocks] + [c.label for c in self.constraints]
        if len(set(labels)) != len(labels):
            raise InputError(f"labels of a form must differ: {labels}", name="labels")
        for name in ("q", "lower", "upper", "integer"):
            array = np.asarray(getattr(self, name), dtype=bool if name == "integer" else np.float64)
            if array.shape != (self.n,):
                raise InputError(f"{name} must have shape ({self.n},), not {array.shape}", name=name)
            object.__setattr__(self, name, frozen(array))
        if not (np.isfinite(self.q).all() and np.isfinite(self.r)) or np.isnan(self.lower).any() or np.isnan(self.upper).any():
            raise InputError(
                "q and r must be finite, lower and upper must not be NaN (infinite where there is no bound)", name="q"
            )
        for c in self.constraints:
            if c.F.shape[1] != self.n:
                raise InputError(
                    f"{c.label}: F must have one column for each of the {self.n} variables; it has {c.F.shape[1]}", name="F"
                )
        if self.quadratic is not None and self.quadratic.n != self.n:
            raise InputError(f"P must be {self.n} × {self.n}, one row for each variable; it has {self.quadratic.n}", name="P")
        stops = np.cumsum([b.size for b in self.blocks]).tolist()
        slices = {b.label: slice(stop - b.size, stop) for b, stop in zip(self.blocks, stops, strict=True)}
        object.__setattr__(self, "slices", slices)

    # -- sizes and prints ---------------------------------------------------------------------------------------

    @cached_property
    def n(self) -> int:
        """Return the number of scalar variables."""
        return sum(b.size for b in self.blocks)

    @property
    def rows(self) -> int:
        """Return the number of scalar rows in the cones."""
        return sum(c.rows for c in self.constraints)

    @property
    def has_bounds(self) -> bool:
        """Return whether any bound is finite."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @cached_property
    def features(self) -> frozenset[Feature]:
        """Return the features beyond a linear objective, linear rows and bounds, which a solver or format must support."""
        features = {c.cone.feature for c in self.constraints if c.rows} - {None}
        if self.quadratic is not None:
            features.add(Feature.QUADRATIC)
        if self.integer.any():
            features.add(Feature.INTEGER)
        if self.convexity.is_refuted:
            features.add(Feature.NONCONVEX)
        return frozenset(f for f in features if f is not None)

    @property
    def bytes(self) -> int:
        """Return the bytes that the data take when they are materialised."""
        arrays = [self.q, self.lower, self.upper, self.integer]
        total = sum(a.nbytes for a in arrays)
        total += sum(c.F.data.nbytes + c.F.indices.nbytes + c.F.indptr.nbytes + c.g.nbytes for c in self.constraints)
        if self.quadratic is not None:
            total += self.quadratic.bytes
        return int(total)

    def names(self) -> list[str]:
        """Return one name for each scalar variable, in the order of x."""
        return [name for block in self.blocks for name in block.names()]

    def constraint(self, label: str) -> Constraint:
        """Return the constraint of this label.

        Parameters
        ----------
        label : str

        Returns
        -------
        Constraint

        Raises
        ------
        InputError
            There is none; the message lists the labels.
        """
        for c in self.constraints:
            if c.label == label:
                return c
        raise InputError(f"no constraint {label!r}; there are {', '.join(c.label for c in self.constraints)}", name=label)

    def block(self, label: str) -> Block:
        """Return the block of this label.

        Parameters
        ----------
        label : str

        Returns
        -------
        Block

        Raises
        ------
        InputError
            There is none; the message lists the labels.
        """
        for b in self.blocks:
            if b.label == label:
                return b
        raise InputError(f"no block {label!r}; there are {', '.join(b.label for b in self.blocks)}", name=label)

    def __str__(self) -> str:
        kinds = ", ".join(sorted(f.value for f in self.features)) or "linear"
        title = f"{self.name}: {self.n} variables, {self.rows} rows ({kinds}; {self.bytes:,} bytes)"
        if not is_small(self):
            return "\n".join([title, *summary_lines(self)])
        return "\n".join([title, *program_text(self._sense, *program_lines(self))])

    __repr__ = __str__

    @property
    def _sense(self) -> str:
        return "maximise" if self.maximise else "minimise"

    def latex(self, *, standalone: bool = False) -> str:
        """Return the program as an ``aligned`` display: row by row if it is small, else by labels, as F x + g in a cone.

        Parameters
        ----------
        standalone : bool
            A whole document that compiles as it is; else a display for one that loads amsmath and amssymb.
        """
        objective, rows = program_lines(self) if is_small(self) else abstract_lines(self)
        body = latex_numbers(program_latex(self._sense, objective, rows))
        return latex_document(f"{latex_words(self.name)}.", body) if standalone else body

    # -- values -------------------------------------------------------------------------------------------------

    def objective(self, x: FloatArray) -> float:
        """Return ½x'Px + q'x + r, which is always minimised."""
        value = float(self.q @ x) + self.r
        if self.quadratic is not None:
            value += 0.5 * float(x @ self.quadratic.product(x))
        return value

    def evaluate(self, x: FloatArray) -> Rounded:
        """Return the objective with a bound of its rounding error."""
        value = dot(self.q, x) + Rounded(self.r)
        if self.quadratic is None:
            return value
        return value + self.quadratic.evaluate(x).times(0.5)

    @cached_property
    def convexity(self) -> Convexity:
        """Return the evidence that the objective is convex where the equalities hold."""
        if self.quadratic is None:
            return Convexity(Evidence.CONSTRUCTION, "the objective is linear")
        of_quadratic = self.quadratic.convexity
        rows = [c.F for c in self.constraints if isinstance(c.cone, Zero) and c.rows]
        if of_quadratic.is_proved or not rows or self.n > LARGEST_VERIFIED_ORDER:
            return of_quadratic
        return convexity_on_equalities(to_dense(self.quadratic.materialised), sp.vstack(rows).toarray()) or of_quadratic

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient P x + q of the objective."""
        return self.q.copy() if self.quadratic is None else self.quadratic.product(x) + self.q

    def split(self, x: FloatArray) -> dict[str, FloatArray]:
        """Return the values of x by label, in the blocks' own shapes."""
        return {b.label: b.unpack(np.asarray(x[self.slices[b.label]])) for b in self.blocks}

    def read_values(self, mapping: Mapping[str, object], noun: str) -> dict[str, FloatArray]:
        """Return values that a user gives by block, or by the names of single variables, as arrays by block.

        Raises
        ------
        InputError
            A name that no block and no variable has, a variable without a value beside others of its block that have one, a shape
            that is not the block's, numbers that are not finite; ``noun`` names the argument.
        """
        if not isinstance(mapping, Mapping):
            raise InputError(f"{noun} must be a mapping of block to array; it is a {type(mapping).__name__}", name=noun)
        blocks = {block.label: block for block in self.blocks}
        named = split_indexed_values(self.blocks, {name: value for name, value in mapping.items() if name not in blocks})
        values = self._by_names({name: value for name, value in named.items() if name not in blocks}, noun)
        mapping = {**mapping, **named}
        for label, value in mapping.items():
            if label not in blocks:
                continue
            values[label] = array = as_array(value, f"{noun}[{label!r}]")
            shape, odd = blocks[label].shape, "" if np.isfinite(array).all() else " and values that are not finite"
            if odd or array.shape != shape:
                expectation = f"{noun}[{label!r}] must hold {math.prod(shape)} finite numbers, shape {shape}"
                raise InputError(f"{expectation}; it has shape {array.shape}{odd}", name=noun)
        return values

    def _by_names(self, mapping: Mapping[str, object], noun: str) -> dict[str, FloatArray]:
        """Values of the blocks whose variables are named one by one."""
        values, unread = {}, dict(mapping)
        for block in self.blocks if unread else ():
            names = block.names()
            if not any(name in unread for name in names):
                continue
            missing = [name for name in names if name not in unread]
            if missing:
                needed = f"give all {block.size} of {block.label}; {len(missing)} missing"
                raise InputError(f"{noun}: {missing[0]!r} has no value: {needed}", name=missing[0])
            entries = np.array([float(as_array(unread.pop(name), f"{noun}[{name!r}]")) for name in names])
            if not np.isfinite(entries).all():
                raise InputError(f"{noun} must be finite; {names[int(np.argmin(np.isfinite(entries)))]} is not", name=noun)
            values[block.label] = block.unpack(entries)
        if unread:
            labels = ", ".join(block.label for block in self.blocks)
            raise InputError(
                f"{noun}: the form has no block {next(iter(unread))!r}; it has {labels}, and no variable of that name",
                name=next(iter(unread)),
            )
        return values

    def join(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Return x from values by label: the inverse of `split`.

        Parameters
        ----------
        values : mapping of label to ndarray
            One for each block, in its own shape; others are not read.

        Returns
        -------
        ndarray (n,)
            x, symmetric blocks as svec.

        Raises
        ------
        InputError
            A block without a value, or one of another shape.
        """
        missing = [b.label for b in self.blocks if b.label not in values]
        if missing:
            raise InputError(f"values for {', '.join(missing)} are missing; the form has {', '.join(self.slices)}", name="values")
        return np.concatenate([np.zeros(0), *(b.pack(values[b.label]) for b in self.blocks)])

    # -- new forms ----------------------------------------------------------------------------------------------

    def rows_matrix(self, labels: Iterable[str] | None = None) -> tuple[sp.csr_array, FloatArray]:
        """Return F and g of all (or the named) constraints, one below the other."""
        chosen = self.constraints if labels is None else tuple(self.constraint(label) for label in labels)
        F, g = self._stacked(chosen)
        return F.csr, g

    def rows_mask(self, *cones: type[Cone]) -> BoolArray:
        """Return the mask of the rows that are in cones of these types."""
        return np.concatenate([np.full(c.rows, isinstance(c.cone, cones)) for c in self.constraints] or [np.zeros(0, bool)])

    def csr_rows(self) -> tuple[CSRRows, FloatArray]:
        """Return F and g of all constraints, F without SciPy's checks."""
        return self._stacked(self.constraints)

    def _stacked(self, chosen: tuple[Constraint, ...]) -> tuple[CSRRows, FloatArray]:
        if not chosen:
            return CSRRows.from_matrix(np.zeros((0, self.n))), np.zeros(0)
        return CSRRows.vstack(*(CSRRows.from_matrix(c.F) for c in chosen)), np.concatenate([c.g for c in chosen])


def _decided(c: Constraint, x: FloatArray) -> Constraint | None:
    """An indicator constraint at fixed binaries: its rows that are switched on, if any. Others as they are."""
    if not isinstance(c.cone, Indicator):
        return c
    active = np.flatnonzero(c.value(x)[0::2] < 0.5)
    points = None if c.points is None else tuple(c.points[int(k)] for k in active)
    return (
        Constraint(c.label, c.F[2 * active + 1], c.g[2 * active + 1], Nonnegative(active.size), points=points)
        if active.size
        else None
    )
