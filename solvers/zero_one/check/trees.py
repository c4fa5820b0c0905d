"""Trees of a proof log: nodes by parent and side, and their division among several who verify."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias, TypeVar

from .arithmetic import InvalidProofError

__all__ = ["PARTS", "SpotChecked", "Tree", "VerifierPool", "below", "parted", "tree_of"]

#: Records by parent and side.
Tree: TypeAlias = dict[tuple[int, int], dict[str, Any]]
#: Parts for each member of a crew.
PARTS = 8
#: Parts that are verified here once more.
AGAIN = 2

S = TypeVar("S")


class VerifierPool(Protocol):
    """The protocol of verifiers: call a function on every task and return all results, or raise."""

    @property
    def size(self) -> int:
        """Tasks at a time."""

    def all(self, job: Callable[[Any, int | None], Any], tasks: Iterable[Any]) -> list[Any]:
        """The results, in order."""


class SpotChecked:
    """A crew of which some answers are found again by this process, parts that nobody can foresee.

    Who answers falsely for a share f of the parts is found out with probability 1 - (1 - f)²; the rest is the crew's word.
    """

    def __init__(self, crew: VerifierPool) -> None:
        self._crew = crew
        #: Parts that were verified here once more.
        self.again = 0

    @property
    def size(self) -> int:
        """Tasks at a time."""
        return self._crew.size

    def all(self, job: Callable[[Any, int | None], Any], tasks: Iterable[Any]) -> list[Any]:
        """The results, in order.

        Raises
        ------
        InvalidProofError
            A part is not proved, or the crew has another result of it than this process.
        """
        task_list = list(tasks)
        drawn = random.SystemRandom().sample(range(len(task_list)), min(AGAIN, len(task_list)))
        own_copies = {k: copy.deepcopy(task_list[k]) for k in drawn}  # a job may work on what it is given
        outcomes = self._crew.all(job, task_list)
        for k, task in own_copies.items():
            if (outcome := job(task, None)) != outcomes[k]:
                raise InvalidProofError(f"a worker verified {outcomes[k]} nodes of a part that has {outcome}")
            self.again += 1
        return outcomes


def tree_of(records: list[dict[str, Any]]) -> Tree:
    """Nodes by parent and side; numbers are the nodes' own, so that no subtree is part of another."""
    tree: Tree = {}
    seen: set[int] = set()
    for record in records:
        if "id" not in record:
            raise InvalidProofError("a record is neither a node nor the last one")
        if int(record["id"]) in seen:
            raise InvalidProofError(f"node {record['id']} occurs twice")
        seen.add(int(record["id"]))
        key = (int(record["parent"]), int(record["side"]))
        if key in tree:
            raise InvalidProofError(f"two nodes are child {key[1]} of node {key[0]}")
        tree[key] = record
    return tree


def below(tree: Tree, record: dict[str, Any]) -> Tree:
    """Return the tree below a node."""
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


def parted(tree: Tree, pending: list[tuple[dict[str, Any], S]], count: int) -> list[tuple[Tree, list[tuple[dict[str, Any], S]]]]:
    """The pending nodes with all that is below them, in about ``count`` parts, the largest first."""
    parts = [(below(tree, record), [(record, state)]) for record, state in pending]
    parts.sort(key=lambda part: -len(part[0]))
    most = max(len(tree) // count, 1)
    joined: list[tuple[Tree, list[tuple[dict[str, Any], S]]]] = []
    for part, heads in parts:
        if joined and len(joined[-1][0]) + len(part) <= most:
            joined[-1][0].update(part)
            joined[-1][1].extend(heads)
        else:
            joined.append((part, heads))
    return joined
