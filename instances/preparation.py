"""Standardising features and putting the constant column first."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import DataError, InputError, MarginoptWarning
from .arrays import FloatArray, Matrix, is_sparse

__all__ = ["Preparable", "Prepared", "Scaling", "prepare"]

#: "standardised": mean 0 and variance 1; "scaled": variance 1, not centred (sparse data).
Scaling: TypeAlias = Literal["none", "standardised", "scaled"]


class Preparable(Protocol):
    """The protocol of data sets that can be prepared."""

    @property
    def name(self) -> str:
        """Name for messages."""

    @property
    def X(self) -> Matrix:
        """Rows are samples."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns of X."""

    @property
    def intercept(self) -> bool:
        """Return whether the first column is of ones."""

    @property
    def scaling(self) -> Scaling:
        """The scaling of the features."""


@dataclass(frozen=True)
class Prepared:
    """The outcome of a preparation: the matrix, its names, and the two flags."""

    X: Matrix
    feature_names: tuple[str, ...] | None
    scaling: Scaling
    intercept: bool


def prepare(instance: Preparable, standardise: bool, intercept: bool, fit_on: Preparable | None) -> Prepared:
    """Standardise by the statistics of ``fit_on`` (or of the instance itself), then put a column of ones first.

    Column j becomes (x_j - mean_j) / std_j with the population's std (divisor n), in sparse data x_j / std_j: taking
    the mean away would fill the matrix. Constant columns cannot be scaled to unit variance and say nothing beside an
    intercept, so they are dropped with a warning. Data that are scaled, or have their intercept, are left so.
    """
    if fit_on is not None:
        _check_fit_on(instance, fit_on)
    body, names = _body(instance), _body_names(instance)
    scaling = instance.scaling
    if standardise and scaling == "none":
        statistics = _body(fit_on if fit_on is not None else instance)
        mean, std, constant = _column_statistics(statistics)
        if constant.any():
            _warn_constant(instance.name, constant, names)
        body = _scaled(body, mean, std, ~constant)
        names = None if names is None else tuple(names[j] for j in np.flatnonzero(~constant))
        scaling = "scaled" if is_sparse(body) else "standardised"
    with_ones = intercept or instance.intercept
    if with_ones:
        body = _with_ones(body)
        names = None if names is None else ("intercept", *names)
    return Prepared(body, names, scaling, with_ones)


def _check_fit_on(instance: Preparable, fit_on: Preparable) -> None:
    ours = (instance.X.shape[1], instance.intercept, is_sparse(instance.X))
    theirs = (fit_on.X.shape[1], fit_on.intercept, is_sparse(fit_on.X))
    if ours != theirs:
        raise InputError(
            f"fit_on must have the same columns and storage as the instance: {theirs[0]} columns, intercept {theirs[1]}, "
            f"sparse {theirs[2]} against {ours[0]} columns, intercept {ours[1]}, sparse {ours[2]}"
        )
    if fit_on.scaling != "none" or instance.scaling != "none":
        raise InputError("fit_on must be given, and used on, data as they were before any scaling")


def _body(instance: Preparable) -> Matrix:
    return instance.X[:, 1:] if instance.intercept else instance.X


def _body_names(instance: Preparable) -> tuple[str, ...] | None:
    names = instance.feature_names
    return names if names is None or not instance.intercept else names[1:]


def _column_statistics(X: Matrix) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Means, standard deviations (divisor n) and which columns are constant up to rounding."""
    n, p = X.shape
    if p == 0:
        raise DataError("there is no feature beside the intercept to standardise")
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            columns = X.indices
            mean = np.bincount(columns, weights=X.data, minlength=p) / n
            zeros = n - np.bincount(columns, minlength=p)
            squares = np.bincount(columns, weights=(X.data - mean[columns]) ** 2, minlength=p)
            std = np.sqrt((squares + zeros * mean**2) / n)
            largest = np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()
        else:
            mean, std, largest = X.mean(axis=0), X.std(axis=0), np.abs(X).max(axis=0)
    if not (np.isfinite(mean).all() and np.isfinite(std).all()):
        raise DataError("values are too large to standardise: their mean or variance is not finite in float64")
    # A mean of n equal numbers is off by a few roundings, so a constant column shows a std of that size.
    return mean, std, std <= 8 * np.finfo(np.float64).eps * largest


def _scaled(X: Matrix, mean: FloatArray, std: FloatArray, kept: npt.NDArray[np.bool_]) -> Matrix:
    if not kept.any():
        raise DataError("every feature is constant: nothing is left to learn from after standardising")
    if is_sparse(X):
        return sp.csr_array(X[:, kept] @ sp.diags_array(1.0 / std[kept]))
    scaled: FloatArray = (X[:, kept] - mean[kept]) / std[kept]
    return scaled


def _with_ones(X: Matrix) -> Matrix:
    ones = np.ones((X.shape[0], 1))
    if is_sparse(X):
        return sp.csr_array(sp.hstack([sp.csr_array(ones), X], format="csr"))
    return np.hstack([ones, X])


def _warn_constant(name: str, constant: npt.NDArray[np.bool_], names: tuple[str, ...] | None) -> None:
    columns = np.flatnonzero(constant)
    shown = [str(j) if names is None else f"{j} ({names[j]})" for j in columns[:10]]
    if columns.size > 10:
        shown.append(f"... {columns.size} in all")
    warnings.warn(
        f"{name}: dropped constant feature column(s) {', '.join(shown)}, counting from 0 without the intercept; "
        "a constant cannot be standardised. prepared(standardise=False) keeps them",
        MarginoptWarning,
        stacklevel=4,
    )
