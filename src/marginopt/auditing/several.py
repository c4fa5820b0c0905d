"""Audits of machines of several classes: each pair or each class against the rest, as scikit-learn fits them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..display import Display, Displayed, Tabular
from ..errors import InputError
from ..models.arrays import FloatArray, IntArray
from .values import Audit

#: What the machines of LIBLINEAR have in common.
_LIBLINEAR = ("C", "penalty", "loss", "intercept_scaling", "fit_intercept")

__all__ = ["AuditTable", "Part", "class_against_rest", "pairs_of_classes", "weights_of_classes", "wrapped"]


@dataclass(frozen=True)
class AuditTable(Displayed, Tabular):
    """The audits of the machines that a classifier of several classes, or a wrapper, holds.

    Parameters
    ----------
    machine : str
        Type of the classifier.
    audits : mapping of str to Audit
        By the machine's classes: "a, b" for a pair, "a, rest" for a class.
    """

    machine: str
    audits: Mapping[str, Audit]

    @property
    def gap(self) -> float:
        """The largest relative gap."""
        return max(audit.gap for audit in self.audits.values())

    def advised(self, advice: str) -> AuditTable:
        """Return the table with the advice of all its machines."""
        return replace(self, audits={name: audit.advised(advice) for name, audit in self.audits.items()})

    def __len__(self) -> int:
        return len(self.audits)

    def __getitem__(self, name: str) -> Audit:
        return self.audits[name]

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One record a machine: classes, value, bound, gap, condition, violation."""
        return [
            {
                "machine": name, "value": a.value, "bound": a.bound, "gap": a.gap, "condition": a.condition,
                "violation": a.violation, "advice": a.advice,
            }
            for name, a in self.audits.items()
        ]  # fmt: skip

    def __str__(self) -> str:
        width = max(len(name) for name in self.audits)
        lines = [f"{self.machine}: {len(self)} machines, largest relative gap {self.gap:.2e}"]
        for name, a in self.audits.items():
            kind = "" if not a.condition else f" (proved if {a.condition})"
            lines.append(f"  {name:<{width}}  value {a.value:<14.8g} bound {a.bound:<14.8g} gap {a.gap:.2e}{kind}")
        return "\n".join([*lines, *dict.fromkeys(f"  {a.advice}" for a in self.audits.values() if a.advice)])

    def display(self) -> Display:
        """Return the notebook view: the lines."""
        return Display(text=str(self))


@dataclass(frozen=True, eq=False)
class Part:
    """One of the machines: its name, what is stored of it, its rows, signs and weights."""

    name: str
    stored: Any
    rows: IntArray
    signs: FloatArray
    weights: FloatArray


def pairs_of_classes(estimator: Any, y: Any, weights: FloatArray) -> Iterator[Part]:
    """Yield the machine of each pair of classes that LIBSVM fitted, the first class positive.

    Of classes i < j the support vectors of i have their coefficients in row j - 1 of ``dual_coef_``, those of j in row i.
    """
    classes, codes = estimator.classes_, _codes(estimator, y)
    kept = np.flatnonzero(weights > 0.0) if estimator.support_vectors_.shape[0] else np.arange(codes.size)
    support, coefficients = kept[estimator.support_], np.asarray(estimator.dual_coef_)
    costs = weights * np.asarray(estimator.class_weight_, dtype=np.float64)[codes]
    shared = {name: getattr(estimator, name) for name in ("kernel", "C", "coef0", "degree")}
    for k, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        rows = np.flatnonzero((codes == i) | (codes == j))
        counted = rows[weights[rows] > 0.0] if estimator.support_vectors_.shape[0] else rows
        inside = np.flatnonzero(np.isin(support, rows))
        pair_coefficients = np.where(codes[support[inside]] == i, coefficients[j - 1, inside], coefficients[i, inside])
        stored = SimpleNamespace(
            **shared, _gamma=estimator._gamma, class_weight=None, classes_=np.array([0, 1]), dual_coef_=pair_coefficients,
            support_=np.searchsorted(counted, support[inside]), support_vectors_=estimator.support_vectors_,
            intercept_=np.ravel(estimator.intercept_)[k],
        )  # fmt: skip
        signs = np.where(codes[rows] == i, 1.0, -1.0)
        yield Part(f"{classes[i]}, {classes[j]}", stored, rows, signs, costs[rows])


def class_against_rest(estimator: Any, y: Any, weights: FloatArray) -> Iterator[Part]:
    """Yield the machine of each class that LIBLINEAR fitted against all others, whose class weights it does not count."""
    if vars(estimator).get("multi_class", "ovr") != "ovr":
        raise InputError("audit of LinearSVC knows multi_class='ovr'")
    classes, codes = estimator.classes_, _codes(estimator, y)
    stochastic = "alpha" in vars(estimator)  # SGDClassifier counts samples, not their weights
    by_class = weights_of_classes(estimator, np.asarray(y), None if stochastic else weights)
    names = ("alpha", "penalty", "loss", "fit_intercept") if stochastic else _LIBLINEAR
    shared = {name: getattr(estimator, name) for name in names}
    for k, label in enumerate(classes):
        stored = SimpleNamespace(
            **shared, class_weight=None, classes_=np.array([0, 1]), coef_=estimator.coef_[k],
            intercept_=np.ravel(estimator.intercept_)[k] if estimator.fit_intercept else 0.0,
        )  # fmt: skip
        positive = codes == k
        signs = np.where(positive, 1.0, -1.0)
        yield Part(f"{label}, rest", stored, np.arange(codes.size), signs, weights * np.where(positive, by_class[k], 1.0))


def weights_of_classes(estimator: Any, labels: Any, weights: FloatArray | None) -> FloatArray:
    """Return the weight of each class, counting samples by their weights where scikit-learn's own function takes them."""
    from sklearn.utils.class_weight import compute_class_weight

    counted = weights is not None and "sample_weight" in inspect.signature(compute_class_weight).parameters
    more = {"sample_weight": weights} if counted else {}
    by_class = compute_class_weight(estimator.class_weight, classes=estimator.classes_, y=labels, **more)
    return np.asarray(by_class, dtype=np.float64)


def _codes(estimator: Any, y: Any) -> IntArray:
    labels = np.asarray(y)
    if labels.ndim != 1 or not np.isin(labels, estimator.classes_).all():
        raise InputError(f"y must hold one of {estimator.classes_.tolist()} for each row of X")
    return np.searchsorted(estimator.classes_, labels)


def wrapped(estimator: Any, y: Any, audit: Callable[[Any, IntArray, IntArray], Audit]) -> AuditTable:
    """Return the audits of the machines of OneVsRestClassifier and OneVsOneClassifier, by ``audit(machine, rows, labels)``."""
    from sklearn.multiclass import OneVsRestClassifier

    classes, codes = estimator.classes_, _codes(estimator, y)
    every = np.arange(codes.size)
    audits: dict[str, Audit] = {}
    if isinstance(estimator, OneVsRestClassifier):
        one = len(estimator.estimators_) == 1
        for k, machine in enumerate(estimator.estimators_):
            positive = 1 if one else k
            audits[f"{classes[positive]}, rest"] = audit(machine, every, (codes == positive).astype(np.int64))
    else:
        for (i, j), machine in zip(combinations(range(len(classes)), 2), estimator.estimators_, strict=True):
            rows = np.flatnonzero((codes == i) | (codes == j))
            audits[f"{classes[i]}, {classes[j]}"] = audit(machine, rows, (codes[rows] == j).astype(np.int64))
    return AuditTable(type(estimator).__name__, audits)
