"""Bridges: rewritings of a form for a solver or file format that lacks one of its features, such as cones as quadratic rows.

Each bridge is a class. It maps a form, the source, to an equivalent form, the target, and maps the target's points and
multipliers back; the class docstring holds the proof. Notation is that of `StandardForm`: minimise ½x'Px + q'x + r with F_k x +
g_k in K_k, multipliers z_k of the rows, reduced costs ζ of the bounds.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...errors import ExportError, InputError
from ..arrays import FloatArray
from ..deadline import check_scan, cholesky, eigendecomposition
from .cones import Bilinear, Cone, Feature, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from .csr_rows import CSRRows
from .form import Block, Constraint, StandardForm
from .quadratic import Quadratic


@dataclass(frozen=True, eq=False)
class DualPoint:
    """The dual variables of a form: the multipliers of its rows and of its bounds.

    Parameters
    ----------
    multipliers : mapping of str to ndarray
        z_k by the label of the constraint, in its dual cone.
    reduced : ndarray (n,)
        Reduced costs ζ of the bounds: ≥ 0 at a lower, ≤ 0 at an upper bound.
    """

    multipliers: Mapping[str, FloatArray]
    reduced: FloatArray


class Bridge(ABC):
    """An equivalent rewriting of a form, the ``source``, as a ``target``, with maps of points and multipliers back."""

    def __init__(self, source: StandardForm) -> None:
        self.source = source
        self.target = self.apply(source)

    @abstractmethod
    def apply(self, form: StandardForm) -> StandardForm:
        """Return the rewritten form."""

    def recover(self, x: FloatArray) -> FloatArray:
        """Map a point of the target to the source: the same point, unless the bridge adds variables."""
        return x

    def extend(self, x: FloatArray) -> FloatArray:
        """Map a point of the source to a point of the target that `recover` maps back, for warm starts."""
        return x

    @abstractmethod
    def lift_dual(self, dual: DualPoint) -> DualPoint:
        """Map multipliers of the target to the source."""


class EpigraphBridge(Bridge):
    """The bridge from a quadratic objective to an epigraph: min τ + q'x + r with (τ, 1, Rx) in the rotated cone, P = R'R.

    *Proof.* 2·τ·1 ≥ ||Rx||² says τ ≥ ½x'Px. Let (σ, ρ, v) be the cone's multipliers. Stationarity in τ gives σ = 1. By
    complementarity (σ, ρ, v) is a multiple of the reflected point (1, τ, -Rx), so v = -Rx. Stationarity in x,
    q = ΣF_k'z_k + R'v + ζ, then is Px + q = ΣF_k'z_k + ζ with the same z_k and ζ.

    If P is known not to be positive semidefinite, R does not exist, and the constraint is the bilinear row τ ≥ x'(½Px).
    """

    def apply(self, form: StandardForm) -> StandardForm:
        """Append the scalar block ``epigraph`` and the constraint ``quadratic``."""
        assert form.quadratic is not None
        width = form.n + 1
        top = CSRRows.hstack([(CSRRows.identity(1), form.n)], 1, width)
        cone: Cone
        if Feature.NONCONVEX in form.features:
            P = form.quadratic.csc
            used = np.flatnonzero(np.diff(P.indptr))
            halves = replace(CSRRows.from_matrix(sp.csr_array(0.5 * P[used])), width=width)
            rows = CSRRows.vstack(top, _selection(used, width), halves)
            g, cone = np.zeros(1 + 2 * used.size), Bilinear(1 + 2 * used.size)
        else:
            squares = replace(CSRRows.from_matrix(psd_factor(form.quadratic)), width=width)
            rows = CSRRows.vstack(top, CSRRows.hstack([], 1, width), squares)
            g = (np.arange(rows.csr.shape[0]) == 1).astype(np.float64)
            cone = RotatedSecondOrder(g.size)
        widened = tuple(
            Constraint(c.label, replace(CSRRows.from_matrix(c.F), width=width).csr, c.g, c.cone) for c in form.constraints
        )
        quadratic = Constraint("quadratic", rows.csr, g, cone)
        return form.replace(
            blocks=(*form.blocks, Block("epigraph", ())),
            q=np.append(form.q, 1.0),
            quadratic=None,
            constraints=(*widened, quadratic),
            lower=np.append(form.lower, -np.inf),
            upper=np.append(form.upper, np.inf),
            integer=np.append(form.integer, False),
        )

    def recover(self, x: FloatArray) -> FloatArray:
        """Drop τ."""
        return x[:-1]

    def extend(self, x: FloatArray) -> FloatArray:
        """Append τ = ½x'Px."""
        assert self.source.quadratic is not None
        return np.append(x, 0.5 * float(x @ self.source.quadratic.product(x)))

    def lift_dual(self, dual: DualPoint) -> DualPoint:
        """Drop the cone's multipliers and the reduced cost of τ."""
        multipliers = {label: z for label, z in dual.multipliers.items() if label != "quadratic"}
        return DualPoint(multipliers, dual.reduced[:-1])


class RotatedBridge(Bridge):
    """The bridge from rotated to second-order cones by the orthogonal map T(a, b, c) = ((a + b)/√2, (a - b)/√2, c).

    *Proof.* 2ab = ((a + b)/√2)² - ((a - b)/√2)². T is symmetric and its own inverse, so <z̃, T(Fx + g)> = <Tz̃, Fx + g>: the
    multipliers z̃ of a target's cone give Tz̃ of the source.
    """

    def apply(self, form: StandardForm) -> StandardForm:
        """Return the form with the rows of every rotated cone mapped by T."""
        constraints = tuple(self._turn(c) if isinstance(c.cone, RotatedSecondOrder) else c for c in form.constraints)
        return form.replace(constraints=constraints)

    @staticmethod
    def _turn(c: Constraint) -> Constraint:
        """Return the constraint mapped by T; computed once, since the forms of a regularisation path share their constraints."""
        assert isinstance(c.cone, RotatedSecondOrder)
        if c in _TURNED:
            return _TURNED[c]
        F = sp.csr_array(_turn_of(c.cone.dim, c.cone.count).csr @ c.F)
        F.eliminate_zeros()
        _TURNED[c] = Constraint(c.label, F, c.cone.rotate(c.g), SecondOrder(c.cone.dim, c.cone.count))
        return _TURNED[c]

    def lift_dual(self, dual: DualPoint) -> DualPoint:
        """Map the multipliers of rotated cones by T, its own inverse."""
        cones = {c.label: c.cone for c in self.source.constraints}
        rotated = {
            label: cone.rotate(z) if isinstance(cone := cones[label], RotatedSecondOrder) else z
            for label, z in dual.multipliers.items()
        }
        return DualPoint(rotated, dual.reduced)


class BoundsToRows(Bridge):
    """The bridge from bounds to rows: x_j - l_j ≥ 0 and u_j - x_j ≥ 0, with multipliers ζ_l and ζ_u; ζ = ζ_l - ζ_u.

    *Proof.* These rows contribute ζ_l - ζ_u to Σ F_k'z_k of the target, which is ζ in the stationarity of the source.
    """

    def apply(self, form: StandardForm) -> StandardForm:
        """Append the constraints ``lower bounds`` and ``upper bounds``, each where a bound is finite."""
        self._low = np.flatnonzero(np.isfinite(form.lower))
        self._high = np.flatnonzero(np.isfinite(form.upper))
        extra = []
        if self._low.size:
            F = _selection(self._low, form.n).csr
            extra.append(Constraint("lower bounds", F, -form.lower[self._low], Nonnegative(self._low.size)))
        if self._high.size:
            F = (-_selection(self._high, form.n)).csr
            extra.append(Constraint("upper bounds", F, form.upper[self._high].copy(), Nonnegative(self._high.size)))
        return form.replace(
            constraints=(*form.constraints, *extra), lower=np.full(form.n, -np.inf), upper=np.full(form.n, np.inf)
        )

    def lift_dual(self, dual: DualPoint) -> DualPoint:
        """Return ζ as the multipliers of the lower rows minus those of the upper rows."""
        reduced = dual.reduced.copy()
        multipliers = dict(dual.multipliers)
        if self._low.size:
            reduced[self._low] += multipliers.pop("lower bounds")
        if self._high.size:
            reduced[self._high] -= multipliers.pop("upper bounds")
        return DualPoint(multipliers, reduced)


class IndicatorsToRows(Bridge):
    """The bridge from indicators to big-M rows: (a, v) becomes v + M a ≥ 0 with M no less than -v at any point within the bounds.

    An indicator states v ≥ 0 if the binary a is 0; a = 1 switches the row off.

    *Proof.* a = 0 leaves v ≥ 0; a = 1 leaves v ≥ -M, which every point within the bounds meets. The target is mixed-integer:
    it has no multipliers to lift.

    Raises
    ------
    ExportError
        The bounds of the variables give no finite lower bound of a row v.
    """

    def apply(self, form: StandardForm) -> StandardForm:
        """Replace each stack of indicators by its rows, under the same label."""
        constraints = tuple(self._rows(form, c) if isinstance(c.cone, Indicator) else c for c in form.constraints)
        return form.replace(constraints=constraints)

    @staticmethod
    def _rows(form: StandardForm, c: Constraint) -> Constraint:
        heads, F, g = c.F[0::2], c.F[1::2], c.g[1::2]
        entries = np.repeat(np.arange(g.size), np.diff(F.indptr))
        terms = np.where(F.data > 0.0, F.data * form.lower[F.indices], F.data * form.upper[F.indices])
        minimum = g + np.bincount(entries, terms, g.size) - 1e-12 * np.bincount(entries, np.abs(terms), g.size)
        if not np.isfinite(minimum).all():
            raise ExportError(
                f"{c.label}: no bounds hold the rows of its indicators, so there is no big M; give the model big_m=, or the "
                "upper_bound= of a known point",
                name="big_m",
            )
        M = np.maximum(-minimum, 0.0)
        switches = sp.csr_array(sp.diags_array(M) @ heads)
        own_rows = None if c.given_names is None else c.given_names[1::2]
        return Constraint(c.label, sp.csr_array(F + switches), g + M * c.g[0::2], Nonnegative(g.size), own_rows, c.points)

    def lift_dual(self, dual: DualPoint) -> DualPoint:
        """Return no multipliers: the target is mixed-integer."""
        return DualPoint({}, np.zeros_like(dual.reduced))


class ConesToQuadraticRows(Bridge):
    """The bridge from second-order cones to quadratic rows in auxiliary variables v = F x + g.

    A second-order cone becomes Σ_{i≥1} v_i² ≤ v_0², v_0 ≥ 0; a rotated one Σ_{i≥2} v_i² ≤ 2 v_0 v_1, v_0 ≥ 0, v_1 ≥ 0.

    *Proof.* With nonnegative heads v_0 (and v_1) these rows are the cones. Solvers of quadratic rows return no multipliers of
    them, so none are lifted.
    """

    def apply(self, form: StandardForm) -> StandardForm:
        """Append a block v and linking equations for each stack of cones, whose label the quadratic rows keep."""
        self._cones = [c for c in form.constraints if isinstance(c.cone, SecondOrder | RotatedSecondOrder) and c.rows]
        width = form.n + sum(c.rows for c in self._cones)
        constraints, lower, start = list[Constraint](), [form.lower], form.n
        for c in form.constraints:
            widened = replace(CSRRows.from_matrix(c.F), width=width).csr
            if c not in self._cones:
                constraints.append(Constraint(c.label, widened, c.g, c.cone, c.given_names, c.points))
                continue
            v = _selection(np.arange(start, start + c.rows), width).csr
            constraints.append(Constraint(f"{c.label}: terms", sp.csr_array(widened - v), c.g, Zero(c.rows)))
            constraints.append(_quadratic_stack(c, v))
            heads = 1 if isinstance(c.cone, SecondOrder) else 2
            lower.append(np.where(np.arange(c.rows) % c.cone.dim < heads, 0.0, -np.inf))
            start += c.rows
        extra = width - form.n
        return form.replace(
            blocks=(*form.blocks, *(Block(f"{c.label}: value", (c.rows,)) for c in self._cones)),
            q=np.append(form.q, np.zeros(extra)),
            quadratic=None if form.quadratic is None else Quadratic(matrix=_padded(form.quadratic, width)),
            constraints=tuple(constraints),
            lower=np.concatenate(lower),
            upper=np.append(form.upper, np.full(extra, np.inf)),
            integer=np.append(form.integer, np.zeros(extra, dtype=bool)),
        )

    def recover(self, x: FloatArray) -> FloatArray:
        """Drop v."""
        return x[: self.source.n]

    def extend(self, x: FloatArray) -> FloatArray:
        """Append v = F x + g."""
        return np.concatenate([x, *(c.value(x) for c in self._cones)])

    def lift_dual(self, dual: DualPoint) -> DualPoint:
        """Return no multipliers: solvers of quadratic rows return none."""
        return DualPoint({}, np.zeros(self.source.n))


def _quadratic_stack(c: Constraint, v: sp.csr_array) -> Constraint:
    """Return the quadratic rows of the cones of v, as 0 ≥ Σ a_i b_i with affine a_i and b_i, under the cones' label."""
    dim, rotated = c.cone.dim, isinstance(c.cone, RotatedSecondOrder)
    pieces = []
    for first in range(0, c.rows, dim):
        heads, tail = [first, first + 1] if rotated else [first, first], v[first + 1 + rotated : first + dim]
        left, right = (2.0 if rotated else 1.0) * v[[heads[0]]], -v[[heads[1]]]
        pieces += [sp.csr_array((1, v.shape[1])), left, tail, right, tail]
    size = 2 * (dim - rotated)
    F = sp.csr_array(sp.vstack(pieces, format="csr"))
    return Constraint(c.label, F, np.zeros(F.shape[0]), Bilinear(1 + size, c.cone.count))


def _padded(quadratic: Quadratic, width: int) -> sp.csc_array:
    P = sp.csc_array(quadratic.csc)
    P.resize((width, width))
    return P


#: Caches of constraints mapped by T and of factors R, kept as long as their sources live.
_TURNED: weakref.WeakKeyDictionary[Constraint, Constraint] = weakref.WeakKeyDictionary()
_FACTORS: weakref.WeakKeyDictionary[Quadratic, sp.csr_array] = weakref.WeakKeyDictionary()


def psd_factor(quadratic: Quadratic) -> sp.csr_array:
    """Return R with P = R'R: the factor that is stored, a diagonal's root, Cholesky, or from eigenvalues.

    Computed once for each quadratic part. Negative eigenvalues down to -1e-9 times the largest count as rounding and are cut.

    Raises
    ------
    InputError
        P is not positive semidefinite: an eigenvalue is below that.
    OutOfTimeError
        The deadline has passed.
    """
    if quadratic not in _FACTORS:
        _FACTORS[quadratic] = _factored(quadratic)
    return _FACTORS[quadratic]


def _factored(quadratic: Quadratic) -> sp.csr_array:
    if quadratic.factor is not None:
        return sp.csr_array(quadratic.factor)
    P = quadratic.csc
    diagonal = P.diagonal()
    if P.nnz == np.count_nonzero(diagonal):
        _check_convex(float(diagonal.min(initial=0.0)), float(diagonal.max(initial=0.0)))
        keep = np.flatnonzero(diagonal > 0)
        return sp.csr_array((np.sqrt(diagonal[keep]), (np.arange(keep.size), keep)), shape=(keep.size, P.shape[0]))
    lower = cholesky(P.toarray())
    if lower is not None:
        check_scan(lower.size)
        return sp.csr_array(lower.T)
    values, vectors = eigendecomposition(P.toarray())
    _check_convex(float(values[0]), float(values[-1]))
    keep = values > 1e-14 * max(values[-1], 0.0)
    return sp.csr_array(np.sqrt(values[keep])[:, None] * vectors[:, keep].T)


def _check_convex(smallest: float, largest: float) -> None:
    if smallest < -1e-9 * max(largest, 1e-300):
        raise InputError(
            f"the quadratic objective is not convex: the smallest eigenvalue of P is {smallest:.3g}, the largest {largest:.3g}",
            name="P",
        )


def _turn_of(dim: int, count: int) -> CSRRows:
    """Return T once for each cone, as a block diagonal: two entries in the first two rows of a block, one in the others."""
    half = np.sqrt(0.5)
    data = np.concatenate([[half, half, half, -half], np.ones(dim - 2)])
    columns = np.concatenate([[0, 1, 0, 1], np.arange(2, dim)])
    counts = np.concatenate([[2, 2], np.ones(dim - 2, dtype=np.int64)])
    indices = (columns + dim * np.arange(count)[:, None]).ravel().astype(np.int32)
    ends = np.concatenate([[0], np.cumsum(np.tile(counts, count))]).astype(np.int32)
    return CSRRows(np.tile(data, count), indices, ends, dim * count)


def _selection(indices: np.ndarray, n: int) -> CSRRows:
    return CSRRows(np.ones(indices.size), indices.astype(np.int32), np.arange(indices.size + 1, dtype=np.int32), n)
