"""Products of a mixed-binary form's rows with its binaries: RLT (Sherali and Adams), with triangle inequalities.

For every binary j a vector v_j stands for x z_j. Each row F x + g in a cone K is multiplied by z_j and by 1 - z_j:

    F v_j + g z_j in K,    F (x - v_j) + g (1 - z_j) in K,

bounds are rows, (v_j)_j = z_j because z_j² = z_j, and (v_i)_j = (v_j)_i =: Z_ij. The quadratic ½x'Px, P = R'R, is split in the
same way: τ ≥ ½||R v_j||²/z_j + ½||R (x - v_j)||²/(1 - z_j) for every j. Triangles: `relaxations.composed.triangles`.
*Valid*: at a point of the form, v_j = x z_j satisfies all of it with τ = ½x'Px. *At least the continuous relaxation*: the two
rows of j add up to the row itself, and the squares to at least ½x'Px.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray, IntArray, to_dense
from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.memory import check_bytes
from ...models.program.cones import Nonnegative, RotatedSecondOrder, Zero
from ...models.program.form import StandardForm
from .triangles import triangle_rows

__all__ = ["binaries_of", "product_form"]


def binaries_of(form: StandardForm) -> IntArray:
    """Columns of the binaries whose products are taken."""
    return np.flatnonzero(form.integer & (form.lower >= 0) & (form.upper <= 1))


def product_form(form: StandardForm, triangles: IntArray) -> StandardForm:
    """The relaxation of the module's head with these triangles; integers that are not binary are relaxed.

    Raises
    ------
    TooLargeError
        Products of every binary with every row do not fit.
    """
    binary = binaries_of(form)
    stored = sum(c.F.nnz for c in form.constraints) + 4 * form.n
    check_bytes(60 * binary.size * stored + 200 * triangles.shape[0], "the products of binaries with rows")
    to = Assembly(f"{form.name}, products")
    x = to.variables("x", form.n, form.lower, form.upper)
    to.cost(form.q, x)
    to.cost(1.0, Affine({}, np.array([form.r])))
    root = _root(form)
    tau = None if root is None else to.variables("tau", 1, 0.0)
    if tau is not None:
        to.cost(1.0, tau)
    low, high = np.minimum(form.lower, 0.0), np.maximum(form.upper, 0.0)
    products = []
    for c in form.constraints:  # those of j and of 1 - j add up to them; without binaries they are all there is
        if c.rows:
            to.require(c.label, x.under(c.F) + c.g, c.cone)
    for number, j in enumerate(binary.tolist()):
        v, z = to.variables(f"x z{number}", form.n, low, high), x.at([j])
        products.append(v)
        for name, part, weight in ((f"times z{number}", v, z), (f"times 1 - z{number}", x - v, -z + 1.0)):
            _multiplied(to, form, name, part, weight)
        to.require(f"square {number}", v.at([j]) - z, Zero(1))
        if root is not None and tau is not None:
            _split_square(to, number, root, tau, x, v, z)
    _symmetric(to, binary, products)
    if triangles.shape[0]:
        to.require_nonnegative("triangles", triangle_rows(triangles, binary, x, products))
    made = to.form()
    return made.replace(maximise=form.maximise)


def _multiplied(to: Assembly, form: StandardForm, name: str, part: Affine, weight: Affine) -> None:
    """Rows and bounds at part = x·weight."""
    for c in form.constraints:
        if c.rows:
            to.require(f"{c.label} {name}", part.under(c.F) + weight.under(c.g[:, None]), c.cone)
    for side, bound, sign in (("lower", form.lower, 1.0), ("upper", form.upper, -1.0)):
        there = np.flatnonzero(np.isfinite(bound))
        if there.size:
            rows = (part.at(there) - weight.under(bound[there][:, None])).scaled(sign)
            to.require(f"{side} bounds {name}", rows, Nonnegative(there.size))


def _split_square(to: Assembly, number: int, root: FloatArray, tau: Affine, x: Affine, v: Affine, z: Affine) -> None:
    """τ ≥ s + t, s z ≥ ½||Rv||², t (1 - z) ≥ ½||R(x - v)||²."""
    rows = root.shape[0]
    total = tau
    for name, part, weight in (("s", v, z), ("t", x - v, -z + 1.0)):
        s = to.variables(f"{name} {number}", 1, 0.0)
        total = total - s
        first = s.under(_unit(rows + 2, 0)) + weight.under(_unit(rows + 2, 1))
        below = sp.csr_array(np.vstack([np.zeros((2, root.shape[1])), root]))
        to.require(f"{name} {number} cone", first + part.under(below), RotatedSecondOrder(rows + 2))
    to.require_nonnegative(f"norm {number}", total)


def _unit(size: int, place: int) -> sp.csr_array:
    return sp.csr_array(([1.0], ([place], [0])), shape=(size, 1))


def _symmetric(to: Assembly, binary: IntArray, products: list[Affine]) -> None:
    for a, b in itertools.combinations(range(binary.size), 2):
        to.require(f"symmetric {a} {b}", products[a].at([binary[b]]) - products[b].at([binary[a]]), Zero(1))


def _root(form: StandardForm) -> FloatArray | None:
    """R with R'R = P, from the eigenvalues of the part that is not zero."""
    if form.quadratic is None:
        return None
    P = to_dense(form.quadratic.materialised)
    used = np.flatnonzero(P.any(axis=0))
    values, vectors = np.linalg.eigh(P[np.ix_(used, used)])
    kept = values > 1e-14 * max(float(values.max(initial=0.0)), 0.0)
    R = np.zeros((int(kept.sum()), form.n))
    R[:, used] = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return R
