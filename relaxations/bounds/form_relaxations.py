"""Relaxations of any mixed-integer form: without integrality, products of rows with binaries (RLT), moments (Lasserre).

They apply to every model with integers, whatever its loss. *Continuous*: the form without integrality.

*Products* of a mixed-binary form's rows with its binaries: the reformulation-linearisation technique of Sherali and Adams. For
every binary j a vector v_j stands for x z_j. Each row F x + g in a cone K is multiplied by z_j and by 1 - z_j:

    F v_j + g z_j in K,    F (x - v_j) + g (1 - z_j) in K,

bounds are rows, (v_j)_j = z_j because z_j² = z_j, and (v_i)_j = (v_j)_i =: Z_ij. The quadratic ½x'Px, P = R'R, is split in the
same way: τ ≥ ½||R v_j||²/z_j + ½||R (x - v_j)||²/(1 - z_j) for every j. *Valid*: at a point of the form, v_j = x z_j satisfies
every row with τ = ½x'Px. *At least the continuous relaxation*: the two rows of j add up to the original row, and the squares to
at least ½x'Px.

*Triangle inequalities* of Z, all at once, or in each round those that the last solution violates. For i < j < k:
Z_ij + Z_ik - Z_jk ≤ z_i
and its two cyclic permutations, and Z_ij + Z_ik + Z_jk ≥ z_i + z_j + z_k - 1 (Padberg: *The boolean quadric polytope*,
1989, (3.2)-(3.5)).

*Moments* of order two, for forms with linear rows, binaries and bounded variables (Lasserre: *Global optimization with
polynomials and the problem of moments*, 2001, (4.5)). A variable y_α stands for the monomial x^α, degrees up to four, with
z_j² = z_j for binaries. With m the monomials up to degree two, m₁ those up to degree one, and rows g(x) ≥ 0, h(x) = 0 (bounds
among them),

    E[m m'] ⪰ 0,    E[g m₁ m₁'] ⪰ 0,    E[h m] = 0,

where E takes x^α to y_α; the objective is linear in y. *Valid*: y_α = x^α at a feasible x satisfies every row at the same cost.
*At least products with triangles*: E[g z_j] = E[g z_j²] and E[g (1 - z_j)] = E[g (1 - z_j)²] are values of E[g m₁ m₁'] ⪰ 0. The
rows and columns z_j, x z_j of the first matrix give E[x x' z_j] ⪰ E[x z_j]E[x z_j]'/z_j, those of 1 - z_j the other part, and the
two add up to E[x x']. A triangle f takes the values 0 and 1 on binaries and has degree two, so that E[f] = E[f²] ≥ 0. Variables
are divided by their bounds, so that moments lie between -1 and 1 and the dual of any multipliers is finite.
"""

from __future__ import annotations

import itertools
import math
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...errors import MarginoptError, count_text
from ...models.arrays import FloatArray, IntArray, check_bytes, to_dense
from ...models.deadline import check_deadline, eigendecomposition, remaining_seconds
from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.formulations.margin.model import Margin
from ...models.model import Model, as_model
from ...models.program.cones import PSD, Cone, Feature, Nonnegative, RotatedSecondOrder, Zero, svec_indices
from ...models.program.csr_rows import CSRRows
from ...models.program.form import StandardForm
from ...solvers.records import Options
from ...solvers.solve import solve_problem
from ..margin_reduction import (
    MarginToForm,
    as_margin,
    changed_composition,
    round_integers,
    scale_first_block,
    with_activity_bounds,
    with_finite_dual,
)
from ..reduction import Relaxation, without_warnings

#: A monomial: its variables in order, with repetitions; and a polynomial: coefficients by monomial.
_Monomial = tuple[int, ...]
_Polynomial = dict[_Monomial, float]


def _moments_obstacle(form: StandardForm) -> str:
    """Return the reason why a form has no moment relaxation; empty if it has one."""
    if any(not isinstance(c.cone, Nonnegative | Zero) for c in form.constraints if c.rows):
        return "its rows must be linear: no cones, no indicators"
    if not (np.isfinite(form.lower) & np.isfinite(form.upper)).all():
        return "its variables must be bounded, or moments have no bounds: give a domain, or another regulariser than L1"
    return ""


@dataclass
class _Moments:
    """The monomials with their numbers in the relaxation, powers of binaries reduced."""

    binary: list[bool]
    number: dict[_Monomial, int] = field(default_factory=dict)

    def number_of(self, variables: _Monomial) -> int:
        """Return the number of a monomial; a new one if it has none yet."""
        reduced = tuple(i for i, k in sorted(Counter(variables).items()) for _ in range(1 if self.binary[i] else k))
        return self.number.setdefault(reduced, len(self.number))

    def rows(self, polynomials: Sequence[tuple[_Polynomial, _Monomial, float]]) -> sp.coo_array:
        """Return rows scale · E[polynomial · monomial], over the monomials with numbers so far."""
        row_indices, column_indices, data = [], [], []
        for k, (polynomial, factor, scale) in enumerate(polynomials):
            for monomial, coefficient in polynomial.items():
                row_indices.append(k)
                column_indices.append(self.number_of(factor + monomial))
                data.append(scale * coefficient)
        return sp.coo_array((data, (row_indices, column_indices)), shape=(len(polynomials), len(self.number)))

    def localised(self, polynomial: _Polynomial, basis: list[_Monomial]) -> sp.coo_array:
        """Return the svec of E[polynomial · m m']."""
        row, column = svec_indices(len(basis))
        pairs = zip(row.tolist(), column.tolist(), strict=True)
        return self.rows([(polynomial, basis[i] + basis[j], 1.0 if i == j else float(np.sqrt(2.0))) for i, j in pairs])


def moment_form(form: StandardForm) -> StandardForm:
    """Return the moment relaxation of a form with linear rows and bounded variables; integers that are not binary are relaxed.

    Raises
    ------
    TooLargeError
        The moment matrix does not fit.
    OutOfTimeError
        The deadline passed between two rows.
    """
    n = form.n
    order = (n + 1) * (n + 2) // 2
    check_bytes(8 * (order * (order + 1) // 2) ** 2, "a moment matrix of order two")
    binary = (form.integer & (form.lower == 0.0) & (form.upper == 1.0)).tolist()
    scale = np.maximum(np.maximum(np.abs(form.lower), np.abs(form.upper)), 1e-12)
    moments = _Moments(binary)
    one: list[_Monomial] = [(), *((j,) for j in range(n))]
    pairs = itertools.combinations_with_replacement(range(n), 2)
    two = [*one, *(pair for pair in pairs if not (pair[0] == pair[1] and binary[pair[0]]))]
    for monomial in one:
        moments.number_of(monomial)  # the constant is number 0, x_j number j + 1
    pieces: list[tuple[str, Cone, sp.coo_array]] = [("moments", PSD.of_order(len(two)), moments.localised({(): 1.0}, two))]
    for label, g, equal in _rows(form, scale):
        check_deadline()
        if equal:
            pieces.append((label, Zero(len(two)), moments.rows([(g, m, 1.0) for m in two])))
        else:
            pieces.append((label, PSD.of_order(len(one)), moments.localised(g, one)))
    return _assembled(form, scale, moments, pieces)


def _rows(form: StandardForm, scale: FloatArray) -> list[tuple[str, _Polynomial, bool]]:
    """Return label, polynomial in the scaled variables, and whether it is an equation, of every row and bound, scaled by size."""
    rows: list[tuple[str, _Polynomial, bool]] = []
    for c in form.constraints:
        F = sp.csr_array(c.F)
        for i in range(c.rows):
            piece = slice(F.indptr[i], F.indptr[i + 1])
            columns, data = F.indices[piece], F.data[piece] * scale[F.indices[piece]]
            size = max(float(np.abs(data).max(initial=0.0)), abs(float(c.g[i])), 1e-12)
            row: _Polynomial = {(int(j),): float(v) / size for j, v in zip(columns, data, strict=True)}
            rows.append((f"{c.label} {i}", {**row, (): float(c.g[i]) / size}, isinstance(c.cone, Zero)))
    for j in range(form.n):
        rows.append((f"lower {j}", {(j,): 1.0, (): -float(form.lower[j] / scale[j])}, False))
        rows.append((f"upper {j}", {(j,): -1.0, (): float(form.upper[j] / scale[j])}, False))
    return rows


def _assembled(
    form: StandardForm, scale: FloatArray, moments: _Moments, pieces: list[tuple[str, Cone, sp.coo_array]]
) -> StandardForm:
    n = form.n
    objective = moments.rows([(_objective(form, scale), (), 1.0)])  # its monomials are all there
    higher = [monomial for monomial in moments.number if len(monomial) > 1]
    builder = Assembly(f"{form.name}, moments")
    x = builder.variables("x", n, form.lower, form.upper)
    low = np.array([0.0 if all(form.lower[j] >= 0.0 for j in m) or _even(m) else -1.0 for m in higher])
    y = builder.variables("y", len(higher), low, 1.0)
    total = len(moments.number)

    def affine(rows: sp.coo_array) -> Affine:
        # monomial 0 is the constant, 1 to n are x_j/scale_j
        matrix = sp.csr_array((rows.data, (rows.row, rows.col)), shape=(rows.shape[0], total))
        in_x = sp.csr_array(matrix[:, 1 : n + 1] @ sp.diags_array(1.0 / scale))
        return x.premultiplied(in_x) + y.premultiplied(sp.csr_array(matrix[:, n + 1 :])) + matrix[:, [0]].toarray().ravel()

    for label, cone, rows in pieces:
        builder.require(label, affine(rows), cone)
    builder.cost(1.0, affine(objective))
    return builder.form().replace(maximise=form.maximise)


def _even(monomial: _Monomial) -> bool:
    return all(k % 2 == 0 for k in Counter(monomial).values())


def _objective(form: StandardForm, scale: FloatArray) -> _Polynomial:
    """Return ½x'Px + q'x + r in the scaled variables."""
    coefficients: _Polynomial = {(): float(form.r), **{(int(j),): float(form.q[j] * scale[j]) for j in np.flatnonzero(form.q)}}
    if form.quadratic is not None:
        P = sp.coo_array(sp.csr_array(form.quadratic.materialised))
        for i, j, value in zip(P.row.tolist(), P.col.tolist(), P.data.tolist(), strict=True):
            pair = (min(i, j), max(i, j))
            coefficients[pair] = coefficients.get(pair, 0.0) + 0.5 * value * float(scale[i] * scale[j])
    return coefficients


#: Signs of z_i, z_j, z_k, of Z_ij, Z_ik, Z_jk, and the constant of each kind, all ≥ 0.
_SIGNS = np.array([[1, 0, 0, -1, -1, 1], [0, 1, 0, -1, 1, -1], [0, 0, 1, 1, -1, -1], [-1, -1, -1, 1, 1, 1]], dtype=np.float64)
_CONSTANT = np.array([0.0, 0.0, 0.0, 1.0])


def all_triangles(n: int) -> IntArray:
    """Return all 4·n(n-1)(n-2)/6 triangle inequalities of n binaries, as rows (i, j, k, kind), i < j < k, kind in 0, .., 3."""
    return np.concatenate([np.zeros((0, 4), dtype=np.int64), *(_triangles_from(i, n) for i in range(n - 2))])


def _triangles_from(i: int, n: int) -> IntArray:
    """Return the triangle inequalities whose first binary is i.

    Raises
    ------
    OutOfTimeError
        The deadline has passed.
    """
    check_deadline()
    j, k = np.triu_indices(n - i - 1, 1)
    pairs = np.repeat(np.column_stack([np.full(j.size, i), j + i + 1, k + i + 1]), 4, axis=0)
    return np.column_stack([pairs, np.tile(np.arange(4), j.size)])


def _triangle_rows(cuts: IntArray, binary: IntArray, x: Affine, products: Sequence[Affine]) -> Affine:
    """Return the triangle inequalities ``cuts`` as affine rows that are ≥ 0.

    ``binary`` has the columns of the binaries in x, and ``products[i]`` is x z_i, so that Z_ij is its entry of the j-th binary.
    """
    width = next(iter(x.terms.values())).width
    signs, rows = _SIGNS[cuts[:, 3]], np.arange(cuts.shape[0])
    entries: dict[str, list[tuple[IntArray, IntArray, FloatArray]]] = {}
    for column in range(3):
        entries.setdefault(x.plain, []).append((rows, binary[cuts[:, column]], signs[:, column]))
    for place, (first, second) in enumerate(((0, 1), (0, 2), (1, 2))):
        for i in np.unique(cuts[:, first]).tolist():
            row_numbers = np.flatnonzero(cuts[:, first] == i)
            entries.setdefault(products[i].plain, []).append(
                (row_numbers, binary[cuts[row_numbers, second]], signs[row_numbers, 3 + place])
            )
    terms = {}
    for label, parts in entries.items():
        check_deadline()
        row_numbers, columns, data = (np.concatenate([part[k] for part in parts]) for k in range(3))
        terms[label] = CSRRows.from_matrix(sp.csr_array((data, (row_numbers, columns)), shape=(cuts.shape[0], width)))
    return Affine(terms, _CONSTANT[cuts[:, 3]])


def _symmetry_rows(binary: IntArray, products: Sequence[Affine]) -> Affine:
    """Return the rows Z_ij - Z_ji, which are 0, for all pairs i < j of binaries; ``products[i]`` is x z_i."""
    first, second = np.triu_indices(binary.size, 1)
    terms = {}
    for i, product in enumerate(products):
        check_deadline()
        after, before = np.flatnonzero(first == i), np.flatnonzero(second == i)
        rows, columns = np.concatenate([after, before]), binary[np.concatenate([second[after], first[before]])]
        data = np.repeat([1.0, -1.0], [after.size, before.size])
        entries = sp.csr_array((data, (rows, columns)), shape=(first.size, product.terms[product.plain].width))
        terms[product.plain] = CSRRows.from_matrix(entries)
    return Affine(terms, np.zeros(first.size))


def violated_triangles(values: Mapping[str, FloatArray], binary: IntArray, max_rows: int, min_violation: float) -> IntArray:
    """Return the triangle inequalities that a solution of `product_form` violates by more than ``min_violation``, the worst
    first, ``max_rows`` at most; ``binary`` are the columns of the binaries (`binaries_of`).
    """
    z = values["x"][binary]
    Z = np.array([values[f"x z{j}"][binary] for j in range(binary.size)]).reshape(binary.size, binary.size)
    worst, values_of_worst = all_triangles(0), np.zeros(0)
    for first in range(binary.size - 2):  # all triangles at once take gigabytes from some hundred binaries on
        cuts = _triangles_from(first, binary.size)
        i, j, k = cuts[:, 0], cuts[:, 1], cuts[:, 2]
        terms = np.column_stack([z[i], z[j], z[k], Z[i, j], Z[i, k], Z[j, k]])
        value = (_SIGNS[cuts[:, 3]] * terms).sum(axis=1) + _CONSTANT[cuts[:, 3]]
        violated = value < -min_violation
        worst, values_of_worst = np.concatenate([worst, cuts[violated]]), np.concatenate([values_of_worst, value[violated]])
        order = np.argsort(values_of_worst, kind="stable")[:max_rows]
        worst, values_of_worst = worst[order], values_of_worst[order]
    return worst


def binaries_of(form: StandardForm) -> IntArray:
    """Return the columns of the integers between 0 and 1."""
    return np.flatnonzero(form.integer & (form.lower >= 0) & (form.upper <= 1))


def product_bytes(form: StandardForm, triangles: int) -> int:
    """Return the bytes that `product_form` takes at most with this number of triangles (measured up to 100 binaries)."""
    stored = sum(c.F.nnz for c in form.constraints) + 4 * form.n
    binaries = int(binaries_of(form).size)
    # each product stores where every row of the triangles and of the symmetry begins
    return 250 * binaries * stored + max(2000, 20 * binaries) * triangles + 8 * binaries**3


def product_form(form: StandardForm, triangles: IntArray) -> StandardForm:
    """Return the relaxation of a form by products, with rows (i, j, k, kind) of `all_triangles`; other integers are relaxed.

    Raises
    ------
    TooLargeError
        Products of every binary with every row do not fit.
    OutOfTimeError
        The deadline passed between two binaries.
    """
    binary = binaries_of(form)
    check_bytes(product_bytes(form, triangles.shape[0]), "the products of binaries with rows")
    builder = Assembly(f"{form.name}, products")
    x = builder.variables("x", form.n, form.lower, form.upper)
    builder.cost(form.q, x)
    builder.cost(1.0, Affine({}, np.array([form.r])))
    root = _root(form)
    tau = None if root is None else builder.variables("tau", 1, 0.0)
    if tau is not None:
        builder.cost(1.0, tau)
    low, high = np.minimum(form.lower, 0.0), np.maximum(form.upper, 0.0)
    products = []
    for c in form.constraints:  # sums of the products with z_j and 1 - z_j; without binaries there are no other rows
        if c.rows:
            builder.require(c.label, x.premultiplied(c.F) + c.g, c.cone)
    for number, j in enumerate(binary.tolist()):
        check_deadline()
        v, z = builder.variables(f"x z{number}", form.n, low, high), x.at([j])
        products.append(v)
        for name, part, weight in ((f"times z{number}", v, z), (f"times 1 - z{number}", x - v, -z + 1.0)):
            _multiplied(builder, form, name, part, weight)
        builder.require(f"square {number}", v.at([j]) - z, Zero(1))
        if root is not None and tau is not None:
            _split_square(builder, number, root, tau, x, v, z)
    if binary.size > 1:
        symmetry = _symmetry_rows(binary, products)
        builder.require("symmetric", symmetry, Zero(symmetry.rows))
    if triangles.shape[0]:
        builder.require_nonnegative("triangles", _triangle_rows(triangles, binary, x, products))
    return builder.form().replace(maximise=form.maximise)


def _multiplied(builder: Assembly, form: StandardForm, name: str, part: Affine, weight: Affine) -> None:
    """Add the rows and bounds multiplied by a weight, where part = x·weight."""
    for c in form.constraints:
        if c.rows:
            builder.require(f"{c.label} {name}", part.premultiplied(c.F) + weight.premultiplied(c.g[:, None]), c.cone)
    for side, bound, sign in (("lower", form.lower, 1.0), ("upper", form.upper, -1.0)):
        finite = np.flatnonzero(np.isfinite(bound))
        if finite.size:
            rows = (part.at(finite) - weight.premultiplied(bound[finite][:, None])).scaled(sign)
            builder.require(f"{side} bounds {name}", rows, Nonnegative(finite.size))


def _split_square(builder: Assembly, number: int, root: FloatArray, tau: Affine, x: Affine, v: Affine, z: Affine) -> None:
    """Add τ ≥ s + t, s z ≥ ½||Rv||², t (1 - z) ≥ ½||R(x - v)||²."""
    rows = root.shape[0]
    total = tau
    for name, part, weight in (("s", v, z), ("t", x - v, -z + 1.0)):
        s = builder.variables(f"{name} {number}", 1, 0.0)
        total = total - s
        first = s.premultiplied(_unit(rows + 2, 0)) + weight.premultiplied(_unit(rows + 2, 1))
        below = sp.csr_array(np.vstack([np.zeros((2, root.shape[1])), root]))
        builder.require(f"{name} {number} cone", first + part.premultiplied(below), RotatedSecondOrder(rows + 2))
    builder.require_nonnegative(f"norm {number}", total)


def _unit(size: int, place: int) -> sp.csr_array:
    return sp.csr_array(([1.0], ([place], [0])), shape=(size, 1))


def _root(form: StandardForm) -> FloatArray | None:
    """Return R with R'R = P, from the eigenvalues of the part of P that is not zero; None for a form without squares."""
    if form.quadratic is None:
        return None
    P = to_dense(form.quadratic.materialised)
    used = np.flatnonzero(P.any(axis=0))
    values, vectors = eigendecomposition(P[np.ix_(used, used)])
    large = values > 1e-14 * max(float(values.max(initial=0.0)), 0.0)
    R = np.zeros((int(large.sum()), form.n))
    R[:, used] = np.sqrt(values[large])[:, None] * vectors[:, large].T
    return R


#: Most triangles added in a round, for each binary; smallest violation of an added one; relative gap of the rounds' solves.
_CUTS, _VIOLATED, _SEPARATED = 20, 1e-5, 1e-7
#: Share of the remaining time that the solve of a round may take, and the least remaining time for another, in times of a round.
_ROUND_SHARE, _ROUNDS_LEFT = 0.5, 4.0
#: Products with (i, j, k, kind) are one number for each triangle.
_KEY = np.array([2**42, 2**22, 2**2, 1], dtype=np.int64)


@dataclass(frozen=True)
class FormReduction(MarginToForm):
    """A reduction of every model whose form has integers.

    A model that is a loss plus a regulariser has a *composition*, the equal `Margin`. Its bounds of |w_j|, which hold at every
    optimum, are added to the form where the reduction needs them.
    """

    #: Classes of models that the reduction is defined for.
    reads: ClassVar[tuple[type[Model], ...]] = (Model,)

    def obstacle(self, model: Model) -> str:
        """Return the reason why the reduction does not read a model; empty if it does."""
        try:
            form = model.form
        except MarginoptError as error:  # no form at all, too large a one, or none without a feasible point
            return str(error)
        if not form.features & {Feature.INTEGER, Feature.INDICATOR}:
            return "it has no integers, so it is its own relaxation"
        return self.form_obstacle(form)

    def missing_part(self, composed: Margin) -> str:
        """Return the obstacle of the composition's form."""
        return self.obstacle(composed)

    def form_obstacle(self, form: StandardForm) -> str:
        """Return the reason why a form with integers has no such relaxation; by default empty: it has one."""
        return ""

    def target(self, composed: Margin) -> StandardForm:
        """Return the relaxation of the composition's form."""
        return self.of_form(composed.form, composed)

    @abstractmethod
    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """Return the relaxation of a form; ``composed`` is the composition of that form, None for other models."""

    def apply(self, model: Model) -> StandardForm:
        """Return the target's form, without integers."""
        self.check(model)
        with without_warnings():
            composed = as_margin(model)
            return self.target(composed) if composed is not None else self.of_form(model.form, changed_composition(model))

    def recover(self, model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """Return a feasible point: of a composition the best multiple of w; else the better of the scaled and the rounded point.

        None without a feasible point.
        """
        if as_margin(model) is not None:
            return super().recover(model, values)
        shapes = {b.label: b.shape for b in model.form.blocks}
        # a lifted target has all entries in one block x, even if the form has a block x of its own
        has_blocks = all(label in values and np.shape(values[label]) == shape for label, shape in shapes.items())
        point = values if has_blocks else model.form.split(np.asarray(values["x"]))
        point = {label: value for label, value in point.items() if label in shapes}
        candidates = [end for end in (round_integers(model.form, point), scale_first_block(model, point)) if end is not None]
        return min(candidates, key=lambda end: model.form.objective(model.form.join(end)), default=None)


@dataclass(frozen=True)
class Continuous(FormReduction):
    """The form without integrality.

    Parameters
    ----------
    hinge : bool
        Whether binaries of positive cost may exceed 1: with big-M rows y_i x_i'w ≥ 1 - M_i z_i and cost c_i they then cost
        (c_i/M_i)(1 - y_i x_i'w)_+, a hinge loss (Cepeda, Gómez, Han, §2).
    """

    hinge: bool = False

    @property
    def name(self) -> str:
        """Return the name for tables."""
        return "continuous, hinge" if self.hinge else "continuous"

    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """Return the form without integrality; with ``hinge`` also without upper bounds of binaries of positive cost."""
        relaxed = form.relax_integrality()
        if self.hinge:
            switches, upper = binaries_of(form), form.upper.copy()
            upper[switches[form.q[switches] > 0.0]] = np.inf
            relaxed = relaxed.with_bounds(form.lower, upper)
        return relaxed if composed is None else with_finite_dual(relaxed, composed)


@dataclass(frozen=True)
class Products(FormReduction):
    """Products of every row with every binary, with triangle inequalities: RLT.

    Parameters
    ----------
    triangles : bool
        Whether triangle inequalities are added.
    rounds : int, optional
        Number of rounds, at most, each of which solves the relaxation and adds the triangles that its solution violates; by
        default all triangles are added at once.
    """

    triangles: bool = True
    rounds: int | None = None

    @property
    def name(self) -> str:
        """Return the name for tables."""
        if not self.triangles:
            return "products, no triangles"
        return "products" if self.rounds is None else "products, triangles separated"

    def form_obstacle(self, form: StandardForm) -> str:
        """Return the obstacle of a form with indicators or without binaries."""
        if Feature.INDICATOR in form.features:
            return "its switches are indicator constraints, because nothing bounds the margins: give a domain or upper_bound="
        binary = form.integer & (form.lower == 0.0) & (form.upper == 1.0)
        return "" if binary.any() else "it has integers, none of them between 0 and 1, whose products are linear again"

    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """Return the relaxation of the form by products."""
        form = form if composed is None else with_activity_bounds(form, composed)
        binary = binaries_of(form)
        if self.triangles and self.rounds is None:
            check_bytes(product_bytes(form, 4 * math.comb(binary.size, 3)), "the products of binaries with all triangles")
            return product_form(form, all_triangles(binary.size))
        cuts = all_triangles(0)
        product = product_form(form, cuts)
        for _ in range(self.rounds or 0 if self.triangles else 0):
            begin = time.perf_counter()
            limited = Options(tol=_SEPARATED).with_time_limited_to(_ROUND_SHARE * remaining_seconds())
            result = solve_problem(as_model(product), "auto", limited)
            if not result.values or result.status.stopped:
                break
            violated = violated_triangles(result.values, binary, _CUTS * binary.size, _VIOLATED)
            new = violated[~np.isin(violated @ _KEY, cuts @ _KEY)]
            if not new.size:
                break
            if remaining_seconds() < _ROUNDS_LEFT * (time.perf_counter() - begin):
                break  # the target's own solve, whose bound counts, needs the time
            cuts = np.concatenate([cuts, new])
            product = product_form(form, cuts)
        return product


@dataclass(frozen=True)
class Moments(FormReduction):
    """Lasserre's relaxation of order two, for small forms.

    Parameters
    ----------
    max_variables : int
        Largest number of variables of a form that is read; with n variables the moment matrix has about n²/2 rows.
    """

    max_variables: int = 9
    name = "moments"

    def form_obstacle(self, form: StandardForm) -> str:
        """Return the obstacle of a form with cones, without bounds, or with too many variables."""
        missing = _moments_obstacle(form)
        if not missing and form.n > self.max_variables:
            limit = self.max_variables
            missing = (
                f"it has {count_text(form.n, 'variable')}, and moments are "
                f"for {limit} at most: Moments(max_variables=...) for more"
            )
        return missing

    def obstacle(self, model: Model) -> str:
        """Return the obstacle, with bounds of |w_j| at an optimum taken into account."""
        composed = as_margin(model)
        if composed is None:
            return super().obstacle(model)
        integers = composed.form.features & {Feature.INTEGER, Feature.INDICATOR}
        return self.form_obstacle(with_activity_bounds(composed.form, composed)) if integers else super().obstacle(model)

    def of_form(self, form: StandardForm, composed: Margin | None) -> StandardForm:
        """Return the moment relaxation of the form."""
        return moment_form(form if composed is None else with_activity_bounds(form, composed))


#: The records of these relaxations, which `relaxations.registry` collects. "Conic" is Cepeda, Gómez and Han (2024).
RELAXATIONS = (
    Relaxation("continuous", "the form of any composed problem without its integers", Continuous(), "Conic (4)", rank=25),
    Relaxation(
        "continuous-hinge",
        "the continuous relaxation without upper bounds of binaries that cost: a hinge loss with slopes c_i/M_i",
        Continuous(hinge=True),
        "Conic §2",
        rank=24,
    ),
    Relaxation(
        "products",
        "products of every row with every binary, and triangle inequalities: RLT",
        Products(),
        "Sherali, Adams, 1990",
        rank=65,
    ),
    Relaxation(
        "products-separated",
        "the same with the triangles that solutions violate, in rounds",
        Products(rounds=10),
        "Padberg, 1989; Sherali, Adams, 1990",
        rank=66,
    ),
    Relaxation(
        "moments",
        "moments up to degree four of forms with a few bounded variables and linear rows: Lasserre's second level",
        Moments(),
        "Lasserre, 2001",
        rank=96,
    ),
)
