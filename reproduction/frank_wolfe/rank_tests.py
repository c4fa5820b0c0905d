"""Rank tests over data sets: Wilcoxon's signed ranks, exact with ties and zeros, and Friedman's with Iman and Davenport's F."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from marginopt.models import FloatArray

Alternative: TypeAlias = Literal["less", "greater", "two-sided"]


@dataclass(frozen=True)
class Wilcoxon:
    """Sum of the positive ranks, of the negative ones, and the exact p."""

    positive: float
    negative: float
    p: float

    @property
    def statistic(self) -> float:
        """The smaller sum, W."""
        return min(self.positive, self.negative)


@dataclass(frozen=True)
class Friedman:
    """χ², Iman and Davenport's F with its p, and the mean ranks (1 is the smallest value)."""

    chi2: float
    F: float
    p: float
    ranks: FloatArray


#: Differences that agree to so many decimals are equal: 97.65 - 97.31 and 83.40 - 83.06 differ in the last bit.
_DECIMALS = 10


def signed_ranks(x: FloatArray, y: FloatArray, alternative: Alternative = "two-sided", *, decimal: bool = True) -> Wilcoxon:
    """Wilcoxon's test of x - y with Pratt's zeros, p from the exact distribution of the sum over all signs of these ranks.

    Zeros are ranked with the rest and then left out (Pratt); equal sizes have the mean of their ranks. The distribution is a
    convolution over the doubled ranks, which are integers. ``"less"``: x tends to be smaller. Without ``decimal`` the differences
    keep the noise of binary fractions, which parts equal ones.
    """
    from scipy.stats import rankdata

    d = np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)
    d = np.round(d, _DECIMALS) if decimal else d
    ranks = rankdata(np.abs(d))[d != 0]
    signs = d[d != 0] > 0
    positive, negative = float(ranks[signs].sum()), float(ranks[~signs].sum())
    doubled = np.rint(2.0 * ranks).astype(np.int64)
    chance = np.zeros(int(doubled.sum()) + 1)
    chance[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[: chance.size - rank]
        chance = 0.5 * (chance + shifted)
    at = round(2.0 * positive)
    below, above = float(chance[: at + 1].sum()), float(chance[at:].sum())
    p = {"less": below, "greater": above, "two-sided": min(1.0, 2.0 * min(below, above))}[alternative]
    return Wilcoxon(positive, negative, p)


def friedman(table: FloatArray) -> Friedman:
    """Friedman's test of a table (sets × methods), Iman and Davenport's F = (N-1)χ²/(N(k-1) - χ²) on k-1, (k-1)(N-1) degrees.

    χ² is SciPy's, corrected for ties; F is infinite where all data sets rank the methods alike.
    """
    from scipy.stats import f, friedmanchisquare, rankdata

    N, k = table.shape
    chi2 = float(friedmanchisquare(*table.T).statistic)
    rest = N * (k - 1.0) - chi2
    F = (N - 1.0) * chi2 / rest if rest > 0 else np.inf
    return Friedman(chi2, F, float(f.sf(F, k - 1, (k - 1) * (N - 1))), rankdata(table, axis=1).mean(axis=0))


def holm(p: FloatArray) -> FloatArray:
    """p of several tests, adjusted by Holm's step-down procedure: the post-hoc of a Friedman test that rejects."""
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p)
    steps = np.maximum.accumulate((p.size - np.arange(p.size)) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
