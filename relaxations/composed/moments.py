"""Lasserre's moment relaxation of order two for forms with linear rows, binaries and bounded variables.

A variable y_α stands for the monomial x^α, degrees up to four, with z_j² = z_j for binaries. With m the monomials up to degree
two, m₁ those up to degree one, and rows g(x) ≥ 0, h(x) = 0 (bounds among them),

    E[m m'] ⪰ 0,    E[g m₁ m₁'] ⪰ 0,    E[h m] = 0,

where E takes x^α to y_α; the objective is linear in y. Lasserre: *Global optimization with polynomials and the problem of
moments*, 2001, (4.5). *Valid*: y_α = x^α at a feasible x satisfies all of it at the same cost.

*At least RLT with triangles* (`relaxations.composed.products`): E[g z_j] = E[g z_j²] and E[g (1 - z_j)] = E[g (1 - z_j)²] are
values of E[g m₁ m₁'] ⪰ 0. The rows and columns z_j, x z_j of the first matrix give E[x x' z_j] ⪰ E[x z_j]E[x z_j]'/z_j, those of
1 - z_j the other part, and the two add up to E[x x']. A triangle f takes the values 0 and 1 on binaries and has degree two, so
that E[f] = E[f²] ≥ 0.

Variables are divided by their bounds, so that moments lie between -1 and 1 and the dual of any multipliers is finite.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray
from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.memory import check_bytes
from ...models.program.cones import PSD, Cone, Nonnegative, Zero
from ...models.program.form import StandardForm
from ...models.program.svec import svec_indices

__all__ = ["moment_form", "moments_missing"]

#: A monomial: its variables in order, with repetitions; and a polynomial: coefficients by monomial.
Monomial = tuple[int, ...]
Polynomial = dict[Monomial, float]


def moments_missing(form: StandardForm) -> str:
    """Return the reason why a form has no moments; empty where it has."""
    if any(not isinstance(c.cone, Nonnegative | Zero) for c in form.constraints if c.rows):
        return "its rows must be linear: no cones, no indicators"
    if not (np.isfinite(form.lower) & np.isfinite(form.upper)).all():
        return "its variables must be bounded, or moments have no bounds: give a domain, or another regulariser than L1"
    return ""


@dataclass
class _Moments:
    """The numbers of the monomials, powers of binaries reduced."""

    binary: list[bool]
    number: dict[Monomial, int] = field(default_factory=dict)

    def of(self, variables: Monomial) -> int:
        """Its number; a new one where it was not seen."""
        reduced = tuple(i for i, k in sorted(Counter(variables).items()) for _ in range(1 if self.binary[i] else k))
        return self.number.setdefault(reduced, len(self.number))

    def rows(self, polynomials: Sequence[tuple[Polynomial, Monomial, float]]) -> sp.coo_array:
        """Rows scale · E[polynomial · monomial], over the monomials seen so far."""
        at, to, data = [], [], []
        for k, (polynomial, factor, scale) in enumerate(polynomials):
            for monomial, coefficient in polynomial.items():
                at.append(k)
                to.append(self.of(factor + monomial))
                data.append(scale * coefficient)
        return sp.coo_array((data, (at, to)), shape=(len(polynomials), len(self.number)))

    def localised(self, polynomial: Polynomial, basis: list[Monomial]) -> sp.coo_array:
        """svec of E[polynomial · m m']."""
        row, column = svec_indices(len(basis))
        pairs = zip(row.tolist(), column.tolist(), strict=True)
        return self.rows([(polynomial, basis[i] + basis[j], 1.0 if i == j else float(np.sqrt(2.0))) for i, j in pairs])


def moment_form(form: StandardForm) -> StandardForm:
    """The relaxation of the module's head, of a form that `moments_missing` finds nothing against; other integers are relaxed.

    Raises
    ------
    TooLargeError
        The moment matrix does not fit.
    """
    n = form.n
    order = (n + 1) * (n + 2) // 2
    check_bytes(8 * (order * (order + 1) // 2) ** 2, "a moment matrix of order two")
    binary = (form.integer & (form.lower == 0.0) & (form.upper == 1.0)).tolist()
    scale = np.maximum(np.maximum(np.abs(form.lower), np.abs(form.upper)), 1e-12)
    moments = _Moments(binary)
    one: list[Monomial] = [(), *((j,) for j in range(n))]
    pairs = itertools.combinations_with_replacement(range(n), 2)
    two = [*one, *(pair for pair in pairs if not (pair[0] == pair[1] and binary[pair[0]]))]
    for monomial in one:
        moments.of(monomial)  # the constant is number 0, x_j number j + 1
    pieces: list[tuple[str, Cone, sp.coo_array]] = [("moments", PSD.of_order(len(two)), moments.localised({(): 1.0}, two))]
    for label, g, equal in _rows(form, scale):
        if equal:
            pieces.append((label, Zero(len(two)), moments.rows([(g, m, 1.0) for m in two])))
        else:
            pieces.append((label, PSD.of_order(len(one)), moments.localised(g, one)))
    return _assembled(form, scale, moments, pieces)


def _rows(form: StandardForm, scale: FloatArray) -> list[tuple[str, Polynomial, bool]]:
    """Label, polynomial in the scaled variables, and whether it is an equation, of every row and bound, divided by its size."""
    found: list[tuple[str, Polynomial, bool]] = []
    for c in form.constraints:
        F = sp.csr_array(c.F)
        for i in range(c.rows):
            piece = slice(F.indptr[i], F.indptr[i + 1])
            columns, data = F.indices[piece], F.data[piece] * scale[F.indices[piece]]
            size = max(float(np.abs(data).max(initial=0.0)), abs(float(c.g[i])), 1e-12)
            row: Polynomial = {(int(j),): float(v) / size for j, v in zip(columns, data, strict=True)}
            found.append((f"{c.label} {i}", {**row, (): float(c.g[i]) / size}, isinstance(c.cone, Zero)))
    for j in range(form.n):
        found.append((f"lower {j}", {(j,): 1.0, (): -float(form.lower[j] / scale[j])}, False))
        found.append((f"upper {j}", {(j,): -1.0, (): float(form.upper[j] / scale[j])}, False))
    return found


def _assembled(
    form: StandardForm, scale: FloatArray, moments: _Moments, pieces: list[tuple[str, Cone, sp.coo_array]]
) -> StandardForm:
    """The form over x itself and the moments of degree two and more."""
    n = form.n
    objective = moments.rows([(_objective(form, scale), (), 1.0)])  # its monomials are all there
    higher = [monomial for monomial in moments.number if len(monomial) > 1]
    to = Assembly(f"{form.name}, moments")
    x = to.variables("x", n, form.lower, form.upper)
    low = np.array([0.0 if all(form.lower[j] >= 0.0 for j in m) or _even(m) else -1.0 for m in higher])
    y = to.variables("y", len(higher), low, 1.0)
    total = len(moments.number)

    def affine(rows: sp.coo_array) -> Affine:
        """In x and y: monomial 0 is the constant, 1 to n are x_j/scale_j."""
        matrix = sp.csr_array((rows.data, (rows.row, rows.col)), shape=(rows.shape[0], total))
        in_x = sp.csr_array(matrix[:, 1 : n + 1] @ sp.diags_array(1.0 / scale))
        return x.under(in_x) + y.under(sp.csr_array(matrix[:, n + 1 :])) + matrix[:, [0]].toarray().ravel()

    for label, cone, rows in pieces:
        to.require(label, affine(rows), cone)
    to.cost(1.0, affine(objective))
    return to.form().replace(maximise=form.maximise)


def _even(monomial: Monomial) -> bool:
    return all(k % 2 == 0 for k in Counter(monomial).values())


def _objective(form: StandardForm, scale: FloatArray) -> Polynomial:
    """½x'Px + q'x + r in the scaled variables."""
    found: Polynomial = {(): float(form.r), **{(int(j),): float(form.q[j] * scale[j]) for j in np.flatnonzero(form.q)}}
    if form.quadratic is not None:
        P = sp.coo_array(sp.csr_array(form.quadratic.materialised))
        for i, j, value in zip(P.row.tolist(), P.col.tolist(), P.data.tolist(), strict=True):
            pair = (min(i, j), max(i, j))
            found[pair] = found.get(pair, 0.0) + 0.5 * value * float(scale[i] * scale[j])
    return found
