"""A node of the tree as the checker states it: what a split means, and what follows for a box."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...exact.check.arithmetic import InvalidProofError

__all__ = ["CheckedNode"]

#: Kinds of splits in the log.
_BEGIN, _SUPPORT, _SIGN, _HALVES = 1, 2, 3, 4


@dataclass(frozen=True)
class CheckedNode:
    """A box of coefficients; those in ``must`` are not 0, and with ``more`` one of those that are `undecided` is not."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    must: frozenset[int] = frozenset()
    more: bool = False

    def undecided(self) -> list[int]:
        """Coefficients that may be 0 and something else."""
        sides = zip(self.lower, self.upper, strict=True)
        return [j for j, (a, b) in enumerate(sides) if a <= 0 <= b and a < b and j not in self.must]

    def bounded(self, j: int, low: int, high: int) -> CheckedNode:
        """The node with other bounds of one coefficient."""
        return replace(
            self, lower=(*self.lower[:j], low, *self.lower[j + 1 :]), upper=(*self.upper[:j], high, *self.upper[j + 1 :])
        )  # fmt: skip

    def without(self) -> CheckedNode:
        """Return no undecided point."""
        node = replace(self, more=False)
        for j in self.undecided():
            node = node.bounded(j, 0, 0)
        return node

    def tightened(self, most: int) -> CheckedNode | None:
        """Return the node tightened by must, more and the limit; None where it is empty."""
        node = self
        for _ in range(2):
            for j in node.must:
                node = node.bounded(j, node.lower[j] or 1, node.upper[j] or -1)
            if any(a > b for a, b in zip(node.lower, node.upper, strict=True)):
                return None
            free, used = node.undecided(), len(node.used())
            if (node.more and not free) or used + node.more > most:
                return None
            if node.more and len(free) == 1:
                node = replace(node, must=node.must | {free[0]}, more=False)
                continue
            return node.without() if used == most else node
        return node

    def used(self) -> list[int]:
        """Coefficients that are not 0."""
        return [j for j, (a, b) in enumerate(zip(self.lower, self.upper, strict=True)) if a > 0 or b < 0 or j in self.must]

    def split(self, kind: int, j: int, half: int) -> list[CheckedNode]:
        """The children, which together hold every system of the node."""
        if not 0 <= j < len(self.lower):
            raise InvalidProofError(f"a split of coefficient {j}, which there is not")
        a, b = self.lower[j], self.upper[j]
        if kind == _BEGIN and not self.more:
            return [self.without(), replace(self, more=True)]
        if kind == _SUPPORT and self.more and j in self.undecided():
            with_j = replace(self, must=self.must | {j})
            return [with_j.without(), with_j, self.bounded(j, 0, 0)]
        if kind == _SIGN and a <= 0 <= b and (not self.more or j in self.must):
            return [self.bounded(j, 0, 0), self.bounded(j, max(a, 1), b), self.bounded(j, a, min(b, -1))]
        if kind == _HALVES and not (self.more and j in self.undecided()):  # a half may be empty
            return [self.bounded(j, a, min(b, half)), self.bounded(j, max(a, half + 1), b)]
        raise InvalidProofError("a split that the node does not allow")
