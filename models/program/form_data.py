"""The data of a standard form: its arrays, checked once, and properties that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ..arrays import BoolArray, FloatArray, as_array, frozen, to_dense
from ..rounding import Rounded, dot
from .cones import Feature, Zero
from .convexity import VERIFY_UP_TO, Convexity, Evidence, on_equalities
from .entries import Entries
from .parts import Block, Constraint, Quadratic

__all__ = ["FormData"]


@dataclass(frozen=True, eq=False)
class FormData:
    """The data of one program; users meet it as `models.program.form.StandardForm`, which has the parameters' meanings.

    Looks and differences read this much, so that the form can offer them.
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

    @cached_property
    def n(self) -> int:
        """Number of scalar variables."""
        return sum(b.size for b in self.blocks)

    @property
    def rows(self) -> int:
        """Number of scalar rows in the cones."""
        return sum(c.rows for c in self.constraints)

    @property
    def has_bounds(self) -> bool:
        """Return whether any bound is finite."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @cached_property
    def features(self) -> frozenset[Feature]:
        """The features that a reader must understand beyond linear rows and bounds."""
        features = {c.cone.feature for c in self.constraints if c.rows} - {None}
        if self.quadratic is not None:
            features.add(Feature.QUADRATIC)
        if self.integer.any():
            features.add(Feature.INTEGER)
        return frozenset(f for f in features if f is not None)

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

    def evaluate(self, x: FloatArray) -> Rounded:
        """The objective with a bound of its rounding error."""
        value = dot(self.q, x) + Rounded(self.r)
        if self.quadratic is None:
            return value
        return value + self.quadratic.evaluate(x).times(0.5)

    @cached_property
    def convexity(self) -> Convexity:
        """Evidence that the objective is convex where the equalities hold."""
        if self.quadratic is None:
            return Convexity(Evidence.CONSTRUCTION, "the objective is linear")
        of_quadratic = self.quadratic.convexity
        rows = [c.F for c in self.constraints if isinstance(c.cone, Zero) and c.rows]
        if of_quadratic.known or not rows or self.n > VERIFY_UP_TO:
            return of_quadratic
        return on_equalities(to_dense(self.quadratic.materialised), sp.vstack(rows).toarray()) or of_quadratic

    def gradient(self, x: FloatArray) -> FloatArray:
        """P x + q."""
        return self.q.copy() if self.quadratic is None else self.quadratic.product(x) + self.q

    def split(self, x: FloatArray) -> dict[str, FloatArray]:
        """Values by label, in the blocks' own shapes."""
        return {b.label: b.unpack(np.asarray(x[self.slices[b.label]])) for b in self.blocks}

    def values_given(self, given: Mapping[str, object], what: str) -> dict[str, FloatArray]:
        """Values of some blocks as a user gives them, by block or by the names of single variables, as arrays.

        Raises
        ------
        InputError
            A name that no block and no variable has, a variable without a value beside others of its block that have one, a shape
        that is not the block's, numbers that are not finite; ``what`` names the argument.
        """
        if not isinstance(given, Mapping):
            raise InputError(f"{what} must be a mapping of block to array; it is a {type(given).__name__}")
        blocks = {block.label: block for block in self.blocks}
        values = self._by_names({name: value for name, value in given.items() if name not in blocks}, what)
        for label, value in given.items():
            if label not in blocks:
                continue
            values[label] = array = as_array(value, f"{what}[{label!r}]")
            shape, odd = blocks[label].shape, "" if np.isfinite(array).all() else " and values that are not finite"
            if odd or array.shape != shape:
                need = f"{what}[{label!r}] must hold {math.prod(shape)} finite numbers, shape {shape}"
                raise InputError(f"{need}; it has shape {array.shape}{odd}")
        return values

    def _by_names(self, given: Mapping[str, object], what: str) -> dict[str, FloatArray]:
        """Values of the blocks whose variables are named one by one."""
        values, rest = {}, dict(given)
        for block in self.blocks if rest else ():
            names = block.names()
            if not any(name in rest for name in names):
                continue
            missing = [name for name in names if name not in rest]
            if missing:
                raise InputError(
                    f"{what}: {missing[0]!r} has no value, and {block.size - len(missing)} others of its block have one"
                )
            entries = np.array([float(as_array(rest.pop(name), f"{what}[{name!r}]")) for name in names])
            if not np.isfinite(entries).all():
                raise InputError(f"{what} must be finite; {names[int(np.argmin(np.isfinite(entries)))]} is not")
            values[block.label] = block.unpack(entries)
        if rest:
            known = ", ".join(block.label for block in self.blocks)
            raise InputError(f"{what}: the form has no block {next(iter(rest))!r}; it has {known}, and no variable of that name")
        return values

    def join(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """x from values by label: the inverse of `split`."""
        missing = [b.label for b in self.blocks if b.label not in values]
        if missing:
            raise InputError(f"values for {', '.join(missing)} are missing; the form has {', '.join(self.slices)}")
        return np.concatenate([np.zeros(0), *(b.pack(values[b.label]) for b in self.blocks)])

    # -- new forms ----------------------------------------------------------------------------------------------

    def rows_matrix(self, labels: Iterable[str] | None = None) -> tuple[sp.csr_array, FloatArray]:
        """All (or the named) constraints stacked: F and g."""
        chosen = self.constraints if labels is None else tuple(self.constraint(label) for label in labels)
        F, g = self._stacked(chosen)
        return F.csr, g

    def stacked(self) -> tuple[Entries, FloatArray]:
        """Return the rows as `rows_matrix` does, for readers that turn them before SciPy sees them."""
        return self._stacked(self.constraints)

    def _stacked(self, chosen: tuple[Constraint, ...]) -> tuple[Entries, FloatArray]:
        if not chosen:
            return Entries.of(np.zeros((0, self.n))), np.zeros(0)
        return Entries.below(*(Entries.of(c.F) for c in chosen)), np.concatenate([c.g for c in chosen])
