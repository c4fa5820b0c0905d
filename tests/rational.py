"""Exact minima of ramps with squares and a polyhedral norm, in rational arithmetic: ``from rational import Ramps``.

The planes where a margin is at a corner of its loss, and those between the cones on which the norm is linear, cut the space
into cells; on each the objective is one convex quadratic. A minimum is stationary on the flat in the interior of which it lies,
for the quadratic of some cell of that flat. So the least value at all stationary points of all flats and cells is the optimum:
no bounds, no convexity, no tolerance.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

__all__ = ["Ramps", "Vector", "fractions"]

Vector = tuple[Fraction, ...]
ZERO = Fraction(0)


def fractions(values: Iterable[float]) -> Vector:
    """The doubles, as the rationals that they are."""
    return tuple(Fraction(float(v)) for v in values)


def dot(a: Vector, b: Vector) -> Fraction:
    """a'b."""
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), ZERO)


def along(x: Vector, t: Fraction, d: Vector) -> Vector:
    """x + t d."""
    return tuple(a + t * b for a, b in zip(x, d, strict=True))


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


@dataclass(frozen=True)
class Ramps:
    """Σ_j d_j w_j² + max{p'w : |x_j'p| ≤ 1} + Σ_i c_i ρ(a_i'w), ρ(m) = (h/d)(min{(1 - m)_+, d} + (1 - b - m)_+).

    Parameters
    ----------
    rows : tuple of Vector
        a_i = y_i x_i.
    costs, squares : Vector
        c_i, and d_j.
    height, width : Fraction
    beyond : Fraction or None
        b; None where the ramp does not begin again.
    atoms : tuple of Vector
        x_j, in all coordinates: at most three in which they are not 0, and these they span. None without a norm.
    """

    rows: tuple[Vector, ...]
    costs: Vector
    squares: Vector
    height: Fraction
    width: Fraction
    beyond: Fraction | None = None
    atoms: tuple[Vector, ...] = ()
    _cells: dict[frozenset[int], list[tuple[Vector, ...]]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(
        cls,
        A: np.ndarray,
        costs: np.ndarray,
        ramp: tuple[float, float, float],
        squares: np.ndarray,
        atoms: np.ndarray | None = None,
        mu: float = 1.0,
    ) -> Ramps:
        """From doubles, which are rationals; ``mu`` times the norm of the atoms."""
        height, width, beyond = ramp
        scaled = () if atoms is None else tuple(tuple(v / Fraction(mu) for v in fractions(x)) for x in atoms)
        return cls(
            tuple(fractions(a) for a in A), fractions(costs), fractions(squares), Fraction(height), Fraction(width),
            None if beyond == np.inf else Fraction(beyond), scaled,
        )  # fmt: skip

    @cached_property
    def corners(self) -> list[tuple[Fraction, Fraction]]:
        """Margins where the loss turns, and by how much its slope below is more than that above."""
        slope = self.height / self.width
        again = [] if self.beyond is None else [(1 - self.beyond, -slope)]
        return [(Fraction(1), -slope), (1 - self.width, slope), *again]

    def loss(self, margin: Fraction) -> Fraction:
        """ρ, by its definition."""
        again = ZERO if self.beyond is None else max(1 - self.beyond - margin, ZERO)
        return self.height / self.width * (min(max(1 - margin, ZERO), self.width) + again)

    def at(self, w: Vector) -> Fraction:
        """The objective."""
        norm = max((dot(p, w) for p in self.polar), default=ZERO)
        losses = (c * self.loss(dot(a, w)) for a, c in zip(self.rows, self.costs, strict=True))
        return sum((d * v * v for d, v in zip(self.squares, w, strict=True)), norm) + sum(losses, ZERO)

    @cached_property
    def held(self) -> list[int]:
        """Coordinates of which the norm knows."""
        return [j for j in range(len(self.squares)) if any(x[j] for x in self.atoms)]

    @cached_property
    def polar(self) -> list[Vector]:
        """The vertices of {p : |x_j'p| ≤ 1}."""
        q, found = len(self.held), set[Vector]()
        for chosen in itertools.combinations(self.atoms, q) if q else ():
            for signs in itertools.product((Fraction(1), Fraction(-1)), repeat=q):
                p = solved([tuple(x[j] for j in self.held) for x in chosen], signs)
                if p is not None:
                    whole = self._lifted(p)
                    if all(abs(dot(x, whole)) <= 1 for x in self.atoms):
                        found.add(whole)
        return sorted(found)

    def _lifted(self, values: Vector) -> Vector:
        """A vector of the held coordinates in all of them."""
        known = dict(zip(self.held, values, strict=True))
        return tuple(known.get(j, ZERO) for j in range(len(self.squares)))

    def _walls(self) -> Iterator[Vector]:
        """Normals of planes spanned by atoms: between them the norm is linear."""
        inner = [tuple(x[j] for j in self.held) for x in self.atoms]
        match len(self.held):
            case 0:
                return
            case 1:
                yield self._lifted((Fraction(1),))
            case 2:
                yield from (self._lifted((-x[1], x[0])) for x in inner)
            case 3:
                for x, y in itertools.combinations(inner, 2):
                    cross = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
                    yield self._lifted(cross)
            case _:
                raise NotImplementedError("norms of up to three coordinates")

    @cached_property
    def planes(self) -> list[tuple[Vector, Fraction]]:
        """All that cut, each once: normal and offset."""
        paid = [a for a, c in zip(self.rows, self.costs, strict=True) if c]
        found = set[tuple[Vector, Fraction]]()
        for normal, offset in [*((a, m) for a in paid for m, _ in self.corners), *((x, ZERO) for x in self._walls())]:
            first = next((v for v in normal if v), None)
            if first is not None:
                found.add((tuple(v / first for v in normal), offset / first))
        return sorted(found)

    def _through(self, flat: Flat) -> frozenset[int]:
        """The planes that hold the flat: its name."""
        return frozenset(
            k for k, (n, c) in enumerate(self.planes)
            if dot(n, flat.origin) == c and not any(dot(n, d) for d in flat.directions)
        )  # fmt: skip

    def _cuts(self, flat: Flat) -> Iterator[tuple[Flat, Vector]]:
        """The flats that planes cut out of it, with a direction that leaves each."""
        for n, c in self.planes:
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
            yield Flat(origin, tuple(rest)), leaving

    def cells(self, flat: Flat) -> list[tuple[Vector, ...]]:
        """A point inside each cell of the flat, as (x, d, e, ...): x, a little along d, far less along e, and so on."""
        name = self._through(flat)
        if name not in self._cells:
            found = [
                (*cell, tuple(sign * v for v in leaving))
                for cut, leaving in self._cuts(flat)
                for cell in self.cells(cut)
                for sign in (1, -1)
            ]
            self._cells[name] = found or [(flat.origin,)]
        return self._cells[name]

    def _gradient(self, cell: tuple[Vector, ...]) -> Vector:
        """Of everything but the squares."""
        total = max(([dot(p, x) for x in cell], p) for p in self.polar)[1] if self.polar else self._lifted(())
        for a, c in zip(self.rows, self.costs, strict=True):
            if c:
                margin, *slopes = (dot(a, x) for x in cell)
                slope = sum((turn for m, turn in self.corners if [margin, *slopes] < [m, *(ZERO for _ in slopes)]), ZERO)
                total = along(total, c * slope, a)
        return total

    def _stationary(self, flat: Flat, gradient: Vector) -> Vector | None:
        """Where squares and a linear function are stationary on the flat; None where that is not one point."""
        bent = [tuple(2 * s * v for s, v in zip(self.squares, d, strict=True)) for d in flat.directions]
        rows = [tuple(dot(b, d) for d in flat.directions) for b in bent]
        steps = solved(rows, [-dot(b, flat.origin) - dot(gradient, d) for b, d in zip(bent, flat.directions, strict=True)])
        if steps is None:
            return None
        x = flat.origin
        for t, d in zip(steps, flat.directions, strict=True):
            x = along(x, t, d)
        return x

    def minimiser(self) -> Vector:
        """A point of the least value."""
        p = len(self.squares)
        axes = tuple(tuple(Fraction(int(i == j)) for i in range(p)) for j in range(p))
        left, seen = [Flat((ZERO,) * p, axes)], set[frozenset[int]]()
        candidates: set[Vector] = {(ZERO,) * p}
        while left:
            flat = left.pop()
            name = self._through(flat)
            if name in seen:
                continue
            seen.add(name)
            for gradient in {self._gradient(cell) for cell in self.cells(flat)}:
                x = self._stationary(flat, gradient)
                if x is not None:
                    candidates.add(x)
            left.extend(cut for cut, _ in self._cuts(flat))
        return min(candidates, key=self.at)

    def optimum(self) -> Fraction:
        """The least value."""
        return self.at(self.minimiser())
