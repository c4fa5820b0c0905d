"""Scoring systems, classifiers with whole-number coefficients (SLIM and RiskSLIM): the model `ScoringSystem` and its table of
points.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from ....data_names import LABELS_OF_X, DataNames
from ....display import Display, Displayable, Tabular
from ....errors import InputError, MarginoptWarning, UnsupportedModelError, count_text, short_text
from ...arrays import FloatArray, Points, as_costs, as_labels, as_points, as_positive, as_vector, to_dense
from ...digest import identity_rule
from ...model import Model
from ...program.form import StandardForm
from ...record import Arrays, DataKind, FormulationInfo, Parameter, ParameterValues, always
from ...statement import Line, Statement, latex_words
from ...views import MarginProblem
from ..features import first_column_is_one
from .margin_losses import ZeroOne
from .model import Margin
from .named_formulations import NamedComposition
from .part import Integers
from .parts_by_name import as_parts
from .problems import RiskProblem, ScoringProblem, as_fraction, integer_bounds
from .regularisers import L0L1
from .restrictions import Restriction
from .smooth_losses import Logistic

V = TypeVar("V")
#: How many totals below and above the total of risk ½ have their risks shown.
_TOTALS = 4


@dataclass(frozen=True, eq=False, repr=False)
class ScoringSystem(NamedComposition):
    """A scoring system, min Σ c_i ℓ_i + N C0 ||ρ||_0 + N C1 ||ρ||_1 over whole numbers ρ: SLIM, Ustun and Rudin, 2015, (4);
    RiskSLIM, 2019, (1).

    N is the number of points, ρ_0 the intercept, which costs nothing, and ρ_0 + x_i'ρ the score of point i. With the 0-1 loss
    ℓ_i = z_i = 1 where y_i (ρ_0 + x_i'ρ) is not > 0: a score of 0 is an error of either class. With the logistic loss
    ℓ_i = log(1 + e^{-y_i (ρ_0 + x_i'ρ)}): a score s is a risk of 1/(1 + e^{-s}). The objective is the authors' times N, so that
    it counts points.

    Parameters
    ----------
    X : array_like (n, d + 1)
        The first column is of ones.
    y : array_like (n,)
        Labels -1, +1.
    coefficients : (int, int), or (array_like, array_like) of d whole numbers each
        Bounds of the features' coefficients, l ≤ 0 ≤ u.
    intercept_range : (int, int), optional
        Bounds of ρ_0. Where they are not given they are so wide that, whatever the coefficients, all points can be put on either
        side.
    max_features : int, optional
        k: at most k features are in use, ||ρ||_0 ≤ k.
    C0 : float or Fraction
        C0 ≥ 0: the least share of the points that one more feature must put right. A float means the decimal that it is written
        as: 0.01 is 1/100.
    C1 : float or Fraction, optional
        C1 ≥ 0. Where it is not given: 0 with the logistic loss; else ½ min(1/N, C0/Σ_j max|ρ_j|) with the intercept in the sum,
        as in the authors' code, or ½/(N Σ_j max|ρ_j|) where C0 is 0. All sizes together then cost at most half a feature, or half
        a point where C0 is 0. For N C0 < 2 and points of weight 1, smaller coefficients are worth neither an error nor a feature;
        for larger N C0 they may be worth an error.
    sample_weight : float or array_like (n,)
        c_i ≥ 0, the cost of the loss of point i.
    epsilon : float
        "> 0" is stated as ≥ ε where features are not whole numbers. Where they are, scores are too, and "> 0" is "≥ 1",
        whatever ε ≤ 1.
    loss : {"zero-one", "logistic"}
        The loss ℓ. The logistic loss is solved by "risk-bb" and by solvers that take exponential cones with integers.
    subject_to : Restriction or sequence of Restriction
        Restrictions of `Margin`: `parity`, `error_budget`, `keep`, `fixed`, `at_most`, `LinearRows`. "supports-bb" and "risk-bb"
        read bounds of single coefficients and numbers of features; "margin-bb" reads the others with the 0-1 loss. Signs are
        bounds in ``coefficients``.

    Notes
    -----
    Form: that of `Margin` with `ZeroOne`, `L0L1` and `Integers`: blocks ``w`` (ρ, the intercept first), ``z``, ``s``, ``a``.
    M_i = t - min y_i (ρ_0 + x_i'ρ) over all ρ that are allowed, at most k of them not zero; t is 1 for whole features, else ε.

    Raises
    ------
    InputError
        Data that `Margin` refuses; bounds that are no whole numbers or exclude 0, a limit or price below 0, ε outside (0, 1].
        Restrictions that count margins below 1, where features are not whole numbers: a score of 0.5 is right, but its margin is
        below 1.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    coefficients: tuple[Any, Any] = (-10, 10)
    intercept_range: tuple[int, int] | None = None
    max_features: int | None = None
    C0: float | Fraction = 0.01
    C1: float | Fraction | None = None
    sample_weight: float | FloatArray = 1.0
    epsilon: float = 0.001
    loss: Literal["zero-one", "logistic"] = "zero-one"
    subject_to: Sequence[Restriction] = field(default=(), metadata={"identity": identity_rule("subject_to", (), {})})

    name = "ScoringSystem"
    title = "Scoring system (SLIM)"
    source = "Ustun, Rudin: Supersparse linear integer models for optimized medical scoring systems, 2015, (4)"
    #: Meanings of the multipliers, by the label of their constraint.
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "integer variables: no multipliers; z_i = 1 marks the points that the system gets wrong",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        if not first_column_is_one(X) or X.shape[1] < 2:
            raise InputError(
                "a scoring system needs a first column of ones in X, for its intercept, and features after it; "
                "Instance.prepared(standardise=False, intercept=True) puts it there",
                name="X",
            )
        if self.data_names is not None and self.data_names.scaling != "none":
            message = (
                "the features are standardised, so that a point of the score counts for one standard deviation; "
                "Instance.prepared(standardise=False) keeps the features as people read them"
            )
            warnings.warn(MarginoptWarning(message, name="X"), stacklevel=4)  # through __init__ and the metaclass
        if self.loss not in ("zero-one", "logistic"):
            raise InputError(f"loss must be 'zero-one' or 'logistic'; it is {short_text(self.loss)}", name="loss")
        epsilon = as_positive(self.epsilon, "epsilon")
        if epsilon > 1.0:
            raise InputError(f"epsilon must be in (0, 1]; it is {epsilon:g}", name="epsilon")
        for price in ("C0", "C1"):
            value = getattr(self, price)
            if value is not None or price == "C0":
                as_positive(value, price, zero=True)
                object.__setattr__(self, price, value if isinstance(value, Fraction) else float(value))
        lower, upper = self._bounds()
        object.__setattr__(self, "coefficients", (tuple(map(int, lower)), tuple(map(int, upper))))
        if self.max_features is not None:
            object.__setattr__(self, "max_features", _whole(self.max_features, "max_features"))
            if self.max_features < 0:
                raise InputError(f"max_features must be ≥ 0; it is {self.max_features}", name="max_features")
        if self.intercept_range is not None:
            low, high = (_whole(v, "intercept_range") for v in _pair(self.intercept_range, "intercept_range"))
            if low > high:
                raise InputError(
                    f"intercept_range must be a lower and an upper bound; it is {self.intercept_range}", name="intercept_range"
                )
            object.__setattr__(self, "intercept_range", (low, high))
        object.__setattr__(self, "sample_weight", as_costs(self.sample_weight, X.shape[0], "sample_weight"))
        object.__setattr__(self, "subject_to", self._checked_restrictions())
        _ = self.composition  # parts that do not fit the data are an error of the statement

    def _checked_restrictions(self) -> tuple[Restriction, ...]:
        """The restrictions, with columns and classes by number."""
        restrictions = as_parts(ZeroOne(), "none", "reals", self.subject_to, None)[3]
        names = self.data_names or DataNames()
        located = tuple(restriction.resolve_names(names, self.X, self.y) for restriction in restrictions)
        for restriction in located:
            needs_margins = restriction.counted_by_loss or restriction.kept_points(self.y.size) is not None
            if (needs_margins or restriction.budget(self.y) is not None) and not self.integer_scores:
                raise InputError(
                    f"{type(restriction).__name__} counts scores below 1 as errors, but these features are not whole numbers, so "
                    "scores between 0 and 1 are right: round the features, or split them into intervals (0 or 1 each)",
                    name="subject_to",
                )
        return located

    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        d = self.X.shape[1] - 1
        lower, upper = (as_vector(side, d, "coefficients") for side in _pair(self.coefficients, "coefficients"))
        if (lower != np.rint(lower)).any() or (upper != np.rint(upper)).any() or (lower > 0).any() or (upper < 0).any():
            raise InputError(
                f"coefficients must be bounds l <= 0 <= u, whole numbers; they are {self.coefficients}", name="coefficients"
            )
        return lower, upper

    @cached_property
    def integer_scores(self) -> bool:
        """Return whether every feature is a whole number, so that every score is one."""
        data = self.X if isinstance(self.X, np.ndarray) else self.X.data
        return bool((data == np.rint(data)).all())

    @property
    def threshold(self) -> float:
        """Return t: a point is right where y (ρ_0 + x'ρ) ≥ t."""
        return 1.0 if self.integer_scores else float(self.epsilon)

    @cached_property
    def score_ranges(self) -> FloatArray:
        """Return the largest and the least x_i'ρ without the intercept, (2, n), at most k features used."""
        Z, (lower, upper) = to_dense(self.X)[:, 1:], self._bounds()
        with np.errstate(over="ignore"):
            high, low = np.maximum(Z * upper, Z * lower), np.minimum(Z * upper, Z * lower)
            largest = np.abs(high).sum() + np.abs(low).sum()
        if not np.isfinite(largest):
            raise InputError(
                "scores of these points at the bounds of the coefficients are larger than numbers are: scale X", name="X"
            )
        if self.max_features is not None and self.max_features < Z.shape[1]:
            k = Z.shape[1] - self.max_features
            high, low = np.sort(high, axis=1)[:, k:], np.sort(low, axis=1)[:, : Z.shape[1] - k]
        return np.array([high.sum(axis=1), low.sum(axis=1)])

    @cached_property
    def intercept_bounds(self) -> tuple[int, int]:
        """Return the intercept's bounds l_0 and u_0."""
        if self.intercept_range is not None:
            return self.intercept_range
        high, low = self.score_ranges
        t = self.threshold
        return int(np.floor(-t - high.max())), int(np.ceil(t - low.min()))

    @cached_property
    def big_m_values(self) -> FloatArray:
        """Return M_i, which must be added to a margin so that every allowed ρ reaches t.

        Where restrictions count positive scores, M_i added to the negative margin reaches t too.
        """
        high, low = self.score_ranges
        low_scores, high_scores = self.intercept_bounds[0] + low, self.intercept_bounds[1] + high
        lowest = np.where(self.y > 0, low_scores, -high_scores)
        if any(restriction.equal_rates(self.y) is not None for restriction in self.subject_to):
            lowest = np.minimum(low_scores, -high_scores)
        return np.maximum(self.threshold - lowest, 0.0)

    @cached_property
    def prices(self) -> tuple[Fraction, Fraction]:
        """Return N C0 and N C1, the costs of a feature and of a unit of a coefficient, exactly."""
        n, price = self.X.shape[0], as_fraction(self.C0)
        if self.C1 is not None or self.logistic:
            return n * price, n * as_fraction(0.0 if self.C1 is None else self.C1)
        sizes = int(np.maximum(*map(np.abs, self._bounds())).sum()) + max(map(abs, self.intercept_bounds))
        tie = min(Fraction(1, n), price / max(sizes, 1)) if price > 0 else Fraction(1, n * max(sizes, 1))
        return n * price, n * tie / 2

    @cached_property
    def composition(self) -> Margin:
        """Return the `Margin` of `ZeroOne` at t, or `Logistic`, with `L0L1` over `Integers`, the intercept free."""
        lower, upper = self._bounds()
        domain = Integers((self.intercept_bounds[0], *lower), (self.intercept_bounds[1], *upper))
        price, tie = map(float, self.prices)
        regulariser = L0L1(price, tie, self.max_features)
        loss = Logistic() if self.logistic else ZeroOne(self.threshold)
        return Margin.of_checked(self.X, self.y, loss, regulariser, "free", self.sample_weight, domain, tuple(self.subject_to))

    def compile(self) -> StandardForm:
        """Return the composition's form under this name, with the M of the notes."""
        composed = self.composition
        if self.logistic:
            return super().compile()
        return composed.form_with(
            self.name, *composed.domain.bounds(self.X.shape[1]), M=self.big_m_values + (1.0 - self.threshold)
        )

    # `Model`'s own methods, not those of compositions: the form here has other big-M constants. ``cutoff`` is the objective up to
    # which the form holds every point.
    bound, cutoff, form_with_fixed_integers = Model.bound, Model.cutoff, Model.form_with_fixed_integers

    def view(self, kind: type[V]) -> V | None:
        """Return the `ScoringProblem` of "supports-bb", the `RiskProblem` of "risk-bb" (logistic loss) or, with restrictions that
        these solvers do not read, the `MarginProblem` of "margin-bb".
        """
        if self._restricted is None:
            return self.composition.view(kind) if kind is MarginProblem else None
        if self.logistic:
            return self.risk_problem if kind is RiskProblem else None  # type: ignore[return-value]
        return self.problem if kind is ScoringProblem else None  # type: ignore[return-value]

    @property
    def no_view_reason(self) -> str:
        """Return the restrictions that "supports-bb" and "risk-bb" do not read."""
        return "" if self._restricted is not None else "restrictions other than bounds of coefficients and numbers of features"

    @property
    def _unrestricted(self) -> tuple[FloatArray, FloatArray, int]:
        """Bounds of ρ, and the number of features in use."""
        lower, upper = self.composition.domain.bounds(self.X.shape[1])
        d = self.X.shape[1] - 1
        return lower, upper, d if self.max_features is None else self.max_features

    @cached_property
    def _restricted(self) -> tuple[FloatArray, FloatArray, int] | None:
        """Return bounds of ρ and the largest number of features under all restrictions; None where one is of another kind."""
        lower, upper, k = self._unrestricted
        return integer_bounds(self.subject_to, (to_dense(self.X), self.y), lower, upper, k)

    @property
    def logistic(self) -> bool:
        """Return whether the loss is the logistic one."""
        return self.loss == "logistic"

    @property
    def risk_problem(self) -> RiskProblem:
        """Return the problem that "risk-bb", the exact solver of risk scores, reads."""
        p, (price, size_price) = self.problem, map(float, self.prices)
        return RiskProblem(p.X, p.y, p.weights, p.lower, p.upper, p.intercept, price, size_price, p.max_nonzeros)

    @cached_property
    def problem(self) -> ScoringProblem:
        """Return the 0-1 problem that "supports-bb", the exact solver, reads, within the bounds that restrictions leave.

        Other restrictions are left out: they do not change the value of a point.
        """
        d = self.X.shape[1] - 1
        lower, upper, k = self._restricted or self._unrestricted
        return ScoringProblem(
            X=np.ascontiguousarray(to_dense(self.X)[:, 1:]),
            y=self.y,
            weights=as_vector(self.sample_weight, self.y.size, "sample_weight"),
            lower=lower[1:],
            upper=upper[1:],
            intercept=(int(lower[0]), int(upper[0])),
            price=self.prices[0],
            size_price=self.prices[1],
            max_nonzeros=min(k, d),
            threshold=Fraction(1) if self.integer_scores else Fraction(self.threshold),
        )

    def value(self, rho: Sequence[int] | FloatArray) -> Fraction:
        """Return the objective at whole coefficients, the intercept first, in exact arithmetic (0-1 loss).

        Parameters
        ----------
        rho : sequence of int (d + 1,)
            The coefficients, the intercept first; they are rounded to whole numbers.

        Returns
        -------
        Fraction

        Raises
        ------
        UnsupportedModelError
            The loss is logistic.
        """
        if self.logistic:
            raise UnsupportedModelError("the logistic loss is no fraction: objective(w) evaluates it")
        rounded = np.rint(np.asarray(rho, dtype=np.float64))
        return self.problem.value(int(rounded[0]), rounded[1:])

    def point(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return all blocks of the form at the whole coefficients nearest to w, errors counted exactly."""
        w = np.rint(np.asarray(w, dtype=np.float64))
        if self.logistic:
            return dict(self.composition.complete({"w": w}))
        values = {
            "w": w,
            "z": self.problem.errors(int(w[0]), w[1:]).astype(np.float64),
            "s": (w[1:] != 0).astype(np.float64),
            "a": np.abs(w[1:]),
        }
        if self.subject_to:  # their own variables
            values = {**self.composition.complete({"w": w}), **values}
        return {block.label: values[block.label] for block in self.form.blocks}

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return all blocks of the form; missing ones are computed from ``w`` by `point`."""
        is_complete = all(block.label in values for block in self.form.blocks)
        return dict(values) if is_complete else self.point(np.asarray(values["w"]))

    def exact_point(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return the point of the nearest whole coefficients; ``box`` is not read."""
        return self.point(np.asarray(values["w"]))

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the numbers of wrong points (a score of 0 among them) and of features in use, and Σ|ρ_j| without intercept."""
        w = np.rint(np.asarray(values["w"]))
        wrong = self.problem.errors(int(w[0]), w[1:])
        return {
            "errors": float(wrong.sum()),
            "error_rate": float(wrong.mean()),
            "features_used": float(np.count_nonzero(w[1:])),
            "size": float(np.abs(w[1:]).sum()),
        }

    def points_table(self, values: Mapping[str, FloatArray], feature_names: Sequence[str] | None = None) -> PointsTable:
        """Return the table of points that a person adds up, for print and LaTeX.

        Parameters
        ----------
        values : mapping of str to ndarray
            ``result.values``, of which ``w`` counts.
        feature_names : sequence of str, optional
            Names of the d features; those of the data where they are not given.

        Returns
        -------
        PointsTable
            A feature and its points a row, the largest first, with the threshold and the share of points that it gets wrong.

        Raises
        ------
        InputError
            Another number of names than of features.
        """
        w = np.rint(np.asarray(values["w"])).astype(int)
        names = list(map(str, self.feature_names[1:] if feature_names is None else feature_names))
        names = names or [f"x{j}" for j in range(w.size - 1)]
        if len(names) != w.size - 1:
            raise InputError(f"feature_names must hold {w.size - 1} names; it holds {len(names)}", name="feature_names")
        used = sorted(np.flatnonzero(w[1:]).tolist(), key=lambda j: (-abs(w[j + 1]), j))
        problem, classes = self.problem, self.data_names.classes if self.data_names is not None else ()
        wrong = float(problem.weights[problem.errors(int(w[0]), w[1:])].sum() / problem.weights.sum())
        low, high = classes if len(classes) == 2 else ("-1", "+1")
        subject = "training points are" if np.ptp(problem.weights) == 0.0 else "training points' weight is"
        points = [(names[j], int(w[j + 1])) for j in used]
        return PointsTable((low, high), points, -int(w[0]), f"{wrong:.1%} of the {subject} wrong", self.logistic)

    @property
    def statement(self) -> Statement:
        """Return SLIM, or RiskSLIM with the logistic loss, in the form's variables."""
        n, p = self.X.shape
        if self.logistic:
            kind = "mixed-integer exponential cone program"
            source = "Ustun, Rudin: Learning optimized risk scores, 2019, (1)"
            return replace(self.composition.statement, title="Risk score (RiskSLIM)", problem_class=kind, source=source)
        (low, high), t = self.intercept_bounds, self.threshold
        price, tie = map(float, self.prices)
        sizes = {f"{min(a)} <= w_j <= {max(b)}" for a, b in [self.coefficients]}
        epsilon = (
            "features are whole numbers, so scores are: > 0 is >= 1"
            if self.integer_scores
            else f"> 0 is said as >= epsilon = {t:g}"
        )
        base_statement = self.composition.statement
        return replace(
            base_statement,
            title=self.title,
            problem_class="mixed-integer linear program",
            variables=Line("w, z, s, a", r"w\in\mathbb{Z}^{d+1},\ z\in\{0,1\}^n,\ s\in\{0,1\}^d,\ a\in\mathbb{R}^d"),
            constraints=(
                Line(f"y_i x_i'w + M_i z_i >= {t:g}", rf"y_i x_i^\top w + M_i z_i \ge {t:g}", "margin"),
                *base_statement.constraints[1:],
            ),
            sizes=f"n = {count_text(n, 'point')}, d = {count_text(p - 1, 'feature')} "
            f"and an intercept, {low} <= w_0 <= {high}, {', '.join(sizes)}",
            notes=(
                f"M_i = {t:g} - min y_i x_i'w over what is allowed, largest M {self.big_m_values.max(initial=0.0):g}",
                epsilon + "; a score of 0 is an error of either class",
                f"a feature costs {price:g} points (N C0), a unit of its coefficient {tie:g} (N C1); the intercept nothing",
            ),
            source=self.source,
        )


def _whole(value: Any, name: str) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be whole numbers; it holds {short_text(value)}", name=name) from error
    if isinstance(value, bool) or not np.isfinite(number) or number != int(number):
        raise InputError(f"{name} must be whole numbers; it holds {short_text(value)}", name=name)
    return int(number)


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    try:
        low, high = value
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a pair, a lower and an upper bound; it is {short_text(value)}", name=name) from error
    return low, high


def _build(arrays: Arrays, chosen: ParameterValues) -> ScoringSystem:
    largest = chosen["largest"]
    return ScoringSystem(
        arrays["X"], arrays["y"], (-largest, largest), max_features=chosen["max_features"], C0=chosen["C0"], C1=chosen["C1"],
        loss=chosen["loss"],
    )  # fmt: skip


def _small(rng: np.random.Generator) -> dict[str, Any]:
    X = np.column_stack([np.ones(16), rng.integers(0, 3, size=(16, 3))])
    y = np.where(X[:, 1] - X[:, 2] + rng.normal(scale=0.8, size=16) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return {"X": X, "y": y}


def _objective(model: ScoringSystem, values: Mapping[str, Any]) -> float:
    w = values["w"]
    if model.logistic:
        return model.objective(np.rint(w))
    wrong = model.y * np.asarray(model.X @ w) < model.threshold - 1e-9
    price, tie = model.prices
    counted = float(model.problem.weights[wrong].sum())
    return counted + float(price) * np.count_nonzero(np.abs(w[1:]) > 1e-6) + float(tie) * float(np.abs(w[1:]).sum())


@dataclass(frozen=True)
class PointsTable(Displayable, Tabular):
    """The points that a person adds up, and the total above which one class is predicted.

    Parameters
    ----------
    classes : (str, str)
        The class predicted for totals up to ``above``, and the class for larger totals.
    points : sequence of (str, int)
        Features in use and their points, the largest in size first.
    above : int
        The total up to which the first class is predicted, -ρ_0.
    status_text : str
        Share of the training points that are wrong.
    risk : bool
        Whether a total s means a risk of 1/(1 + exp(above - s)), as with the logistic loss.
    """

    classes: tuple[str, str]
    points: Sequence[tuple[str, int]]
    above: int
    status_text: str
    risk: bool = False

    @property
    def risks(self) -> list[tuple[int, str]]:
        """Return totals around the threshold and their risks in percent; empty where totals are no risks."""
        totals = range(self.above - _TOTALS, self.above + _TOTALS + 1) if self.risk else range(0)
        return [(total, f"{100.0 / (1.0 + math.exp(self.above - total)):.1f}") for total in totals]

    def __str__(self) -> str:
        width = max([len(name) for name, _ in self.points] + [len("feature")])
        lines = [f"{'feature':<{width}}  points"]
        lines += [f"{name:<{width}}  {points:+6d}" for name, points in self.points] or ["(none)"]
        lines.append(f"{self.classes[1]} if points times features add up to more than {self.above}, else {self.classes[0]}")
        if self.risk:
            lines.append("risk: " + ", ".join(f"{total}: {percent}%" for total, percent in self.risks))
        return "\n".join([*lines, self.status_text])

    def latex(self) -> str:
        """Return the table as a LaTeX tabular, rows numbered, as Ustun and Rudin print theirs."""
        lines = [r"\begin{tabular}{rlr}", r"\hline"]
        lines += [
            rf"{k}. & {latex_words(name)} & ${points:+d}$ points \\" for k, (name, points) in enumerate(self.points, 1)
        ] or [r" & no feature & \\"]
        low, high = map(latex_words, self.classes)
        lines += [r"\hline", rf" & {high} if the total exceeds ${self.above}$, else {low} & \\", r"\hline"]
        lines += [rf" & total ${total}$ & ${percent}\,\%$ \\" for total, percent in self.risks]
        return "\n".join([*lines, *([r"\hline"] if self.risk else []), r"\end{tabular}"])

    def records(self) -> Sequence[Mapping[str, str | int]]:
        """Return one row for each feature in use."""
        return [{"feature": name, "points": points} for name, points in self.points]

    def display(self) -> Display:
        """Return the notebook view."""
        rows = tuple((name, f"{points:+d}") for name, points in self.points)
        verdict = f"{self.classes[1]} above {self.above}, else {self.classes[0]}; {self.status_text}"
        return Display(title=verdict, head=("feature", "points"), rows=rows, words=("feature",))


FORMULATIONS = (
    FormulationInfo(
        ScoringSystem,
        name="scoring-system",
        summary="SLIM: points to add up, few features, fewest errors",
        reference="Ustun, Rudin: Supersparse linear integer models for optimized medical scoring systems, 2015, (4)",
        data=DataKind.TWO_CLASSES,
        standardised=False,
        small=_small,
        build=_build,
        objective=_objective,
        parameters=(
            Parameter("C0", "C0, the share of points that one more feature must put right", float, 0.01),
            Parameter("C1", "C1, the price of a coefficient's size; a tie-breaking one if not given", float),
            Parameter("largest", "largest size of a coefficient", int, 10),
            Parameter("loss", "errors counted, or the logistic loss (RiskSLIM)", str, "zero-one", ("zero-one", "logistic")),
            Parameter("max_features", "most features in use; any number if not given", int),
        ),
        intercept=always,
    ),
)
