"""The 0-1-loss SVM as a mixed-integer problem: big-M rows, Conic (3), indicators, (5), or strengthened by γ in Γ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Literal, TypeAlias, TypeVar

import numpy as np

from ....errors import InputError, UnsupportedModelError
from ...arrays import (
    BoolArray,
    FloatArray,
    Points,
    as_labels,
    as_points,
    as_positive,
    as_vector,
    entries,
)
from ...kernels.kernels import Kernel
from ...looks.explained import Explained, priced, two_classes
from ...model import Model
from ...program.form import StandardForm
from ...record import Arrays, Chosen, Data, FormulationInfo, Parameter, always
from ...statement import Line, Statement
from ...views import ZeroOneProblem
from ..linear import dense_signed_rows, first_column_is_one, linear_summary, warn_about_features
from ..margin.features import Images, images_of
from ..margin.losses.zero_one import ZeroOne
from ..margin.model import Margin, silently_composed
from .budget import ZeroOneBudget, as_share, budget_of
from .cost import Budget, Cost, Prices
from .encodings import BigMRows, Indicators, MarginEncoding, Strengthened
from .exact_margins import keeps, stretched
from .reach import Reach
from .strengthened import as_gamma

__all__ = ["Encoding", "ZeroOneSVM"]

V = TypeVar("V")

Encoding: TypeAlias = Literal["bigm", "indicator", "strengthened"]


@dataclass(frozen=True, eq=False, repr=False)
class ZeroOneSVM(Model):
    """min ||w||² + Σ λ_i z_i, y_i x_i'w ≥ 1 - M_i z_i, z binary, Conic (3); or min ||w||² with Σz ≤ κn instead of the cost.

    The loss counts margin violations u_i = y_i x_i'w < 1; misclassified points (u_i < 0) are reported beside it.

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally; the conic paper's data carry a constant first column.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,), optional
        λ > 0; one for each point gives class costs or the weights of repeated points. 1 where neither λ nor κ is given.
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
        second-order cone program of `models.formulations.zero_one.strengthened`. All have the same optimum.
    gamma : array_like (n,), optional
        γ in Γ of the strengthened encoding (`relaxations.strengthen` finds γ*).
    rows : {"bigm", "cone"}
        What the strengthened encoding keeps for *every* point, whatever its γ_i: the row with M_i, or its cones at no cost.
    incumbent : array_like (p,), optional
        A classifier; its objective counts as a feasible value UB, and `start` is its point.
    kappa : float, optional
        κ in [0, 1]: the cardinality form, at most ⌊κn⌋ margins violated and no λ, as in `ConicSVM`. It can be infeasible. Its
        big-M needs a known feasible point (``upper_bound``, ``incumbent``, or ``M``), which "zero-one-bb" does not.

    kernel : Kernel, optional
        Conic (23)-(24): the same problem over the points' images, in coordinates of their span (`models.kernels.coordinates`)
        after a one for the intercept, which makes k + 1 of the kernel where it is penalised. ``X`` are these coordinates from
        then on, so that every solver, relaxation and proof of the linear problem is one of this; `decision_function` takes rows
        as they came.

    Notes
    -----
    *Valid M.* M_i matters only where z_i = 1, and an optimal w then has ||w||² ≤ UB - λ_i for every feasible value UB, so
    u_i ≥ -||x_i|| √(UB - λ_i) and M_i = 1 + ||x_i|| √(UB - λ_i) suffices; w = 0 gives UB = Σλ. Free intercept: w = 0
    with b = ±1 gives UB = the smaller class's Σλ; for a fixed w some optimal b has a point exactly at its margin,
    so |b| ≤ 1 + max||x_i|| √UB, which is added to M_i. κ form: UB bounds ||w||² itself and no λ_i is subtracted.

    Form: blocks ``w`` (p), ``z`` (n) binary; constraint ``margin``: u_i + M_i z_i - 1 ≥ 0, or the indicators (z_i, u_i - 1) with
    |w_j| ≤ √UB (SCIP may not end on unbounded w). The strengthened one has more (`strengthened_form`). κ form: also the
    constraint ``budget`` ⌊κn⌋ - Σz ≥ 0.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, both λ and κ, λ ≤ 0, κ outside [0, 1], M < 0,
        an upper bound below the optimum's lowest conceivable value 0, a free intercept without a first column of ones, an
        unknown encoding, γ outside Γ, γ without the strengthened encoding or that without γ, or with a free intercept (the
        constant column allows no γ_i > 0).
    """

    X: Points
    y: FloatArray
    lam: float | FloatArray | None = None
    M: float | FloatArray | None = None
    upper_bound: float | None = None
    intercept: Literal["penalised", "free"] = "penalised"
    encoding: Encoding = "bigm"
    gamma: FloatArray | None = None
    rows: Literal["bigm", "cone"] = "bigm"
    incumbent: FloatArray | None = None
    kappa: float | None = None
    kernel: Kernel | Images | None = None

    name = "ZeroOneSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "integer variables: no multipliers; z_i = 1 marks the points whose margin is given up",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        n = X.shape[0]
        if self.kernel is not None:
            object.__setattr__(self, "kernel", images_of(self.kernel, X))
            X = self._images.rows
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, n))
        self._check_cost(n)
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
        if self.kernel is None:
            warn_about_features(X)

    def _check_cost(self, n: int) -> None:
        if self.kappa is not None:
            if self.lam is not None:
                raise InputError("give lam (violations cost λ) or kappa (at most κn of them), not both")
            object.__setattr__(self, "kappa", as_share(self.kappa))
            return
        lam = 1.0 if self.lam is None else self.lam
        weights = as_vector(lam, n, "lam")
        if not (weights > 0).all():
            raise InputError(f"lam must be > 0; it is {weights.min():g}")
        object.__setattr__(self, "lam", float(weights[0]) if np.ndim(lam) == 0 else weights)

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
        object.__setattr__(self, "gamma", as_gamma(self.gamma, self.signed))

    @property
    def _images(self) -> Images:
        assert isinstance(self.kernel, Images)
        return self.kernel

    @cached_property
    def signed(self) -> FloatArray:
        """Rows y_i x_i, dense (n, p)."""
        return dense_signed_rows(self.X, self.y)

    @cached_property
    def weights(self) -> FloatArray:
        """λ_i, one for each point.

        Raises
        ------
        UnsupportedModelError
            In the κ form, which has no λ.
        """
        if self.lam is None:
            raise UnsupportedModelError(
                "the κ form of ZeroOneSVM has a budget of violations and no λ: relaxations, fixing and reports read the λ form; "
                "ConicSVM(X, y, kappa=...) relaxes this one"
            )
        return as_vector(self.lam, self.X.shape[0], "lam")

    @property
    def budget(self) -> int | None:
        """⌊κn⌋; None in the λ form."""
        return None if self.kappa is None else budget_of(self.kappa, self.X.shape[0])

    @cached_property
    def penalised(self) -> BoolArray:
        """Which weights are part of the norm."""
        mask = np.ones(self.X.shape[1], dtype=bool)
        mask[0] = self.intercept == "penalised"
        return mask

    @cached_property
    def cost(self) -> Cost:
        """What violations cost: λ, or a budget."""
        if self.kappa is None:
            assert self.lam is not None
            return Prices(self.weights, self.lam)
        n = self.X.shape[0]
        return Budget(self.kappa, budget_of(self.kappa, n), n)

    @cached_property
    def written(self) -> MarginEncoding:
        """How z_i = 0 ⇒ u_i ≥ 1 is said."""
        if self.gamma is not None:
            return Strengthened(self.gamma, self.rows)
        return Indicators() if self.encoding == "indicator" else BigMRows()

    @cached_property
    def reach(self) -> Reach:
        """How far w can be from a known point, and M."""
        if self.upper_bound is not None or self.incumbent is not None:
            source = "incumbent"
        elif not np.isfinite(self.incumbent_value):
            source = "none known"
        else:
            source = "w = 0" if self.intercept == "penalised" else "w = 0, b = ±1"
        return Reach(self.X, self.intercept == "free", self.cost, self.incumbent_value, self.M, source)

    @cached_property
    def incumbent_value(self) -> float:
        """The feasible value UB behind M: the given one, or that of the best trivial point (infinite without one, κ form)."""
        points = [np.zeros(self.X.shape[1])]
        if self.intercept == "free":
            points += [np.where(self.penalised, 0.0, b) for b in (-1.0, 1.0)]
        if self.incumbent is not None:
            points.append(self.incumbent)
        known = [self.objective(w) for w in points]
        return min(known if self.upper_bound is None else [*known, float(self.upper_bound)])

    @property
    def start(self) -> dict[str, FloatArray] | None:
        """The incumbent's point, for ``solve(..., start=model.start)``; None without an incumbent."""
        return None if self.incumbent is None else self.point(self.incumbent)

    @property
    def intercept_bound(self) -> float:
        """|b| of some optimal solution is at most this (free intercept)."""
        return self.reach.intercept_bound

    @property
    def big_m(self) -> FloatArray:
        """M_i in use: the given ones, or the valid ones of the notes."""
        return self.reach.big_m

    @property
    def m_source(self) -> str:
        """Where M comes from, for reports."""
        return self.reach.m_source

    @property
    def form_bytes(self) -> int:
        """Bytes of the rows (and of S)."""
        n, p = self.X.shape
        return 12 * entries(self.X) + 100 * n + self.written.bytes(n, p)

    def compile(self) -> StandardForm:
        """The form of the notes."""
        return self.cost.limited(self.written.form(self))

    def view(self, kind: type[V]) -> V | None:
        """The `ZeroOneProblem` view (λ form) or the `ZeroOneBudget` view (κ form): independent of M."""
        if kind not in (ZeroOneProblem, ZeroOneBudget):
            return None
        view = self.cost.view(self.signed, self.penalised)
        return view if isinstance(view, kind) else None

    @cached_property
    def composed(self) -> Margin | None:
        """The 0-1 loss with ||w||²; None in the κ form. Constants that are given and too small may cut its optimum off."""
        if self.kappa is not None:
            return None
        level = self.incumbent_value * (1.0 + 1e-9)
        return silently_composed(self.X, self.y, ZeroOne(), self.intercept, self.weights, upper_bound=level)

    def objective(self, w: FloatArray, tol: float = 1e-9) -> float:
        """True objective ||w||² + Σ λ_i 1{u_i < 1} of a classifier (κ form: ||w||², infinite beyond the budget).

        Margins within ``tol`` of 1 count as met.
        """
        violated = self.y * np.asarray(self.X @ w) < 1.0 - tol
        norm = float(w[self.penalised] @ w[self.penalised])
        return self.cost.total(norm, violated)

    def point(self, w: FloatArray, tol: float = 1e-9) -> dict[str, FloatArray]:
        """Values of the form for a classifier w: z_i = 1 exactly where the margin is not met to ``tol``."""
        u = self.y * np.asarray(self.X @ w)
        w, z = np.asarray(w, dtype=np.float64), (u < 1.0 - tol).astype(np.float64)
        return self.written.point(self, w, z)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """All blocks from ``w``, where some are missing; see `point`."""
        known = all(block.label in values for block in self.form.blocks)
        return dict(values) if known else self.point(np.asarray(values["w"]))

    def recounted(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The w that keeps, in exact arithmetic, every point with z_i = 0, and z_i = 1 for exactly the points that it gives up.

        w is stretched until the margins hold, by rounding only as a rule; where giving the short points up costs less, w stays.
        """
        A, w, z = self.signed, np.asarray(values["w"], dtype=np.float64), np.asarray(values["z"], dtype=np.float64)
        if not np.isin(z, (0.0, 1.0)).all():  # not an integer point
            return dict(values)
        candidates = [v for v in (stretched(A, w, z < 0.5), w) if v is not None]
        w, kept = min(((v, keeps(A, v)) for v in candidates), key=lambda pair: self._cost(*pair))
        if not np.isfinite(self._cost(w, kept)):
            return dict(values)
        return self.written.point(self, w, (~kept).astype(np.float64))

    def _cost(self, w: FloatArray, kept: BoolArray) -> float:
        return self.cost.total(float(w[self.penalised] @ w[self.penalised]), ~kept)

    def with_integers(self, values: Mapping[str, FloatArray]) -> StandardForm | None:
        """min ||w||² with u_i ≥ 1 where z_i = 0: what the strengthened form's cones come to."""
        return self.written.with_integers(self, values["z"])

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """x'w for new rows; Σ β_i k(x_i, x) and the intercept under a kernel."""
        if self.kernel is not None:
            return self._images.products(values["w"], X)
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ values["w"])

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Explained:
        """Points by their margins."""
        weights = priced(multipliers, "margin", self.y.size)
        decide = partial(self.decision_function, values)
        return two_classes(self.X, self.y, decide, weights, unit=self.written.has_margins)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Margin violations (u < 1) and misclassified points (u < 0), and the smallest slack of a big-M row in use."""
        figures = linear_summary(self.X, self.y, values["w"])
        u = self.y * np.asarray(self.X @ values["w"])
        violated = values["z"] > 0.5
        if not self.written.has_rows:
            return figures
        slack = (u + self.big_m - 1.0)[violated]
        figures["smallest_big_m_slack"] = float(slack.min()) if slack.size else float("inf")
        return figures

    @property
    def statement(self) -> Statement:
        """Conic (3), (5), or the strengthened program; with Σz ≤ κn in the κ form."""
        n, p = self.X.shape
        norm = Line("||w||^2", r"\|w\|_2^2")
        if self.intercept == "free":
            norm = Line("||w_(without intercept)||^2", r"\textstyle\sum_{j\ge 2} w_j^2")
        images = () if self.kernel is None else (f"x_i are images under the kernel {self._images.kernel}, after a one",)
        counted = "counts margin violations u < 1; misclassified points (u < 0) are reported beside it"
        return Statement(
            title=f"0-1-loss SVM, {self.written.title}{self.cost.title}",
            problem_class=self.written.problem_class,
            sense="minimise",
            over=Line("w, z", r"w\in\mathbb{R}^p,\ z\in\{0,1\}^n"),
            objective=self.written.objective(self.cost.objective(norm)),
            constraints=(*self.written.lines(), *self.cost.lines),
            sizes=f"n = {n} points, p = {p} features (a constant one included), {self.cost.size}",
            notes=(*self.written.notes(self), counted, *images),
            source=f"Cepeda, Gomez, Han: Robust SVMs via conic optimization, {self.written.source}",
        )


def _build(arrays: Arrays, chosen: Chosen) -> ZeroOneSVM:
    return ZeroOneSVM(
        arrays["X"],
        arrays["y"],
        lam=chosen["lam"],
        M=chosen["M"],
        intercept=chosen["intercept"],
        encoding=chosen["encoding"],
        kappa=chosen["kappa"],
    )


def _objective(model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> float:
    """The stated objective from the data."""
    w = values["w"][model.penalised]
    return float(w @ w) if model.kappa is not None else float(w @ w + model.weights @ values["z"])


FORMULATIONS = (
    FormulationInfo(
        ZeroOneSVM,
        name="zero-one",
        summary="SVM with the 0-1 loss, mixed-integer",
        reference="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (3) and (5)",
        data=Data.TWO_CLASSES,
        build=_build,
        objective=_objective,
        parameters=(
            Parameter("lam", "λ, cost of a violated margin; 1 where neither it nor κ is given"),
            Parameter("kappa", "κ, share of the margins that may be violated, in place of λ"),
            Parameter("M", "big-M; a valid one from the data where it is not given"),
            Parameter("intercept", "whether the intercept is part of the norm", str, "penalised", ("penalised", "free")),
            Parameter("encoding", "rows with M, or indicator constraints", str, "bigm", ("bigm", "indicator")),
        ),
        intercept=always,
    ),
)
