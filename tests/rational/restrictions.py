"""Restrictions drawn for `rational_draws`, each beside what it says in rationals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

import marginopt as mo
from marginopt import margin

from .compositions import Budget, Compositions
from .flats import ZERO, Plane, axes, fractions
from .parts import Data, Random, Said, quarters

__all__ = ["restricted"]


def _budget(points: list[int], share: float) -> Callable[[Compositions], Compositions]:
    limit: Budget = (tuple(points), math.floor(Fraction(share) * len(points)))
    return lambda e: replace(e, budgets=(*e.budgets, limit))


def _demanded(*planes: Plane) -> Callable[[Compositions], Compositions]:
    return lambda e: replace(e, demands=(*e.demands, *planes))


def _class_budget(rng: Random, label: int, data: Data) -> Said:
    share = float(rng.choice([0.0, 0.25, 0.5, 0.5, 0.75]))
    return mo.error_budget(label, share), _budget(np.flatnonzero(data.y == label).tolist(), share)


def _parity(rng: Random, data: Data) -> Said:
    """(1/n) Σ_i (1{i in g} - share of g) x_i'w between -ε and ε; n is a power of two, so doubles hold it exactly."""
    n, epsilon = data.y.size, float(rng.integers(0, 4)) / 16.0
    group = (rng.permutation(n) < rng.integers(1, n)).astype(int)
    share = Fraction(int(group.sum()), n)
    centred = [(int(g) - share) / n for g in group]
    columns = (fractions(column) for column in data.X.T)
    row = tuple(sum((c * v for c, v in zip(centred, column, strict=True)), ZERO) for column in columns)
    sides = ((row, -Fraction(epsilon)), (tuple(-v for v in row), -Fraction(epsilon)))
    return mo.parity(group, epsilon), _demanded(*sides)


def _rows(rng: Random, data: Data) -> Said:
    A = rng.integers(-4, 5, size=(int(rng.integers(1, 3)), data.X.shape[1])) / 2.0
    low = float(quarters(rng, -6, 3))
    high = float(rng.choice([np.inf, low + float(quarters(rng, 0, 8))]))
    planes = [(fractions(a), Fraction(low)) for a in A]
    planes += [(fractions(-a), -Fraction(high)) for a in A if high < np.inf]
    return margin.LinearRows(A, low, high), _demanded(*planes)


def restricted(rng: Random, kind: str, data: Data) -> list[Said]:
    """The restrictions of a kind, and what they say in rationals."""
    n, p = data.X.shape
    match kind:
        case "keep":
            points = rng.permutation(n)[: rng.integers(1, 3)].tolist()
            return [(mo.keep(points), lambda e: replace(e, kept_points=(*e.kept_points, *points)))]
        case "nonzero":
            k = int(rng.integers(min(1, data.seen - 1), max(2, data.seen)))
            seen = tuple(range(data.free, p))

            def at_most(e: Compositions) -> Compositions:
                return replace(e, counted=seen, max_nonzeros=min(k, e.max_nonzeros) if e.counted else k)

            return [(mo.at_most(k).nonzero, at_most)]
        case "budget":
            if rng.integers(2):
                return [_class_budget(rng, int(rng.choice([-1, 1])), data)]
            points, share = rng.permutation(n)[: rng.integers(1, n + 1)].tolist(), float(rng.choice([0.25, 0.5, 0.75]))
            return [(mo.error_budget(points, share), _budget(points, share))]
        case "neyman-pearson":
            return [_class_budget(rng, label, data) for label in (-1, 1)]
        case "parity":
            return [_parity(rng, data)]
        case "rows":
            return [_rows(rng, data)]
        case "fixed":
            j, value = int(rng.integers(p)), float(rng.choice([-1.0, 0.5, 1.0, 2.0, 0.0]))
            axis = axes(p)[j]
            sides = ((axis, Fraction(value)), (tuple(-v for v in axis), -Fraction(value)))
            return [(mo.fixed({j: value}), _demanded(*sides))]
        case "several":
            names = rng.permutation(["keep", "nonzero", "budget", "rows", "fixed"])[: rng.integers(2, 4)]
            return [text for name in names for text in restricted(rng, str(name), data)]
        case _:
            return []
