"""Verification of the tree in a proof log by the rules of the problem's checker, in this process or by several verifiers.

The record of a node has its number, its parent's number and its *side*, the place among the parent's children. A node's *state*
is what its verified ancestors prove of it. `verify_in_order` reads logs in which parents stand before their children,
`verify_log` logs in any order. `verify_tree` verifies a tree whose records are all in memory, and divides it among verifiers.
"""

from __future__ import annotations

import bisect
import copy
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from ....models.deadline import check_deadline
from .arithmetic import InvalidProofError

#: Parent and side of the root in logs whose nodes are numbered from 1.
ROOT = (0, 0)

#: Records of nodes by the number of the parent and the side, the place among the parent's children.
Tree: TypeAlias = dict[tuple[int, int], dict[str, Any]]
#: Parts into which a tree is divided for each verifier, so that all of them are busy to the end.
PARTS_PER_VERIFIER = 8
#: Number of randomly chosen parts that this process verifies again.
SPOT_CHECKS = 2

S = TypeVar("S")


class VerifierPool(Protocol):
    """Protocol of a pool of workers that verify parts of a tree."""

    @property
    def size(self) -> int:
        """The number of tasks that run at a time."""

    def run_all(self, job: Callable[[Any, int | None], Any], tasks: Iterable[Any]) -> list[Any]:
        """Return the results of ``job(task, threads)`` for all tasks, in order."""


class SpotCheckingPool:
    """A pool of verifiers whose answers are spot-checked: this process repeats randomly chosen parts.

    A pool with false results for a share f of the parts is detected with probability 1 - (1 - f)² at least.
    """

    def __init__(self, verifiers: VerifierPool) -> None:
        self._verifiers = verifiers
        #: Number of parts that this process has verified again.
        self.spot_checks = 0

    @property
    def size(self) -> int:
        """The number of tasks that run at a time."""
        return self._verifiers.size

    def run_all(self, job: Callable[[Any, int | None], Any], tasks: Iterable[Any]) -> list[Any]:
        """Return the results of all tasks, in order; raise InvalidProofError if a repeated task has another result."""
        task_list = list(tasks)
        sampled = random.SystemRandom().sample(range(len(task_list)), min(SPOT_CHECKS, len(task_list)))
        own_copies = {k: copy.deepcopy(task_list[k]) for k in sampled}  # a job may change its task
        outcomes = self._verifiers.run_all(job, task_list)
        for k, task in own_copies.items():
            if (outcome := job(task, None)) != outcomes[k]:
                raise InvalidProofError(f"a worker verified {outcomes[k]} nodes of a part that has {outcome}")
            self.spot_checks += 1
        return outcomes


def index_by_parent(records: list[dict[str, Any]]) -> Tree:
    """Return the records of nodes by parent and side.

    Raise InvalidProofError if two nodes have one number or one place in the tree, or a record is not a node.
    """
    tree: Tree = {}
    visited: set[int] = set()
    for record in records:
        if "id" not in record:
            raise InvalidProofError("a record is neither a node nor the last one")
        if int(record["id"]) in visited:
            raise InvalidProofError(f"node {record['id']} occurs twice")
        visited.add(int(record["id"]))
        key = (int(record["parent"]), int(record["side"]))
        if key in tree:
            raise InvalidProofError(f"two nodes are child {key[1]} of node {key[0]}")
        tree[key] = record
    return tree


def _subtree_below(tree: Tree, record: dict[str, Any]) -> Tree:
    """Return the records of all descendants of a node."""
    records: Tree = {}
    idents = [int(record["id"])]
    while idents:
        ident, side = idents.pop(), 0
        while (ident, side) in tree or side < 2:
            key = (ident, side)
            if key in tree and key not in records:
                records[key] = tree[key]
                idents.append(int(tree[key]["id"]))
            side += 1
    return records


def _divide_subtrees(
    tree: Tree, pending: list[tuple[dict[str, Any], S]], count: int
) -> list[tuple[Tree, list[tuple[dict[str, Any], S]]]]:
    """Divide pending nodes with their subtrees into about ``count`` parts of similar size.

    A part is the records below its nodes, and its nodes with their states.
    """
    parts = [(_subtree_below(tree, record), [(record, state)]) for record, state in pending]
    parts.sort(key=lambda part: -len(part[0]))
    part_size = max(len(tree) // count, 1)
    joined: list[tuple[Tree, list[tuple[dict[str, Any], S]]]] = []
    for part, heads in parts:
        if joined and len(joined[-1][0]) + len(part) <= part_size:
            joined[-1][0].update(part)
            joined[-1][1].extend(heads)
        else:
            joined.append((part, heads))
    return joined


class NodeRules(Protocol[S]):
    """Base class of a checker's rules, which verify nodes one by one; S is the type of a node's state.

    A state holds what the verified ancestors prove of a node. Rules and states are sent to other processes.
    """

    def children(self, record: dict[str, Any], state: S) -> list[S]:
        """Verify a node's record; return its children's states: [] for a proved node, None for a child that the record proves.

        Raises
        ------
        InvalidProofError
            The node is neither proved nor split.
        """

    def all_children(self, records: list[dict[str, Any]], states: list[S]) -> list[list[S]]:
        """Return `children` of several nodes, none of which is another's child."""
        return [self.children(record, state) for record, state in zip(records, states, strict=True)]

    def read_other_record(self, record: dict[str, Any]) -> None:
        """Read a record that is not a node, such as a cut that later nodes use; an error in formats without such records."""
        raise InvalidProofError("a record is neither a node nor the last one")

    def skip_node(self, record: dict[str, Any]) -> None:
        """Read the record of a node that needs no proof, since an ancestor proves it."""
        return

    def reason_unproved(self, state: S) -> str:
        """Return the reason why a node without a record is not proved, as the end of a sentence."""
        return "is not proved"


def verify_in_order(rules: NodeRules[S], records: Iterable[dict[str, Any]], root: S) -> int:
    """Verify a log whose parents stand before their children, one record at a time; return the number of nodes.

    ``root`` is the root's state. A node without a record must be proved by its parent's record. A proved node may be split all
    the same: the search had a worse incumbent. The records below it are skipped.

    Raises
    ------
    InvalidProofError
        A node is not proved, or its parent does not stand before it.
    OutOfTimeError
        The deadline passed between two nodes.
    """
    waiting: dict[tuple[int, int], S] = {ROOT: root}
    proved: set[int] = set()
    nodes = 0
    for record in records:
        check_deadline()
        if "id" not in record:
            rules.read_other_record(record)
            continue
        number, origin = int(record["id"]), (int(record["parent"]), int(record["side"]))
        nodes += 1
        if origin not in waiting and origin[0] not in proved:
            raise InvalidProofError(f"node {number} is no part of a node before it, or there twice")
        if (state := waiting.pop(origin, None)) is None:
            rules.skip_node(record)
            proved.add(number)
            continue
        children = rules.children(record, state)
        if not children:
            proved.add(number)
        for side, child in enumerate(children):
            if (number, side) in waiting:
                raise InvalidProofError(f"two nodes have the number {number}")
            waiting[number, side] = child
    for (parent, side), state in waiting.items():
        if state is not None:
            raise InvalidProofError(f"part {side} of node {parent} {rules.reason_unproved(state)}")
    return nodes


#: Parent and side of the root in logs whose nodes are numbered from 0.
_ROOT_FROM_ZERO = (-1, 0)
#: Number of records that are read and verified at a time.
BATCH_SIZE = 256


class IntegerSet:
    """A set of integers, stored as intervals of consecutive ones: the node numbers of a log form few intervals."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, number: int) -> bool:
        """Add a number; return whether it is new."""
        run = bisect.bisect_right(self._starts, number) - 1
        if run >= 0 and number <= self._ends[run]:
            is_new = number == self._ends[run]
            self._ends[run] += is_new
            return is_new
        self._starts.insert(run + 1, number)
        self._ends.insert(run + 1, number + 1)
        return True


def batches(records: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the records in lists of ``size``; the last list may be shorter."""
    iterator = iter(records)
    while batch := list(islice(iterator, size)):
        yield batch


def verify_log(
    rules: NodeRules[S], records: Iterable[dict[str, Any]], root: S, verifiers: VerifierPool | None
) -> tuple[int, int]:
    """Verify a log in any order of its nodes; return the number of verified nodes, and that of records that no node needs.

    ``root`` is the root's state; with at least two ``verifiers`` the subtrees are verified by them.

    Raises
    ------
    InvalidProofError
        A node is not proved, or has no record.
    OutOfTimeError
        The deadline passed between two batches.
    """
    if verifiers is None or verifiers.size < 2:
        return _verify_in_batches(rules, records, root)
    tree = index_by_parent(list(records))
    if _ROOT_FROM_ZERO not in tree:
        raise InvalidProofError("the tree has no root")
    nodes = verify_tree(rules, tree, (tree[_ROOT_FROM_ZERO], root), verifiers)
    return nodes, len(tree) - nodes


def _verify_in_batches(rules: NodeRules[S], records: Iterable[dict[str, Any]], root: S) -> tuple[int, int]:
    """Return what `verify_log` returns, in little memory.

    The memory holds open nodes, a batch of records, and the records that stand before those of their parents. A batch is verified
    generation by generation. Records below a node that is proved without them are dropped.
    """
    waiting: dict[tuple[int, int], S] = {_ROOT_FROM_ZERO: root}
    early: Tree = {}
    proved: set[int] = set()  # numbers of the nodes that are split although they are proved; the records below them are dropped
    numbers, nodes, leftover = IntegerSet(), 0, 0
    for batch in batches(records, BATCH_SIZE):
        for origin, record in _origins(batch):
            if not numbers.add(int(record["id"])):
                raise InvalidProofError(f"node {record['id']} occurs twice")
            if origin in early:
                raise InvalidProofError(f"two nodes are child {origin[1]} of node {origin[0]}")
            early[origin] = record
        ready = [origin for origin, _ in _origins(batch) if origin in waiting]
        while ready:
            check_deadline()
            chosen, states = [early.pop(origin) for origin in ready], [waiting.pop(origin) for origin in ready]
            nodes, ready = nodes + len(chosen), []
            for record, children in zip(chosen, rules.all_children(chosen, states), strict=True):
                number = int(record["id"])
                if not children and "split" in record:
                    proved.add(number)
                for side, child in enumerate(children):
                    waiting[number, side] = child
                    if (number, side) in early:
                        ready.append((number, side))
        for origin in [origin for origin in early if origin[0] in proved]:
            proved.add(int(early.pop(origin)["id"]))
            leftover += 1
    for number, side in waiting:
        raise InvalidProofError("the tree has no root" if number < 0 else f"child {side} of node {number} is missing")
    return nodes, leftover + len(early)


def _origins(records: Iterable[dict[str, Any]]) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    """Yield nodes with their parent and side."""
    for record in records:
        if "id" not in record:
            raise InvalidProofError("a record is neither a node nor the last one")
        yield (int(record["parent"]), int(record["side"])), record


def verify_tree(rules: NodeRules[S], tree: Tree, root: tuple[dict[str, Any], S], verifiers: VerifierPool | None = None) -> int:
    """Verify the nodes from the root on, each proved or split into verified children; return their number.

    The verdict on a node depends on its ancestors alone. With several verifiers this process starts at the root, until there are
    `PARTS_PER_VERIFIER` subtrees for each verifier. ``root`` is the root's record and state.

    Raises
    ------
    InvalidProofError
        A node is not proved, or a child is missing.
    OutOfTimeError
        The deadline passed between two nodes.
    """
    pending = [root]
    if verifiers is None or verifiers.size < 2:
        return _verify(rules, tree, pending)
    count = PARTS_PER_VERIFIER * verifiers.size
    nodes = _verify(rules, tree, pending, until=count)
    parts = _divide_subtrees(tree, pending, count)
    tasks = [(rules, part, heads) for part, heads in parts]
    return nodes + sum(verifiers.run_all(_verify_part, tasks))


def _verify(rules: NodeRules[S], tree: Tree, pending: list[tuple[dict[str, Any], S]], until: int | None = None) -> int:
    """Verify pending nodes and their descendants; return the number of verified nodes.

    Without ``until`` the order is depth-first and the list ends empty. Otherwise the order is breadth-first, and verification
    stops when ``until`` nodes are pending; these stay in the list.
    """
    visited = 0
    while pending and (until is None or len(pending) < until):
        check_deadline()
        record, state = pending.pop(-1 if until is None else 0)
        visited += 1
        for side, child in enumerate(rules.children(record, state)):
            key = (int(record["id"]), side)
            if child is None:
                continue
            if key not in tree:
                raise InvalidProofError(f"child {side} of node {record['id']} is missing")
            pending.append((tree[key], child))
    return visited


def _verify_part(task: tuple[NodeRules[S], Tree, list[tuple[dict[str, Any], S]]], threads: int | None) -> int:
    """Verify the subtrees of a task in any process; return their number of nodes."""
    with np.errstate(all="ignore"):
        return _verify(*task)
