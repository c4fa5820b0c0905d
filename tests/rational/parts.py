"""Losses, regularisers and domains drawn for `rational_draws`, each beside what it says in rationals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from marginopt import margin

from .compositions import Compositions
from .flats import ZERO, axes, fractions
from .losses import Loss

__all__ = ["DRAWN_LOSSES", "Data", "Random", "Said", "quarters", "regularised", "within"]

Random = np.random.Generator
#: A part of a model, and what it makes of the problem in rationals.
Said = tuple[Any, Callable[[Compositions], Compositions]]


@dataclass(frozen=True)
class Data:
    """X, y, and how many of the coefficients the regulariser does not see."""

    X: np.ndarray
    y: np.ndarray
    free: int

    @property
    def seen(self) -> int:
        """Coefficients that the regulariser sees."""
        return int(self.X.shape[1]) - self.free


def quarters(rng: Random, low: int, high: int, size: Any = None) -> Any:
    """From low/4 to high/4."""
    return rng.integers(low, high + 1, size=size) / 4.0


# -- losses -----------------------------------------------------------------------------------------------------------------


def _jump(rng: Random) -> tuple[Any, Loss]:
    """Level or falling, falls at once in the middle, and ends at 0."""
    first = float(quarters(rng, -6, 2))
    jump, last = first + float(quarters(rng, 1, 4)), first + float(quarters(rng, 5, 8))
    low = float(quarters(rng, 0, 4))
    high, top = low + float(quarters(rng, 1, 4)), float(quarters(rng, 0, 4)) * int(rng.integers(2))
    top += high
    before = (first - 1.0, top + float(rng.choice([0.0, 0.0, 0.5])))
    points = (before, (first, top), (jump, high), (jump, low), (last, 0.0), (last + 1.0, 0.0))
    return margin.PiecewiseLinear(points), Loss.through(points)


def _ramp(rng: Random, beyond: bool = False) -> tuple[Any, Loss]:
    height, width = float(quarters(rng, 1, 8)), float(quarters(rng, 1, 12))
    again = width + float(quarters(rng, 0, 8)) if beyond else np.inf
    return margin.Ramp(height, width, again), Loss.ramp(height, width, again)


def _capped(rng: Random) -> tuple[Any, Loss]:
    cap = float(quarters(rng, 1, 12))
    return margin.Ramp(cap, cap), Loss.ramp(cap, cap)


def _threshold(rng: Random) -> tuple[Any, Loss]:
    t = float(rng.choice([0.25, 0.5, 1.5, 2.0]))
    return margin.ZeroOne(t), Loss.count(t)


DRAWN_LOSSES: dict[str, Callable[[Random], tuple[Any, Loss]]] = {
    "zero-one": lambda rng: ("zero-one", Loss.count(1.0)),
    "misclassified": lambda rng: ("misclassified", Loss.count(0.0)),
    "threshold": _threshold,
    "ramp": _ramp,
    "beyond": lambda rng: _ramp(rng, beyond=True),
    "capped": _capped,
    "jump": _jump,
    "hinge": lambda rng: ("hinge", Loss.hinge()),
}


# -- regularisers -----------------------------------------------------------------------------------------------------------


def regularised(rng: Random, kind: str, data: Data) -> Said:
    """A regulariser of the coefficients that it sees, and the same in rationals."""
    mu, q, p = float(rng.choice([0.25, 0.5, 1.0, 2.0])), data.seen, data.X.shape[1]
    seen = range(data.free, p)
    square = _on(Fraction(mu), seen, p)
    identity = axes(p)[data.free :]
    atoms = tuple(tuple(v / Fraction(mu) for v in x) for x in identity)
    match kind:
        case "l2":
            return margin.SquaredNorm(mu), lambda e: replace(e, squares=square)
        case "l1":
            return margin.L1(mu), lambda e: replace(e, atoms=atoms)
        case "elastic-net":
            return margin.ElasticNet(mu, 0.75), lambda e: replace(e, atoms=atoms, squares=_on(Fraction(3, 4), seen, p))
        case "kernel-l1":
            block = np.vstack([np.eye(q)[: q - 1], rng.integers(-4, 5, size=(3, q)) / 2.0])
            block = block if np.linalg.matrix_rank(block) == q else np.vstack([block, np.eye(q)])
            whole = tuple((ZERO,) * data.free + tuple(v / Fraction(mu) for v in fractions(x)) for x in block)
            return margin.KernelWeightsL1(block, mu), lambda e: replace(e, atoms=whole)
        case "l0":
            return margin.L0(mu), lambda e: replace(e, price=square)
        case "l0-l1":
            return _l0_l1(rng, mu, data, atoms)
        case _:
            return "none", lambda e: e


def _l0_l1(rng: Random, size: float, data: Data, atoms: tuple[Any, ...]) -> Said:
    each, most = float(quarters(rng, 0, 3)), int(rng.integers(0, data.seen + 2))
    size *= int(rng.integers(3) > 0)
    limit = None if most > data.seen else most
    p = data.X.shape[1]
    seen = tuple(range(data.free, p))

    def said(e: Compositions) -> Compositions:
        model = replace(e, price=_on(Fraction(each), seen, p), atoms=atoms if size else ())
        return model if limit is None else replace(model, counted=seen, max_nonzeros=limit)

    return margin.L0L1(each, size, limit), said


def _on(value: Fraction, places: Any, p: int) -> tuple[Fraction, ...]:
    """The value at these places, 0 at the others."""
    return tuple(value if j in places else ZERO for j in range(p))


# -- domains ----------------------------------------------------------------------------------------------------------------


def within(rng: Random, kind: str, p: int) -> Said:
    """A domain of p coefficients: bounds alike or one for each, which now and then leave 0 out."""
    match kind:
        case "box":
            low, high = -quarters(rng, 0, 8, p), quarters(rng, 1, 8, p)
            if rng.random() < 0.15:
                low[-1] = min(0.25, high[-1])
            if rng.random() < 0.4:
                low, high = np.full(p, -high[0]), np.full(p, high[0])
                return margin.Box(-high[0], high[0]), _ends(low, high)
            return margin.Box(tuple(low), tuple(high)), _ends(low, high)
        case "integers":
            low, high = -rng.integers(0, 4, p).astype(float), rng.integers(1, 4, p).astype(float)
            if rng.random() < 0.15:
                low[-1] = 0.5
            text = _ends(low, high)
            return margin.Integers(tuple(low), tuple(high)), lambda e: replace(text(e), integer=tuple(range(p)))
        case "signs":
            signs = rng.integers(-1, 2, p)
            low, high = np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)
            return margin.Signs(tuple(map(int, signs))), _ends(low, high)
        case _:
            return "reals", lambda e: e


def _ends(low: np.ndarray, high: np.ndarray) -> Callable[[Compositions], Compositions]:
    ends = (tuple(Fraction(v) if math.isfinite(v) else None for v in side.tolist()) for side in (low, high))
    lower, upper = ends
    return lambda e: replace(e, lower=lower, upper=upper)
