"""The arrays that the compiled loops of `margin-bb` share: the problem, the search tree, the current node, and the log of events.

In the loops, which `entry` and `inner` compile, ``r`` is the `LoopProblem`, ``k`` the `LoopNode` and ``tree`` the `SearchTree`.

The loops append their events to the array `SearchTree.log`, from which `solvers.margin.proof` writes the proof log. A *round*
bounds a node and shrinks its box once. An event is its kind, 0 to 5, followed by its numbers:

0, number, parent, side                              a node begins
1, pairs, hinges, relaxed, priced, (level, i, j)..., a round of the node: its pairs (i, j); the multipliers α of its hinges, as
(hinge, α)..., spend, lo, hi, p                      `relaxation` numbers them, negative where the envelope of an even loss rises;
                                                     the value of the added square; the box; the point of the polar. ``priced``
                                                     is 1 if budgets have their prices, ``relaxed`` if a relaxation was solved
2, coordinate, value                                 the node is split at a value of this coefficient
3, cutoff                                            the round has found a better point, which lowers the cutoff
4, coordinate                                        the node is split by whether this coefficient is 0
5, point                                             the node is split by the sign of this point's margin
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...exact.loops import loops_of
from ...interface.numba_flags import by_reference

_loops = loops_of(Path(__file__).parent)
#: Decorators that compile a loop which Python calls, and one which only loops call.
entry, inner = _loops.entry, _loops.inner


@by_reference
class LoopProblem(NamedTuple):
    """The problem: min Σ_j d_j w_j² + max{p'w : |x_j'p| ≤ 1} + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ_i(a_i'w), with restrictions of w.

    Its N *terms* are the losses of the n points, then for each point of each budget b the loss 1{m < 1} on the same row, at a
    price θ_b. A loss is the sum of a bounded part, piecewise linear between its *corners* and 0 from the last one on, and of a
    linear tail to the left. There are L losses of at most K corners, and k atoms on q coordinates.
    """

    rows: Any  #: (p, N) a_i of the terms, by column
    row_errors: Any  #: (N,) error bounds of a_i'w in rotated coordinates
    costs: Any  #: (N,) c_i; θ_b for the terms of a budget
    point: Any  #: (N,) the point of each term
    kind: Any  #: (N,) number of each term's loss; terms of budgets have the last one
    corners: Any  #: (L, K) corners of each loss, increasing
    below: Any  #: (L, K) limits of the bounded part from the left at the corners
    at: Any  #: (L, K) values of the bounded part at the corners
    sizes: Any  #: (L,) number of corners
    height: Any  #: (L,) supremum of the bounded part
    tail: Any  #: (L,) slope of the tail, ≥ 0
    rise_start: Any  #: (L,) margin below which the tail rises; -∞ without a tail
    symmetric: Any  #: (L,) whether the loss is one of |m|
    chords: Any  #: (L,) whether no corner lies below a chord of the bounded part
    jumps: Any  #: (L,) whether the loss has a jump
    max_slope: Any  #: (L,) largest absolute slope between the jumps
    #: (levels, L, L) distance of the sum of two margins below the last corners from which a pair pays the share of a level
    pair_distance: Any
    full_pair_distance: Any  #: (L, L) the same distance for the whole height
    curvature: Any  #: (p,) d_j
    atoms: Any  #: (p, k) x_j, by column; empty without a norm
    atom_errors: Any  #: (k,) error bounds of |x_j'p|/||p||_1
    norm_coordinates: Any  #: (q,) coordinates that the atoms span
    basis: Any  #: (q,) atoms with x_b'p = ±1 at a vertex of the polar {p : |x_j'p| ≤ 1}
    signs: Any  #: (q,) signs of these products
    #: (q, p) half edges d_t, x_t'd_u = [t = u], of a polar that is the parallelepiped {Σ c_t d_t : |c_t| ≤ 1}; empty for others
    half_edges: Any
    positive: Any  #: (N,) the class of each row; a pair has one term of each class
    integer: Any  #: (p,) whether the coefficient is an integer
    price: Any  #: (p,) π_j
    counted: Any  #: (p,) whether ``max_nonzeros`` counts the coefficient
    constraints: Any  #: (m, p) linear constraints: constraints w ≥ row_lower
    row_lower: Any  #: (m,) right-hand sides of the constraints
    kept_points: Any  #: (n,) whether a_i'w ≥ 1 is a constraint
    budget_starts: Any  #: (budgets + 1,) first term of each budget
    budget_limits: Any  #: (budgets,) largest number of margins below 1 among the points of each budget
    rate_groups: Any  #: (rates, n) group of each point in each restriction of equal rates
    labels: Any  #: (n,) y_i; the score of a point is y_i a_i'w
    rate_sizes: Any  #: (rates, G) number of points in each group; 0 beyond the last group
    epsilon: Any  #: (rates,) largest difference between the groups' shares of positive scores
    points: int  #: n
    max_nonzeros: int  #: largest number of counted coefficients that are not 0
    sparse: bool  #: whether the number or price of non-zero coefficients matters
    restricted: bool  #: whether there are restrictions of w besides a box


@by_reference
class SearchTree(NamedTuple):
    """The search tree: open nodes, incumbent, and events for the proof log."""

    boxes: Any  #: (capacity, 4, p) lower ends, upper ends, a point of the polar, and 1 for coefficients that are not 0
    keys: Any  #: (capacity/2, 2) lower bounds from the nodes' parents: that of node k is keys[k >> 1, k & 1]
    heap: Any  #: (capacity,) open nodes, the least bound first, followed by the free places
    count: Any  #: (4,) open nodes; nodes so far; numbers in the log; 1 where memory is short and nodes are taken depth-first
    #: (4,) objective to improve on, accepted relative gap, least bound of leaves that are neither closed nor split, 1 if a
    #: feasible point is known
    state: Any
    incumbent: Any  #: (p,) the incumbent
    origin: Any  #: (capacity, 2) number of the parent, and the side of its split (0 or 1)
    signs: Any  #: (capacity, n) signs that margins must have, 0 for any; (capacity, 0) without equal rates
    log: Any  #: buffer of the events that the module describes; empty without a log


@by_reference
class LoopNode(NamedTuple):
    """The current node: its box, the terms' margins and envelopes on it, and the workspace of relaxation and pairs.

    A *demanded* point must have a margin of at least 1, by the problem or because a budget is used up.
    """

    lo: Any  #: (p,) lower ends of the box
    hi: Any  #: (p,) upper ends of the box
    marks: Any  #: (p,) 1 if a split states that the coefficient is not 0
    mid: Any  #: (p,) centre of the box
    half: Any  #: (p,) half widths of the box
    scale: Any  #: (p,) the relaxation's coordinates are scale_j (w_j - mid_j)/half_j, from -scale_j to scale_j
    bottom: Any  #: (p,) -scale
    w: Any  #: (p,) starting point of the relaxation, then its solution
    best: Any  #: (p,) start and end of a descent
    polar: Any  #: (p,) a point of the polar {p : |x_j'p| ≤ 1}, moved by each relaxation
    maximiser: Any  #: (p,) latest maximiser of p'w over the polar
    moves: Any  #: (q, p) steps from ``polar`` that do not leave the polar
    low: Any  #: (N,) least margin of each term on the box
    high: Any  #: (N,) greatest margin
    centre: Any  #: (N,) margin at ``mid``
    orientation: Any  #: (N,) -1 if the envelope is one of -m, since an even loss rises on the box; else 1
    demanded: Any  #: (n,) whether the point is demanded in this node
    demanded_signs: Any  #: (n,) 1 if equal rates demand a margin ≥ 0 in this node, -1 for ≤ 0, else 0
    certain: Any  #: (G,) number of certainly positive scores in each group
    undecided_scores: Any  #: (G,) number of scores of undecided sign
    min_positive: Any  #: (G,) least number of positive scores that equal rates allow
    max_positive: Any  #: (G,) greatest number of positive scores
    undetermined: Any  #: (n,) 1 if the box leaves the sign of the score open
    undecided: Any  #: (N,) whether the bounded part of the loss varies on the box
    costs: Any  #: (N,) costs of the terms in this round; 0 for budgets without a price
    unpaid: Any  #: (N,) costs that the pairs leave
    base: Any  #: (N,) constant of the envelope, a sum of hinges slope (begin - m)_+
    slopes: Any  #: (K + 1, N) slopes of its hinges
    begins: Any  #: (K + 1, N) margins below which the hinges rise
    pieces: Any  #: (N,) number of hinges
    first_slope: Any  #: (N,) absolute slope of the envelope at its left end; 0 if the tail is a hinge of its own
    vertices: Any  #: (K + 2,) margins of an envelope's vertices, workspace
    vertex_values: Any  #: (K + 2,) losses at these margins
    candidates: Any  #: (2, N) terms of each class that pairs may use
    pair_slack: Any  #: (terms, terms) distance of the sum of two margins below the last corners, in single precision
    masks: Any  #: (L, words) bits of the columns with each loss
    paired: Any  #: (3, pairs) level, first and second term of each pair
    hinges: Any  #: (rows,) source of each row of the relaxation, as `relaxation` numbers them
    spread: Any  #: (rows,) unit of the row's smoothing: 1, or the half range of a constraint
    counts: Any  #: (2,) number of pairs, and of hinges
    basis: Any  #: (q,) atoms with x_b'p = ±1 at the last maximising vertex
    signs: Any  #: (q,) signs of these products
    inverse: Any  #: (q, q) inverse of the basis's atoms
    factors: Any  #: (q, q) workspace of the inversion
    pivots: Any  #: (q,) workspace of an exchange in the basis
    edge: Any  #: (p,) direction of an edge of the polar, or a constraint's row
    along: Any  #: (k,) products of the edge with the atoms
    products: Any  #: (k,) products of the vertex with the atoms
    relaxation: Any  #: workspace of `solvers.exact.loops.newton`
    pairs: Any  #: workspace of `solvers.exact.loops.matching`


def max_numbers_of_node(pairs: int, hinges: int, coordinates: int, rounds: int) -> int:
    """Return the largest number of entries that one node's events take, for these largest numbers of pairs, hinges and rounds."""
    return 9 + rounds * (8 + 3 * pairs + 2 * hinges + 3 * coordinates)


@inner
def _put(tree: SearchTree, number: Any) -> None:
    tree.log[tree.count[2]] = number
    tree.count[2] += 1


@inner
def log_node(tree: SearchTree, node: int, number: int) -> None:
    """Append the event of a new node with this number."""
    if tree.log.size:
        for value in (0, number, tree.origin[node, 0], tree.origin[node, 1]):
            _put(tree, value)


@inner
def log_cutoff(tree: SearchTree, cut: float) -> None:
    """Append the event of a new cutoff, that of a better point."""
    if tree.log.size:
        _put(tree, 3)
        _put(tree, cut)


@inner
def log_split(tree: SearchTree, j: int, value: float) -> None:
    """Append the event of a split at a value of a coefficient."""
    if tree.log.size:
        _put(tree, 2)
        _put(tree, j)
        _put(tree, value)


@inner
def log_sign_split(tree: SearchTree, i: int) -> None:
    """Append the event of a split by the sign of a margin."""
    if tree.log.size:
        _put(tree, 5)
        _put(tree, i)


@inner
def log_support_split(tree: SearchTree, j: int) -> None:
    """Append the event of a split by whether a coefficient is 0."""
    if tree.log.size:
        _put(tree, 4)
        _put(tree, j)


@inner
def log_round(k: LoopNode, tree: SearchTree, perturbation: float, relaxed: bool, priced: bool) -> None:
    """Append the event of a round: its pairs, and the multipliers of its relaxation if that was solved (``relaxed``).

    ``perturbation`` is the value of the added square, ``priced`` says that budgets have their prices.
    """
    if not tree.log.size:
        return
    R, rows = k.relaxation, 0
    hinges = k.counts[1] if relaxed else 0
    for t in range(hinges):
        rows += R.alpha[t] > 0.0
    _put(tree, 1)
    _put(tree, k.counts[0])
    _put(tree, rows)
    _put(tree, relaxed)
    _put(tree, priced)
    for t in range(k.counts[0]):
        for part in range(3):
            _put(tree, k.paired[part, t])
    for t in range(hinges):
        if R.alpha[t] > 0.0:
            _put(tree, k.hinges[t])
            _put(tree, R.alpha[t] * (k.orientation[k.hinges[t]] if k.hinges[t] < k.orientation.size else 1.0))
    _put(tree, perturbation)
    for j in range(k.lo.size):
        _put(tree, k.lo[j])
    for j in range(k.hi.size):
        _put(tree, k.hi[j])
    for j in range(k.polar.size):
        _put(tree, k.polar[j])
