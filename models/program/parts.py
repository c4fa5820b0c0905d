"""The parts of a form: blocks of variables, labelled constraints in cones, and the quadratic part of the objective."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ..arrays import FloatArray, IntArray, check_bytes, frozen
from ..kernels.gram import GramOperator
from ..rounding import Rounded, dot, gamma, transposed_product
from .cones import Cone, smat, svec, svec_indices, svec_size
from .convexity import VERIFY_UP_TO, Convexity, Evidence, matrix_convexity
from .entries import Entries, by_column, triangle

__all__ = ["Block", "Constraint", "Quadratic"]


@dataclass(frozen=True)
class Block:
    """A labelled block of variables: a scalar (shape ()), a vector, or a symmetric matrix stored as svec.

    ``own`` names each of its scalar variables (else InputError) where they were named elsewhere, in a file for example.
    """

    label: str
    shape: tuple[int, ...]
    symmetric: bool = False
    own: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check_names(self.label, self.own, self.size)

    @property
    def size(self) -> int:
        """Number of scalar variables."""
        return svec_size(self.shape[0]) if self.symmetric else math.prod(self.shape)

    def names(self) -> list[str]:
        """One name for each scalar variable: its own, or ``w[3]``, ``W[0,2]`` (for a symmetric block: that svec entry)."""
        if self.own is not None:
            return list(self.own)
        if self.symmetric:
            return [f"{self.label}[{i},{j}]" for i, j in zip(*svec_indices(self.shape[0]), strict=True)]
        if not self.shape:
            return [self.label]
        return [f"{self.label}[{','.join(map(str, index))}]" for index in np.ndindex(*self.shape)]

    def unpack(self, x: FloatArray) -> FloatArray:
        """The block's value in its own shape from its piece of x."""
        return smat(x) if self.symmetric else x.reshape(self.shape)

    def pack(self, value: FloatArray) -> FloatArray:
        """The block's piece of x from its value: the inverse of `unpack`."""
        value = np.asarray(value, dtype=np.float64)
        if value.shape != self.shape:
            raise InputError(f"values[{self.label!r}] must have shape {self.shape}; it has {value.shape}")
        return svec(value) if self.symmetric else value.ravel()


class NamedValues(dict[str, FloatArray]):
    """Values by block, which also answers to the name of a single variable, ``values["X1"]`` or ``values["w[age]"]``.

    Parameters
    ----------
    values : mapping of label to array
    blocks : callable
        The blocks of the form, asked for at the first name that is no label.
    """

    def __init__(self, values: Mapping[str, FloatArray], blocks: Callable[[], Sequence[Block]]) -> None:
        super().__init__(values)
        self._blocks = blocks

    def __missing__(self, name: str) -> FloatArray:
        for block in self._blocks():
            if block.label in self and name in (names := block.names()):
                return np.asarray(block.pack(self[block.label]).reshape(-1)[names.index(name)])
        raise KeyError(f"there is no block or variable {name!r}; the blocks are {', '.join(self)}")

    def __reduce__(self) -> tuple[type[dict[str, FloatArray]], tuple[dict[str, FloatArray]]]:
        """Pickle as a plain dictionary: the form is not part of the values."""
        return dict, (dict(self),)


@dataclass(frozen=True, eq=False)
class Constraint:
    """``F x + g`` in ``cone``, under a label; ``own`` are the rows' names from elsewhere, ``points`` those that they keep."""

    label: str
    F: sp.csr_array
    g: FloatArray
    cone: Cone
    own: tuple[str, ...] | None = None
    points: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.F, sp.csr_array) and self.F.dtype == np.float64):
            object.__setattr__(self, "F", sp.csr_array(self.F, dtype=np.float64))
        object.__setattr__(self, "g", frozen(np.asarray(self.g, dtype=np.float64)))
        if self.F.shape[0] != self.cone.rows or self.g.shape != (self.cone.rows,):
            raise InputError(f"{self.label}: F {self.F.shape}, g {self.g.shape} and {self.cone} do not fit")
        if not (np.isfinite(self.F.data).all() and np.isfinite(self.g).all()):
            raise InputError(f"{self.label}: F and g must be finite")
        _check_names(self.label, self.own, self.rows)
        _check_names(self.label, self.points, self.rows // self.cone.block, "points", "rows or cones")

    @property
    def rows(self) -> int:
        """Scalar rows."""
        return self.g.size

    def names(self) -> list[str]:
        """One name for each row: its own, ``margin[3]``, or ``hull[3,0]`` (cone, row in the cone) for cones of several rows."""
        if self.own is not None:
            return list(self.own)
        if self.cone.count == 1 or self.cone.dim == 1:
            return [self.label] if self.rows == 1 else [f"{self.label}[{i}]" for i in range(self.rows)]
        return [f"{self.label}[{k},{i}]" for k in range(self.cone.count) for i in range(self.cone.dim)]

    @cached_property
    def largest(self) -> FloatArray:
        """max_j |F_ij| of every row; zero where nothing is stored."""
        filled = self.F.indptr[1:] > self.F.indptr[:-1]
        largest = np.zeros(self.F.shape[0])
        if self.F.data.size:
            largest[filled] = np.maximum.reduceat(np.abs(self.F.data), self.F.indptr[:-1][filled])
        return frozen(largest)

    def value(self, x: FloatArray) -> FloatArray:
        """``F x + g``."""
        return np.asarray(self.F @ x + self.g)

    def pulled(self, z: FloatArray) -> FloatArray:
        """``F'z``."""
        return Entries.of(self.F).weighted_sum(z)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The symmetric P ⪰ 0 of ½x'Px: dense, sparse, factored as P = R'R (``factor`` = R), or known by its columns.

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
            raise InputError("give one of the matrix P, its factor R and an operator")
        if self.matrix is not None:
            _check_symmetric(self.matrix)

    @property
    def n(self) -> int:
        """Number of variables."""
        if self.operator is not None:
            return self.operator.n
        data = self.matrix if self.matrix is not None else self.factor
        assert data is not None
        return int(data.shape[1])

    @property
    def bytes(self) -> int:
        """Bytes that P takes when it is materialised."""
        if self.matrix is not None and not isinstance(self.matrix, np.ndarray):
            return int(self.matrix.data.nbytes + self.matrix.indices.nbytes)
        return 8 * self.n**2

    @cached_property
    def materialised(self) -> FloatArray | sp.csc_array:
        """P itself, dense or CSC.

        Raises
        ------
        TooLargeError
            It would need more than `models.arrays.materialise_limit` bytes.
        """
        if self.matrix is not None:
            return self.matrix
        check_bytes(self.bytes, "the matrix P of the quadratic objective")
        if self.operator is not None:
            return self.operator.dense
        assert self.factor is not None
        product = self.factor.T @ self.factor
        return sp.csc_array(product) if sp.issparse(product) else np.asarray(product)

    @cached_property
    def csc(self) -> sp.csc_array:
        """P as CSC with sorted indices and no explicit zeros; the given matrix itself where it is so."""
        given = self.materialised
        if isinstance(given, np.ndarray) and given.all():
            return by_column(given)
        if isinstance(given, sp.csc_array) and given.has_sorted_indices and given.data.all():
            return given
        matrix = sp.csc_array(given, copy=True)  # it may be shared with other forms
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return matrix

    def among(self, chosen: IntArray) -> FloatArray:
        """The rows and columns of P that are chosen, in ascending order, dense."""
        P = self.materialised
        if isinstance(P, np.ndarray):
            return np.asarray(P[np.ix_(chosen, chosen)])
        return Entries(P.data, P.indices, P.indptr, self.n).at(chosen).among(chosen).dense()  # symmetric: columns are rows

    @cached_property
    def upper(self) -> sp.csc_matrix:
        """The upper triangle of P, as native interfaces take it."""
        return triangle(self._full_or_csc, upper=True)

    @cached_property
    def lower(self) -> sp.csc_matrix:
        """The lower triangle of P, by columns."""
        return triangle(self._full_or_csc, upper=False)

    @property
    def _full_or_csc(self) -> FloatArray | sp.csc_array:
        return P if isinstance(P := self.materialised, np.ndarray) and P.all() else self.csc

    @property
    def most_in_columns(self) -> FloatArray:
        """At least as many non-zeros as each column of P has, without materialising it."""
        P, R = self.matrix, self.factor
        if P is not None and not isinstance(P, np.ndarray):
            return np.diff(P.indptr) * 1.0
        return np.minimum(Entries.of(R).met, self.n) if sp.issparse(R) else np.full(self.n, float(self.n))

    @cached_property
    def convexity(self) -> Convexity:
        """Evidence that P ⪰ 0: its factor, its kernel's theorem, or a factorisation (`models.program.convexity`)."""
        if self.factor is not None:
            return Convexity(Evidence.CONSTRUCTION, "P = R'R")
        if self.operator is not None:
            if self.operator.semidefinite:
                return Convexity(Evidence.CONSTRUCTION, self.operator.semidefinite)
            if self.n > VERIFY_UP_TO:
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
        """x'Px with a bound of its rounding error; ||R x||² where P is factored."""
        if not isinstance(self.factor, np.ndarray):
            return dot(x, self.product(x), self.product_error(x))
        y, off = transposed_product(self.factor.T, x)
        square = dot(y, y)
        return Rounded(square.value, (square.error + 2.0 * float(np.abs(y) @ off) + float(off @ off)) * (1.0 + 1e-9))

    def product_error(self, x: FloatArray) -> FloatArray:
        """Bound of |computed - exact| for every entry of `product`."""
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
        """P_jj."""
        if self.operator is not None:
            return self.operator.diagonal
        return np.asarray(self._row_norms**2 if self.matrix is None else self.matrix.diagonal(), dtype=np.float64)

    def product(self, x: FloatArray) -> FloatArray:
        """``P x`` without forming P where it is factored."""
        if self.factor is not None:
            return np.asarray(self.factor.T @ (self.factor @ x))
        if self.operator is not None:
            return self.operator.product(x)
        assert self.matrix is not None
        return np.asarray(self.matrix @ x)


def _check_names(label: str, own: Sized | None, size: int, what: str = "names", of: str = "scalars") -> None:
    if own is not None and len(own) != size:
        raise InputError(f"{label}: {len(own)} {what} for {size} {of}")


def _exactly_symmetric(P: FloatArray | sp.csc_array) -> bool:
    """To the bit, entries in order: a difference of sparse matrices takes ten times as long to say so."""
    if isinstance(P, np.ndarray):
        return bool(np.array_equal(P, P.T))
    rows = P.tocsr()
    return all(bool((getattr(P, name) == getattr(rows, name)).all()) for name in ("indptr", "indices", "data"))


def _check_symmetric(P: FloatArray | sp.csc_array) -> None:
    data = P if isinstance(P, np.ndarray) else P.data
    if P.ndim != 2 or P.shape[0] != P.shape[1] or not np.isfinite(data).all():
        raise InputError(f"P must be a finite square matrix; its shape is {P.shape}")
    if _exactly_symmetric(P):
        return
    asymmetry = float(abs(P - P.T).max()) if data.size else 0.0
    if asymmetry > 1e-12 * max(float(np.abs(data).max(initial=0.0)), 1.0):
        raise InputError(f"P must be symmetric; it differs from its transpose by {asymmetry:.3g}")
