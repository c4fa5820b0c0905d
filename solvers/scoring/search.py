"""The tree search of `supports-bb`: the queue of open nodes, the choice of the next node, and how it is bounded and split."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.arrays import IntArray
from .bounds import scoring_data
from .box_program import BoxSolution, NodeCertificate, PairMultipliers, PairRelaxation, ScoreBox, bisection
from .descent import ScoringIncumbent
from .reduced_problem import ReducedScoringProblem, choose_branching, class_spread, greedy_feature_order
from .tree import HALVES, new_stack, search_below, split_node

#: Number of nodes bounded in a plunge, the depth-first search below one open node, before the next one is taken.
_PLUNGE = 400
#: Entries of the rows that the nodes of one step read, about.
_READ = 2_000_000
#: Bytes of an open node: of its entry in the queue, and of its multipliers, about.
_OF_NODE, _OF_PAIRS = 400, 20_000


class SupportsSearch:
    """Branch and bound for a scoring system: the open node of least bound is next, and is searched below depth-first.

    A system with integer coefficients ρ and intercept ρ_0 classifies a point (x, y) rightly if y(ρ_0 + x'ρ) ≥ t. The cost of the
    other points plus the prices of the ρ_j ≠ 0 is minimised. A node is a box of coefficients. With the branching rule "pairs"
    each open node is bounded by a linear program and split once instead.

    Parameters
    ----------
    reduced : ReducedScoringProblem
        The problem.
    rng : numpy Generator
        Source of the descents' starting points.
    branching : {"auto", "supports", "signs", "pairs"}
        "supports" splits by which coefficients are not 0, "signs" by ρ_j = 0, ≥ 1, ≤ -1 or in halves, "pairs" in halves, bounded
        by linear programs over pairs of points; "auto" is that of `choose_branching`.
    deadline : float
        Value of `time.perf_counter` at which a plunge (the search below one open node), a linear program and a descent end; open
        nodes stay open.
    split_listener : callable, optional
        Called with the splits of the tree, rows of `tree.NodeStack.splits`, in order.
    multiplier_listener : callable, optional
        Called with a node's number and multipliers if these close the node, or a node below it.

    Attributes
    ----------
    incumbent : ScoringIncumbent
        The best system found so far.
    branching : str
        The branching rule, never "auto".
    stack : tree.NodeStack
        The arrays of the compiled search: the open nodes of the current plunge.
    """

    def __init__(
        self,
        reduced: ReducedScoringProblem,
        rng: np.random.Generator,
        branching: str = "auto",
        deadline: float = math.inf,
        split_listener: Callable[[IntArray], None] | None = None,
        multiplier_listener: Callable[[int, PairMultipliers], None] | None = None,
    ) -> None:
        problem, order = reduced.problem, greedy_feature_order(reduced)
        self.reduced, self.deadline = reduced, deadline
        self._split_listener, self._multiplier_listener = split_listener, multiplier_listener
        self._data, self.stack = scoring_data(reduced), new_stack(reduced, order, class_spread(reduced))
        self.incumbent = ScoringIncumbent(reduced, rng, order, deadline)
        self.branching = choose_branching(reduced) if branching == "auto" else branching
        self._relaxation = PairRelaxation(reduced) if self.branching == "pairs" else None
        box = (problem.lower.astype(np.int64), problem.upper.astype(np.int64), np.zeros(problem.lower.size, dtype=np.bool_))
        #: open nodes: bound in units, number, and the box with its marks and the certificate of its bound
        self._heap: list[tuple[int, int, tuple[Any, ...]]] = [(0, 0, (*box, 0, None))]
        self._plunge_end = 0
        self.stack.scalars.next = 1

    @property
    def nodes(self) -> int:
        """The number of nodes bounded so far."""
        return int(self.stack.scalars.nodes)

    @property
    def done(self) -> bool:
        """True if no node is open."""
        return not self._heap and not self.stack.scalars.top

    @property
    def open_nodes(self) -> int:
        """The number of open nodes."""
        return len(self._heap) + int(self.stack.scalars.top)

    @property
    def memory(self) -> int:
        """Approximate bytes of the open nodes."""
        return len(self._heap) * (_OF_NODE + 17 * self.incumbent.rho.size + (0 if self._relaxation is None else _OF_PAIRS))

    @property
    def bound(self) -> Fraction:
        """The proved lower bound of the optimum."""
        k = self.stack
        units = [int(u) for u in k.bound[: k.scalars.top]] + [node[0] for node in self._heap[:1]]
        return min(self.reduced.from_units(min(units)), self.incumbent.value) if units else self.incumbent.value

    @property
    def certificates(self) -> list[NodeCertificate]:
        """The certificates of the open nodes' bounds that rest on multipliers; a checker finds the other bounds itself."""
        return [node[-1] for _, _, node in self._heap if node[-1] is not None]

    def step(self, node_limit: float = math.inf) -> None:
        """Search below the current open node, or below that of least bound, for at most ``node_limit`` nodes of a plunge.

        With the branching rule "pairs" bound and split one node.
        """
        k, certificate = self.stack, None
        if not k.scalars.top:
            certificate = self._open()
        if self._relaxation is not None:
            certificate = self._split_by_pairs(
                self._relaxation, ScoreBox(k.lower[0].copy(), k.upper[0].copy(), k.forced[0].copy()), certificate
            )
        elif self._below(min(int(min(node_limit, _PLUNGE)), max(1, _READ // max(self.reduced.Z.size, 1)))):
            return
        for t in range(int(k.scalars.top)):
            node = (k.lower[t].copy(), k.upper[t].copy(), k.forced[t].copy(), int(k.needs_feature[t]), certificate)
            heapq.heappush(self._heap, (int(k.bound[t]), int(k.number[t]), node))
        k.scalars.top = 0

    def _open(self) -> NodeCertificate | None:
        """Take the open node of least bound, and begin a plunge."""
        k = self.stack
        k.bound[0], k.number[0], (*marked_box, certificate) = heapq.heappop(self._heap)
        k.lower[0], k.upper[0], k.forced[0], k.needs_feature[0] = marked_box
        k.scalars.top, self._plunge_end = int(self._relaxation is None), self.nodes + _PLUNGE
        return certificate

    def _below(self, node_limit: int) -> bool:
        """Search depth-first below the stack's nodes for at most ``node_limit`` nodes; return whether the plunge goes on."""
        k, end, batch = self.stack, min(self.nodes + node_limit, self._plunge_end), max(1, node_limit // 16)
        while k.scalars.top > 0 and self.nodes < end and time.perf_counter() < self.deadline:
            before = self.nodes
            search_below(self._data, k, np.int64(self.incumbent.cut), min(batch, end - before), self.branching == "supports")
            self._process_results()
            if self.nodes == before and k.scalars.top + 5 > k.bound.size:
                return False
        return bool(k.scalars.top) and self.nodes < self._plunge_end

    def _split_by_pairs(
        self, relaxation: PairRelaxation, box: ScoreBox, certificate: NodeCertificate | None
    ) -> NodeCertificate | None:
        """Bound the stack's first node, and replace it by its children below the cut; return the certificate of their bound."""
        k = self.stack
        if k.bound[0] < self.incumbent.cut and box.is_single_system:
            self.incumbent.offer_coefficients(box.lower)
            return certificate
        relaxed: BoxSolution | None = None
        if k.bound[0] < self.incumbent.cut:
            units, relaxed = relaxation.bound(box, certificate, self.incumbent.cut, self.deadline)
            if relaxed is not None:
                self.incumbent.descend_from_solution(relaxed)
                if units > k.bound[0]:
                    k.bound[0], certificate = units, NodeCertificate(int(k.number[0]), relaxed.multipliers)
        if k.bound[0] >= self.incumbent.cut:
            if certificate is not None and self._multiplier_listener is not None:
                self._multiplier_listener(certificate.number, certificate.multipliers)
            return certificate
        j, half = bisection(box) if relaxed is None else relaxed.split(box)
        split_node(self._data, k, np.int64(HALVES), np.int64(j), np.int64(half), np.int64(self.incumbent.cut))
        self._process_results()
        return certificate

    def _process_results(self) -> None:
        """Pass the splits of the last call to the listener, and offer its single systems to the incumbent."""
        k = self.stack
        if self._split_listener is not None and k.scalars.splits:
            self._split_listener(k.splits[: k.scalars.splits])
        k.scalars.splits = 0
        for rho in k.candidates[: k.scalars.systems].copy():
            self.incumbent.offer_coefficients(rho)
        k.scalars.systems = 0
