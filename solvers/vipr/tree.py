"""Branch and bound, best bound first, that keeps of each node the rational sum which proves its bound."""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import SolverError
from ...models.arrays import FloatArray
from ..rational.form import Vector
from .program import Bounds, LinearProgram
from .relaxation import Relaxation, Relaxations
from .sums import Sum, bounding_sum

__all__ = ["Branch", "Node", "Tree", "branch_and_bound"]

#: A value as near to an integer as this is tried as one.
_WHOLE = 1e-6
#: Integers of a point that are off by no more than this are integers but for rounding.
_ROUNDING = 1e-9
#: A node is closed where its bound is within this, relative to it, of the best value.
_GAP = 1e-9


@dataclass(frozen=True)
class Branch:
    """x_variable ≤ value (``above`` false) or ≥ value."""

    variable: int
    above: bool
    value: int


@dataclass(eq=False)
class Node:
    """A node with the sum that proves cost'x ≥ side on it, or (``empty``) that it has no point.

    Parameters
    ----------
    path : tuple of Branch
        From the root.
    proof : Sum
    empty : bool
    children : tuple of Node
        Two or none: the one below and the one above.
    """

    path: tuple[Branch, ...]
    proof: Sum
    empty: bool
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, eq=False)
class Tree:
    """The whole search: its root, how many nodes, and the best point that satisfies everything exactly."""

    root: Node
    nodes: int
    best: Vector | None


class _Search:
    def __init__(self, program: LinearProgram, start: FloatArray | None) -> None:
        self.program = program
        self.relaxations = Relaxations(program)
        self.best: Vector | None = None
        self.cutoff = math.inf
        self.nodes = 0
        self._gains = np.zeros((2, program.form.n))
        self._counts = np.zeros((2, program.form.n))
        if start is not None:
            self.offer(start)
            self.cutoff = math.inf if self.best is None else self.cutoff

    def offer(self, x: FloatArray) -> None:
        """Keep the point with the integers of x if it is feasible exactly and better.

        One that is feasible up to rounding only (rows with equality) ends the search where it is, and is no upper bound.
        """
        found = self.relaxations.exact_point(x)
        if found is not None and (self.best is None or self.program.value(found) < self.program.value(self.best)):
            self.best, self.cutoff = found, min(self.cutoff, float(self.program.value(found)))
        elif found is None and np.abs(x - np.round(x))[self.program.form.integer].max(initial=0.0) <= _ROUNDING:
            self.cutoff = min(self.cutoff, float(self.program.form.q @ x))

    def closed(self, node: Node) -> bool:
        """Return whether nothing below the node is worth a look."""
        return node.empty or float(node.proof.side) >= self.cutoff - _GAP * max(1.0, abs(self.cutoff))

    def node(self, path: tuple[Branch, ...]) -> tuple[Node, FloatArray | None]:
        """The node of a path, its relaxation solved and its sum made; the relaxation's point with it.

        Raises
        ------
        SolverError
            Its multipliers lead to no rational sum.
        """
        lower, upper = self.within(path)
        found = self.relaxations.at(_floats(lower, -np.inf), _floats(upper, np.inf))
        self.nodes += 1
        proof = self._proof(found, lower, upper)
        if proof is None:
            what = "emptiness" if found.x is None else "bound"
            raise SolverError(f"the {what} of a node at depth {len(path)} could not be made rational (variables without bounds)")
        return Node(path, proof, found.x is None), found.x

    def _proof(self, found: Relaxation, lower: Bounds, upper: Bounds) -> Sum | None:
        if found.x is not None:
            return bounding_sum(self.program, found.y, self.program.cost, lower, upper)
        nothing = [Fraction(0)] * len(self.program.cost)
        size = float(np.abs(found.y).max(initial=0.0))
        for ray in (found.y / size, -found.y / size) if size > 0.0 else ():
            empty = bounding_sum(self.program, ray, nothing, lower, upper)
            if empty is not None and empty.side > 0:
                return empty
        return None

    def within(self, path: tuple[Branch, ...]) -> tuple[Bounds, Bounds]:
        """Bounds of a node."""
        lower, upper = list(self.program.lower), list(self.program.upper)
        for branch in path:
            (lower if branch.above else upper)[branch.variable] = Fraction(branch.value)
        return lower, upper

    def split(self, node: Node, x: FloatArray) -> tuple[Branch, Branch] | None:
        """The branches of the variable with the largest product of expected gains; None where all integers are fixed."""
        integer = self.program.form.integer
        away = np.where(integer, np.abs(x - np.round(x)), 0.0)
        if away.max(initial=0.0) <= _WHOLE:
            lower, upper = self.within(node.path)
            loose = [j for j in np.flatnonzero(integer).tolist() if lower[j] is None or lower[j] != upper[j]]
            if not loose:
                return None
            j = max(loose, key=lambda k: away[k])
            low, high = lower[j], upper[j]
            floor = math.floor(x[j]) if x[j] != round(x[j]) else round(x[j]) - int(high is not None and x[j] >= high)
            floor = floor if low is None else max(floor, int(low))
        else:
            down, up = x - np.floor(x), np.ceil(x) - x
            mean = self._gains.sum(axis=1) / np.maximum(self._counts.sum(axis=1), 1.0)
            rate = np.where(self._counts > 0, self._gains / np.maximum(self._counts, 1.0), np.maximum(mean, 1e-6)[:, None])
            score = np.maximum(rate[0] * down, 1e-9) * np.maximum(rate[1] * up, 1e-9)
            j = int(np.argmax(np.where(away > _WHOLE, score, -1.0)))
            floor = math.floor(x[j])
        return Branch(j, False, floor), Branch(j, True, floor + 1)

    def learn(self, branch: Branch, parent: Node, child: Node, x: FloatArray) -> None:
        """Remember by how much the bound rose for a unit of the variable."""
        if child.empty:
            return
        moved = abs(branch.value - x[branch.variable])
        if moved > _WHOLE:
            self._gains[int(branch.above), branch.variable] += float(child.proof.side - parent.proof.side) / moved
            self._counts[int(branch.above), branch.variable] += 1.0


def branch_and_bound(program: LinearProgram, start: FloatArray | None, time_limit: float | None, node_limit: int | None) -> Tree:
    """The tree at the end of the search, or at a limit: open nodes are leaves with their own bounds."""
    begin = time.perf_counter()
    search = _Search(program, start)
    root, x = search.node(())
    open_nodes: list[tuple[float, int, Node, FloatArray]] = []
    count = 0
    pending = [(root, x)]
    while True:
        for node, point in pending:
            if point is None or search.closed(node):
                continue
            if np.abs(point - np.round(point))[program.form.integer].max(initial=0.0) <= _WHOLE:
                search.offer(point)
            if not search.closed(node):
                heapq.heappush(open_nodes, (float(node.proof.side), count, node, point))
                count += 1
        pending = []
        limit = node_limit is not None and search.nodes >= node_limit
        late = time_limit is not None and time.perf_counter() - begin >= time_limit
        if not open_nodes or limit or late:
            return Tree(root, search.nodes, search.best)
        _, _, node, point = heapq.heappop(open_nodes)
        branches = None if search.closed(node) else search.split(node, point)
        if branches is not None:
            pending = [search.node((*node.path, branch)) for branch in branches]
            node.children = tuple(child for child, _ in pending)
            for branch, (child, _) in zip(branches, pending, strict=True):
                search.learn(branch, node, child, point)


def _floats(ends: Bounds, none: float) -> FloatArray:
    return np.array([none if end is None else float(end) for end in ends])
