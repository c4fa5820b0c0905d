"""The rivals' classifier: LIBSVM's hinge SVC, behind the selectors of `marginopt.selection`."""

from __future__ import annotations

import warnings

import numpy as np

from marginopt.models import FloatArray
from marginopt.selection import Split, Trainer

__all__ = ["HingeTrainer", "hinge_scores"]

#: Steps of LIBSVM for one model: C = 2^15 on overlapping classes takes millions, which no published figure depends on.
_STEPS = 200_000


class HingeTrainer(Trainer):
    """A `Trainer` with scikit-learn's SVC in place of the two-hulls model."""

    def accuracy(self, K: FloatArray, C: float, split: Split) -> float:
        """Train on the first rows of the split and return the share of the second that is classified rightly."""
        train, judged = split
        y = self.sample.y
        scores, ended = hinge_scores(K[np.ix_(train, train)], y[train], C, K[np.ix_(judged, train)])
        self.count += 1
        self.unsolved += not ended
        return float(np.mean(np.where(scores > 0, 1.0, -1.0) == y[judged]))


def hinge_scores(K: FloatArray, y: FloatArray, C: float, K_test: FloatArray) -> tuple[FloatArray, bool]:
    """Scores of the test points, and whether LIBSVM ended within its steps."""
    from sklearn.svm import SVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ConvergenceWarning: it is counted
        model = SVC(C=C, kernel="precomputed", max_iter=_STEPS).fit(K, y)
    return np.asarray(model.decision_function(K_test)), model.fit_status_ == 0
