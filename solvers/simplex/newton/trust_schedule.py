"""The steps of the low-rank start's rounds, by the trust in its model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["CAREFUL", "FIRST", "TRUSTED", "TrustSchedule"]

#: Relative gap of the first solution on the model's support.
FIRST = 0.02


@dataclass(frozen=True)
class TrustSchedule:
    """The steps of a round.

    Parameters
    ----------
    precision : float
        Of the solution on own points, relative to the gap that the last round left.
    growth : float
        Points that may join, relative to those that are there.
    roughest : float
        The least precise solution on own points, as a relative gap: where points outside violate by many times the optimum, a
        precise one is lost work.
    correct : float
        The relative gap above which the model, corrected by what it was off, says where to go on.
    """

    precision: float
    growth: float
    roughest: float
    correct: float


#: With a model that is trusted, and with one that leaves much.
TRUSTED, CAREFUL = TrustSchedule(1e-4, np.inf, FIRST, 0.05), TrustSchedule(0.2, 0.1, 1.0, np.inf)
