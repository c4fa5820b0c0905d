"""The 0-1-loss SVM as a mixed-integer problem: big-M rows, Conic (3), indicators, (5), or strengthened by γ in Γ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

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
from .zero_one_strengthened import as_gamma, indicator_form, split_values, strengthened_form, strengthened_lines

__all__ = ["ZeroOneSVM"]

V = TypeVar("V")

Encoding: TypeAlias = Literal["bigm", "indicator", "strengthened"]


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
    encoding : {"bigm", "indicator", "strengthened"}
        How z_i = 0 ⇒ u_i ≥ 1 is said: rows with M_i, Conic (3); indicator constraints, (5a)-(5b); or the mixed-integer
        second-order cone program of `models.zero_one_strengthened`. All have the same optimum.
    gamma : array_like (n,), optional
        γ in Γ of the strengthened encoding (`relaxations.strengthen` finds γ*).
    rows : {"bigm", "cone"}
        What the strengthened encoding keeps for *every* point, whatever its γ_i: the row with M_i, or its cones at no cost.
    incumbent : array_like (p,), optional
        A classifier; its objective counts as a feasible value UB, and `start` is its point.

    Notes
    -----
    *Valid M.* M_i matters only where z_i = 1, and an optimal w then has ||w||² ≤ UB - λ_i for every feasible value UB, so
    u_i ≥ -||x_i|| √(UB - λ_i) and M_i = 1 + ||x_i|| √(UB - λ_i) suffices; w = 0 gives UB = Σλ. Free intercept: w = 0
    with b = ±1 gives UB = the smaller class's Σλ; for a fixed w some optimal b has a point exactly at its margin,
    so |b| ≤ 1 + max||x_i|| √UB, which is added to M_i.

    Form: blocks ``w`` (p), ``z`` (n) binary; constraint ``margin``: u_i + M_i z_i - 1 ≥ 0, or the indicators (z_i, u_i - 1) with
    |w_j| ≤ √UB (SCIP may not end on unbounded w). The strengthened one has more (`strengthened_form`).

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, λ ≤ 0, M < 0, an upper bound below the optimum's
        lowest conceivable value 0, a free intercept without a first column of ones, an unknown encoding, γ outside Γ, γ
        without the strengthened encoding or that without γ, or with a free intercept (the constant column allows no γ_i > 0).
    """

    X: Points
    y: FloatArray
    lam: float | FloatArray = 1.0
    M: float | FloatArray | None = None
    upper_bound: float | None = None
    intercept: Literal["penalised", "free"] = "penalised"
    encoding: Encoding = "bigm"
    gamma: FloatArray | None = None
    rows: Literal["bigm", "cone"] = "bigm"
    incumbent: FloatArray | None = None

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
        if self.intercept == "free" and not first_column_is_one(X):
            raise InputError(
                "intercept='free' needs a first column of ones in X; Instance.prepared(intercept=True) puts it there"
            )
        if self.incumbent is not None:
            object.__setattr__(self, "incumbent", as_vector(np.atleast_1d(self.incumbent), X.shape[1], "incumbent"))
        self._check_encoding()
        warn_about_features(X)

    def _check_encoding(self) -> None:
        if self.encoding not in ("bigm", "indicator", "strengthened"):
            raise InputError(f"encoding must be 'bigm', 'indicator' or 'strengthened'; it is {self.encoding!r}")
        if self.rows not in ("bigm", "cone"):
            raise InputError(f"rows must be 'bigm' or 'cone'; it is {self.rows!r}")
        if (self.gamma is None) == (self.encoding == "strengthened"):
            raise InputError(
                "encoding='strengthened' and gamma go together: relaxations.strengthen(model) returns the model with both"
            )
        if self.gamma is None:
            return
        if self.intercept == "free":
            raise InputError("encoding='strengthened' needs intercept='penalised': a free intercept allows no gamma_i > 0")
        object.__setattr__(self, "gamma", as_gamma(self.gamma, self._signed))

    @cached_property
    def _signed(self) -> FloatArray:
        return dense_signed_rows(self.X, self.y)

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
        known = [trivial] if self.upper_bound is None else [trivial, float(self.upper_bound)]
        return min(known if self.incumbent is None else [*known, self.objective(self.incumbent)])

    @property
    def start(self) -> dict[str, FloatArray] | None:
        """The incumbent's point, for ``solve(..., start=model.start)``; None without an incumbent."""
        return None if self.incumbent is None else self.point(self.incumbent)

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
        return (
            "incumbent"
            if self.upper_bound is not None or self.incumbent is not None
            else ("w = 0" if self.intercept == "penalised" else "w = 0, b = ±1")
        )

    @property
    def form_bytes(self) -> int:
        """Bytes of the rows (and of S)."""
        n, p = self.X.shape
        return 12 * entries(self.X) + 100 * n + (0 if self.gamma is None else 12 * n * p + 12 * p * p + 400 * n)

    def compile(self) -> StandardForm:
        """The form of the notes."""
        if self.gamma is not None:
            return strengthened_form(
                f"{self.name}, strengthened",
                self._signed,
                self.weights,
                self.gamma,
                self.big_m if self.rows == "bigm" else None,
                integer=True,
            )
        form = self._big_m_form()
        return form if self.encoding == "bigm" else indicator_form(form, self.X, self.y, float(np.sqrt(self.incumbent_value)))

    def _big_m_form(self) -> StandardForm:
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
        w, z = np.asarray(w, dtype=np.float64), (u < 1.0 - tol).astype(np.float64)
        return {"w": w, "z": z} if self.gamma is None else split_values(self._signed, self.gamma, self.rows, w, z)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """All blocks from ``w``, where some are missing; see `point`."""
        known = all(block.label in values for block in self.form.blocks)
        return dict(values) if known else self.point(np.asarray(values["w"]))

    def with_integers(self, values: Mapping[str, FloatArray]) -> StandardForm | None:
        """min ||w||² with u_i ≥ 1 where z_i = 0: what the strengthened form's cones come to."""
        if self.gamma is None:
            return None
        p = self.X.shape[1]
        kept = self._signed[values["z"] < 0.5]
        rows = (Constraint("margin", sp.csr_array(kept), -np.ones(len(kept)), Nonnegative(len(kept))),) if len(kept) else ()
        return StandardForm(
            name=f"{self.name}, z fixed",
            blocks=(Block("w", (p,)),),
            q=np.zeros(p),
            constraints=rows,
            lower=np.full(p, -np.inf),
            upper=np.full(p, np.inf),
            integer=np.zeros(p, dtype=bool),
            quadratic=Quadratic(matrix=sp.csc_array(2.0 * sp.eye_array(p))),
        )

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """x'w for new rows."""
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ values["w"])

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Margin violations (u < 1) and misclassified points (u < 0), and the smallest slack of a big-M row in use."""
        figures = linear_summary(self.X, self.y, values["w"])
        u = self.y * np.asarray(self.X @ values["w"])
        violated = values["z"] > 0.5
        if self.encoding == "indicator" or self.rows == "cone":
            return figures  # no big-M rows
        slack = (u + self.big_m - 1.0)[violated]
        figures["smallest_big_m_slack"] = float(slack.min()) if slack.size else float("inf")
        return figures

    @property
    def statement(self) -> Statement:
        """Conic (3), (5), or the strengthened program."""
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
        objective = Line(f"{norm} + lam sum_i z_i", rf"{norm_tex} + \lambda\sum_{{i=1}}^n z_i")
        binary = Line("z_i in {0, 1}", r"z_i \in \{0,1\}")
        row = Line("y_i x_i'w >= 1 - M_i z_i", r"y_i x_i^\top w \ge 1 - M_i z_i,\quad i=1,\dots,n", "margin")
        switch = Line("z_i = 0  =>  y_i x_i'w >= 1", r"z_i = 0 \Rightarrow y_i x_i^\top w \ge 1,\quad i=1,\dots,n", "margin")
        title, kind, source = "big-M", "mixed-integer convex QP", "(3)"
        lines: tuple[Line, ...] = (row, binary)
        notes: tuple[str, ...] = (argument,)
        if self.encoding == "indicator":
            title, source, lines = "indicators", "(5a)-(5b)", (switch, binary)
            notes = (f"|w_j| <= sqrt(UB), UB = {self.incumbent_value:.6g}: any w beyond it is worse than a known point",)
        elif self.gamma is not None:
            title, kind, source = "strengthened", "mixed-integer second-order cone program", "(13) at a fixed gamma, z binary"
            objective, lines = strengthened_lines(int((self.gamma > 0).sum()), self.rows)
            notes = (
                f"g = gamma in Gamma, {int((self.gamma > 0).sum())} of {n} positive; every point keeps its "
                f"{'row with M_i' if self.rows == 'bigm' else 'cones'}, whatever its gamma_i",
            )
            notes += (argument,) if self.rows == "bigm" else ()
        return Statement(
            title=f"0-1-loss SVM, {title}",
            problem_class=kind,
            sense="minimise",
            over=Line("w, z", r"w\in\mathbb{R}^p,\ z\in\{0,1\}^n"),
            objective=objective,
            constraints=lines,
            sizes=f"n = {n} points, p = {p} features (a constant one included), lam = {_number(self.lam)}",
            notes=(*notes, "counts margin violations u < 1; misclassified points (u < 0) are reported beside it"),
            source=f"Cepeda, Gomez, Han: Robust SVMs via conic optimization, {source}",
        )


def first_column_is_one(X: Points) -> bool:
    return bool((to_dense(X[:, [0]]) == 1.0).all())


def _number(lam: float | FloatArray) -> str:
    return f"{lam:g}" if np.ndim(lam) == 0 else f"{np.min(lam):g} .. {np.max(lam):g}"
