"""The standard form, a labelled mathematical program: every formulation compiles to it, every backend and file writer reads it.

    minimise    ½ x'P x + q'x + r
    subject to  F_k x + g_k in K_k      (one label for each k)
                l ≤ x ≤ u,  some x integer

Conventions, once and for all. Minimisation; a model that maximises sets ``maximise`` and its objective is the negative
of the form's, f(x). The Lagrangian is f(x) - Σ_k <z_k, F_k x + g_k> - <ζ_l, x - l> - <ζ_u, u - x>, with z_k in the dual
cone of K_k and ζ_l, ζ_u ≥ 0. Stationarity reads ``P x + q = Σ_k F_k'z_k + ζ`` with the reduced costs ζ = ζ_l - ζ_u of the bounds.
Symmetric blocks are stored as svec (`models.program.cones`).

`Block` is a labelled array of variables and `Constraint` a labelled group of rows; their entries are found by the names that a
Pyomo model, a gurobipy model or a file gives them. `StandardForm` joins them with the objective.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from ...data_names import DataNames
from ...display import Display, Displayable
from ...drawing import Picture
from ...errors import InputError, UnsupportedModelError, count_text, near_names, short_text, unknown_name
from ..arrays import BoolArray, FloatArray, IntArray, as_array, frozen, to_dense
from ..export_methods import ExportMethods
from ..rounding import Rounded, dot
from ..statement import Line, latex_document, latex_numbers, latex_words, name_lines, program_latex, program_text
from .cones import Cone, Feature, Indicator, Nonnegative, Zero, smat, svec, svec_indices, svec_size
from .csr_rows import CSRRows
from .form_text import is_small, matrix_lines, program_lines, summary_lines
from .inspection import FormDelta, FormReport, inspect_form, spy
from .quadratic import LARGEST_VERIFIED_ORDER, Convexity, Evidence, Quadratic, convexity_on_equalities

#: Brackets that packages and files put around an index.
_BRACKETS = (("[", "]"), ("(", ")"))
#: The end of a variable's name as mathematics writes its index, w_0.
# exempt (text): only a suggestion in a message comes of it
_SUBSCRIPT = re.compile(r"_(\d+)$")


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
    auxiliary : bool
        Whether another package added the variables to state the user's: prints have them last, and say so.
    """

    label: str
    shape: tuple[int, ...]
    symmetric: bool = False
    given_names: tuple[str, ...] | None = None
    entries: tuple[tuple[int, int], ...] | None = field(default=None, metadata={"identity": _entries_identity})
    auxiliary: bool = field(default=False, compare=False, metadata={"identity": False})

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
        """Return the index of each scalar variable in the block's own shape, an array for each axis."""
        if self.entries is not None:
            rows, columns = np.array(self.entries, dtype=np.intp).reshape(-1, 2).T
            return rows, columns
        return svec_indices(self.shape[0]) if self.symmetric else np.unravel_index(np.arange(self.size), self.shape)

    @property
    def entry_scale(self) -> FloatArray:
        """Return each scalar variable's ratio to its entry of the block's value: √2 off the diagonal of an svec, else 1."""
        if not self.symmetric or self.entries is not None:
            return np.ones(self.size)
        rows, columns = self.indices
        return np.where(rows == columns, 1.0, np.sqrt(2.0))

    @property
    def expansion(self) -> sp.csr_array:
        """Return the matrix that maps the block's slice of x to its value, flattened row by row."""
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
            The value has another shape than the block; or, with ``entries``, it is not zero elsewhere, or not symmetric.
        """
        value = np.asarray(value, dtype=np.float64)
        if value.shape != self.shape:
            raise InputError(
                f"values[{short_text(self.label)}] must have shape {self.shape}; it has {value.shape}", name=self.label
            )
        if self.entries is None:
            return svec(value) if self.symmetric else value.ravel()
        x = value[self.indices]
        if not np.allclose(self.unpack(x), value, rtol=1e-9, atol=1e-12, equal_nan=True):
            sort = "symmetric" if self.symmetric else f"zero but for {count_text(len(self.entries), 'entry', 'entries')}"
            raise InputError(
                f"values[{short_text(self.label)}] must be {sort}; it is {short_text(value.tolist())}", name=self.label
            )
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

    Raises
    ------
    InputError
        F, g, names or points that do not fit the cone, or numbers that are not finite.
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
        rows, group_size = self.cone.rows, self.cone.group_size
        if self.F.shape[0] != rows or self.g.shape != (rows,):
            raise InputError(f"{self.label}: F {self.F.shape}, g {self.g.shape} and {self.cone} do not fit", name="F")
        if not (np.isfinite(self.F.data).all() and np.isfinite(self.g).all()):
            raise InputError(f"{self.label}: F and g must be finite", name="F")
        _check_names(self.label, self.given_names, rows)
        _check_names(self.label, self.points, rows // group_size, "points", "rows or cones")

    @property
    def rows(self) -> int:
        """Return the number of scalar rows."""
        return self.g.size

    def names(self) -> list[str]:
        """Return one name for each row: its own, the label of a single row, ``margin[3]``, or ``hull[3,0]`` (cone, row in the
        cone) in a stack of several cones with several rows each.
        """
        if self.given_names is not None:
            return list(self.given_names)
        if self.cone.count == 1 or self.cone.dim == 1:
            return [self.label] if self.rows == 1 else [f"{self.label}[{i}]" for i in range(self.rows)]
        return [f"{self.label}[{k},{i}]" for k in range(self.cone.count) for i in range(self.cone.dim)]

    def pack(self, value: FloatArray) -> FloatArray:
        """Return the rows' multipliers unchanged, one for each row, as `Block.pack` does for variables."""
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
    ``open[north]`` and ``open[south]``. Multipliers by constraint answer to the names of rows in the same way.

    Parameters
    ----------
    values : mapping of label to array
        Values, or multipliers, by label.
    blocks : callable
        Returns the blocks, or the constraints, of the form; called for a name that is no label.
    """

    def __init__(
        self, values: Mapping[str, FloatArray], blocks: Callable[[], Sequence[Block]] | Callable[[], Sequence[Constraint]]
    ) -> None:
        super().__init__(values)
        self._blocks = blocks

    def __missing__(self, name: str) -> FloatArray:
        if not self:
            raise KeyError(f"there is no value of {short_text(name)}: the result has none, its status says why")
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


def check_mapping(values: object, noun: str) -> None:
    """Raise `InputError` unless values, of the argument ``noun``, are a mapping of block to array.

    A whole result in their place is the usual mistake: the message asks for ``result.values``.
    """
    if not isinstance(values, Mapping):
        advice = ": give result.values" if isinstance(getattr(values, "values", None), Mapping) else ""
        raise InputError(f"{noun} must be a mapping of block to array; it is a {type(values).__name__}{advice}", name=noun)


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

    The index in the brackets, ``age``, is enough where only one block has it.

    Raises
    ------
    InputError
        No variable has this name, or more than one; the message calls it ``noun`` and suggests the nearest names.
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
            f"{name} has {count_text(len(entries), 'entry', 'entries')}, "
            f"{entries[0]} the first: give as many values, not {numbers.size}",
            name=name,
        )
    return dict(zip(entries, numbers.ravel().tolist(), strict=True))


def indexed_variable_of(name: str) -> str:
    """Return the indexed variable of an entry's name, ``open`` of ``open[north]``; empty for a name without an index."""
    # exempt (text): a variable's name, another package's or a file's
    return next((name.partition(left)[0] for left, right in _BRACKETS if name.endswith(right) and left in name), "")


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
        """Return the reduced costs ζ of the bounds (n,), in the form's sign, from the y of `multipliers`."""
        zeta = np.zeros(self.form.n)
        zeta[self.bounded_variables] = -y[y.size - self.bounded_variables.size :]
        return zeta


#: Attribute in which a form keeps the record of the program that it was imported from.
_IMPORT = "_import"


class FileName(str):
    """The name that a form has from its file. Digests leave it out, so that results stay valid where a file is renamed."""

    __slots__ = ()


def _name_identity(name: str) -> dict[str, str]:
    """Return the part of the name in digests: "program" for every form that has the name of its file."""
    return {"name": "program" if isinstance(name, FileName) else name}


@dataclass(frozen=True, eq=False)
class StandardForm(Displayable, ExportMethods):
    """One mathematical program with labelled variables and constraints; immutable.

    Parameters
    ----------
    name : str
        Name of the program in printed texts and results.
    blocks : tuple of Block
        The variables: consecutive parts of x with labels.
    q, r : ndarray (n,), float
        Linear objective and constant.
    constraints : tuple of Constraint
        The rows F_k x + g_k in their cones.
    lower, upper : ndarray (n,)
        Bounds; infinite where there is none.
    integer : ndarray of bool (n,)
        Mask of the integer variables.
    quadratic : Quadratic, optional
        P; zero where it is not given.
    maximise : bool
        The stated model maximises the negative of this objective.
    class_names : tuple of str
        Names of the classes of the model's data in the order of their codes, -1 before +1; empty without names.

    Attributes
    ----------
    slices : mapping of str to slice
        The part of x of each block, by label.

    Raises
    ------
    InputError
        Shapes that do not fit, labels that are not unique, or numbers that are not finite.
    """

    name: str = field(metadata={"identity": _name_identity})
    blocks: tuple[Block, ...]
    q: FloatArray
    constraints: tuple[Constraint, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    quadratic: Quadratic | None = None
    r: float = 0.0
    maximise: bool = False
    class_names: tuple[str, ...] = field(default=(), metadata={"identity": False})
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
        """Return the state to pickle, without the import, which holds an object of another package."""
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

        An axis has one name for each index. The form is returned unchanged if names of an axis repeat, or if it has no block of
        this label and shape without names.
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
        """Return the form whose rows of single data points are named ``label[name]`` after these points.

        These are the rows of constraints with ``points``, and those of the constraint ``margin`` if it has as many as there are
        names. ``names`` has one name for each data point.
        """

        def named(c: Constraint) -> Constraint:
            points = range(c.rows) if c.points is None and c.label == "margin" and c.rows == len(names) else c.points
            if points is None or c.given_names is not None or c.rows != len(points):
                return c
            return replace(c, given_names=tuple(f"{c.label}[{names[i]}]" for i in points))

        return self.replace(constraints=tuple(map(named, self.constraints)))

    @property
    def has_cost(self) -> BoolArray:
        """Return which variables may have a cost, linear or quadratic, by the non-zeros of q and the structure of P."""
        linear = self.q != 0.0
        return linear if self.quadratic is None else linear | (self.quadratic.column_count_bounds > 0)

    def relax_integrality(self) -> StandardForm:
        """Return the continuous relaxation: the same form without integrality.

        Constraints that are not convex are dropped. The closed convex hull of an indicator is 0 ≤ a ≤ 1, which are bounds; that
        of a bilinear row is the whole space.
        """
        convex = tuple(c for c in self.constraints if c.cone.convex)
        return self.replace(name=f"{self.name}, continuous", integer=np.zeros(self.n, dtype=bool), constraints=convex)

    def with_integers_fixed(self, x: FloatArray) -> StandardForm:
        """Return the continuous form with the integer variables fixed at the nearest integers of x.

        A row that an indicator switches on at x becomes a linear row; rows that are switched off and bilinear rows are dropped.
        """
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[self.integer] = upper[self.integer] = np.round(x[self.integer])
        decided = (_decided(c, x) for c in self.constraints)
        fixed = self.replace(lower=lower, upper=upper, constraints=tuple(c for c in decided if c is not None))
        return fixed.relax_integrality()

    def with_bounds(self, lower: FloatArray, upper: FloatArray) -> StandardForm:
        """Return the same form with other bounds (fixing variables, branching)."""
        return self.replace(lower=np.asarray(lower), upper=np.asarray(upper))

    def diff(self, other: StandardForm) -> FormDelta:
        """Return the changes that turn this form into ``other``; see `FormDelta`."""
        return FormDelta.between(self, other)

    def equals(self, other: StandardForm) -> bool:
        """Return whether both forms have the same labels, cones and numbers; a factored P is compared as a matrix."""
        return self.diff(other).empty

    def __post_init__(self) -> None:
        labels = [b.label for b in self.blocks] + [c.label for c in self.constraints]
        if len(set(labels)) != len(labels):
            raise InputError(f"labels of a form must differ: {labels}", name="labels")
        stops = np.cumsum([b.size for b in self.blocks]).tolist()
        slices = {b.label: slice(stop - b.size, stop) for b, stop in zip(self.blocks, stops, strict=True)}
        object.__setattr__(self, "slices", slices)
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
        """Return the bytes that the data take, with P as a matrix even if it is factored or computed on demand."""
        arrays = [self.q, self.lower, self.upper, self.integer]
        total = sum(a.nbytes for a in arrays)
        total += sum(c.F.data.nbytes + c.F.indices.nbytes + c.F.indptr.nbytes + c.g.nbytes for c in self.constraints)
        if self.quadratic is not None:
            total += self.quadratic.bytes
        return int(total)

    @property
    def name_lines(self) -> tuple[Line, ...]:
        """Return the line that says which class has which code; no line without names."""
        return name_lines(DataNames(classes=self.class_names), of_coefficients=False)

    def names(self) -> list[str]:
        """Return one name for each scalar variable, in the order of x."""
        return [name for block in self.blocks for name in block.names()]

    def constraint(self, label: str) -> Constraint:
        """Return the constraint of this label.

        Parameters
        ----------
        label : str
            Label of the constraint.

        Returns
        -------
        Constraint
            The constraint.

        Raises
        ------
        InputError
            There is no such constraint; the message lists the labels.
        """
        for c in self.constraints:
            if c.label == label:
                return c
        raise InputError(
            f"no constraint {short_text(label)}; there are {', '.join(c.label for c in self.constraints)}", name=label
        )

    def block(self, label: str) -> Block:
        """Return the block of this label.

        Parameters
        ----------
        label : str
            Label of the block.

        Returns
        -------
        Block
            The block.

        Raises
        ------
        InputError
            There is no such block; the message lists the labels.
        """
        for b in self.blocks:
            if b.label == label:
                return b
        raise InputError(f"no block {short_text(label)}; there are {', '.join(b.label for b in self.blocks)}", name=label)

    def __str__(self) -> str:
        kinds = ", ".join(sorted(f.value for f in self.features)) or "linear"
        title = f"{self.name}: {count_text(self.n, 'variable')}, {count_text(self.rows, 'row')} ({kinds}; {self.bytes:,} bytes)"
        body = program_text(self._sense, *program_lines(self)) if is_small(self) else summary_lines(self)
        return "\n".join([title, *body, *(f"  note: {line.text}" for line in self.name_lines)])

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
        objective, rows = program_lines(self) if is_small(self) else matrix_lines(self)
        body = latex_numbers(program_latex(self._sense, objective, (*rows, *self.name_lines)))
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

    def read_values(self, mapping: Mapping[str, object], noun: str, *, partial: bool = False) -> dict[str, FloatArray]:
        """Return values that a user gives by block, or by the names of single variables, as arrays by block.

        With ``partial`` a variable may be without a value beside others of its block that have one: its value is NaN.

        Raises
        ------
        InputError
            Not a mapping, a name that no block and no variable has, a shape that is not the block's, numbers that are not finite,
            or, without ``partial``, a variable without a value in a block with others; ``noun`` is the argument in the message.
        """
        check_mapping(mapping, noun)
        blocks = {block.label: block for block in self.blocks}
        named = split_indexed_values(self.blocks, {name: value for name, value in mapping.items() if name not in blocks})
        values = self._by_names({name: value for name, value in named.items() if name not in blocks}, noun, partial)
        mapping = {**mapping, **named}
        for label, value in mapping.items():
            if label not in blocks:
                continue
            values[label] = array = as_array(value, f"{noun}[{label!r}]")
            shape, odd = blocks[label].shape, "" if np.isfinite(array).all() else " and values that are not finite"
            if odd or array.shape != shape:
                expectation = f"{noun}[{short_text(label)}] must hold {math.prod(shape)} finite numbers, shape {shape}"
                raise InputError(f"{expectation}; it has shape {array.shape}{odd}", name=noun)
        return values

    def _by_names(self, mapping: Mapping[str, object], noun: str, partial: bool) -> dict[str, FloatArray]:
        """Return values of the blocks whose variables are named one by one."""
        values, unread = {}, dict(mapping)
        for block in self.blocks if unread else ():
            names = block.names()
            if not any(name in unread for name in names):
                continue
            missing = [name for name in names if name not in unread]
            if missing and not partial:
                needed = f"give all {block.size} of {block.label}; {len(missing)} missing"
                raise InputError(f"{noun}: {short_text(missing[0])} has no value: {needed}", name=missing[0])
            chosen = [name for name in names if name in unread]
            entries = np.array([float(as_array(unread.pop(name), f"{noun}[{short_text(name)}]")) for name in chosen])
            if not np.isfinite(entries).all():
                raise InputError(f"{noun} must be finite; {chosen[int(np.argmin(np.isfinite(entries)))]} is not", name=noun)
            packed = np.full(block.size, np.nan)
            packed[[name in mapping for name in names]] = entries
            values[block.label] = block.unpack(packed)
        if unread:
            raise self._unknown_value(next(iter(unread)), noun)
        return values

    def _unknown_value(self, name: object, noun: str) -> InputError:
        """Return the error for a value whose name no block and no variable has, with the nearest names."""
        labels = [block.label for block in self.blocks]
        entries = [entry for block in self.blocks for entry in block.names()]
        indexed = _SUBSCRIPT.sub(r"[\1]", str(name))  # w_0, as the mathematics is printed
        suggestions = [indexed] if indexed in entries else near_names(str(name), [*labels, *entries])
        hint = f"; did you mean {' or '.join(suggestions)}?" if suggestions else ""
        message = (
            f"{noun}: the form has no block {short_text(name)}; it has {', '.join(labels)}, and no variable of that name{hint}"
        )
        return InputError(message, name=str(name), allowed=labels)

    def join(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Return x from values by label: the inverse of `split`.

        Parameters
        ----------
        values : mapping of label to ndarray
            One for each block, in its own shape; further entries are ignored.

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
            return CSRRows.hstack([], 0, self.n), np.zeros(0)
        return CSRRows.vstack(*(c.F for c in chosen)), np.concatenate([c.g for c in chosen])


def _decided(c: Constraint, x: FloatArray) -> Constraint | None:
    """Return the rows that indicators switch on at x, None if there are none; other constraints unchanged."""
    if not isinstance(c.cone, Indicator):
        return c
    active = np.flatnonzero(c.value(x)[0::2] < 0.5)
    points = None if c.points is None else tuple(c.points[int(k)] for k in active)
    return (
        Constraint(c.label, c.F[2 * active + 1], c.g[2 * active + 1], Nonnegative(active.size), points=points)
        if active.size
        else None
    )
