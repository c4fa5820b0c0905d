"""The 0-1-loss SVM as a mixed-integer problem with big-M rows, Conic (3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from .arrays import (
    BoolArray,
    FloatArray,
    Points,
    as_labels,
    as_points,
    as_positive,
    as_vector,
    entries,
    row_norms_squared,
    to_dense,
)
from .base import Model
from .cones import Nonnegative
from .form import Block, Constraint, Quadratic, StandardForm
from .linear import dense_signed_rows, linear_summary, signed_rows, warn_about_features
from .statement import Line, Statement
from .views import ZeroOneProblem

__all__ = ["ZeroOneSVM"]

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class ZeroOneSVM(Model):
    """min ||w||² + Σ λ_i z_i, y_i x_i'w ≥ 1 - M_i z_i, z binary, Conic (3).

    The loss counts margin violations u_i = y_i x_i'w < 1; misclassified points (u_i < 0) are reported beside it.

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally; the conic paper's data carry a constant first column.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,)
        λ > 0; one for each point gives class costs or the weights of repeated points.
    M : float or array_like (n,), optional
        Big-M constants. Where they are not given they are valid by the argument below. Given ones are taken as they are and
        marked as unproven; one that is too small cuts off solutions.
    upper_bound : float, optional
        Objective of a known feasible point (an incumbent); it tightens M. λ min over trivial points where it is not given.
    intercept : {"penalised", "free"}
        Whether the constant column's weight is part of ||w||² (Conic) or not (Brooks; ½||w||² + C Σz with λ = 2C).
        "free" needs a first column of ones.

    Notes
    -----
    *Valid M.* M_i matters only where z_i = 1, and an optimal w then has ||w||² ≤ UB - λ_i for every feasible value UB, so
    u_i ≥ -||x_i|| √(UB - λ_i) and M_i = 1 + ||x_i|| √(UB - λ_i) suffices; w = 0 gives UB = Σλ. Free intercept: w = 0
    with b = ±1 gives UB = the smaller class's Σλ; for a fixed w some optimal b has a point exactly at its margin,
    so |b| ≤ 1 + max||x_i|| √UB, which is added to M_i.

    Form: blocks ``w`` (p), ``z`` (n) binary; constraint ``margin``: u_i + M_i z_i - 1 ≥ 0.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, λ ≤ 0, M < 0, an upper bound below the optimum's
        lowest conceivable value 0, or a free intercept without a first column of ones.
    """

    X: Points
    y: FloatArray
    lam: float | FloatArray = 1.0
    M: float | FloatArray | None = None
    upper_bound: float | None = None
    intercept: Literal["penalised", "free"] = "penalised"

    name = "ZeroOneSVM"

    def __post_init__(self) -> None:
        X = as_points(self.X)
        n = X.shape[0]
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, n))
        weights = as_vector(self.lam, n, "lam")
        if not (weights > 0).all():
            raise InputError(f"lam must be > 0; it is {weights.min():g}")
        object.__setattr__(self, "lam", float(weights[0]) if np.ndim(self.lam) == 0 else weights)
        if self.M is not None:
            big_m = as_vector(self.M, n, "M")
            if not (big_m >= 0).all():
                raise InputError(f"M must be ≥ 0; it is {big_m.min():g}")
            object.__setattr__(self, "M", float(big_m[0]) if np.ndim(self.M) == 0 else big_m)
        if self.upper_bound is not None:
            object.__setattr__(self, "upper_bound", as_positive(self.upper_bound, "upper_bound", zero=True))
        if self.intercept not in ("penalised", "free"):
            raise InputError(f"intercept must be 'penalised' or 'free'; it is {self.intercept!r}")
        if self.intercept == "free" and not _first_column_is_one(X):
            raise InputError(
                "intercept='free' needs a first column of ones in X; Instance.prepared(intercept=True) puts it there"
            )
        warn_about_features(X)

    @cached_property
    def weights(self) -> FloatArray:
        """λ_i, one for each point."""
        return as_vector(self.lam, self.X.shape[0], "lam")

    @cached_property
    def penalised(self) -> BoolArray:
        """Which weights are part of the norm."""
        mask = np.ones(self.X.shape[1], dtype=bool)
        mask[0] = self.intercept == "penalised"
        return mask

    @cached_property
    def incumbent_value(self) -> float:
        """The feasible value UB behind M: the given one, or that of the best trivial point."""
        trivial = float(self.weights.sum())
        if self.intercept == "free":
            trivial = min(float(self.weights[self.y == s].sum()) for s in (-1.0, 1.0))
        return trivial if self.upper_bound is None else min(trivial, float(self.upper_bound))

    @property
    def intercept_bound(self) -> float:
        """|b| of some optimal solution is at most this (free intercept)."""
        norms = np.sqrt(row_norms_squared(self.X[:, 1:]) if self.X.shape[1] > 1 else np.zeros(1))
        return 1.0 + float(norms.max()) * float(np.sqrt(self.incumbent_value))

    @cached_property
    def big_m(self) -> FloatArray:
        """M_i in use: the given ones, or the valid ones of the notes."""
        if self.M is not None:
            return as_vector(self.M, self.X.shape[0], "M")
        reach = np.sqrt(np.maximum(self.incumbent_value - self.weights, 0.0))
        if self.intercept == "penalised":
            return np.asarray(1.0 + np.sqrt(row_norms_squared(self.X)) * reach)
        norms = np.sqrt(row_norms_squared(self.X[:, 1:])) if self.X.shape[1] > 1 else np.zeros(self.X.shape[0])
        return np.asarray(1.0 + norms * reach + self.intercept_bound)

    @property
    def m_source(self) -> str:
        """Where M comes from, for reports."""
        if self.M is not None:
            return "given, unproven: audit the solution"
        return "incumbent" if self.upper_bound is not None else ("w = 0" if self.intercept == "penalised" else "w = 0, b = ±1")

    @property
    def form_bytes(self) -> int:
        """Bytes of the rows."""
        return 12 * entries(self.X) + 100 * self.X.shape[0]

    def compile(self) -> StandardForm:
        """The form of the notes."""
        n, p = self.X.shape
        F = sp.csr_array(sp.hstack([signed_rows(self.X, self.y), sp.diags_array(self.big_m)], format="csr"))
        lower = np.concatenate([np.full(p, -np.inf), np.zeros(n)])
        upper = np.concatenate([np.full(p, np.inf), np.ones(n)])
        if self.intercept == "free":
            lower[0], upper[0] = -self.intercept_bound, self.intercept_bound
        diagonal = np.concatenate([2.0 * self.penalised, np.zeros(n)])
        return StandardForm(
            name=self.name,
            blocks=(Block("w", (p,)), Block("z", (n,))),
            q=np.concatenate([np.zeros(p), self.weights]),
            constraints=(Constraint("margin", F, -np.ones(n), Nonnegative(n)),),
            lower=lower,
            upper=upper,
            integer=np.arange(p + n) >= p,
            quadratic=Quadratic(matrix=sp.csc_array(sp.diags_array(diagonal))),
        )

    def view(self, kind: type[V]) -> V | None:
        """The `ZeroOneProblem` view: independent of M."""
        if kind is not ZeroOneProblem:
            return None
        A = dense_signed_rows(self.X, self.y)
        return ZeroOneProblem(A, self.weights, self.penalised)  # type: ignore[return-value]

    def objective(self, w: FloatArray, tol: float = 1e-9) -> float:
        """True objective ||w||² + Σ λ_i 1{u_i < 1} of a classifier; margins within ``tol`` of 1 count as met."""
        u = self.y * np.asarray(self.X @ w)
        return float(w[self.penalised] @ w[self.penalised] + self.weights[u < 1.0 - tol].sum())

    def point(self, w: FloatArray, tol: float = 1e-9) -> dict[str, FloatArray]:
        """Values of the form for a classifier w: z_i = 1 exactly where the margin is not met to ``tol``."""
        u = self.y * np.asarray(self.X @ w)
        return {"w": np.asarray(w, dtype=np.float64), "z": (u < 1.0 - tol).astype(np.float64)}

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """x'w for new rows."""
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ values["w"])

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Margin violations (u < 1) and misclassified points (u < 0), and the smallest slack of a big-M row in use."""
        figures = linear_summary(self.X, self.y, values["w"])
        u = self.y * np.asarray(self.X @ values["w"])
        violated = values["z"] > 0.5
        slack = (u + self.big_m - 1.0)[violated]
        figures["smallest_big_m_slack"] = float(slack.min()) if slack.size else float("inf")
        return figures

    @property
    def statement(self) -> Statement:
        """Conic (3)."""
        n, p = self.X.shape
        M = self.big_m
        norm = "||w||^2" if self.intercept == "penalised" else "||w_(without intercept)||^2"
        norm_tex = r"\|w\|_2^2" if self.intercept == "penalised" else r"\textstyle\sum_{j\ge 2} w_j^2"
        argument = (
            f"M given by the user (unproven), between {M.min():.4g} and {M.max():.4g}"
            if self.M is not None
            else f"M_i = 1 + ||x_i|| sqrt(UB - lam_i){' + |b|max' if self.intercept == 'free' else ''} with UB = "
            f"{self.incumbent_value:.6g} ({self.m_source}), between {M.min():.4g} and {M.max():.4g}: M_i matters only where "
            "z_i = 1, and an optimal w then has ||w||^2 <= UB - lam_i"
        )
        return Statement(
            title="0-1-loss SVM, big-M",
            problem_class="mixed-integer convex QP",
            sense="minimise",
            over=Line("w, z", r"w\in\mathbb{R}^p,\ z\in\{0,1\}^n"),
            objective=Line(f"{norm} + lam sum_i z_i", rf"{norm_tex} + \lambda\sum_{{i=1}}^n z_i"),
            constraints=(
                Line("y_i x_i'w >= 1 - M_i z_i", r"y_i x_i^\top w \ge 1 - M_i z_i,\quad i=1,\dots,n", "margin"),
                Line("z_i in {0, 1}", r"z_i \in \{0,1\}"),
            ),
            sizes=f"n = {n} points, p = {p} features (a constant one included), lam = {_number(self.lam)}",
            notes=(argument, "counts margin violations u < 1; misclassified points (u < 0) are reported beside it"),
            source="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (3)",
        )


def _first_column_is_one(X: Points) -> bool:
    return bool((to_dense(X[:, [0]]) == 1.0).all())


def _number(lam: float | FloatArray) -> str:
    return f"{lam:g}" if np.ndim(lam) == 0 else f"{np.min(lam):g} .. {np.max(lam):g}"
