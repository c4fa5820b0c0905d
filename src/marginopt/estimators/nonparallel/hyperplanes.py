"""Classifiers with a hyperplane for each class: the checks of their data, and their decision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ...models.arrays import FloatArray, Points, as_points
from ...models.kernels.kernels import Kernel, Precomputed
from ..argument_refusals import refuse
from ..base import Estimator
from ..spaces import is_precomputed, make_kernel
from ..training_set import Scaling

__all__ = ["HyperplaneClassifier"]


class HyperplaneClassifier(ClassifierMixin, Estimator, ABC):  # type: ignore[misc]
    """A classifier over a kernel whose classes have a hyperplane each; `_closeness` says which is the one."""

    # scikit-learn reads the parameters from each subclass's __init__; those that all of them have
    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    standardise: bool

    classes_: np.ndarray
    _scaling: Scaling

    def _begin(self, X: Any, y: Any, other: Mapping[str, object]) -> tuple[Points, np.ndarray, Kernel]:
        """Scaled points, labels and the kernel from what ``fit`` is given.

        Raises
        ------
        InputError
            No such kernel, or values too large to standardise.
        TypeError
            ``fit`` was given more than X and y.
        """
        refuse(self, other)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        points = as_points(X)
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        plain = isinstance(kernel, Precomputed) or not self.standardise
        self._scaling = Scaling() if plain else Scaling.of(points, np.ones(points.shape[0]))
        return as_points(self._scaling.transform(points)), np.asarray(y), kernel

    def _rows(self, X: Any) -> Points:
        """New points as the model takes them."""
        check_is_fitted(self)
        points = as_points(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))
        return as_points(self._scaling.transform(points))

    @abstractmethod
    def _closeness(self, rows: Points) -> FloatArray:
        """Return the closeness of points to each class's hyperplane (n × K); the largest wins."""

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of points for each class's hyperplane (n × K), the largest wins; of two the second's minus the
        first's (n,).
        """
        signed = self._closeness(self._rows(X))
        return signed[:, 1] - signed[:, 0] if self.classes_.size == 2 else signed

    def predict(self, X: Any) -> np.ndarray:
        """The class of the hyperplane that suits a point best."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(np.int64) if self.classes_.size == 2 else decision.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
