"""Exact minima of compositions of margins, in rational arithmetic.

The planes where a margin is at a corner of its loss, those where a restriction holds with equality or a priced coefficient is 0,
and those between the cones on which the norm is linear, cut the space into cells. On each the objective is one convex quadratic,
and what is allowed is a union of cells. The objective is the lower value wherever it jumps, and what is allowed is closed, so a
minimum is stationary on the flat in the interior of which it lies, for the quadratic of some cell of that flat, or there is one
on a smaller flat. So the least value at all allowed stationary points of all flats and cells is the optimum: no bounds, no
convexity, no tolerance. Whole coefficients take each of their values in turn.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from .flats import ONE, ZERO, Arrangement, Cell, Flat, Plane, Vector, along, axes, dot, fractions, solved
from .losses import Loss

__all__ = ["Budget", "Compositions"]

#: Points of which at most so many have a margin below 1.
Budget = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Compositions:
    """Σ d_j w_j² + max{p'w : |x_j'p| ≤ 1} + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ(a_i'w), where w is allowed.

    Parameters
    ----------
    rows : tuple of Vector
        a_i = y_i x_i.
    costs, squares : Vector
        c_i, and d_j.
    loss : Loss
        ρ.
    atoms : tuple of Vector
        x_j, in all coordinates: at most three in which they are not 0, and these they span. None without a norm.
    price : Vector
        π_j; none where all are 0.
    lower, upper : tuple
        lower ≤ w ≤ upper; None for an end that is not there, nothing at all without ends.
    whole, counted : tuple of int
        The w_j that are integers; those of which at most ``most`` are not 0.
    most : int
    demands : tuple of Plane
        normal'w ≥ offset.
    kept : tuple of int
        Points with a_i'w ≥ 1.
    budgets : tuple of Budget
    """

    rows: tuple[Vector, ...]
    costs: Vector
    squares: Vector
    loss: Loss
    atoms: tuple[Vector, ...] = ()
    price: Vector = ()
    lower: tuple[Fraction | None, ...] = ()
    upper: tuple[Fraction | None, ...] = ()
    integer: tuple[int, ...] = ()
    counted: tuple[int, ...] = ()
    max_nonzeros: int = 0
    demands: tuple[Plane, ...] = ()
    kept_points: tuple[int, ...] = ()
    budgets: tuple[Budget, ...] = ()

    # -- what a point costs ---------------------------------------------------------------------------------------------

    def allowed(self, w: Vector, slack: Fraction = ZERO) -> bool:
        """Return whether no restriction is broken by more than the slack."""
        margins = [dot(a, w) for a in self.rows]
        return (
            all(low is None or v >= low - slack for v, low in zip(w, self.lower, strict=False))
            and all(high is None or v <= high + slack for v, high in zip(w, self.upper, strict=False))
            and all(abs(w[j] - round(w[j])) <= slack for j in self.integer)
            and sum(abs(w[j]) > slack for j in self.counted) <= (self.max_nonzeros if self.counted else 0)
            and all(dot(n, w) >= c - slack for n, c in self.demands)
            and all(margins[i] >= 1 - slack for i in self.kept_points)
            and all(sum(margins[i] < 1 - slack for i in points) <= limit for points, limit in self.budgets)
        )

    def cost(self, w: Vector, slack: Fraction = ZERO) -> Fraction:
        """The objective, with margins larger by the slack and coefficients within it free, whether w is allowed or not."""
        norm = max((dot(p, w) for p in self.polar), default=ZERO)
        prices = (price for price, v in zip(self.price, w, strict=False) if abs(v) > slack)
        losses = (c * self.loss.at(dot(a, w) + slack) for a, c in zip(self.rows, self.costs, strict=True) if c)
        return sum((d * v * v for d, v in zip(self.squares, w, strict=True)), norm) + sum(prices, ZERO) + sum(losses, ZERO)

    def at(self, w: Vector, slack: Fraction = ZERO) -> Fraction | None:
        """Return what w costs; None where it is not allowed."""
        return self.cost(w, slack) if self.allowed(w, slack) else None

    # -- the norm -------------------------------------------------------------------------------------------------------

    @cached_property
    def held(self) -> list[int]:
        """Coordinates of which the norm knows."""
        return [j for j in range(len(self.squares)) if any(x[j] for x in self.atoms)]

    @cached_property
    def polar(self) -> list[Vector]:
        """The vertices of {p : |x_j'p| ≤ 1}."""
        q, collected = len(self.held), set[Vector]()
        for chosen in itertools.combinations(self.atoms, q) if q else ():
            for signs in itertools.product((ONE, -ONE), repeat=q):
                p = solved([tuple(x[j] for j in self.held) for x in chosen], signs)
                if p is not None:
                    whole = self._lifted(p)
                    if all(abs(dot(x, whole)) <= 1 for x in self.atoms):
                        collected.add(whole)
        return sorted(collected)

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
                yield self._lifted((ONE,))
            case 2:
                yield from (self._lifted((-x[1], x[0])) for x in inner)
            case 3:
                for x, y in itertools.combinations(inner, 2):
                    cross = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
                    yield self._lifted(cross)
            case _:
                raise NotImplementedError("norms of up to three coordinates")

    # -- the least value ------------------------------------------------------------------------------------------------

    def planes(self) -> Iterator[Plane]:
        """All that cut."""
        unit = axes(len(self.squares))
        turns = [t for t, _ in self.loss.turns]
        yield from ((a, t) for a, c in zip(self.rows, self.costs, strict=True) if c for t in turns)
        yield from ((x, ZERO) for x in self._walls())
        yield from ((unit[j], ZERO) for j, price in enumerate(self.price) if price)
        yield from ((unit[j], ZERO) for j in self.counted if self.max_nonzeros < len(self.counted))
        yield from ((unit[j], end) for ends in (self.lower, self.upper) for j, end in enumerate(ends) if end is not None)
        yield from self.demands
        yield from ((self.rows[i], ONE) for i in {*self.kept_points, *(i for points, _ in self.budgets for i in points)})

    def _starts(self) -> Iterator[Flat]:
        """Where all coefficients are that need not be whole, for each value of those that must."""
        unit = axes(len(self.squares))
        free = tuple(axis for j, axis in enumerate(unit) if j not in self.integer)
        ranges = [range(-(-self.lower[j] // 1), self.upper[j] // 1 + 1) for j in self.integer]  # type: ignore[operator]
        for values in itertools.product(*ranges):
            known = dict(zip(self.integer, values, strict=True))
            yield Flat(tuple(Fraction(known.get(j, 0)) for j in range(len(unit))), free)

    def _gradient(self, cell: Cell) -> Vector:
        """Of everything but the squares."""
        total = max(([dot(p, x) for x in cell], p) for p in self.polar)[1] if self.polar else self._lifted(())
        for a, c in zip(self.rows, self.costs, strict=True):
            if c:
                total = along(total, c * self.loss.slope([dot(a, x) for x in cell]), a)
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

    def _candidates(self) -> Iterator[Vector]:
        """Points one of which is a minimum, if any is allowed."""
        cutting = list(self.planes())
        for start in self._starts():
            if not start.directions:
                yield start.origin
                continue
            arrangement = Arrangement(cutting, start)
            for flat in arrangement.flats():
                if not flat.directions:
                    yield flat.origin
                elif all(any(s and v for s, v in zip(self.squares, d, strict=True)) for d in flat.directions):
                    gradients = {self._gradient(cell) for cell in arrangement.cells(flat)}
                    yield from (x for g in gradients if (x := self._stationary(flat, g)) is not None)

    def minimiser(self) -> Vector | None:
        """A point of the least value; None where no point is allowed."""
        values = ((value, x) for x in set(self._candidates()) if (value := self.at(x)) is not None)
        return min(values, default=(ZERO, None))[1]

    def optimum(self) -> Fraction | None:
        """The least value; None where no point is allowed."""
        best = self.minimiser()
        return None if best is None else self.cost(best)

    @classmethod
    def of(
        cls,
        A: np.ndarray,
        costs: np.ndarray,
        loss: Loss,
        squares: np.ndarray,
        atoms: np.ndarray | None = None,
        mu: float = 1.0,
    ) -> Compositions:
        """From doubles, which are rationals, with nothing forbidden; ``mu`` times the norm of the atoms."""
        scaled = () if atoms is None else tuple(tuple(v / Fraction(mu) for v in fractions(x)) for x in atoms)
        return cls(tuple(fractions(a) for a in A), fractions(costs), fractions(squares), loss, scaled)
