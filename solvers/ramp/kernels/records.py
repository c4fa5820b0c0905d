"""What the loops of `ramp-bb` hold in hand: the problem, the tree, and the node that is worked on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....models.arrays import BoolArray, FloatArray, IntArray
from ....models.views import RampProblem
from ...interface.by_reference import by_reference
from ...zero_one.kernels.boxes import WIDEST, empty_pairs, empty_relaxation
from ...zero_one.rotation import constant_column

__all__ = ["Node", "Ramp", "Tree", "node_for", "ramp_of"]


@by_reference
class Ramp(NamedTuple):
    """min Σ d_j w_j² + max{p'w : |x_j'p| ≤ 1} + Σ c_i ρ(a_i'w), ρ(m) = s min{(1 - m)_+, width} + s (corner - m)_+."""

    rows: Any  #: (p, n) a_i, by column
    costs: Any  #: (n,) c_i
    curvature: Any  #: (p,) d_j
    atoms: Any  #: (p, k) x_j, by column; none without a norm
    atom_errors: Any  #: (k,) what |x_j'p|/||p||_1 may be off
    held: Any  #: coordinates of which the norm knows; then atoms with signs, a basis of them, at a vertex of the polar
    basis: Any
    signs: Any
    sides: Any  #: (q, p) d_t with x_t'd_u = [t = u]: the polar is {Σ c_t d_t: |c_t| ≤ 1}; none where there are more atoms
    positive: Any  #: (n,) a guess of which rows point opposite ways: pairs are looked for across it
    slope: float  #: s
    width: float
    corner: float  #: where the cost begins again, at most 1 - width; -∞ where it does not


@by_reference
class Tree(NamedTuple):
    """Open nodes and the incumbent."""

    boxes: Any  #: (room, 3, p): ends, and a point of the polar
    keys: Any  #: (room,) bounds of the nodes' parents
    heap: Any  #: (room,) open nodes, the least bound first, and behind them the free places
    count: Any  #: (3,) open nodes; nodes so far; numbers in the log
    state: Any  #: (3,) the objective to beat, the part of it that may be left, the least bound of leaves
    found: Any  #: (p,) the incumbent
    origin: Any  #: (room, 2) the number of a node's parent, and the side
    log: Any  #: events (`.events`); no room where there is no log


@by_reference
class Node(NamedTuple):
    """A node: its box, what that says of the points, and room for its relaxation and pairs."""

    lo: Any  #: (p,)
    hi: Any
    mid: Any  #: (p,) a point of the box, and how far it reaches from there
    half: Any
    scale: Any  #: (p,) coordinates of the relaxation are scale_j (w_j - mid_j)/half_j, from -scale_j to scale_j
    bottom: Any
    w: Any  #: (p,) where the relaxation starts, and its solution
    polar: Any  #: (p,) a point of the polar that remembers earlier ones; the steepest one
    steep: Any
    moves: Any  #: (q, p) moves of ``polar`` that do not leave the polar
    low: Any  #: (n,) least and greatest margin, and the one at ``mid``
    high: Any
    at: Any
    undecided: Any  #: (n,) neither 1 nor 1 - width is beyond the margins of the box
    left: Any  #: (n,) what the pairs leave of c_i
    slopes: Any  #: (n,) of the envelopes, and where these begin
    begins: Any
    sides: Any  #: (2, n) the points that pairs are made of
    pays: Any  #: (side, side) how far the sum of two margins stays below 2, single precision
    paired: Any  #: (3, pairs) level, point and point of each pair that pays
    hinges: Any  #: (2n,) whose hinge a row of the relaxation is: i, or n + i where i's cost begins again
    counts: Any  #: (2,) pairs; hinges
    basis: Any  #: (q,) atoms x_b'p = ±1 at the vertex that was steepest last, and their signs
    signs: Any
    inverse: Any  #: (q, q) of the atoms of the basis; room for it
    factors: Any
    pivots: Any  #: (q,)
    edge: Any  #: (p,) a direction, and (k,) its products and the vertex's with the atoms
    along: Any
    products: Any
    relaxation: Any
    pairs: Any


def ramp_of(at: RampProblem) -> Ramp:
    """The problem as the loops read it, copied: for an array that cannot be written to they would be compiled once more."""
    basis, signs = _vertex(at.atoms)
    errors = 4.0 * (at.A.shape[1] + 4) * 2.0**-52 * np.linalg.norm(at.atoms, axis=1)
    return Ramp(
        np.array(at.A.T, order="C"), np.array(at.costs), np.array(at.curvature), np.array(at.atoms.T, order="C"), errors,
        np.flatnonzero(at.atoms.any(axis=0)), basis, signs, _sides(at.atoms, errors), _ahead(at.A),
        at.height / at.width, at.width, 1.0 - at.beyond,
    )  # fmt: skip


def _vertex(atoms: FloatArray) -> tuple[IntArray, FloatArray]:
    """A basis of atoms and signs at a vertex of {p : |x_j'p| ≤ 1}: from 0 along directions that keep what was met at 1."""
    held = atoms[:, atoms.any(axis=0)]
    q = held.shape[1]
    p, basis, signs = np.zeros(q), np.zeros(q, dtype=np.int64), np.zeros(q)
    for k in range(q):
        direction = np.linalg.svd(held[basis[:k]])[2][k]
        along = held @ direction
        along[basis[:k]] = 0.0
        far = np.abs(along) > 1e-9 * np.abs(along).max()
        steps = np.full(len(held), np.inf)
        steps[far] = (1.0 - np.sign(along[far]) * (held[far] @ p)) / np.abs(along[far])
        basis[k] = entering = int(steps.argmin())
        signs[k] = np.sign(along[entering])
        p += steps[entering] * direction
    return basis, signs


def _sides(atoms: FloatArray, errors: FloatArray) -> FloatArray:
    """Half sides of a polar with as many pairs of faces as dimensions, shortened so that no rounded sum of them leaves it."""
    held = atoms.any(axis=0)
    sides = np.zeros((len(atoms), atoms.shape[1]))
    if len(atoms) != held.sum() or np.linalg.matrix_rank(atoms) < len(atoms):
        return sides[:0]
    sides[:, held] = np.linalg.inv(atoms[:, held]).T
    farthest = float((np.abs(atoms @ sides.T).sum(axis=1) + errors * np.abs(sides).sum()).max(initial=1.0))
    return sides * ((1.0 - 1e-14) / farthest) if farthest < 1.0 + 1e-10 else sides[:0]


def _ahead(A: FloatArray) -> BoolArray:
    """Rows where an intercept's column is positive; without one, those on one side of the longest axis."""
    labels = constant_column(A)
    return np.asarray((A @ np.linalg.svd(A, full_matrices=False)[2][0] if labels is None else labels) > 0.0)


def node_for(r: Ramp) -> Node:
    """Room for nodes of the problem."""
    (p, n), q, k = r.rows.shape, r.basis.size, r.atom_errors.size
    side = 64 * (min(n, WIDEST) // 64 + 1)
    names = ("lo", "hi", "mid", "half", "scale", "bottom", "w", "polar", "steep", "edge")
    by_coordinate = {name: np.zeros(p) for name in names}
    by_point = {name: np.zeros(n) for name in ("low", "high", "at", "left", "slopes", "begins")}
    return Node(
        **by_coordinate, **by_point, undecided=np.zeros(n, dtype=np.bool_), sides=np.zeros((2, n), np.int64),
        pays=np.zeros((min(n, WIDEST), side), np.float32), basis=r.basis.copy(), signs=r.signs.copy(),
        inverse=np.zeros((q, q)), factors=np.zeros((q, q)), pivots=np.zeros(q), along=np.zeros(k), products=np.zeros(k),
        paired=np.zeros((3, 3 * (n // 2) + 1), np.int64), hinges=np.zeros(2 * n, np.int64), counts=np.zeros(2, np.int64),
        moves=np.zeros((max(q, 1), p)), relaxation=empty_relaxation(2 * n + q, p), pairs=empty_pairs(n, p),
    )  # fmt: skip
