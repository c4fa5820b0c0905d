"""`ZeroOneSVM`, the SVM with the 0-1 loss as a mixed-integer program: a violated margin costs λ, or at most κn are violated.

z_i = 0 ⇒ u_i ≥ 1, a margin is met or marked as violated, has three encodings (`MarginEncoding`): big-M rows, indicator
constraints, and the cones of the strengthened form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

from ...data_names import LABELS_OF_X
from ...errors import InputError, UnsupportedModelError, count_text, short_text
from ..arrays import BigM, FloatArray, Points, as_costs, as_points, as_share, as_vector, entry_count
from ..digest import identity_rule
from ..kernels.kernels import Kernel
from ..program.cones import Nonnegative
from ..program.form import Block, Constraint, StandardForm
from ..program.quadratic import Quadratic
from ..record import COST_OR_SHARE, DataKind, FormulationInfo, always
from ..statement import Line, Statement
from ..views import ZeroOneProblem
from .features import KernelFeatures, kernel_features_of, linear_summary, warn_about_features
from .margin.exact_evaluation import cheaper_point
from .margin.margin_losses import ZeroOne
from .margin.model import Margin, check_encoding_name
from .margin_violations import NO_BIG_M, MarginViolationModel, ViolationCosts, ZeroOneBudget, encoding_identity, margin_parameters
from .strengthened import as_gamma, strengthened_form, strengthened_lines, strengthened_values

V = TypeVar("V")

#: Names of the encodings of z_i = 0 ⇒ u_i ≥ 1 (`MarginEncoding`).
Encoding: TypeAlias = Literal["auto", "bigm", "indicator", "strengthened"]


# The encodings of z_i = 0 ⇒ u_i ≥ 1.

_BINARY = Line("z_i in {0, 1}", r"z_i \in \{0,1\}")


class MarginEncoding(ABC):
    """Base class of the ways to state z_i = 0 ⇒ u_i ≥ 1: form, points and printed statement of `ZeroOneSVM` follow from it.

    Attributes
    ----------
    title, problem_class, source : str
        Name of the encoding, class of the program and equation in the paper, for the printed statement.
    """

    title: ClassVar[str]
    problem_class: ClassVar[str]
    source: ClassVar[str]

    @property
    def uses_big_m(self) -> bool:
        """Return whether the form has big-M rows."""
        return True

    @property
    def has_margin_rows(self) -> bool:
        """Return whether the constraint ``margin`` holds a row of every point."""
        return True

    @abstractmethod
    def form(self, model: ZeroOneSVM) -> StandardForm:
        """Return the form with z binary, without the κ form's row Σz ≤ ⌊κn⌋."""

    def point(self, model: ZeroOneSVM, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
        """Return all blocks of the form from w and binary z."""
        return {"w": w, "z": z}

    def objective(self, plain: Line) -> Line:
        """Return the objective to print; ``plain`` is the line of ||w||² and the cost."""
        return plain

    @abstractmethod
    def lines(self) -> tuple[Line, ...]:
        """Return the constraints to print."""

    @abstractmethod
    def notes(self, model: ZeroOneSVM) -> tuple[str, ...]:
        """Return notes to print, such as the reason why the constants of the encoding are valid."""

    def form_with_fixed_integers(self, model: ZeroOneSVM, z: FloatArray) -> StandardForm | None:
        """Return the problem in w alone for fixed z, where it is simpler than the form with z fixed by bounds; else None."""
        return None

    def bytes(self, n: int, p: int) -> int:
        """Return the bytes that the form of n points and p features takes beyond its big-M rows or indicators."""
        return 0


@dataclass(frozen=True)
class BigMRows(MarginEncoding):
    """The encoding by rows u_i + M_i z_i - 1 ≥ 0, Conic (3)."""

    title = "big-M"
    problem_class = "mixed-integer convex QP"
    source = "(3)"

    def form(self, model: ZeroOneSVM) -> StandardForm:
        """Return the form with blocks ``w``, ``z`` and the constraint ``margin``."""
        return _switched_form(model, model.big_m_values)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows and binaries."""
        return (Line("y_i x_i'w >= 1 - M_i z_i", r"y_i x_i^\top w \ge 1 - M_i z_i,\quad i=1,\dots,n", "margin"), _BINARY)

    def notes(self, model: ZeroOneSVM) -> tuple[str, ...]:
        """Return the proof that M is valid."""
        return (model.big_m_argument,)


@dataclass(frozen=True)
class Indicators(MarginEncoding):
    """The encoding by the solver's indicator constraints, Conic (5a)-(5b), with |w_j| ≤ √UB (SCIP may not end on unbounded w)."""

    title = "indicators"
    problem_class = "mixed-integer convex QP"
    source = "(5a)-(5b)"
    uses_big_m = False

    def form(self, model: ZeroOneSVM) -> StandardForm:
        """Return the form with blocks ``w``, ``z`` and the constraint ``margin`` of indicators."""
        return _switched_form(model, None)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed implications and binaries."""
        switch = Line("z_i = 0  =>  y_i x_i'w >= 1", r"z_i = 0 \Rightarrow y_i x_i^\top w \ge 1,\quad i=1,\dots,n", "margin")
        return (switch, _BINARY)

    def notes(self, model: ZeroOneSVM) -> tuple[str, ...]:
        """Return the proof that w is bounded."""
        return (f"|w_j| <= sqrt(UB), UB = {model.incumbent_value:.6g}: any w beyond it is worse than a known point",)


def _switched_form(model: ZeroOneSVM, big_m: FloatArray | None) -> StandardForm:
    """Return the form of ||w||² + cost with the rows u + Mz - 1 ≥ 0; without M with indicators, and |w_j| ≤ √UB."""
    reach = np.full(model.X.shape[1], np.sqrt(model.incumbent_value) if big_m is None else np.inf)
    lower, upper = -reach, reach.copy()
    if model.free and model.given_big_m is None:  # given M bound b by the rows
        lower[0], upper[0] = -model.intercept_bound, model.intercept_bound
    composed = model.composition
    if composed is None:  # κ form
        composed = Margin.of_checked(model.X, model.y, ZeroOne(), intercept=model.intercept, sample_weight=model.cost.point_costs)
    return composed.form_with(model.name, lower, upper, big_m, indicators=big_m is None)


@dataclass(frozen=True, eq=False)
class Strengthened(MarginEncoding):
    """The encoding by second-order cones of γ in Γ (see the module); every point keeps its big-M row, or its cones.

    Parameters
    ----------
    gamma : ndarray (n,)
        γ in Γ.
    rows : {"bigm", "cone"}
        What every point keeps, whatever its γ_i: a big-M row, or its cones.
    """

    gamma: FloatArray
    rows: Literal["bigm", "cone"]

    title = "strengthened"
    problem_class = "mixed-integer second-order cone program"
    source = "(13) at a fixed gamma, z binary"

    @property
    def uses_big_m(self) -> bool:
        """Return whether every point keeps its big-M row."""
        return self.rows == "bigm"

    @property
    def has_margin_rows(self) -> bool:
        """Return whether every point keeps its big-M row."""
        return self.uses_big_m

    def form(self, model: ZeroOneSVM) -> StandardForm:
        """Return `strengthened_form` of the model's data."""
        big_m = model.big_m_values if self.uses_big_m else None
        return strengthened_form(
            f"{model.name}, strengthened", model.signed, model.cost.point_costs, self.gamma, big_m, integer=True
        )

    def point(self, model: ZeroOneSVM, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
        """Return the point with the parts of 1 - u and their squares."""
        return strengthened_values(model.signed, self.gamma, self.rows, w, z)

    def form_with_fixed_integers(self, model: ZeroOneSVM, z: FloatArray) -> StandardForm:
        """Return min ||w||² with u_i ≥ 1 where z_i = 0, to which the cones reduce for fixed z."""
        p = model.X.shape[1]
        points = np.flatnonzero(z < 0.5).tolist()
        n, kept_rows = len(points), sp.csr_array(model.signed[points])
        rows = (Constraint("margin", kept_rows, -np.ones(n), Nonnegative(n), points=tuple(points)),) if n else ()
        return StandardForm(
            name=f"{model.name}, z fixed",
            blocks=(Block("w", (p,)),),
            q=np.zeros(p),
            constraints=rows,
            lower=np.full(p, -np.inf),
            upper=np.full(p, np.inf),
            integer=np.zeros(p, dtype=bool),
            quadratic=Quadratic(matrix=sp.csc_array(2.0 * sp.eye_array(p))),
        )

    @property
    def _positive(self) -> int:
        return int((self.gamma > 0).sum())

    def objective(self, plain: Line) -> Line:
        """Return the printed objective with S = I - Σ γ_i x_i x_i' and the terms that compensate for it."""
        return strengthened_lines(self._positive, self.rows)[0]

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows, cones and binaries."""
        return strengthened_lines(self._positive, self.rows)[1]

    def notes(self, model: ZeroOneSVM) -> tuple[str, ...]:
        """Return notes on kept points, on the validity of M, and on λ in the κ form."""
        note = (
            f"g = gamma in Gamma, {self._positive} of {self.gamma.size} positive; every point keeps its "
            f"{'row with M_i' if self.uses_big_m else 'cones'}, whatever its gamma_i"
        )
        argument = (model.big_m_argument,) if self.uses_big_m else ()
        free = ("lam = 0 in the objective: the budget stands for it",) if model.cost.budget_lines else ()
        return (note, *argument, *free)

    def bytes(self, n: int, p: int) -> int:
        """Return the bytes of S and the cones."""
        return 12 * n * p + 12 * p * p + 400 * n


def check_encoding(encoding: str, rows: str, gamma: object, free: bool, signed: Callable[[], FloatArray]) -> FloatArray | None:
    """Check the arguments of `ZeroOneSVM` that belong to an encoding, and return γ, which is in Γ; None without one.

    ``signed`` returns the signed rows, which are read with the strengthened encoding alone.
    """
    check_encoding_name(encoding, ("strengthened",))
    if rows not in ("bigm", "cone"):
        raise InputError(f"rows must be 'bigm' or 'cone'; it is {short_text(rows)}", name="rows")
    if (gamma is None) == (encoding == "strengthened"):
        raise InputError(
            "encoding='strengthened' and gamma go together: relaxations.strengthen(model) returns the model with both",
            name="gamma",
        )
    if gamma is None:
        return None
    if free:
        raise InputError(
            "encoding='strengthened' needs intercept='penalised': a free intercept allows no gamma_i > 0", name="encoding"
        )
    return as_gamma(gamma, signed())


@dataclass(frozen=True, eq=False, repr=False)
class ZeroOneSVM(MarginViolationModel):
    """The SVM with the 0-1 loss: min ||w||² + Σ λ_i z_i, y_i x_i'w ≥ 1 - M_i z_i, z binary; or min ||w||² with Σz ≤ κn instead of
    the cost. It is (3) of Cepeda, Gómez and Han, 2024 ("Conic").

    The loss counts margin violations u_i = y_i x_i'w < 1; `summary` also counts the misclassified points, u_i < 0.

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally; the paper's data carry a constant first column.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,), optional
        λ > 0; one for each point gives class costs or the weights of repeated points. 1 where neither λ nor κ is given.
    big_m : "auto", float or array_like (n,)
        Big-M constants M_i. "auto" takes those that are valid by the argument below. Numbers are taken as they are and
        marked as unproven. Where they are not valid at the value that a solver of the form found, so that they may have cut off
        a better point, its result is inaccurate and warned of.
    upper_bound : float, optional
        Objective of a known feasible point, which tightens M. UB is the least of it, the incumbent's objective and those of the
        trivial points (w = 0; with a free intercept also b = ±1).
    intercept : {"penalised", "free"}
        Whether the constant column's weight is part of ||w||² (Conic) or not (Brooks, 2011; ½||w||² + C Σz with λ = 2C).
        "free" needs a first column of ones.
    encoding : {"auto", "bigm", "indicator", "strengthened"}
        How z_i = 0 ⇒ u_i ≥ 1 is stated: rows with M_i, Conic (3), for "auto" indicators where no M is known; indicators,
        (5a)-(5b); or the mixed-integer second-order cone program of `models.formulations.strengthened`.
        All have the same optimum.
    gamma : array_like (n,), optional
        γ ≥ 0 with I - Σ γ_i x_i x_i' ≻ 0, for the strengthened encoding; `relaxations.strengthen` finds the best one, γ*.
    rows : {"bigm", "cone"}
        Constraint of the strengthened encoding that makes z_i = 1 for a violated point. Every point has it, since a γ_i near 0
        alone does not enforce it: "bigm" is a row with M_i, "cone" the point's cones, even where γ_i = 0.
    incumbent : array_like (p,), optional
        A classifier; its objective counts as a feasible value UB, and `start` is its point.
    kappa : float, optional
        κ in [0, 1]: the cardinality form, at most ⌊κn⌋ margins violated and no λ, as in `ConicSVM`. It can be infeasible. M
        follows from a known feasible point (``upper_bound`` or ``incumbent``); without one and without ``big_m`` the form has
        indicators, unless ``encoding`` is "bigm". "zero-one-bb" needs neither.
    kernel : Kernel, optional
        Conic (23)-(24): the same problem over the points' images, in coordinates of their span (`models.kernels.feature_map`)
        after a one for the intercept, which makes k + 1 of the kernel where it is penalised. The field ``X`` holds these
        coordinates, so that solvers, relaxations and proofs of the linear problem apply; `decision_function` takes rows with the
        original columns.

    Notes
    -----
    *Valid M.* M_i matters only where z_i = 1, and an optimal w then has ||w||² ≤ UB - λ_i for every feasible value UB, so
    u_i ≥ -||x_i|| √(UB - λ_i) and M_i = 1 + ||x_i|| √(UB - λ_i) suffices; w = 0 gives UB = Σλ. Free intercept: w = 0
    with b = ±1 gives UB = the smaller class's Σλ; for a fixed w some optimal b has a point exactly at its margin,
    so |b| ≤ 1 + max||x_i|| √UB, which is added to M_i. κ form: UB bounds ||w||² itself and no λ_i is subtracted.

    Form: blocks ``w`` (p), ``z`` (n) binary; constraint ``margin``: u_i + M_i z_i - 1 ≥ 0, or the indicators (z_i, u_i - 1) with
    |w_j| ≤ √UB (SCIP may not end on unbounded w). The strengthened encoding has more blocks and constraints
    (`strengthened_form`). κ form: also the constraint ``budget`` ⌊κn⌋ - Σz ≥ 0.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, both λ and κ, λ ≤ 0, κ outside [0, 1], big_m < 0,
        an upper bound below 0, a free intercept without a first column of ones, an unknown encoding, γ < 0 or too large, γ
        without the strengthened encoding, or that encoding without γ or with a free intercept (the constant column allows no γ_i
        > 0).
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    lam: float | FloatArray | None = None
    big_m: BigM = field(default="auto", metadata={"identity": identity_rule("M", "auto", {"M": None})})
    upper_bound: float | None = None
    intercept: Literal["penalised", "free"] = "penalised"
    encoding: Encoding = field(default="auto", metadata={"identity": encoding_identity})
    gamma: FloatArray | None = None
    rows: Literal["bigm", "cone"] = "bigm"
    incumbent: FloatArray | None = None
    kappa: float | None = None
    kernel: Kernel | KernelFeatures | None = None

    name = "ZeroOneSVM"
    #: New names of parameters by their old ones.
    renamed: ClassVar[Mapping[str, str]] = {"M": "big_m"}
    #: Meaning of the multipliers of a constraint, by its label.
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "integer variables: no multipliers; z_i = 1 marks the points whose margin is given up",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        if self.kernel is not None:
            object.__setattr__(self, "kernel", kernel_features_of(self.kernel, X))
            X = self._kernel_features.rows
        self._check_margins(X)
        self._check_cost(X.shape[0])
        if self.incumbent is not None:
            object.__setattr__(self, "incumbent", as_vector(np.atleast_1d(self.incumbent), X.shape[1], "incumbent"))
        if self.encoding == "bigm" and not self._knows_big_m:
            raise InputError(f"encoding='bigm': {NO_BIG_M}", name="encoding")
        gamma = check_encoding(self.encoding, self.rows, self.gamma, self.free, lambda: self.signed)
        object.__setattr__(self, "gamma", gamma)
        if self.kernel is None:
            warn_about_features(X)

    def _check_cost(self, n: int) -> None:
        if self.kappa is not None:
            if self.lam is not None:
                raise InputError("give lam (violations cost λ) or kappa (at most κn of them), not both", name="lam")
            object.__setattr__(self, "kappa", as_share(self.kappa, "kappa", zero=True))
            return
        object.__setattr__(self, "lam", as_costs(1.0 if self.lam is None else self.lam, n, "lam", zero=False))

    @property
    def _kernel_features(self) -> KernelFeatures:
        assert isinstance(self.kernel, KernelFeatures)
        return self.kernel

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the columns; none where w are coordinates of a kernel's feature space."""
        return () if self.kernel is not None else super().feature_names

    @cached_property
    def sample_weight(self) -> FloatArray:
        """Return λ_i, one for each point.

        Raises
        ------
        UnsupportedModelError
            In the κ form, which has no λ.
        """
        if self.lam is None:
            raise UnsupportedModelError(
                "the κ form of ZeroOneSVM has a budget of violations and no λ: relaxations, fixing and reports read the λ form; "
                "ConicSVM(X, y, kappa=...) relaxes this one",
                name="kappa",
            )
        return as_vector(self.lam, self.X.shape[0], "lam")

    @property
    def budget(self) -> int | None:
        """Return ⌊κn⌋; None in the λ form."""
        return self.cost.max_violations

    @cached_property
    def cost(self) -> ViolationCosts:
        """Return the costs of violations: λ in the λ form, a budget in the κ form."""
        if self.kappa is None:
            return ViolationCosts(self.sample_weight, self.lam)
        return ViolationCosts(np.zeros(self.X.shape[0]), None, self.kappa, subtracted_term="")

    @cached_property
    def margin_encoding(self) -> MarginEncoding:
        """Return the encoding of z_i = 0 ⇒ u_i ≥ 1; indicators replace big-M rows if no M is known."""
        if self.gamma is not None:
            return Strengthened(self.gamma, self.rows)
        return Indicators() if self.encoding == "indicator" or not self._knows_big_m else BigMRows()

    @property
    def _knows_big_m(self) -> bool:
        """Return whether M is given, or follows from a known feasible point."""
        return self.given_big_m is not None or bool(np.isfinite(self.incumbent_value))

    @property
    def incumbent_source(self) -> str:
        """Return the source of the upper bound UB in words: an incumbent, a trivial point, or none known."""
        if self.upper_bound is not None or self.incumbent is not None:
            return "incumbent"
        if not np.isfinite(self.incumbent_value):
            return "none known"
        return "w = 0, b = ±1" if self.free else "w = 0"

    @cached_property
    def incumbent_value(self) -> float:
        """Return the feasible value UB behind M: the least of ``upper_bound`` and the objectives of incumbent and trivial points.

        It is infinite in the κ form where none of these points is feasible.
        """
        points = [np.zeros(self.X.shape[1])]
        if self.free:
            points += [np.where(self.penalised, 0.0, b) for b in (-1.0, 1.0)]
        if self.incumbent is not None:
            points.append(self.incumbent)
        objectives = [self.objective(w) for w in points]
        return min(objectives if self.upper_bound is None else [*objectives, float(self.upper_bound)])

    @property
    def start(self) -> dict[str, FloatArray] | None:
        """Return the incumbent's point, for ``solve(..., start=model.start)``; None without an incumbent."""
        return None if self.incumbent is None else self.point(self.incumbent)

    @property
    def form_bytes(self) -> int:
        """Return an estimate of the form's memory in bytes."""
        n, p = self.X.shape
        return 12 * entry_count(self.X) + 100 * n + self.margin_encoding.bytes(n, p)

    def compile(self) -> StandardForm:
        """Return the standard form that the notes describe."""
        return self.cost.with_budget_row(self.margin_encoding.form(self))

    def view(self, kind: type[V]) -> V | None:
        """Return the problem as solvers read it, without M: `ZeroOneProblem` (λ form) or `ZeroOneBudget` (κ form); else None."""
        if kind not in (ZeroOneProblem, ZeroOneBudget):
            return None
        view = self.cost.view(self.signed, self.penalised)
        return view if isinstance(view, kind) else None

    @cached_property
    def composition(self) -> Margin | None:
        """Return the same problem as a `Margin`, the 0-1 loss with ||w||²; None in the κ form.

        Constants M that a user gave, if too small, may cut off the optimum of this composition.
        """
        if self.kappa is not None:
            return None
        level = self.incumbent_value * (1.0 + 1e-9)
        return Margin.of_checked(
            self.X, self.y, ZeroOne(), intercept=self.intercept, sample_weight=self.sample_weight, upper_bound=level
        )  # fmt: skip

    def objective(self, w: FloatArray, tol: float = 1e-9) -> float:
        """Return the true objective ||w||² + Σ λ_i 1{u_i < 1} of a classifier (κ form: ||w||², infinite beyond the budget).

        Margins within ``tol`` of 1 count as met.
        """
        return self.objective_with_margins(w, self.margins(w) >= 1.0 - tol)

    def point(self, w: FloatArray, tol: float = 1e-9) -> dict[str, FloatArray]:
        """Return the form's blocks for a classifier w: z_i = 1 exactly where the margin is not met to ``tol``."""
        w = np.asarray(w, dtype=np.float64)
        return self.margin_encoding.point(self, w, (self.margins(w) < 1.0 - tol).astype(np.float64))

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return all blocks of the form; where some are missing, all are computed from ``w`` by `point`."""
        is_complete = all(block.label in values for block in self.form.blocks)
        return dict(values) if is_complete else self.point(np.asarray(values["w"]))

    def exact_point(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return the point with z_i = 1 for exactly the points that w gives up, in exact arithmetic; ``box`` bounds w further.

        w is stretched until every point with z_i = 0 meets its margin, usually by rounding errors only. If giving up the points
        that fall short costs less, w stays as it is.
        """
        A, w, z = self.signed, np.asarray(values["w"], dtype=np.float64), np.asarray(values["z"], dtype=np.float64)
        if not np.isin(z, (0.0, 1.0)).all():  # not an integer point
            return dict(values)
        if box is not None and self.composition is not None:  # stretching does not know of them
            w = self.composition.exact_point({"w": w}, box)["w"]
        cheapest_point = cheaper_point(A, w, z < 0.5, self.objective_with_margins)
        return (
            dict(values)
            if cheapest_point is None
            else self.margin_encoding.point(self, cheapest_point[0], (~cheapest_point[1]).astype(np.float64))
        )

    def form_with_fixed_integers(self, values: Mapping[str, FloatArray]) -> StandardForm | None:
        """Return min ||w||² with u_i ≥ 1 where z_i = 0, for fixed z in the strengthened encoding; None in the others."""
        return self.margin_encoding.form_with_fixed_integers(self, values["z"])

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores x'w of new rows; Σ β_i k(x_i, x) + intercept with a kernel."""
        return super()._decision_scores(values, X) if self.kernel is None else self._kernel_features.products(values["w"], X)

    @property
    def given_points(self) -> FloatArray:
        """Return the points as given, not their images under the kernel."""
        return self.X if self.kernel is None else np.asarray(self._kernel_features.X)

    @property
    def uses_big_m(self) -> bool:
        """Return whether the encoding has rows with M_i."""
        return self.margin_encoding.uses_big_m

    @property
    def has_margin_rows(self) -> bool:
        """Return whether the encoding's constraint ``margin`` has a row for every point."""
        return self.margin_encoding.has_margin_rows

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return ||w||, the numbers of margin violations (u < 1) and misclassified points (u < 0), and the least slack of big-M
        rows in use.
        """
        figures = linear_summary(self.X, self.y, values["w"])
        u = self.margins(values["w"])
        violated = values["z"] > 0.5
        if self.margin_encoding.uses_big_m and violated.any():
            figures["smallest_big_m_slack"] = float((u + self.big_m_values - 1.0)[violated].min())
        return figures

    @property
    def statement(self) -> Statement:
        """Return the problem as printed: Conic (3), (5), or the strengthened program; with Σz ≤ κn in the κ form."""
        n, p = self.X.shape
        encoding, cost = self.margin_encoding, self.cost
        images = () if self.kernel is None else (f"x_i are images under the kernel {self._kernel_features.kernel}, after a one",)
        counted = "counts margin violations u < 1; misclassified points (u < 0) are reported beside it"
        return Statement(
            title=f"0-1-loss SVM, {encoding.title}{'' if self.kappa is None else ', at most kappa n violations'}",
            problem_class=encoding.problem_class,
            sense="minimise",
            variables=Line("w, z", r"w\in\mathbb{R}^p,\ z\in\{0,1\}^n"),
            objective=encoding.objective(cost.objective_line(self.norm_line)),
            constraints=(*encoding.lines(), *cost.budget_lines),
            sizes=f"n = {count_text(n, 'point')}, p = {count_text(p, 'feature')} (a constant one included), {cost.size_text}",
            notes=(*encoding.notes(self), counted, *images),
            source=f"Cepeda, Gomez, Han: Robust SVMs via conic optimization, {encoding.source}",
        )


def _objective(model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> float:
    w = values["w"][model.penalised]
    return float(w @ w) if model.kappa is not None else float(w @ w + model.sample_weight @ values["z"])


FORMULATIONS = (
    FormulationInfo(
        ZeroOneSVM,
        name="zero-one",
        summary="SVM with the 0-1 loss, mixed-integer",
        reference="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (3) and (5)",
        data=DataKind.TWO_CLASSES,
        objective=_objective,
        parameters=(
            *COST_OR_SHARE,
            *margin_parameters("penalised"),
        ),
        intercept=always,
    ),
)
