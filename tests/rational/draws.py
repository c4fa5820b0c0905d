"""Draws of `Margin` over losses, regularisers, domains and restrictions, each beside itself in rationals.

The rationals are made of the drawn numbers, not of what the model makes of them. The data are quarters, so that ties, points on
each other, and margins at corners of the loss are common. The numbers of kinds have no common divisor: 504 consecutive numbers
hold every loss with every regulariser and every restriction, and eleven times as many hold these with every place of the domains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import marginopt as mo
from marginopt.errors import InputError

from .compositions import Compositions
from .parts import DRAWN_LOSSES, Data, Random, quarters, regularised, within
from .restrictions import restricted

__all__ = ["DOMAINS", "LOSSES", "REGULARISERS", "RESTRICTIONS", "Drawn", "drawn"]

LOSSES = tuple(DRAWN_LOSSES)
REGULARISERS = ("l2", "l1", "elastic-net", "kernel-l1", "none", "l0", "l0-l1")
DOMAINS = ("reals", "signs", "box", "reals", "signs", "integers", "reals", "signs", "box", "reals", "signs")
RESTRICTIONS = ("none", "keep", "nonzero", "budget", "neyman-pearson", "parity", "rows", "fixed", "several")
#: With these the coefficients have no bound but the domain's.
_BOUNDED = ("none", "l0", "l0-l1")


@dataclass(frozen=True)
class Drawn:
    """A model, the same in rationals, and the kinds of its parts."""

    model: mo.Margin
    exact: Compositions
    kinds: dict[str, str]

    def __str__(self) -> str:
        return ", ".join(self.kinds.values())

    @property
    def unbounded(self) -> bool:
        """Return whether the domain is."""
        return self.kinds["domain"] in ("reals", "signs")


def _data(rng: Random, kinds: dict[str, str], free: bool) -> Data:
    """Two to six points of one to three features, fewer where that is many cells; both classes; a repeated or opposite point."""
    p = int(rng.choice([1, 2, 2, 2, 3]))
    p = max(p, 2) if free else p
    cheap = kinds["domain"] == "integers" or kinds["regulariser"] not in ("l2", "elastic-net")
    most = {1: 6, 2: 6 if cheap else 4, 3: 4 if cheap else 2}[p]
    n = 4 if kinds["restriction"] == "parity" else int(rng.integers(2, most + 1))
    p = min(p, 2) if n == 4 and not cheap else p
    X = quarters(rng, -8, 8, (n, p))
    if rng.integers(2):
        X[1] = X[0] * rng.choice([-1.0, 1.0])
    if free or rng.integers(2):
        X[:, 0] = 1.0
    return Data(X, np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0), int(free))


def drawn(number: int) -> Drawn:
    """The problem of a number."""
    rng = np.random.default_rng([19, number])
    sorts = {"loss": LOSSES, "regulariser": REGULARISERS, "domain": DOMAINS, "restriction": RESTRICTIONS}
    kinds = {sort: names[number % len(names)] for sort, names in sorts.items()}
    if kinds["regulariser"] in _BOUNDED and kinds["domain"] not in ("box", "integers"):
        kinds["domain"] = ("box", "integers")[int(rng.integers(2))]
    convex = kinds["loss"] == "hinge" and kinds["regulariser"] not in ("l0", "l0-l1")
    if convex and kinds["restriction"] not in ("nonzero", "budget", "neyman-pearson", "several"):
        kinds["domain"] = "integers"
    free = bool(rng.integers(2))
    kinds["intercept"] = "free" if free else "penalised"
    data, seed = _data(rng, kinds, free), int(rng.integers(2**31))
    try:
        return _stated(np.random.default_rng(seed), kinds, data)
    except InputError:  # its form needs bounds
        return _stated(np.random.default_rng(seed), {**kinds, "domain": "box"}, data)


def _stated(rng: Random, kinds: dict[str, str], data: Data) -> Drawn:
    n, p = data.X.shape
    costs = quarters(rng, 0, 8, n)
    loss, part_rows = DRAWN_LOSSES[kinds["loss"]](rng)
    parts = [regularised(rng, kinds["regulariser"], data), within(rng, kinds["domain"], p)]
    limits = restricted(rng, kinds["restriction"], data)
    if kinds["loss"] == "misclassified" and kinds["restriction"] not in ("keep", "fixed") and rng.random() < 0.8:
        limits += restricted(rng, "keep", data)[:1]  # else w = 0 is all there is to find
    regulariser, domain = parts[0][0], parts[1][0]
    model = mo.Margin(
        data.X, data.y, loss, regulariser, kinds["intercept"], costs, domain, [part for part, _ in limits]  # type: ignore[arg-type]
    )  # fmt: skip
    _ = model.form
    exact = Compositions.of(data.y[:, None] * data.X, costs, part_rows, np.zeros(p))
    for _, text in (*parts, *limits):
        exact = text(exact)
    return Drawn(model, exact, kinds)
