"""The labelled variables and constraints of a standard form, and the look-up of their entries by the names that users write.

A Pyomo model, a gurobipy model and a file name the entries of an indexed variable ``open[north]`` and ``open[south]``, or with
parentheses. The form may hold them as blocks of their own or inside a larger block; ``open`` names them all, in the form's order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, unknown_name
from ..arrays import FloatArray, IntArray, frozen
from .cones import Cone, smat, svec, svec_indices, svec_size
from .csr_rows import CSRRows

#: Brackets that packages and files put around an index.
_BRACKETS = (("[", "]"), ("(", ")"))


def _entries_identity(value: object) -> dict[str, object]:
    """Return the part of a block's digest for its entries; empty without entries, as in stored digests."""
    return {} if value is None else {"entries": value}


@dataclass(frozen=True)
class Block:
    """A labelled block of variables: a scalar (shape ()), a vector, a matrix, or a symmetric matrix stored as svec.

    Parameters
    ----------
    label : str
        Name of the block, unique in its form.
    shape : tuple of int
        () for a scalar, (n,), (n, k), or (p, p) with ``symmetric``.
    symmetric : bool
        Whether the block is a symmetric matrix: stored as svec, or as its ``entries``.
    given_names : tuple of str, optional
        One name for each scalar variable, where a file or another package named them.
    entries : tuple of pairs of int, optional
        Row and column of each scalar variable in a matrix that they determine, such as a diagonal one. All further entries are
        zero, or mirror images with ``symmetric``.
    """

    label: str
    shape: tuple[int, ...]
    symmetric: bool = False
    given_names: tuple[str, ...] | None = None
    entries: tuple[tuple[int, int], ...] | None = field(default=None, metadata={"identity": _entries_identity})

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

    Parameters
    ----------
    label : str
        Name of the constraint, unique in its form.
    F : csr_array (rows, n)
        Coefficients of the variables x.
    g : ndarray (rows,)
        Constants.
    cone : Cone
        The cone (or set) that F x + g lies in.
    given_names : tuple of str, optional
        One name for each row, where a file or another package named them.
    points : sequence of int, optional
        Index of the data point whose margin each row (of cones of several rows: each cone) bounds.
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
        Returns the blocks, or the constraints, of the form; called for a name that is no label.
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


def _check_names(label: str, given_names: Sized | None, size: int, noun: str = "names", entries: str = "scalars") -> None:
    if given_names is not None and len(given_names) != size:
        raise InputError(f"{label}: {len(given_names)} {noun} for {size} {entries}", name=label)


class NamedEntries(Protocol):
    """The protocol of objects with a label and named entries: blocks of variables and constraints."""

    @property
    def label(self) -> str:
        """Return the label of the block or constraint."""

    def names(self) -> list[str]:
        """Return one name for each entry."""


NamedT = TypeVar("NamedT", bound=NamedEntries)


def find_entry(blocks: Sequence[NamedT], name: str, noun: str = "block or variable") -> tuple[NamedT, int]:
    """Return the block that has an entry of this name, ``w[age]``, and the entry's place in the block; likewise for rows of
    constraints.

    What is in the brackets, ``age``, is enough where one variable has it.

    Raises
    ------
    InputError
        No variable has this name; suggests the nearest ones.
    """
    names: dict[str, list[str]] = {b.label: b.names() for b in blocks}
    for full_names in ([name for _ in blocks], [f"{block.label}[{name}]" for block in blocks]):
        places = [(b, names[b.label].index(full)) for b, full in zip(blocks, full_names, strict=True) if full in names[b.label]]
        if len(places) == 1:
            return places[0]
    entries = [entry for block_names in names.values() for entry in block_names]
    raise unknown_name(noun, name, dict.fromkeys([*filter(None, map(indexed_variable_of, entries)), *names, *entries]))


def find_indexed_entries(blocks: Iterable[NamedT], name: str) -> list[tuple[NamedT, int]]:
    """Return all entries of an indexed variable, each as its block and its place there; empty if no variable has this name."""
    if not name:
        return []
    return [
        (b, place)
        for b in blocks
        if b.label != name
        for place, entry in enumerate(b.names())
        if indexed_variable_of(entry) == name
    ]


def split_indexed_values(blocks: Sequence[NamedEntries], values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the values of indexed variables by one value for each entry: ``{"open": [1, 0]}``, or ``{"open": {"north": 1}}``.

    Raises
    ------
    InputError
        Another number of values than the indexed variable has entries, or an index that it does not have.
    """
    labels = {block.label for block in blocks}
    flat: dict[str, Any] = {}
    for name, value in values.items():
        entries = [] if name in labels else [block.names()[place] for block, place in find_indexed_entries(blocks, name)]
        flat |= _by_entry(name, entries, value) if entries else {name: value}
    return flat


def _by_entry(name: str, entries: list[str], value: Any) -> dict[str, Any]:
    """Return the values of the entries of one indexed variable by their names."""
    if isinstance(value, Mapping):
        indices = {entry[len(name) + 1 : -1]: entry for entry in entries}
        by_index = {",".join(map(str, index)) if isinstance(index, tuple) else str(index): v for index, v in value.items()}
        for index in by_index.keys() - indices.keys():
            raise unknown_name(f"index of {name}", index, indices)
        return {indices[index]: v for index, v in by_index.items()}
    numbers = np.asarray(value)
    if numbers.size != len(entries):
        raise InputError(
            f"{name} has {len(entries)} entries, {entries[0]} the first: give as many values, not {numbers.size}", name=name
        )
    return dict(zip(entries, numbers.ravel().tolist(), strict=True))


def indexed_variable_of(name: str) -> str:
    """Return the indexed variable of an entry's name, ``open`` of ``open[north]``; empty for a name without an index."""
    # exempt (text): a variable's name, another package's or a file's
    return next((name.partition(left)[0] for left, right in _BRACKETS if name.endswith(right) and left in name), "")
