"""The rule by which scores decide classes, shared by models, estimators and reports.

A point is of the second class, +1, if its score is above 0; a score of exactly 0 is of the first, -1. Of several scores the
highest decides, the first of equal ones. scikit-learn's linear classifiers have the same rule.
"""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray, IntArray


def decided_codes(scores: FloatArray) -> IntArray:
    """Return the code of each point's class: 0 or 1 by the sign of one score (n,), 0 to K - 1 by the largest of K (n × K)."""
    return (scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)


def decided_labels(scores: FloatArray) -> FloatArray:
    """Return the labels -1 and +1 that the scores of points (n,) decide."""
    return np.where(scores > 0.0, 1.0, -1.0)
