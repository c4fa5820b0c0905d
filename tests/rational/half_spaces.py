"""All subsets that half-spaces cut off, and the worst weighted disparity of a subgroup, in rational arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from marginopt.questions.fairness import FairnessQuestion

__all__ = ["half_spaces", "worst_disparity"]


def half_spaces(points: np.ndarray) -> np.ndarray:
    """All subsets that half-spaces cut off distinct points, from the basic solutions of l (b + w's) ≥ 1 (rows of booleans).

    Numbers are the decimals that print them: 1990.000001 to 1990.000003 are collinear, which their float64s are not.
    """
    m, d = points.shape
    points = np.column_stack([_steps(column) for column in points.T.tolist()]) if d else points
    scale = np.maximum(np.ptp(points, axis=0), 1e-300)
    A = np.column_stack([np.ones(m), (points - points.mean(axis=0)) / scale])
    subsets = {(False,) * m, (True,) * m}
    for r in range(1, min(d + 1, m) + 1):
        for others in itertools.combinations(range(1, d + 1), r - 1):
            columns = [0, *others]
            rows = np.array(list(itertools.combinations(range(m), r)))
            M = A[rows][:, :, columns]
            regular = np.abs(np.linalg.det(M)) > 1e-9
            for signs in itertools.product((-1.0, 1.0), repeat=r):
                x = np.linalg.solve(M[regular], np.broadcast_to(np.array(signs), (int(regular.sum()), r))[:, :, None])[:, :, 0]
                scores = x @ A[:, columns].T
                subsets |= set(map(tuple, (scores[(np.abs(scores) >= 1.0 - 1e-7).all(axis=1)] > 0.0).tolist()))
    return np.array(sorted(subsets))


def _steps(column: list[float]) -> list[int]:
    """The column in steps of its decimals' greatest common divisor, from its least value."""
    exact = [Fraction(repr(value)) for value in column]
    denominator = math.lcm(*(value.denominator for value in exact))
    numbers = [int((value - min(exact)) * denominator) for value in exact]
    step = math.gcd(*numbers) or 1
    return [number // step for number in numbers]


def worst_disparity(question: FairnessQuestion) -> Fraction:
    """The worst weighted disparity in rational arithmetic, by the definition: share(g) |rate(g) - rate|."""
    rows, place = question.cells
    members = question.members
    weights = [Fraction(w) for w in question.sample_weight[members].tolist()]
    pairs = zip(question.predictions[members].tolist(), question.y[members].tolist(), strict=True)
    rule = {"false-negative-rate": lambda a, b: 1 - Fraction(a), "calibration": lambda a, b: Fraction(b) - Fraction(a)}
    values = [rule.get(question.metric, lambda a, b: Fraction(a))(a, b) for a, b in pairs]
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    reference = Fraction(0) if question.metric == "calibration" else mean
    sums = [Fraction(0)] * len(rows)
    for k, w, v in zip(place.tolist(), weights, values, strict=True):
        sums[k] += w * (v - reference)
    groups = (sum((s for s, g in zip(sums, group, strict=True) if g), Fraction(0)) for group in half_spaces(rows).tolist())
    return max(map(abs, groups)) / sum(map(Fraction, question.sample_weight.tolist()))
