"""`RampSVM`, the SVM with the ramp loss as a mixed-integer program, Brooks (2011): a point costs its slack, but at most 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, TypeVar

import numpy as np

from ...data_names import LABELS_OF_X
from ...errors import count_text
from ..arrays import BigM, FloatArray, Points, as_costs, as_points, as_vector, entry_count
from ..digest import identity_rule
from ..program.form import StandardForm
from ..record import DataKind, FormulationInfo, Parameter, always
from ..statement import Line, Statement, lam_sum_line, lam_text, plus
from .features import linear_summary, warn_about_features
from .margin.margin_losses import Ramp
from .margin.model import Margin, check_encoding_name
from .margin_violations import MarginViolationModel, ViolationCosts, encoding_identity, margin_parameters

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class RampSVM(MarginViolationModel):
    """The SVM with the ramp loss: min ||w||² + Σ λ_i (ξ_i + 2z_i), z_i = 0 ⇒ u_i ≥ 1 - ξ_i, 0 ≤ ξ ≤ 2, z binary, with
    u_i = y_i x_i'w: Brooks (2011).

    *Relation to the ramp loss.* For given w the best (ξ_i, z_i) is ((1 - u_i)_+, 0) where u_i ≥ -1 and (0, 1) where u_i < -1, so
    the cost is λ_i min((1 - u_i)_+, 2). This ramp reaches 2; that of Cepeda, Gómez and Han (2024), Figure 1, is min((1 - u)_+, 1)
    (`relaxations.ramp_loss`). Against the 0-1 loss: 1{u < 0} ≤ min((1 - u)_+, 2) ≤ 2·1{u < 1}, so the optimum is at most that of
    `ZeroOneSVM` with 2λ.

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,)
        λ > 0, the cost of a unit of slack. Brooks' ½||w||² + C Σ(ξ + 2z) is half of this with λ = 2C.
    big_m : "auto", float or array_like (n,)
        Big-M constants M_i: "auto" takes valid ones by the argument below; numbers are taken as they are, and unproven.
    upper_bound : float, optional
        Objective of a known feasible point; it tightens M.
    intercept : {"free", "penalised"}
        Whether the first column's weight is left out of the norm (as Brooks does; X then needs a first column of ones) or not.
    encoding : {"auto", "bigm", "indicator"}
        Rows u_i ≥ 1 - ξ_i - M_i z_i, or indicator constraints z_i = 0 ⇒ u_i ≥ 1 - ξ_i.

    Notes
    -----
    *Valid M.* M_i matters only where z_i = 1, which costs 2λ_i: then ||w||² ≤ UB - 2λ_i for any feasible value UB, and
    M_i = 1 + ||x_i|| √(UB - 2λ_i) suffices with ξ_i = 0; w = 0 gives UB = Σλ. Free intercept: w = 0 with b = ±1 costs twice the
    other class's Σλ. For a fixed w the loss is piecewise linear in b with its corners where some u_i = ±1, so some optimal b is
    one of them: |b| ≤ 1 + max||x_i|| √UB, which is added to M_i.

    Form: blocks ``w`` (p), ``z`` (n) binary, ``xi`` (n); constraint ``margin``: u + ξ + Mz - 1 ≥ 0, or the indicators
    (z, u + ξ - 1) with |w_j| ≤ √UB (SCIP may not end on unbounded w).

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, λ ≤ 0, big_m < 0, a negative upper bound, an unknown
        intercept or encoding, or a free intercept without a first column of ones.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    lam: float | FloatArray = 1.0
    big_m: BigM = field(default="auto", metadata={"identity": identity_rule("M", "auto", {"M": None})})
    upper_bound: float | None = None
    intercept: Literal["free", "penalised"] = "free"
    encoding: Literal["auto", "bigm", "indicator"] = field(default="auto", metadata={"identity": encoding_identity})

    name = "RampSVM"
    #: New names of parameters by their old ones.
    renamed: ClassVar[Mapping[str, str]] = {"M": "big_m"}
    #: Meaning of the multipliers of a constraint, by its label.
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "integer variables: no multipliers; z_i = 1 marks the points that are given up at the cost of a ramp, 2 lam",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        self._check_margins(X)
        object.__setattr__(self, "lam", as_costs(self.lam, X.shape[0], "lam", zero=False))
        check_encoding_name(self.encoding)
        warn_about_features(X)

    @cached_property
    def sample_weight(self) -> FloatArray:
        """Return λ_i, one for each point."""
        return as_vector(self.lam, self.X.shape[0], "lam")

    @cached_property
    def incumbent_value(self) -> float:
        """Return the feasible value UB behind M: the least of the given upper bound and the values of the trivial points."""
        objectives = [float(self.sample_weight.sum())]
        if self.free:
            objectives += [2.0 * float(self.sample_weight[self.y == s].sum()) for s in (-1.0, 1.0)]
        return min(objectives if self.upper_bound is None else [*objectives, float(self.upper_bound)])

    @property
    def uses_big_m(self) -> bool:
        """Return whether the form has big-M rows: unless indicators stand in their place."""
        return self.encoding != "indicator"

    @property
    def incumbent_source(self) -> str:
        """Return the source of `incumbent_value` in words: the given bound, or a trivial point."""
        return "given" if self.upper_bound is not None else "w = 0, b = ±1" if self.free else "w = 0"

    @property
    def cost(self) -> ViolationCosts:
        """Return the cost of a point that is given up: the whole height of the ramp."""
        return ViolationCosts(2.0 * self.sample_weight, self.lam, subtracted_term=" - 2 lam_i")

    def view(self, kind: type[V]) -> V | None:
        """Return the `MarginProblem` that "margin-bb" reads, which does not depend on M; None for another kind."""
        return self.composition.view(kind)

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the form's rows."""
        return 12 * entry_count(self.X) + 150 * self.X.shape[0]

    def compile(self) -> StandardForm:
        """Return the form of the notes."""
        indicators = self.encoding == "indicator"
        reach = np.full(self.X.shape[1], np.sqrt(self.incumbent_value) if indicators else np.inf)
        lower, upper = -reach, reach.copy()
        if self.free and not self.has_given_big_m:  # given M bound b by the rows
            lower[0], upper[0] = -self.intercept_bound, self.intercept_bound
        return self.composition.form_with(
            self.name, lower, upper, None if indicators else self.big_m_values, indicators=indicators
        )

    @cached_property
    def composition(self) -> Margin:
        """Return the same problem as a `Margin`: the ramp of height and width 2 with ||w||²."""
        level = self.incumbent_value * (1.0 + 1e-9)
        return Margin.of_checked(
            self.X, self.y, Ramp(), intercept=self.intercept, sample_weight=self.sample_weight, upper_bound=level
        )

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return all blocks of the form; where some are missing, all are computed from ``w`` by `point`."""
        return dict(values) if len(values) == 3 else self.point(np.asarray(values["w"]))

    def with_best_auxiliaries(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the point with the best z and ξ for its w."""
        return self.point(np.asarray(values["w"]))

    def objective(self, w: FloatArray) -> float:
        """Return the true objective ||w||² + Σ λ_i min((1 - u_i)_+, 2) of a classifier."""
        loss = np.clip(1.0 - self.margins(w), 0.0, 2.0)
        return self.squared_norm(w) + float(self.sample_weight @ loss)

    def point(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the form's blocks for a classifier w, with the best z and ξ."""
        w = np.asarray(w, dtype=np.float64)
        u = self.margins(w)
        given_up = u < -1.0
        return {"w": w, "z": given_up.astype(np.float64), "xi": np.where(given_up, 0.0, np.maximum(1.0 - u, 0.0))}

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return ||w|| and the numbers of margin violations, misclassified points and points given up (z = 1)."""
        return linear_summary(self.X, self.y, values["w"]) | {"given_up": float((values["z"] > 0.5).sum())}

    @property
    def statement(self) -> Statement:
        """Return Brooks' program in this package's λ."""
        n, p = self.X.shape
        margin = Line("y_i x_i'w >= 1 - xi_i - M_i z_i", r"y_i x_i^\top w \ge 1-\xi_i-M_i z_i,\quad i=1,\dots,n", "margin")
        if self.encoding == "indicator":
            margin = Line("z_i = 0  =>  y_i x_i'w >= 1 - xi_i", r"z_i=0 \Rightarrow y_i x_i^\top w \ge 1-\xi_i", "margin")
        return Statement(
            title=f"Ramp-loss SVM, {'big-M' if self.uses_big_m else 'indicators'}",
            problem_class="mixed-integer convex QP",
            sense="minimise",
            variables=Line("w, xi, z", r"w\in\mathbb{R}^p,\ \xi\in\mathbb{R}^n,\ z\in\{0,1\}^n"),
            objective=plus(self.norm_line, lam_sum_line(self.lam, Line("(xi_i + 2 z_i)", r"(\xi_i+2z_i)"))),
            constraints=(
                margin,
                Line("0 <= xi_i <= 2", r"0\le\xi_i\le 2"),
                Line("z_i in {0, 1}", r"z_i\in\{0,1\}"),
            ),
            sizes=f"n = {count_text(n, 'point')}, p = {count_text(p, 'feature')} (a constant one included), {lam_text(self.lam)}",
            notes=((self.big_m_argument,) if self.uses_big_m else ())
            + ("loss min((1 - u)_+, 2): this ramp reaches 2, that of Conic's Figure 1 reaches 1",),
            source="Brooks: Support vector machines with the ramp loss and the hard margin loss, 2011 (half of it with lam = 2C)",
        )


def _objective(model: RampSVM, values: Mapping[str, FloatArray]) -> float:
    return model.objective(values["w"])


FORMULATIONS = (
    FormulationInfo(
        RampSVM,
        name="ramp",
        summary="SVM with the ramp loss, mixed-integer",
        reference="Brooks: Support vector machines with the ramp loss and the hard margin loss (2011)",
        data=DataKind.TWO_CLASSES,
        objective=_objective,
        parameters=(
            Parameter("lam", "λ, cost of slack", float, 1.0),
            *margin_parameters("free"),
        ),
        intercept=always,
    ),
)
