"""Arrangements of planes in rational arithmetic: their flats, and the cells into which planes cut each flat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["ONE", "ZERO", "Arrangement", "Cell", "Flat", "Plane", "Vector", "along", "axes", "dot", "fractions", "solved"]

Vector = tuple[Fraction, ...]
#: {w : normal'w = offset}.
Plane = tuple[Vector, Fraction]
#: A point inside, as (x, d, e, ...): x, a little along d, far less along e, and so on.
Cell = tuple[Vector, ...]
#: On which side of each plane a cell is, 0 where it is in the plane.
Signs = tuple[int, ...]
ZERO, ONE = Fraction(0), Fraction(1)


def fractions(values: Iterable[float]) -> Vector:
    """The doubles, as the rationals that they are."""
    return tuple(Fraction(float(v)) for v in values)


def dot(a: Vector, b: Vector) -> Fraction:
    """a'b."""
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), ZERO)


def along(x: Vector, t: Fraction, d: Vector) -> Vector:
    """x + t d."""
    return tuple(a + t * b for a, b in zip(x, d, strict=True))


def axes(p: int) -> tuple[Vector, ...]:
    """Unit vectors."""
    return tuple(tuple(Fraction(int(i == j)) for i in range(p)) for j in range(p))


def solved(rows: Sequence[Vector], right: Sequence[Fraction]) -> Vector | None:
    """The solution of a square system; None where its matrix is singular."""
    table = [[*row, b] for row, b in zip(rows, right, strict=True)]
    k = len(table)
    for c in range(k):
        pivot = next((i for i in range(c, k) if table[i][c]), None)
        if pivot is None:
            return None
        table[c], table[pivot] = table[pivot], table[c]
        table[c] = [v / table[c][c] for v in table[c]]
        for i in range(k):
            if i != c and table[i][c]:
                table[i] = [v - table[i][c] * w for v, w in zip(table[i], table[c], strict=True)]
    return tuple(row[-1] for row in table)


@dataclass(frozen=True)
class Flat:
    """origin + the span of directions."""

    origin: Vector
    directions: tuple[Vector, ...]


class Arrangement:
    """Planes, each once, and what they make of the flat ``within``; axes are added where no plane would cut it down to points."""

    def __init__(self, planes: Iterable[Plane], within: Flat) -> None:
        collected = set[Plane]()
        for normal, offset in planes:
            first = next((v for v in normal if v), None)
            if first is not None:
                collected.add((tuple(v / first for v in normal), offset / first))
        self.within = within
        self.planes = sorted(collected)
        p = len(within.origin)
        self.planes += [(axis, ZERO) for axis in axes(p) if (axis, ZERO) not in collected and not self._spanned(axis)]
        self._names: dict[Flat, frozenset[int]] = {}
        self._cells: dict[frozenset[int], dict[Signs, Cell]] = {}

    def _spanned(self, axis: Vector) -> bool:
        """Return whether the axis is a combination of the normals."""
        left, rest = [list(n) for n, _ in self.planes], list(axis)
        for c in range(len(axis)):
            pivot = next((row for row in left if row[c]), None)
            if pivot is None:
                if rest[c]:
                    return False
                continue
            left = [[v - row[c] / pivot[c] * u for v, u in zip(row, pivot, strict=True)] for row in left if row is not pivot]
            rest = [v - rest[c] / pivot[c] * u for v, u in zip(rest, pivot, strict=True)]
        return True

    def name(self, flat: Flat) -> frozenset[int]:
        """The planes that hold it."""
        if flat not in self._names:
            self._names[flat] = frozenset(
                k for k, (n, c) in enumerate(self.planes)
                if dot(n, flat.origin) == c and not any(dot(n, d) for d in flat.directions)
            )  # fmt: skip
        return self._names[flat]

    def cuts(self, flat: Flat) -> Iterator[tuple[Flat, Vector]]:
        """The flats that planes cut out of it, each once, with a direction that leaves it."""
        seen = set[frozenset[int]]()
        for plane, (n, c) in enumerate(self.planes):
            if any(plane in name for name in seen):
                continue  # it holds a flat that was cut out before, so it cuts out the same
            products = [dot(n, d) for d in flat.directions]
            k = next((k for k, v in enumerate(products) if v), None)
            if k is None:
                continue
            leaving = flat.directions[k]
            origin = along(flat.origin, (c - dot(n, flat.origin)) / products[k], leaving)
            rest = (
                along(d, -v / products[k], leaving)
                for i, (d, v) in enumerate(zip(flat.directions, products, strict=True))
                if i != k
            )
            cut = Flat(origin, tuple(rest))
            seen.add(self.name(cut))
            yield cut, leaving

    def flats(self) -> Iterator[Flat]:
        """All, each once, ``within`` first."""
        left, seen = [self.within], set[frozenset[int]]()
        while left:
            flat = left.pop()
            if self.name(flat) not in seen:
                seen.add(self.name(flat))
                yield flat
                left.extend(cut for cut, _ in self.cuts(flat))

    def cells(self, flat: Flat) -> Iterable[Cell]:
        """One for each cell of the flat."""
        return self._sides(flat).values()

    def _sides(self, flat: Flat) -> dict[Signs, Cell]:
        name = self.name(flat)
        if name not in self._cells:
            values: dict[Signs, Cell] = {}
            for cut, leaving in self.cuts(flat):
                off = [_sign(dot(n, leaving)) if k in self.name(cut) else 0 for k, (n, _) in enumerate(self.planes)]
                for signs, cell in self._sides(cut).items():
                    for side in (1, -1):
                        direct = tuple(s or side * o for s, o in zip(signs, off, strict=True))
                        values.setdefault(direct, (*cell, tuple(side * v for v in leaving)))
            if not flat.directions:
                values[tuple(_sign(dot(n, flat.origin) - c) for n, c in self.planes)] = (flat.origin,)
            self._cells[name] = values
        return self._cells[name]


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)
