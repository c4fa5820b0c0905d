"""Compiled loops of the search `margin-bb`, and the Python functions that call them.

The search minimises Σ_j d_j w_j² + max{p'w : |x_j'p| ≤ 1} + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ_i(a_i'w) under restrictions of w; a
node is a box of w. `loop_problem` copies a problem into the arrays that the loops read, `new_tree` and `new_node` allocate their
workspace, and `explore`, `descend` and `objective` run them. The loops are in the modules `exploration` (tree, branching,
descents), `propagation`, `pairing`, `envelopes`, `norm` and `relaxation` (bounds of a node). Matching and Newton's method are
those of `solvers.exact.loops`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....models.arrays import BoolArray, FloatArray, IntArray
from ....models.views import MarginProblem, PiecewiseLinearLoss
from ...exact.loops.matching import WIDEST, empty_match_arrays
from ...exact.loops.newton import empty_relaxation
from ...exact.rotation import constant_column
from .data_structures import LoopNode, LoopProblem, SearchTree, max_numbers_of_node
from .exploration import DESCEND, DONE, EVALUATE, EXPLORE, FULL, PAUSED, RESERVE, ROUNDS, run_task
from .pairing import LEVELS

__all__ = [
    "DONE", "FULL", "PAUSED", "RESERVE", "ROUNDS", "LoopNode", "LoopProblem", "SearchTree", "descend", "explore", "loop_problem",
    "max_numbers_of_node", "new_node", "new_tree", "objective",
]  # fmt: skip

#: Share of a loss's height that counts as the whole height, up to rounding.
_ALL = 1.0 - 1e-12


def loop_problem(problem: MarginProblem, row_errors: FloatArray | None = None) -> LoopProblem:
    """Return a copy of the problem as the loops read it, in writable arrays: for read-only ones Numba would compile them again.

    Parameters
    ----------
    problem : MarginProblem
        The problem, in the coordinates of the boxes.
    row_errors : ndarray (n,), optional
        Error bounds of the margins a_i'w; zero by default.
    """
    n, p = problem.A.shape
    point = np.concatenate([np.arange(n), *(budget.points for budget in problem.budgets)]).astype(np.int64)
    sizes = [budget.points.size for budget in problem.budgets]
    positive = problem.costs[problem.costs > 0.0]
    height = max(loss.height for loss in problem.losses)
    theta = np.full(point.size - n, height * float(np.median(positive)) if positive.size else 1.0)
    losses = (*problem.losses, *([PiecewiseLinearLoss.zero_one(1.0)] if problem.budgets else []))
    basis, signs = _vertex(problem.atoms)
    errors = 4.0 * (p + 4) * 2.0**-52 * np.linalg.norm(problem.atoms, axis=1)
    distances = _distances_needed(losses, (*LEVELS, _ALL))
    rates = problem.rates
    sizes_of_groups = np.zeros((len(rates), max((equal.sizes.size for equal in rates), default=0)), dtype=np.int64)
    for b, equal in enumerate(rates):
        sizes_of_groups[b, : equal.sizes.size] = equal.sizes
    counted = problem.counted & (problem.max_nonzeros < problem.counted.sum())
    return LoopProblem(
        rows=np.array(problem.A[point].T, order="C"),
        row_errors=np.zeros(point.size) if row_errors is None else np.array(row_errors[point]),
        costs=np.concatenate([problem.costs, theta]), point=point,
        kind=np.concatenate([problem.loss_numbers, np.full(point.size - n, len(losses) - 1, dtype=np.int64)]),
        **_losses(losses), pair_distance=distances[:-1],
        full_pair_distance=distances[-1], curvature=np.array(problem.curvature), atoms=np.array(problem.atoms.T, order="C"),
        atom_errors=errors, norm_coordinates=np.flatnonzero(problem.atoms.any(axis=0)), basis=basis, signs=signs,
        half_edges=_half_edges(problem.atoms, errors), positive=_ahead(problem.A)[point], integer=np.array(problem.integer),
        price=np.array(problem.price), counted=counted, constraints=np.array(problem.rows, order="C"),
        row_lower=np.array(problem.row_lower), kept_points=np.array(problem.kept_points),
        budget_starts=n + np.cumsum([0, *sizes]),
        budget_limits=np.array([budget.limit for budget in problem.budgets], dtype=np.int64),
        rate_groups=np.array([equal.groups for equal in rates], dtype=np.int64).reshape(-1, n),
        labels=np.array(rates[0].labels) if rates else np.ones(n), rate_sizes=sizes_of_groups,
        epsilon=np.array([equal.epsilon for equal in rates]), points=n,
        max_nonzeros=int(problem.max_nonzeros) if counted.any() else p, sparse=bool(counted.any() or problem.price.any()),
        restricted=not problem.is_unrestricted,
    )  # fmt: skip


def _losses(losses: tuple[PiecewiseLinearLoss, ...]) -> dict[str, Any]:
    capacity = max(one.margins.size for one in losses)
    table = {name: np.zeros((len(losses), capacity)) for name in ("margins", "below", "at")}
    for kind, one in enumerate(losses):
        for name, values in table.items():
            values[kind, : one.margins.size] = getattr(one, name)
    return {
        "corners": table["margins"], "below": table["below"], "at": table["at"],
        "sizes": np.array([one.margins.size for one in losses]), "height": np.array([one.height for one in losses]),
        "tail": np.array([one.tail for one in losses]),
        "chords": np.array([one.margins.size == 1 or (one.margins.size == 2 and one.at[0] == one.below[0]) for one in losses]),
        "jumps": np.array([bool((one.below > one.at).any()) for one in losses]),
        "max_slope": np.array([one.largest_slope for one in losses]), "symmetric": np.array([one.symmetric for one in losses]),
        "rise_start": np.array([one.rise_start if one.tail > 0.0 else -np.inf for one in losses]),
    }  # fmt: skip


def _distances_needed(losses: tuple[PiecewiseLinearLoss, ...], shares: tuple[float, ...]) -> FloatArray:
    """Return, for shares of the lesser height of two losses, the distance from which a pair pays that share; (shares, L, L).

    The distance is that of the sum of the two margins below the sum of the last corners. The payment is interpolated between the
    distances at which both margins are at corners, and just beyond these, for jumps. Errors only make the search slower.
    """
    needed_distances = np.zeros((len(shares), len(losses), len(losses)))
    for a, one in enumerate(losses):
        for b, other in enumerate(losses):
            last_corners, height = one.margins[-1] + other.margins[-1], min(one.height, other.height)
            corners = np.unique(last_corners - np.add.outer(one.margins, other.margins))
            distances = np.sort(np.concatenate([corners, corners + 1e-12 * (1.0 + np.abs(corners))]))
            pays = np.maximum.accumulate(_least_of_two(one, other, distances))
            for level, share in enumerate(shares):
                t = min(int(np.searchsorted(pays, share * height)), pays.size - 1)
                low, high = max(t - 1, 0), t
                rise = pays[high] - pays[low]
                fraction = (share * height - pays[low]) / rise if rise > 0.0 else 1.0
                needed_distances[level, a, b] = distances[low] + min(max(fraction, 0.0), 1.0) * (distances[high] - distances[low])
    return needed_distances


def _least_of_two(one: PiecewiseLinearLoss, other: PiecewiseLinearLoss, distances: FloatArray) -> FloatArray:
    """Return the values of `envelopes.pair_bound` at each of these distances, up to rounding."""
    total = one.margins[-1] + other.margins[-1] - distances
    minimum = np.full(distances.size, min(one.height, other.height))
    for a, b in ((one, other), (other, one)):
        for corner, value in zip(a.margins, a.at, strict=True):
            minimum = np.minimum(minimum, value + b.values(total - corner) - b.tail_values(total - corner))
    return minimum


def _vertex(atoms: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return a basis of atoms, and their signs, at a vertex of the polar {p : |x_j'p| ≤ 1}.

    It is found by steps from 0 along directions that keep met atoms at 1.
    """
    coordinates = atoms[:, atoms.any(axis=0)]
    q = coordinates.shape[1]
    p, basis, signs = np.zeros(q), np.zeros(q, dtype=np.int64), np.zeros(q)
    for k in range(q):
        direction = np.linalg.svd(coordinates[basis[:k]])[2][k]
        projections = coordinates @ direction
        projections[basis[:k]] = 0.0
        is_large = np.abs(projections) > 1e-9 * np.abs(projections).max()
        steps = np.full(len(coordinates), np.inf)
        steps[is_large] = (1.0 - np.sign(projections[is_large]) * (coordinates[is_large] @ p)) / np.abs(projections[is_large])
        basis[k] = entering = int(steps.argmin())
        signs[k] = np.sign(projections[entering])
        p += steps[entering] * direction
    return basis, signs


def _half_edges(atoms: FloatArray, errors: FloatArray) -> FloatArray:
    """Return half sides of a polar with as many pairs of faces as dimensions; empty for other polars.

    They are shortened so that no rounded sum of them leaves the polar.
    """
    nonzero = atoms.any(axis=0)
    sides = np.zeros((len(atoms), atoms.shape[1]))
    if len(atoms) != nonzero.sum() or np.linalg.matrix_rank(atoms) < len(atoms):
        return sides[:0]
    sides[:, nonzero] = np.linalg.inv(atoms[:, nonzero]).T
    farthest = float((np.abs(atoms @ sides.T).sum(axis=1) + errors * np.abs(sides).sum()).max(initial=1.0))
    return sides * ((1.0 - 1e-14) / farthest) if farthest < 1.0 + 1e-10 else sides[:0]


def _ahead(A: FloatArray) -> BoolArray:
    """Return rows with a positive intercept's column; without an intercept, those on one side of the longest axis."""
    labels = constant_column(A)
    return np.asarray((A @ np.linalg.svd(A, full_matrices=False)[2][0] if labels is None else labels) > 0.0)


def new_node(r: LoopProblem) -> LoopNode:
    """Allocate the workspace of a node of the problem."""
    (p, n), q, k, corners = r.rows.shape, r.basis.size, r.atom_errors.size, r.corners.shape[1]
    side = 64 * (min(n, WIDEST) // 64 + 1)
    rows = (corners + 2) * n + r.points + r.row_lower.size + 2 * p + max(q, 1) + (r.points if r.epsilon.size else 0)
    names = ("lo", "hi", "marks", "mid", "half", "scale", "bottom", "w", "best", "polar", "maximiser", "edge")
    by_coordinate = {name: np.zeros(p) for name in names}
    by_term = {name: np.zeros(n) for name in ("low", "high", "centre", "orientation", "costs", "unpaid", "base", "first_slope")}
    return LoopNode(
        **by_coordinate, **by_term, masks=np.zeros((r.sizes.size, side // 64), np.uint64),
        demanded=np.zeros(r.points, dtype=np.bool_), demanded_signs=np.zeros(r.points),
        undetermined=np.zeros(r.points), certain=np.zeros(r.rate_sizes.shape[1], np.int64),
        undecided_scores=np.zeros(r.rate_sizes.shape[1], np.int64), min_positive=np.zeros(r.rate_sizes.shape[1], np.int64),
        max_positive=np.zeros(r.rate_sizes.shape[1], np.int64),
        undecided=np.zeros(n, dtype=np.bool_), slopes=np.zeros((corners + 1, n)), begins=np.zeros((corners + 1, n)),
        pieces=np.zeros(n, np.int64), vertices=np.zeros(corners + 2), vertex_values=np.zeros(corners + 2),
        candidates=np.zeros((2, n), np.int64),
        pair_slack=np.zeros((min(n, WIDEST), side), np.float32), basis=r.basis.copy(), signs=r.signs.copy(),
        inverse=np.zeros((q, q)), factors=np.zeros((q, q)), pivots=np.zeros(q), along=np.zeros(k), products=np.zeros(k),
        paired=np.zeros((3, 3 * (n // 2) + 1), np.int64), hinges=np.zeros(rows, np.int64), spread=np.ones(rows),
        counts=np.zeros(2, np.int64), moves=np.zeros((max(q, 1), p)), relaxation=empty_relaxation(rows, p),
        pairs=empty_match_arrays(n, p),
    )  # fmt: skip


def new_tree(p: int, capacity: int, tol: float, signed: int = 0) -> SearchTree:
    """Allocate a tree with the root as its only open node.

    Parameters
    ----------
    p, capacity : int
        Number of coefficients, and of nodes for which there is space, an even one.
    tol : float
        The accepted relative gap of the objective.
    signed : int
        Number of points whose margins' signs a node may fix: n with equal rates, else 0.
    """
    return SearchTree(
        boxes=np.zeros((capacity, 4, p)), keys=np.full((capacity // 2, 2), -np.inf), heap=np.arange(capacity),
        count=np.array([1, 0, 0, 0]),
        state=np.array([np.inf, tol, np.inf, 0.0]), incumbent=np.zeros(p), origin=np.zeros((capacity, 2), dtype=np.int64),
        signs=np.zeros((capacity, signed), dtype=np.int8), log=np.zeros(0),
    )  # fmt: skip


def explore(problem: LoopProblem, node: LoopNode, tree: SearchTree, nodes: int) -> int:
    """Explore up to ``nodes`` nodes, least bound first, in the workspace ``node``.

    Return DONE if no node is open, FULL if the tree has too little free capacity (`RESERVE`), PAUSED if the nodes are explored or
    the log's buffer is half full.
    """
    return int(run_task(problem, node, tree, EXPLORE, nodes, 0.0))


def descend(problem: LoopProblem, node: LoopNode, w: FloatArray, infeasible_value: float) -> float:
    """Run the convex-concave procedure from w within the node's box; replace w by its end, and return the objective there.

    An infeasible point counts as one of objective ``infeasible_value``.
    """
    node.best[:] = w
    value = run_task(problem, node, new_tree(w.size, 0, 0.0), DESCEND, 0, infeasible_value)
    w[:] = node.best
    return float(value)


def objective(problem: LoopProblem, node: LoopNode, w: FloatArray) -> float:
    """Return the objective of w; infinite if w is infeasible by more than rounding."""
    node.best[:] = w
    return float(run_task(problem, node, new_tree(w.size, 0, 0.0), EVALUATE, 0, 0.0))
