"""An independent checker of the proof logs of `margin-bb`, which uses no code of the search and trusts the data alone.

The objective is Σ_j d_j w_j² + max{p'w : |x_k'p| ≤ 1} + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ_i(a_i'w) with atoms x_k and restrictions
of w. Let B be the claimed bound, ∞ for a claim of infeasibility. The checker proves that no feasible w has an objective below B.
Its root box, in coordinates v with w = T v and margins a_i'w = g_i'v (`rotated_problem`), contains every such w, or a point that
is as good. The log states a tree of boxes. In each *round* of a node it states pairs of terms and multipliers. From these the
checker computes a lower bound of the objective on the box, and shrinks the box. Integers, limits on non-zero coefficients, linear
constraints, budgets (at most so many of their points have margins below 1), equal rates, and *demanded* points, whose margins
must be at least 1, shrink it too (`boxes`). A node must end with an empty box or a bound of at least B, or be split into two.

Bounds and boxes are computed in float64, less their rounding errors: a sum of m products, in any order, is wrong by less than
(m + 4)·2⁻⁵²·Σ|terms|. The incumbent is evaluated in rational arithmetic (`logged_problem.exact_value`).

*Terms.* A term is a loss of one margin m, times its cost: one term for each point, then for each budget and each of its points
the loss 1{m < 1} at the budget's price. A loss is the sum of a linear tail and a bounded part. If the margins of two terms have a
small sum on the box, their bounded parts cannot both be small (`pair_bound`). The multiplier α of a term is the slope, with its
sign reversed, of a linear function below the loss; the bound is valid for every α.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index
from typing import Any, TypeGuard

import numpy as np

from ....errors import InputError
from ....models.arrays import BoolArray, IntArray
from ....models.model import Model
from ....models.rounding import transposed_product
from ....models.views import MarginProblem
from ...exact.check.arithmetic import Array, InvalidProofError, round_down, round_up
from ...exact.check.checker import Claim, ProofChecker
from ...exact.check.log_reader import SealedLog
from ...exact.check.trees import NodeRules, VerifierPool, verify_in_order
from .boxes import CheckedBox, margin_ranges, propagate, root_box, sum_error
from .logged_problem import FORMAT, VERSION, LoggedMarginProblem, exact_value
from .rotated_problem import LinearPieces, RotatedProblem, in_log_coordinates

_EPS = 2.0**-52
#: Factors that move a few roundings to the safe side.
_BELOW, _ABOVE = 1.0 - 2.0**-48, 1.0 + 2.0**-48


@dataclass(eq=False)
class BoxLosses:
    """A lower bound of the losses on a box: ``fixed_cost`` + Σ over the N terms of unpaid·(bounded part) + cost·tail."""

    fixed_cost: float  #: sum of the pair bounds
    costs: Array  #: (N,) costs of the terms
    unpaid: Array  #: (N,) costs less what the pairs have moved to ``fixed_cost``
    low: Array  #: (N,) least margins on the box, at least 1 for demanded points
    high: Array  #: (N,) greatest margins on the box
    size: Array  #: (n,) largest Σ_j |g_ij v_j| of each point on the box


def _box_losses(problem: RotatedProblem, box: CheckedBox, theta: Array) -> BoxLosses:
    """Return the losses of all terms on a box, before pairs; ``theta`` has the price of each budget."""
    sizes = [budget.points.size for budget in problem.original.budgets]
    costs = np.concatenate([problem.original.costs, np.repeat(theta, sizes)])
    low, high, size = margin_ranges(problem, box)
    low = np.where(box.demanded, np.maximum(low, 1.0), low)
    high = np.maximum(low, high)
    return BoxLosses(0.0, costs, costs.copy(), low[problem.terms], high[problem.terms], size)


def pair_bound(first: LinearPieces, second: LinearPieces, top: Array) -> Array:
    """Return a lower bound of ρ(x) + ρ'(y) over x + y ≤ top, for the bounded parts ρ, ρ' of two losses.

    Neither loss increases, so the minimum is on x + y = top. There the sum is linear in x between breakpoints of the two losses,
    and lower semicontinuous. So it is least at a breakpoint of one of them, or far out, where one loss is at its height and the
    other is 0. The bound is 0 for a symmetric loss, which may increase.
    """
    if first.loss.symmetric or second.loss.symmetric:
        return np.zeros(top.shape)
    minimum = np.full(top.shape, min(first.loss.height, second.loss.height))
    for one, other in ((first, second), (second, first))[: 1 if first is second else 2]:
        for t, value in zip(one.loss.margins.tolist(), one.loss.at.tolist(), strict=True):
            minimum = np.fmin(minimum, round_down(value + other.lower_bound(round_up(top - t))))
    return np.maximum(minimum, 0.0)


def _apply_pair_bounds(problem: RotatedProblem, box: CheckedBox, loss: BoxLosses, levels: list[list[int]]) -> None:
    """Move cost from the terms of the pairs of a log's ``levels`` to ``fixed_cost``, in place.

    Each pair (i, j) gives up the smaller remaining cost of its terms, times its `pair_bound`.
    """
    for level in levels:
        named = np.array(level, dtype=np.int64)
        if named.size % 2 or (named < 0).any() or (named >= loss.unpaid.size).any() or np.bincount(named).max(initial=0) > 1:
            raise InvalidProofError("pairs of a level must be of terms that exist, each once")
        i, j = named[0::2], named[1::2]
        point_i, point_j = problem.terms[i], problem.terms[j]
        rows = problem.g[point_i] + problem.g[point_j]
        top = np.maximum(rows, 0.0) @ box.hi + np.minimum(rows, 0.0) @ box.lo
        error = sum_error(2 * box.lo.size + 6, loss.size[point_i] + loss.size[point_j])
        top = round_up(top + error * _ABOVE + (problem.e[point_i] + problem.e[point_j]) * _ABOVE + 4.0 * _EPS * np.abs(top))
        costs = _of_pairs(problem, i, j, top)
        price = np.where(costs > 0.0, np.minimum(loss.unpaid[i], loss.unpaid[j]), 0.0)
        paid = price * costs * _BELOW
        loss.fixed_cost += float(paid.sum() - sum_error(paid.size, paid.sum()))
        for side in (i, j):
            loss.unpaid[side] = np.maximum(loss.unpaid[side] - price, 0.0) * _BELOW
    loss.fixed_cost = max(loss.fixed_cost, 0.0)


def _of_pairs(problem: RotatedProblem, i: IntArray, j: IntArray, top: Array) -> Array:
    """Return the least cost of pairs of terms whose margins sum to at most ``top``."""
    costs, of_first, of_second = np.zeros(i.size), problem.kinds[i], problem.kinds[j]
    for a in np.unique(of_first).tolist():
        for b in np.unique(of_second).tolist():
            selected = (of_first == a) & (of_second == b)
            costs[selected] = pair_bound(problem.pieces[a], problem.pieces[b], top[selected])
    return costs


def least_costs(problem: RotatedProblem, loss: BoxLosses, alpha: Array) -> Array:
    """Return a lower bound of unpaid·bounded(m) + cost·tail(m) + α m of every term on its margins.

    The function is piecewise linear and lower semicontinuous: least at an end, at a breakpoint (of an even loss, also at the
    negative of one), or at the start of the tail.
    """
    minima = np.zeros(alpha.size)
    for kind, pieces in enumerate(problem.pieces):
        indices = np.flatnonzero(problem.kinds == kind)
        minima[indices] = _lowest(pieces, loss, alpha, indices)
    return minima


def _lowest(pieces: LinearPieces, loss: BoxLosses, alpha: Array, indices: IntArray) -> Array:
    rho = pieces.loss
    low, high, unpaid, slope = loss.low[indices], loss.high[indices], loss.unpaid[indices], alpha[indices]
    steep = loss.costs[indices] * rho.tail if rho.tail > 0.0 else None

    def at(m: Any, bounded: Any, inside: BoolArray | bool) -> Array:
        terms = [unpaid * bounded, slope * m]
        if steep is not None:
            terms.append(steep * np.maximum(rho.rise_start - m, 0.0))
        value = sum(terms) - sum_error(6, sum(np.abs(term) for term in terms))
        return np.where(inside, value, np.inf)

    minimum = np.minimum(at(low, pieces.lower_bound(low), True), at(high, pieces.lower_bound(high), True))
    breakpoints = list(zip(rho.margins.tolist(), rho.at.tolist(), strict=True))
    breakpoints += [(-t, value) for t, value in breakpoints] if rho.symmetric else []
    if steep is not None:
        breakpoints.append((rho.rise_start, float(pieces.lower_bound(np.array(rho.rise_start)))))
    for t, value in breakpoints:
        minimum = np.minimum(minimum, at(t, value, (low <= t) & (t <= high)))
    return minimum


#: Share of the cutoff that the rounding of a sum of rows may cost; above it the sum is computed in higher precision.
_FINE = 1e-11


def search_box(box: CheckedBox, entry: dict[str, Any]) -> CheckedBox:
    """Return the box that the round ``entry`` states, enlarged to contain ``box``: bounds on the larger box hold on ``box``.

    The search computed the multipliers for the stated box. On ``box``, which may be smaller, they may prove less.
    """
    lo, hi = box.lo, box.hi
    if "box" in entry:
        lo, hi = (np.array(side, dtype=np.float64) for side in entry["box"])
        if lo.shape != box.lo.shape or hi.shape != box.hi.shape or not np.isfinite([lo, hi]).all():
            raise InvalidProofError("a box must have finite ends, two for each coordinate")
    return CheckedBox(np.minimum(lo, box.lo), np.maximum(hi, box.hi), box.bound, box.used, box.demanded, box.signs)


def _numbers(entry: dict[str, Any], name: str, size: int) -> Array:
    """Return an array of ``size`` finite numbers from a record; zeros if the round has none."""
    numbers = np.zeros(size) if name not in entry else np.array(entry[name], dtype=np.float64)
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise InvalidProofError(f"{name} must be {size} finite numbers")
    return numbers


def _sparse(entry: dict[str, Any], name: str, size: int, *, signed: bool = False) -> Array:
    """Return multipliers that a record stores by index; no index may occur twice."""
    named = np.array([index for index, _ in entry.get(name, [])], dtype=np.int64)
    values = np.array([value for _, value in entry.get(name, [])], dtype=np.float64)
    if (named < 0).any() or (named >= size).any() or np.unique(named).size < named.size:
        raise InvalidProofError(f"multipliers {name} are of what does not exist, or of something twice")
    if not np.isfinite(values).all() or (not signed and (values < 0.0).any()):
        raise InvalidProofError(f"multipliers {name} must be finite{'' if signed else ' and not negative'}")
    multipliers = np.zeros(size)
    multipliers[named] = values
    return multipliers


def _polar(problem: RotatedProblem, entry: dict[str, Any]) -> tuple[Array, Array]:
    """Return T'p and its error bound, for the record's p scaled down to |x_k'p| ≤ 1 for all atoms x_k; zeros without atoms."""
    atoms, T, size = problem.original.atoms, problem.T, problem.squares.size
    p = _numbers(entry, "p", size)
    if not len(atoms):
        return np.zeros(size), np.zeros(size)
    restricted = np.where(atoms.any(axis=0), p, 0.0)
    products = np.abs(atoms @ restricted) + sum_error(size, np.abs(atoms) @ np.abs(restricted))
    if not np.isfinite(products).all():  # too large to be compared with 1
        return np.zeros(size), np.zeros(size)
    restricted = restricted * (_BELOW / max(1.0, float(products.max())))
    return T.T @ restricted, sum_error(size, np.abs(T.T) @ np.abs(restricted))


def _price_slopes(problem: RotatedProblem, box: CheckedBox, entry: dict[str, Any]) -> tuple[Array, float]:
    """Return γ with γ_j v_j ≤ π_j 1{v_j ≠ 0} on the box, and the sum of π_j over used j with γ_j = 0."""
    price, used = problem.original.price, box.used
    slopes = _numbers(entry, "support", price.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = np.where(box.lo < 0.0, np.minimum(round_up(price / box.lo), 0.0), 0.0)
        upper = np.where(box.hi > 0.0, np.maximum(round_down(price / box.hi), 0.0), 0.0)
    certain = price[used]
    return np.where(used, 0.0, np.clip(slopes, lower, upper)), float(certain.sum() - sum_error(certain.size, certain.sum()))


def _weighted_lines(problem: RotatedProblem, box: CheckedBox, weights: Array, cut: float) -> tuple[Array, Array]:
    """Return Σ weights·lines, and its error bound."""
    row_sum, error = weights @ problem.lines, sum_error(weights.size + 4, np.abs(weights) @ np.abs(problem.lines))
    if float(error @ box.largest_coordinates) > _FINE * cut:  # an intercept's terms cancel, and its box is wide
        row_sum, error = transposed_product(problem.lines, weights)
    return row_sum, error


def apply_relaxation(problem: RotatedProblem, box: CheckedBox, entry: dict[str, Any], cut: float) -> None:
    """Raise the bound of the box by a round's pairs and multipliers, ``entry``, and cut off the part that costs ``cut`` or more.

    Let R v ≥ r be the linear constraints and the demanded margins, with multipliers μ ≥ 0; α the terms' multipliers and g_t their
    rows; p a point of the norm's polar in coordinates v; γ slopes of the prices π; θ ≥ 0 prices of the budgets; d_j the
    coefficients of squares. For feasible points of interest in the box,

        cost ≥ fixed_cost + Σ_t min_m (unpaid·bounded + cost·tail + α m)_t + r'μ - θ'limits + Σ_{used} π_j
               + Σ_j (d_j v_j² + (p + γ - Σ_t α_t g_t - R'μ)_j v_j).

    With x = v - (the box's centre) the last part is const + Σ_j (a_j x_j² + b_j x_j). It is separable: the part of x_j is least
    at some c_j, and increases on both sides of it.
    """
    logged, p = problem.original, problem.lo.size
    is_relaxed = "p" in entry
    theta = _numbers(entry, "theta", len(logged.budgets))
    if (theta < 0.0).any():
        raise InvalidProofError("prices of budgets must not be negative")
    loss = _box_losses(problem, box, theta)
    _apply_pair_bounds(problem, box, loss, entry["pairs"])
    multipliers = entry if is_relaxed else {}
    alpha, mu = (
        _sparse(multipliers, "alpha", loss.unpaid.size, signed=True),
        _sparse(multipliers, "rows", len(problem.lines) - loss.unpaid.size),
    )
    is_forced = [box.demanded, box.signs > 0, box.signs < 0] if logged.rates else [box.demanded]
    mu[len(logged.rows) :] *= np.concatenate(is_forced)
    right = np.zeros(mu.size)
    right[: len(logged.rows)], right[len(logged.rows) : len(logged.rows) + len(problem.g)] = logged.row_lower, 1.0
    weights = np.concatenate([alpha, mu])
    polar_point, polar_error = _polar(problem, multipliers)
    gamma, prices = _price_slopes(problem, box, multipliers)
    row_sum, row_sum_error = _weighted_lines(problem, box, weights, cut)
    lin = polar_point + gamma - row_sum
    error = polar_error + row_sum_error + sum_error(6, np.abs(polar_point) + np.abs(gamma) + np.abs(row_sum))
    limits = np.array([budget.limit for budget in logged.budgets], dtype=np.float64)
    constants = [
        np.array([loss.fixed_cost, prices]), least_costs(problem, loss, alpha), mu * right, -theta * limits,
        -np.abs(weights) * problem.line_errors,
    ]  # fmt: skip
    mid, extra = np.zeros(p), np.zeros(p)
    if is_relaxed:
        mid = 0.5 * (box.lo + box.hi)
        area = np.maximum(mid - box.lo, box.hi - mid) ** 2  # neighbouring doubles have no other in the middle
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            extra = np.where(area > 0.0, max(float(entry["spend"]), 0.0) / p / area, 0.0)
    _tighten(problem, box, lin, error, np.concatenate(constants), mid, extra, cut)


def _tighten(
    problem: RotatedProblem, box: CheckedBox, lin: Array, error: Array, constants: Array, mid: Array, extra: Array, cut: float
) -> None:
    """Bound Σ constants + Σ_j (d_j v_j² + lin_j v_j) on the box, and shrink the box.

    ``error`` is the error bound of lin, and ``extra`` are coefficients of squares with value 0 at the ends of the box.
    """
    lo, hi = round_down(box.lo - mid), round_up(box.hi - mid)
    d = problem.squares
    a, b = (d + extra) * (1.0 - 4.0 * _EPS), lin + 2.0 * d * mid
    error = error + sum_error(4, np.abs(lin) + 2.0 * d * np.abs(mid))
    largest = extra * np.maximum(lo * lo, hi * hi)
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.clip(np.where(a > 0.0, -0.5 * b / a, np.where(b > 0.0, lo, hi)), lo, hi)
    steep = 2.0 * a * c + b
    error_bound = error + sum_error(4, 2.0 * a * np.abs(c) + np.abs(b))
    rises, falls = steep - error_bound, -steep - error_bound
    decrease = np.maximum(np.maximum(-rises, 0.0) * (hi - c), np.maximum(-falls, 0.0) * (c - lo))
    terms = np.concatenate([
        constants, d * mid * mid, lin * mid, a * c * c, b * c, -largest, -decrease, -error * (np.abs(c) + np.abs(mid)),
    ])  # fmt: skip
    bound = float(terms.sum() - sum_error(terms.size + 8, np.abs(terms).sum()))
    if not np.isfinite(bound):
        return
    box.bound = max(box.bound, bound)
    slack = max(float(round_up(cut - bound)), 0.0)
    for side, slope in ((1.0, rises), (-1.0, falls)):
        up = np.maximum(slope, 0.0) * _BELOW
        with np.errstate(all="ignore"):
            below = up + np.sqrt(up * up + 4.0 * a * _BELOW * slack)
            distance = 2.0 * slack / below * _ABOVE
        distance = np.where(np.isnan(distance), np.where(up > 0.0, 0.0, np.inf), distance)
        distance = np.where(np.isfinite(below), distance, np.inf)  # an overflow proves nothing, not even that x stays in place
        if side > 0.0:
            box.hi = np.minimum(box.hi, round_up(round_up(c + distance) + mid))
        else:
            box.lo = np.maximum(box.lo, round_down(round_down(c - distance) + mid))


#: Keys of a node's record that split it.
_SPLITS = {"split", "support", "sign"}


class MarginChecker(ProofChecker[LoggedMarginProblem]):
    """Checker of the proof logs of `margin-bb`, which `check_proof` calls."""

    format, versions = FORMAT, (VERSION,)
    claims_infeasibility = streams = True  # a log may claim that no point is feasible; its records are read one by one

    def of_model(self, model: Model) -> LoggedMarginProblem:
        """Return the margin problem of the user's model; raise InputError if it has none."""
        view = model.view(MarginProblem)
        if view is None:
            raise InputError(
                f"a proof log of margin-bb proves a bound of a margin problem; {type(model).__name__} states no margin problem",
                name="model",
            )
        return LoggedMarginProblem.of_problem(view)

    def of_log(self, header: dict[str, Any]) -> LoggedMarginProblem:
        """Return the problem that the header of a log states."""
        return LoggedMarginProblem.of_log(header)

    def claim(self, problem: LoggedMarginProblem, log: SealedLog) -> Claim:
        """Return the claimed bound, and the value of the claimed point, infinite without one.

        A claim of infeasibility states a finite bound too, which applies if a node is not empty.
        """
        claim, infeasible = log.claim, log.claim.get("infeasible", False) is True
        if claim["bound"] is None and not infeasible:
            raise InvalidProofError("a claim has a bound, or says that nothing is feasible")
        bound = math.inf if claim["bound"] is None else float(claim["bound"])
        if infeasible and claim["w"] is not None:
            raise InvalidProofError("a claim of infeasibility has a point")
        if claim["bound"] is not None and not math.isfinite(bound):
            raise InvalidProofError(f"the claimed bound {bound:g} is not finite")
        return Claim(bound, math.inf if claim["w"] is None else exact_value(problem, claim["w"], claim["combination"]))

    def prove(
        self, problem: LoggedMarginProblem, log: SealedLog, claim: Claim, verifiers: VerifierPool | None
    ) -> tuple[float, int]:
        """Return the proved bound and the number of nodes; a claim of infeasibility is tried first, then the finite bound."""
        bound = float(claim.bound)
        if math.isfinite(bound) and log.claim.get("infeasible", False) is True:
            try:
                return math.inf, _proved_nodes(problem, log, math.inf)
            except InvalidProofError:
                pass  # a node is not empty: the finite bound may hold
        return bound, _proved_nodes(problem, log, bound) if bound > 0.0 else 0


def _proved_nodes(problem: LoggedMarginProblem, log: SealedLog, target: float) -> int:
    """Return the number of nodes of the tree after proving each to cost at least the target."""
    cut = math.inf if log.header["cut"] is None else float(log.header["cut"])
    rotated = in_log_coordinates(problem, np.array(log.header["T"], dtype=np.float64), max(target, cut))
    rules = _MarginRules(rotated, target)
    return verify_in_order(rules, log.records(), rules.waiting(root_box(rotated)))


class _MarginRules(NodeRules["CheckedBox | None"]):
    """The rules of boxes: a box is tightened by the cost of the incumbent at that time, ``cut``, as in the search."""

    def __init__(self, problem: RotatedProblem, target: float) -> None:
        self._problem, self._target, self._cut = problem, target, problem.target

    def waiting(self, box: CheckedBox | None) -> CheckedBox | None:
        """Return the box; None if it is empty or its bound reaches the target."""
        return box if _open(box, self._target) else None

    def read_other_record(self, record: dict[str, Any]) -> None:
        """Read the cutoff of a better point found between two nodes."""
        self._cut = min(self._cut, max(float(record["cut"]), self._target))

    def skip_node(self, record: dict[str, Any]) -> None:
        """Read the cutoffs in the rounds of a node, without checking them."""
        for entry in record["rounds"]:
            self.read_other_record({"cut": entry.get("cut", self._cut)})

    def children(self, record: dict[str, Any], state: CheckedBox | None) -> list[CheckedBox | None]:
        """Return the two boxes of a split, None for one that is proved; [] if the rounds prove the node itself."""
        problem, box = self._problem, state
        for entry in record["rounds"]:
            self.read_other_record({"cut": entry.get("cut", self._cut)})
            box = None if box is None else self.waiting(_apply_round(problem, box, entry, self._cut))
        if box is None:
            return []
        if _SPLITS & record.keys():
            return [self.waiting(_part(problem, box, record, side)) for side in (0, 1)]
        raise InvalidProofError(f"node {record['id']} {self.reason_unproved(box)}")

    def reason_unproved(self, state: CheckedBox | None) -> str:
        """Return the end of a message on an open box: its bound is below the claim, or it is not empty."""
        assert state is not None
        if self._target == math.inf:
            return "is not empty; the claim is that nothing is feasible"
        return f"costs {state.bound:.12g} at least; the claim is {self._target:.12g}"


def _open(box: CheckedBox | None, target: float) -> TypeGuard[CheckedBox]:
    """Return whether the box may hold points that cost less than the target."""
    return box is not None and not box.is_empty and box.bound < target


def _apply_round(problem: RotatedProblem, box: CheckedBox, entry: dict[str, Any], cut: float) -> CheckedBox:
    """Return the part of the box that a round leaves."""
    wide = search_box(box, entry)
    apply_relaxation(problem, wide, entry, cut)
    lo, hi = np.maximum(box.lo, wide.lo), np.minimum(box.hi, wide.hi)
    remaining = CheckedBox(lo, hi, max(box.bound, wide.bound), box.marked, box.demanded, box.signs)
    propagate(problem, remaining)
    return remaining


def _part(problem: RotatedProblem, box: CheckedBox, record: dict[str, Any], side: int) -> CheckedBox:
    """Return a side of a node's split."""
    kinds = _SPLITS & record.keys()
    kind = next(iter(kinds))
    j, split = (index(record[kind]), 0.0) if kind != "split" else (index(record[kind][0]), float(record[kind][1]))
    size = box.signs.size if kind == "sign" else box.lo.size
    if len(kinds) > 1 or not 0 <= j < size or not math.isfinite(split):
        raise InvalidProofError(f"node {record['id']} is split along no coordinate, or nowhere, or twice")
    if kind == "split":
        part = box.child(j, split, side)
    else:
        part = box.sign_child(j, side) if kind == "sign" else box.support_child(j, side)
    propagate(problem, part)
    return part
