"""The labelled standard form: every formulation compiles to it once, every backend and file writer reads it.

    minimise    ½ x'P x + q'x + r
    subject to  F_k x + g_k in K_k      (one label for each k)
                l ≤ x ≤ u,  some x integer

Conventions, once and for all. Minimisation; a model that maximises sets ``maximise`` and its objective is the negative
of the form's. Lagrangian f(x) - Σ_k <z_k, F_k x + g_k> - <ζ, x> with z_k in the dual cone of K_k and
ζ = ζ_l - ζ_u the reduced costs of the bounds, so stationarity reads ``P x + q = Σ_k F_k'z_k + ζ`` and every
multiplier has one sign. Symmetric blocks are stored as svec (`models.program.svec`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ..arrays import BoolArray, FloatArray, frozen
from ..kernels.gram import GramOperator
from ..memory import check_bytes
from .cones import Cone, Feature, Indicator, Nonnegative
from .difference import FormDelta
from .svec import smat, svec, svec_indices, svec_size

if TYPE_CHECKING:
    from ..looks.inspection import FormReport, Picture

__all__ = ["Block", "Constraint", "Quadratic", "StandardForm"]


@dataclass(frozen=True)
class Block:
    """A labelled block of variables: a scalar (shape ()), a vector, or a symmetric matrix stored as svec."""

    label: str
    shape: tuple[int, ...]
    symmetric: bool = False

    @property
    def size(self) -> int:
        """Number of scalar variables."""
        return svec_size(self.shape[0]) if self.symmetric else int(np.prod(self.shape, dtype=np.int64))

    def names(self) -> list[str]:
        """One name for each scalar variable: ``w[3]``, ``W[0,2]`` (for a symmetric block: that svec entry)."""
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


@dataclass(frozen=True, eq=False)
class Constraint:
    """``F x + g`` in ``cone``, under a label."""

    label: str
    F: sp.csr_array
    g: FloatArray
    cone: Cone

    def __post_init__(self) -> None:
        if not (isinstance(self.F, sp.csr_array) and self.F.dtype == np.float64):
            object.__setattr__(self, "F", sp.csr_array(self.F, dtype=np.float64))
        object.__setattr__(self, "g", frozen(np.asarray(self.g, dtype=np.float64)))
        if self.F.shape[0] != self.cone.rows or self.g.shape != (self.cone.rows,):
            raise InputError(f"{self.label}: F {self.F.shape}, g {self.g.shape} and {self.cone} do not fit")
        if not (np.isfinite(self.F.data).all() and np.isfinite(self.g).all()):
            raise InputError(f"{self.label}: F and g must be finite")

    @property
    def rows(self) -> int:
        """Scalar rows."""
        return self.cone.rows

    def names(self) -> list[str]:
        """One name for each row: ``margin[3]``, or ``hull[3,0]`` (cone, row in the cone) for cones of several rows."""
        if self.cone.count == 1 or self.cone.dim == 1:
            return [self.label] if self.rows == 1 else [f"{self.label}[{i}]" for i in range(self.rows)]
        return [f"{self.label}[{k},{i}]" for k in range(self.cone.count) for i in range(self.cone.dim)]

    def value(self, x: FloatArray) -> FloatArray:
        """``F x + g``."""
        return np.asarray(self.F @ x + self.g)


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
            It would need more than `models.memory.materialise_limit` bytes.
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
        """P as CSC with sorted indices and no explicit zeros."""
        matrix = sp.csc_array(self.materialised, copy=True)  # the given matrix may be shared with other forms
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return matrix

    def product(self, x: FloatArray) -> FloatArray:
        """``P x`` without forming P where it is factored."""
        if self.factor is not None:
            return np.asarray(self.factor.T @ (self.factor @ x))
        if self.operator is not None:
            return self.operator.product(x)
        assert self.matrix is not None
        return np.asarray(self.matrix @ x)


@dataclass(frozen=True, eq=False)
class StandardForm:
    """One mathematical program with labelled variables and constraints. Replaced, never changed.

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

    def __post_init__(self) -> None:
        labels = [b.label for b in self.blocks] + [c.label for c in self.constraints]
        if len(set(labels)) != len(labels):
            raise InputError(f"labels of a form must differ: {labels}")
        for name in ("q", "lower", "upper", "integer"):
            array = np.asarray(getattr(self, name), dtype=bool if name == "integer" else np.float64)
            if array.shape != (self.n,):
                raise InputError(f"{name} must have shape ({self.n},), not {array.shape}")
            object.__setattr__(self, name, frozen(array))
        if not (np.isfinite(self.q).all() and np.isfinite(self.r)) or np.isnan(self.lower).any() or np.isnan(self.upper).any():
            raise InputError("q and r must be finite, lower and upper must not be NaN (infinite where there is no bound)")
        for c in self.constraints:
            if c.F.shape[1] != self.n:
                raise InputError(f"{c.label}: F must have one column for each of the {self.n} variables; it has {c.F.shape[1]}")
        if self.quadratic is not None and self.quadratic.n != self.n:
            raise InputError(f"P must be {self.n} × {self.n}, one row for each variable; it has {self.quadratic.n}")
        stops = np.cumsum([b.size for b in self.blocks]).tolist()
        slices = {b.label: slice(stop - b.size, stop) for b, stop in zip(self.blocks, stops, strict=True)}
        object.__setattr__(self, "slices", slices)

    # -- sizes and looks ----------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of scalar variables."""
        return sum(b.size for b in self.blocks)

    @property
    def rows(self) -> int:
        """Number of scalar rows in the cones."""
        return sum(c.rows for c in self.constraints)

    @property
    def has_bounds(self) -> bool:
        """Whether any bound is finite."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @cached_property
    def features(self) -> frozenset[Feature]:
        """What a reader must understand beyond linear rows and bounds."""
        found = {c.cone.feature for c in self.constraints if c.rows} - {None}
        if self.quadratic is not None:
            found.add(Feature.QUADRATIC)
        if self.integer.any():
            found.add(Feature.INTEGER)
        return frozenset(f for f in found if f is not None)

    @property
    def bytes(self) -> int:
        """Bytes that the data take when they are materialised."""
        arrays = [self.q, self.lower, self.upper, self.integer]
        total = sum(a.nbytes for a in arrays)
        total += sum(c.F.data.nbytes + c.F.indices.nbytes + c.F.indptr.nbytes + c.g.nbytes for c in self.constraints)
        if self.quadratic is not None:
            total += self.quadratic.bytes
        return int(total)

    def names(self) -> list[str]:
        """One name for each scalar variable, in the order of x."""
        return [name for block in self.blocks for name in block.names()]

    def constraint(self, label: str) -> Constraint:
        """The constraint of this label."""
        for c in self.constraints:
            if c.label == label:
                return c
        raise InputError(f"no constraint {label!r}; there are {', '.join(c.label for c in self.constraints)}")

    def block(self, label: str) -> Block:
        """The block of this label."""
        for b in self.blocks:
            if b.label == label:
                return b
        raise InputError(f"no block {label!r}; there are {', '.join(b.label for b in self.blocks)}")

    def inspect(self) -> FormReport:
        """Ranges of coefficients, conditioning, convexity and scaling advice, printable (`models.looks.inspection`)."""
        from ..looks.inspection import inspect_form

        return inspect_form(self)

    def spy(self) -> Picture:
        """A picture of the structure: where the non-zeros are, by block and constraint (`models.looks.inspection`)."""
        from ..looks.inspection import spy

        return spy(self)

    def __str__(self) -> str:
        kinds = ", ".join(sorted(f.value for f in self.features)) or "linear"
        lines = [f"{self.name}: {self.n} variables, {self.rows} rows ({kinds}; {self.bytes:,} bytes)"]
        for b in self.blocks:
            s = self.slices[b.label]
            lower, upper = self.lower[s], self.upper[s]
            sort = "integer" if self.integer[s].any() else "symmetric" if b.symmetric else "real"
            bounds = (
                "free"
                if not (np.isfinite(lower).any() or np.isfinite(upper).any())
                else (f"in [{lower.min(initial=np.inf):g}, {upper.max(initial=-np.inf):g}]")
            )
            lines.append(f"  {b.label:<12} {b.shape!s:<12} {sort}, {bounds}")
        lines += [f"  {c.label:<12} {c.rows:>6} rows in {c.cone}, {c.F.nnz} non-zeros" for c in self.constraints]
        return "\n".join(lines)

    __repr__ = __str__

    # -- values -------------------------------------------------------------------------------------------------

    def objective(self, x: FloatArray) -> float:
        """½x'Px + q'x + r (always to be minimised)."""
        value = float(self.q @ x) + self.r
        if self.quadratic is not None:
            value += 0.5 * float(x @ self.quadratic.product(x))
        return value

    def gradient(self, x: FloatArray) -> FloatArray:
        """P x + q."""
        return self.q.copy() if self.quadratic is None else self.quadratic.product(x) + self.q

    def split(self, x: FloatArray) -> dict[str, FloatArray]:
        """Values by label, in the blocks' own shapes."""
        return {b.label: b.unpack(np.asarray(x[self.slices[b.label]])) for b in self.blocks}

    def join(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """x from values by label: the inverse of `split`."""
        missing = [b.label for b in self.blocks if b.label not in values]
        if missing:
            raise InputError(f"values for {', '.join(missing)} are missing; the form has {', '.join(self.slices)}")
        return np.concatenate([b.pack(values[b.label]) for b in self.blocks])

    # -- new forms ----------------------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> StandardForm:
        """A new form with these fields replaced; every other array is shared."""
        return replace(self, **changes)

    def relax_integrality(self) -> StandardForm:
        """The continuous relaxation: the same form without integrality.

        Indicator constraints go: their closed convex hull says no more than the bounds 0 ≤ a ≤ 1.
        """
        kept = tuple(c for c in self.constraints if c.cone.convex)
        return self.replace(name=f"{self.name}, continuous", integer=np.zeros(self.n, dtype=bool), constraints=kept)

    def with_integers(self, x: FloatArray) -> StandardForm:
        """The continuous form with the integer variables fixed at the nearest integers of x; indicators become rows or go."""
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[self.integer] = upper[self.integer] = np.round(x[self.integer])
        decided = tuple(_decided(c, x) for c in self.constraints)
        fixed = self.replace(constraints=tuple(c for c in decided if c is not None))
        return fixed.relax_integrality().with_bounds(lower, upper)

    def with_bounds(self, lower: FloatArray, upper: FloatArray) -> StandardForm:
        """The same form with other bounds (fixing variables, branching)."""
        return self.replace(lower=np.asarray(lower), upper=np.asarray(upper))

    def diff(self, other: StandardForm) -> FormDelta:
        """What must change to turn this form into ``other``; see `FormDelta`."""
        return FormDelta.between(self, other)

    def equals(self, other: StandardForm) -> bool:
        """Whether both say the same when materialised: labels, cones and numbers."""
        return self.diff(other).empty

    def rows_matrix(self, labels: Iterable[str] | None = None) -> tuple[sp.csr_array, FloatArray]:
        """All (or the named) constraints stacked: F and g."""
        chosen = self.constraints if labels is None else tuple(self.constraint(label) for label in labels)
        if not chosen:
            return sp.csr_array((0, self.n)), np.zeros(0)
        return sp.csr_array(sp.vstack([c.F for c in chosen], format="csr")), np.concatenate([c.g for c in chosen])


def _decided(c: Constraint, x: FloatArray) -> Constraint | None:
    """An indicator constraint at fixed binaries: its rows that are switched on, if any. Others as they are."""
    if not isinstance(c.cone, Indicator):
        return c
    on = np.flatnonzero(c.value(x)[0::2] < 0.5)
    return Constraint(c.label, c.F[2 * on + 1], c.g[2 * on + 1], Nonnegative(on.size)) if on.size else None


def _check_symmetric(P: FloatArray | sp.csc_array) -> None:
    data = P if isinstance(P, np.ndarray) else P.data
    if P.ndim != 2 or P.shape[0] != P.shape[1] or not np.isfinite(data).all():
        raise InputError(f"P must be a finite square matrix; its shape is {P.shape}")
    asymmetry = float(abs(P - P.T).max()) if data.size else 0.0
    if asymmetry > 1e-12 * max(float(np.abs(data).max(initial=0.0)), 1.0):
        raise InputError(f"P must be symmetric; it differs from its transpose by {asymmetry:.3g}")
