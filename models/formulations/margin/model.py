"""`Margin`, the maximum-margin problem that users compose of a loss, a regulariser, a domain of w, and restrictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ....data_names import LABELS_OF_X, DataNames
from ....errors import InputError, UnsupportedModelError, count_text, short_text
from ....rows import Rows
from ...appraisal import Appraisal, ExactCost
from ...arrays import (
    BigM,
    BoolArray,
    FloatArray,
    Points,
    as_big_m,
    as_costs,
    as_labels,
    as_positive,
    as_row_blocks,
    as_rows,
    as_vector,
    entry_count,
    in_memory,
)
from ...conic_bound import certified_bound
from ...digest import identity_rule
from ...explanation import PointExplanation, primal_weights, two_classes
from ...kernels.kernels import Kernel, as_kernel
from ...model import Model
from ...program.cones import Feature
from ...program.form import StandardForm
from ...program.lagrangian import Bound
from ...restricted_bound import Tilt, restricted_bound
from ...rounding import UNIT
from ...statement import Statement, lam_text, listed, plus
from ...views import ConicProblem, LinearLoss, LinearProblem, MarginProblem
from ..features import (
    Features,
    KernelFeatures,
    RawFeatures,
    check_intercept,
    dense_signed_rows,
    margin_figures,
    warn_about_features,
)
from .activity_bounds import LEVEL_TOLERANCE, ActivityBounds, capped_bound, largest_valid, least_norm_point, tighten_bounds
from .assembly import Assembly
from .exact_evaluation import ExactEvaluation
from .group_losses import GroupLosses
from .loss import Conjugate, Loss, dual_statement, signs
from .margin_losses import Hinge
from .part import AssemblyContext, Domain, FixedClassifier, Part, Reals
from .parts_by_name import as_parts
from .problems import (
    MarginProblemReduction,
    ScoringProblem,
    SparseProblem,
    reduce_to_margin_problem,
    reduce_to_scoring_problem,
    reduce_to_sparse_problem,
)
from .regularisers import Regulariser, SquaredNorm
from .restrictions import Nonzero, Restriction

V = TypeVar("V")

#: How far below a threshold, relative to 1 + |margin|, a margin of a solver's point may be that counts as met.
_NEAR = 1e-9
#: Share of the objective that roundings of margins must be able to cost for `Margin.exact_point` to remove them.
_STEEP = 1e-9
#: Entries of the loss's rows up to which costs are evaluated in exact arithmetic: a dense copy of them is kept.
_COUNTED = 2_000_000


def _encoding_identity(encoding: str) -> Mapping[str, Any]:
    """Return the entry of ``encoding`` in digests: none where M is used if it is known, the case before the parameter."""
    return {"encoding": encoding} if encoding == "indicator" else {}


def check_encoding_name(encoding: object, further: tuple[str, ...] = ()) -> None:
    """Raise InputError unless an encoding of switches is "auto", "bigm", "indicator" or one of the further ones."""
    allowed = ("auto", "bigm", "indicator", *further)
    if not isinstance(encoding, str) or encoding not in allowed:
        names = ", ".join(map(repr, allowed[:-1]))
        raise InputError(f"encoding must be {names} or {short_text(allowed[-1])}; it is {short_text(encoding)}", name="encoding")


@dataclass(frozen=True, eq=False, repr=False)
class Margin(Model):
    """The composed problem min R(w) + Σ_i c_i ℓ(y_i x_i'w) over w in a domain, subject to restrictions.

    Parameters
    ----------
    X : array_like (n, p)
        Rows are samples, taken literally; the first column is of ones where there is an intercept.
    y : array_like (n,)
        Labels -1, +1; any numbers for a loss of residuals; 0 for points without a label, whose loss is symmetric.
    loss : Loss or str, or mapping of str to these
        ℓ, or its name: "hinge", "squared-hinge", "ramp", "zero-one", "nu"; "epsilon-insensitive" for regression; ... Or a loss
        for each group of points, by the group's name: the labels may then be of one class.
    regulariser : Regulariser or str
        R, or its name: "l2" (||w||²), "half-l2", "l1", "elastic-net", "l0", "none".
    intercept : {"penalised", "free"}
        Whether R contains the coefficient of the first column.
    sample_weight : float or array_like (n,), or mapping of str to float
        c ≥ 0: one number for all points, one for each, or one for each group by its name.
    domain : Domain or str
        The set of w, or its name: "reals", "nonnegative", "box" (-1 to 1), "integers" (-10 to 10). `Signs` and `Increasing` have
        no names, since they need arguments.
    subject_to : sequence of Restriction
        Conditions on w, or on the points' margins (`models.formulations.margin.restrictions`).
    upper_bound : float, optional
        The objective of a point known to be feasible: big-M constants follow from it. Where w = 0 is allowed its objective is
        used without this.
    kernel : Kernel, optional
        x_i is replaced by its image in feature space: ``w`` then has the intercept first (if penalised, the kernel is k + 1), and
        after it coordinates in the span of the images, in which ||w|| is the norm of feature space
        (`models.kernels.feature_map`). X needs no column of ones. Other regularisers, domains and restrictions are of these
        coordinates.
    big_m : "auto", float or array_like (n,)
        Big-M constants M_i of the switches u_i ≥ 1 - M_i z_i, u_i = y_i x_i'w. "auto" takes those that are valid by the notes.
        Numbers are taken as they are and marked as unproven: a result is inaccurate if they may have cut off a better point.
    encoding : {"auto", "bigm", "indicator"}
        Rows with M, for "auto" indicators where no M is known; or indicators throughout. Parts without switches read neither.
    groups : sequence of str, length n, optional
        The group of each point, where each has a loss of its own.
    data_names : DataNames, optional
        Names of columns, points and classes, by which domain and restrictions may refer to them.

    Notes
    -----
    Form: block ``w``, the blocks and constraints of the parts. Big-M constants: an optimal w has R(w) ≤ UB, the objective of a
    known point (losses are ≥ 0), so the regulariser bounds x_i'w; a domain with bounds does so too. With a free intercept b that
    nothing else restricts and a loss that is piecewise linear in b, and linear beyond t on both sides (`Loss.saturation`), some
    optimal b is at a corner of a point's loss, so that |b| ≤ t + max_i of that bound. Where nothing bounds a margin, the switches
    are indicators, unless ``encoding`` is "bigm".

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that a loss of margins does not take, sample_weight < 0, a free intercept without a
        first column of ones, or parts that are not parts; a kernel matrix that is not positive semidefinite; a restriction of
        margins where points have no label; big_m < 0; an unknown encoding, or "bigm" where no M is known.
    """

    X: Points | Rows
    y: FloatArray = LABELS_OF_X
    loss: Loss = Hinge()  # noqa: RUF009 - frozen
    regulariser: Regulariser = SquaredNorm()  # noqa: RUF009 - frozen
    intercept: Literal["penalised", "free"] = "penalised"
    sample_weight: float | FloatArray = 1.0
    domain: Domain = Reals()  # noqa: RUF009 - frozen
    subject_to: Sequence[Restriction] = ()
    upper_bound: float | None = None
    kernel: Kernel | None = None
    big_m: BigM = field(default="auto", metadata={"identity": identity_rule("big_m", "auto", {})})
    encoding: Literal["auto", "bigm", "indicator"] = field(default="auto", metadata={"identity": _encoding_identity})
    groups: Sequence[str] | None = field(default=None, metadata={"identity": identity_rule("groups", None, {})})

    name = "Margin"
    big_m_advice = "encoding='bigm' with big_m=, domain=Box(lower, upper) or upper_bound= states rows with M instead"

    if TYPE_CHECKING:  # what the arguments may be; fields are what they become

        def __init__(
            self,
            X: object,
            y: object = ...,
            loss: Loss | str | Mapping[str, Loss | str] = ...,
            regulariser: Regulariser | str = ...,
            intercept: Literal["penalised", "free"] = ...,
            sample_weight: npt.ArrayLike | Mapping[str, float] = ...,
            domain: Domain | str = ...,
            subject_to: Restriction | Iterable[Restriction] = ...,
            upper_bound: float | None = ...,
            kernel: Kernel | None = ...,
            big_m: Literal["auto"] | npt.ArrayLike = ...,
            encoding: Literal["auto", "bigm", "indicator"] = ...,
            groups: npt.ArrayLike | None = ...,
            *,
            data_names: DataNames | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        parts = as_parts(self.loss, self.regulariser, self.domain, self.subject_to, self.groups)
        for name, part in zip(("loss", "regulariser", "domain", "subject_to"), parts, strict=True):
            object.__setattr__(self, name, part)
        object.__setattr__(self, "X", X := as_rows(self.X))
        if isinstance(self.loss, GroupLosses):
            object.__setattr__(self, "groups", self.loss.groups)
            object.__setattr__(self, "sample_weight", self.loss.sample_weight(self.sample_weight))
        object.__setattr__(self, "y", self._checked_labels(X.shape[0]))
        object.__setattr__(self, "sample_weight", as_costs(self.sample_weight, X.shape[0], "sample_weight"))
        self.check_row_blocks()
        if self.kernel is not None:
            object.__setattr__(self, "kernel", as_kernel(self.kernel, in_memory(X, "a kernel")))
        check_intercept(self.intercept, X if isinstance(X, Rows) else self.points)
        if self.upper_bound is not None:
            object.__setattr__(self, "upper_bound", as_positive(self.upper_bound, "upper_bound", zero=True))
        check_encoding_name(self.encoding)
        object.__setattr__(self, "big_m", as_big_m(self.big_m, X.shape[0]))
        self._bind_parts()
        self._check_big_m()
        if self.loss.uses_intercept and self.kernel is None:
            warn_about_features(X)

    # exempt (arguments): the fields of a composition
    @classmethod
    def of_checked(
        cls,
        X: Points,
        y: FloatArray,
        loss: Loss,
        regulariser: Regulariser = SquaredNorm(),  # noqa: B008 - frozen
        intercept: Literal["penalised", "free"] = "penalised",
        sample_weight: FloatArray | float = 1.0,
        domain: Domain = Reals(),  # noqa: B008 - frozen
        subject_to: tuple[Restriction, ...] = (),
        upper_bound: float | None = None,
    ) -> Margin:
        """Return a `Margin` of data that a named formulation has checked, without reading them or warning again."""
        margin = object.__new__(cls)
        values = (X, y, loss, regulariser, intercept, sample_weight, domain, subject_to, upper_bound)
        names = ("X", "y", "loss", "regulariser", "intercept", "sample_weight", "domain", "subject_to", "upper_bound")
        for name, value in {
            **dict(zip(names, values, strict=True)),
            "kernel": None,
            "groups": None,
            "data_names": None,
            "big_m": "auto",
            "encoding": "auto",
        }.items():
            object.__setattr__(margin, name, value)
        margin._bind_parts()
        return margin

    def _bind_parts(self) -> None:
        """Give the parts the data that they read; raise `InputError` for a domain or a part that does not fit the data."""
        self._resolve_names()
        self.domain.bounds(self.width)
        if not isinstance(self.X, Rows):
            weights = as_vector(self.sample_weight, self.X.shape[0], "sample_weight")
            curvature = self.regulariser.curvatures(self.penalised)
            object.__setattr__(self, "loss", self.loss.bind(self.points, self.y, weights, curvature))
            self._check_needs_bounds()

    def _check_needs_bounds(self) -> None:
        """Refuse a coefficient that has no squares in the regulariser and no bounds, where the loss needs one of them."""
        needs_bounds = self.loss.coefficients_to_bound
        if needs_bounds is None:
            return
        open_ends = needs_bounds & ~np.isfinite(self.activity_bounds[0])
        if open_ends.any():
            raise InputError(
                f"{type(self.loss).__name__} needs squares or a bound of every coefficient, and nothing bounds "
                f"w_{int(np.argmax(open_ends))}: give domain=Box(lower, upper) or upper_bound=, the value of a known point",
                name="regulariser",
            )

    def _check_big_m(self) -> None:
        """Refuse ``encoding="bigm"`` where a switch is an indicator, since no M is known."""
        if self.encoding == "bigm" and not self.convex and Feature.INDICATOR in self.form.features:
            raise InputError(
                "encoding='bigm' needs bounds of the points' margins, and nothing bounds them: give big_m=, domain=Box(lower, "
                "upper) or upper_bound= with a regulariser; encoding='auto' takes indicators then",
                name="encoding",
            )

    def form_with_fixed_integers(self, values: Mapping[str, FloatArray]) -> StandardForm | None:
        """Return the form of the points with a cost above 0, its integers fixed at those of ``values``.

        The fixed integers of points without a cost would restrict w for nothing. None if all points have a cost or none has one;
        for rows in blocks, a kernel, groups, indicators or given M; and if a restriction or the loss depends on the other points.
        """
        weighted, n = self.costs > 0.0, self.X.shape[0]
        reads_others = any(r.depends_on_points or r.needs_margins for r in self.subject_to) or not self.loss.is_sum_over_points
        unsupported = self.kernel is not None or self.groups is not None or self.encoding == "indicator" or self.has_given_big_m
        if isinstance(self.X, Rows) or reads_others or unsupported or weighted.size != n or weighted.all() or not weighted.any():
            return None
        weights = as_vector(self.sample_weight, n, "sample_weight")[weighted]
        reduced = Margin.of_checked(
            self.X[weighted], self.y[weighted], self.loss, self.regulariser, self.intercept, weights, self.domain,
            tuple(self.subject_to), self.upper_bound,
        )  # fmt: skip
        full = {block.label: (values[block.label], block.shape) for block in reduced.form.blocks}
        blocks = {label: value if np.shape(value) == shape else value[weighted] for label, (value, shape) in full.items()}
        fixed = reduced.form.with_integers_fixed(reduced.form.join(blocks))
        span, w = self.activity_bounds[0], fixed.slices["w"]  # beyond it the constants of the other points' rows may not hold
        lower, upper = fixed.lower.copy(), fixed.upper.copy()
        lower[w], upper[w] = np.maximum(lower[w], -span), np.minimum(upper[w], span)
        return fixed.with_bounds(lower, upper)

    @property
    def given_big_m(self) -> FloatArray | None:
        """Return M where the user gives it and the form uses it; else None."""
        used = self.encoding != "indicator" and any(part.reads_big_m for part in self.parts)
        return None if isinstance(self.big_m, str) or not used else as_vector(self.big_m, self.X.shape[0], "big_m")

    @property
    def has_given_big_m(self) -> bool:
        """Return whether the user gives M and the form uses it."""
        return self.given_big_m is not None

    @property
    def _has_big_m(self) -> bool:
        """Return whether the loss or a restriction has switches that are rows with M."""
        if self.encoding == "indicator" or all(part.convex for part in (self.loss, *self.subject_to)):
            return False
        return self.has_given_big_m or bool(np.isfinite(self.activity_bounds[1]).all())

    @property
    def big_m_argument(self) -> str:
        """Return why M is valid, in words."""
        constants = self.given_big_m
        values = self.activity_bounds[1] if constants is None else constants
        low, high = f"{values.min(initial=np.inf):.4g}", f"{values.max(initial=0.0):.4g}"
        interval = f"each {low}" if low == high else f"between {low} and {high}"
        if constants is not None:
            return f"M given by the user (unproven), {interval}"
        level = self._level(*self.coefficient_bounds)
        reason = "" if level is None else f", whose objective is at most UB = {level:.6g}"
        return f"M follows from |x_i'w| <= B_i at some optimum{reason}; B_i {interval}"

    def _checked_labels(self, n: int) -> FloatArray:
        """Return targets, or labels: 0 only where the loss is symmetric, and of both classes unless each group has its loss."""
        if not self.loss.reads_class_labels:
            return as_vector(self.y, n, "y")
        free = self.loss.unlabelled(n)
        if free.size != n:
            raise InputError(f"groups must name one group for each of the {n} points; they name {free.size}", name="groups")
        y = as_labels(self.y, n, unlabelled=free, require_both=self.groups is None)
        for restriction in self.subject_to:
            if restriction.needs_margins and not y.all():
                raise InputError(
                    f"{type(restriction).__name__} speaks of margins y x'w, and some points have no label", name="restrictions"
                )
        return y

    def _resolve_names(self) -> None:
        """Replace names in domain and restrictions by columns and classes, and check that restrictions fit the data."""
        names = self.data_names or DataNames()
        if self.kernel is not None and any(part.names_coefficients for part in (self.domain, *self.subject_to)):
            raise InputError(
                "with a kernel the coefficients are coordinates of its feature space: columns do not name them", name="kernel"
            )
        located = tuple(restriction.resolve_names(names, self.X, self.y) for restriction in self.subject_to)
        object.__setattr__(self, "subject_to", located)
        object.__setattr__(self, "domain", self.domain.resolve_names(names, self.X, self.y))
        for restriction in located:
            restriction.check(self.width, self.y)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the fields, and ``k`` where one restriction is ``at_most(k).nonzero``."""
        return (*super().parameters, *(["k"] if self._count_place is not None else []))

    def replace(self, parameter: str, value: Any) -> Self:
        """Return the same problem with one field changed, or with another k in ``at_most(k).nonzero``.

        Raises
        ------
        InputError
            A value that the model refuses.
        """
        place = self._count_place
        if parameter != "k" or place is None:
            return super().replace(parameter, value)
        rules = (*self.subject_to[:place], Nonzero(value), *self.subject_to[place + 1 :])
        return super().replace("subject_to", rules)

    @property
    def _count_place(self) -> int | None:
        """The place of the one restriction that counts coefficients; None where there is none, or more than one."""
        places = [i for i, rule in enumerate(self.subject_to) if rule.max_nonzeros is not None]
        return places[0] if len(places) == 1 else None

    @property
    def composition(self) -> Margin:
        """Return the model itself; a named formulation returns the `Margin` that it is."""
        return self

    @property
    def no_view_reason(self) -> str:
        """Return why algorithms for a single loss with ||w||² do not read the model, then why `margin-bb` does not."""
        norm: list[Part] = [] if self.regulariser.square else [self.regulariser]
        unread = [type(part).__name__ for part in (*norm, *([] if self.domain.free else [self.domain]), *self.subject_to)]
        reason = f"because of {', '.join(unread)}" if unread else f"its loss is {self.loss!r} with {self.regulariser!r}"
        return "; ".join(filter(None, [reason, self.margin_reduction.obstacle]))

    @cached_property
    def activity_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of |w_j| and of the loss's |arguments| at some optimum; infinite where none is known."""
        return self._activity.bounds()

    @cached_property
    def _linear_rows(self) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        return [rows for r in self.subject_to if (rows := r.linear_rows(self.points, self.y)) is not None]

    @property
    def coefficient_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of w by the domain and by restrictions of single coefficients."""
        lower, upper = self.domain.bounds(self.width)
        for rows in self._linear_rows:
            lower, upper = tighten_bounds(lower, upper, *rows)
        return lower, upper

    @cached_property
    def _activity(self) -> ActivityBounds:
        lower, upper = self.coefficient_bounds
        A, c = self.loss.rows(self.points, self.y)
        level, saturation = self._level(lower, upper), self.loss.saturation()
        saturation = np.inf if self._intercept_is_held else max(saturation, 1.0) if self.subject_to else saturation
        weighted = np.full(c.size, bool(self.subject_to)) | (self.costs > 0.0)
        return ActivityBounds(
            self.loss, self.regulariser, self.penalised, A.toarray(), c, lower, upper, level, saturation, weighted
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return loss, regulariser, domain and restrictions as one tuple."""
        return (self.loss, self.regulariser, self.domain, *self.subject_to)

    @property
    def convex(self) -> bool:
        """Return whether the form has no integers."""
        return all(part.convex for part in self.parts)

    @property
    def cutoff(self) -> float:
        """Return the objective up to which the form contains every point: the known value from which bounds of the margins
        follow, and no more than the value up to which a given M is valid.

        Infinite where no part reads bounds of the margins, or where they follow from the domain alone.
        """
        constants = self.given_big_m
        if not any(part.reads_activity_bounds and (constants is None or not part.reads_big_m) for part in self.parts):
            domain_level = None
        else:
            domain_level = self._level(*self.domain.bounds(self.width))
        level = float("inf") if domain_level is None else domain_level
        return level if constants is None else min(level, self._given_cutoff(constants))

    def _given_cutoff(self, constants: FloatArray) -> float:
        """Return the largest v for which M_i ≥ 1 + |argument_i| at every point that costs at most v and turns a switch off.

        A switch that is off has its cost c, so that R(w) ≤ v - c there; below the least c no switch is off.
        """
        activity = self._activity
        if not self.loss.is_nonnegative():  # the cost bounds nothing, only the domain does
            return float("inf") if (constants >= 1.0 + replace(activity, cutoff=None).bounds()[1]).all() else float("-inf")
        others = any(rule.reads_big_m for rule in self.subject_to)  # whose switches cost nothing
        cost = 0.0 if others else self.loss.switch_cost * float(self.costs.min(initial=np.inf))

        def valid_at(v: float) -> bool:
            if v < cost:
                return True
            reach = replace(activity, cutoff=v - cost).bounds()[1]
            return bool((constants >= (1.0 + reach) * (1.0 - LEVEL_TOLERANCE)).all())

        return largest_valid(valid_at)

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the Lagrangian's bound, or the closed-form dual value; capped at `cutoff` where M is given."""
        bound = self._bound_without_level(x, multipliers)
        return capped_bound(bound, self.cutoff) if self.has_given_big_m else bound

    @property
    def _intercept_is_held(self) -> bool:
        """Return whether domain or restrictions limit the intercept, so that its bound does not follow from the loss."""
        return not self.domain.free or any(r.holds_intercept(self.points, self.y) for r in self.subject_to)

    @property
    def loss_bounded_variables(self) -> tuple[int, ...]:
        """Return (0,) for a free intercept that the loss alone bounds: the bound holds for some optimal point; else ()."""
        return (0,) if self.intercept == "free" and not self._intercept_is_held else ()

    @property
    def form_bytes(self) -> int:
        """Return an estimate of the bytes of the form's rows."""
        n = self.X.shape[0]
        return 24 * (entry_count(self.X) if self.kernel is None else n * (n + 1)) + 400 * n

    def compile(self) -> StandardForm:
        """Return the form of w and of what regulariser, loss, domain and restrictions add."""
        return self.form_with(self.name, *self.domain.bounds(self.width))

    def form_with(
        self, name: str, lower: FloatArray, upper: FloatArray, M: FloatArray | None = None, *, indicators: bool = False
    ) -> StandardForm:
        """Return the form under this name, with these bounds of w and big-M constants: how named formulations compile.

        Parameters
        ----------
        name : str
            Name of the form.
        lower, upper : ndarray (p,)
            Bounds of w; ±inf without one.
        M : ndarray (n,), optional
            Big-M constants of the points' switches, in units of margins; derived from the bounds unless given.
        indicators : bool
            Switches are indicators, and M is not read; w has the given bounds alone.
        """
        return self._assembled(name, lower, upper, M, indicators)[0].form()

    def origin(self, label: str) -> str:
        """Return the class of the part that brings a block or constraint."""
        return self._assembled(self.name, *self.domain.bounds(self.width))[1].get(label, "")

    def _assembled(
        self, name: str, lower: FloatArray, upper: FloatArray, M: FloatArray | None = None, indicators: bool = False
    ) -> tuple[Assembly, dict[str, str]]:
        """Return the assembled rows, and the part that each label belongs to."""
        assembly, owner = Assembly(name), dict[str, str]()
        M = self.given_big_m if M is None else M

        def added_by(part: Part) -> None:
            owner.update({label: type(part).__name__ for label in assembly.labels if label not in owner})

        p = self.points.shape[1]
        A, c = self.loss.rows(self.points, self.y)
        needed = any(
            part.reads_activity_bounds for part in self.parts if not (part is self.loss and (indicators or M is not None))
        )
        span, reach = self.activity_bounds if needed else (np.full(p, np.inf), np.full(A.shape[0], np.inf))
        indicators |= M is None and self.encoding == "indicator"
        if indicators:  # searches with indicators may not end where w has no bounds
            lower, upper = np.maximum(lower, -span), np.minimum(upper, span)
        w = assembly.variables("w", p, lower, upper, integer=self.domain.integer)
        added_by(self.domain)
        context = AssemblyContext(
            self.points, self.y, self.costs, w, self.penalised, w.premultiplied(A) + c, reach, span, M, indicators
        )
        self.regulariser.add(assembly, w.at(np.flatnonzero(self.penalised)), span[self.penalised])
        added_by(self.regulariser)
        errors = self.loss.add(assembly, context)
        added_by(self.loss)
        self.domain.add(assembly, w)
        added_by(self.domain)
        for label, restriction in self.labelled_restrictions:
            restriction.add(assembly, context, errors, label)
            added_by(restriction)
        return assembly, owner

    def _level(self, lower: FloatArray, upper: FloatArray) -> float | None:
        """R of an optimal point is at most this: a given value, or that of w = 0, or of a short w, where it is allowed."""
        if not self.loss.is_nonnegative():
            return None
        if self.upper_bound is not None:
            return float(self.upper_bound)
        level = self._level_of_zero(lower, upper)
        return self._level_of_short_point(lower, upper) if level is None else level

    def _level_of_short_point(self, lower: FloatArray, upper: FloatArray) -> float | None:
        """Return a value that a point of the linear restrictions costs at most, if all restrictions hold there; else None."""
        if not self._linear_rows or self.domain.integer:
            return None
        A, low, high = (np.concatenate(part) for part in zip(*self._linear_rows, (np.eye(lower.size), lower, upper), strict=True))
        w = least_norm_point(A, low, high)
        if w is None or (w < lower).any() or (w > upper).any() or self._broken(w):
            return None
        B, c = self.loss.rows(self.points, self.y)
        argument = np.asarray(B @ w) + c
        rounding = 1e-9 * (1.0 + np.abs(argument))  # decides margins of 1 either way
        losses = max(self.loss.upper_bound(self.costs, argument + sign * rounding) for sign in (-1.0, 1.0))
        return (1.0 + 1e-6) * (self.regulariser.value(w[self.penalised]) + losses)

    def _level_of_zero(self, lower: FloatArray, upper: FloatArray) -> float | None:
        zero = np.zeros(self.points.shape[1])
        if (lower > 0).any() or (upper < 0).any() or self._broken(zero):
            return None
        return self.regulariser.value(zero[self.penalised]) + self.loss.upper_bound(
            self.costs, self.loss.rows(self.points, self.y)[1]
        )

    def _broken(self, w: FloatArray) -> bool:
        return any(r.excess(self.points, self.y, w, self.penalised) > 0 for r in self.subject_to)

    @property
    def value_at_zero(self) -> float:
        """Return R(0) + Σ c_i ℓ_i of w = 0; infinite where w = 0 is not allowed or costs 0, where the loss may be negative, or
        where ``upper_bound`` is given.
        """
        lower, upper = self.domain.bounds(self.width)
        level = self._level_of_zero(lower, upper) if self.upper_bound is None and self.loss.is_nonnegative() else None
        return float("inf") if level is None or level == 0.0 else level

    def objective(self, w: FloatArray) -> float:
        """Return R(w) + Σ_i c_i ℓ_i of a classifier, from the data; domain and restrictions are not checked."""
        A, c = self.loss.rows(self.points, self.y)
        return self.regulariser.value(np.asarray(w)[self.penalised]) + self.loss.total(self.costs, A @ np.asarray(w) + c)

    @property
    def closed_dual(self) -> tuple[Conjugate, float] | None:
        """Return the loss's conjugate and μ, where the problem is R = μ||w||² and a convex loss alone; else None.

        μ > 0, but 0 for a loss that has a dual without a regulariser only (`EnclosingBall`).
        """
        conjugate, mu = self.loss.conjugate(), self.regulariser.square
        if conjugate is None or mu is None or not self.domain.free or self.subject_to:
            return None
        return None if conjugate.without_regulariser == (mu > 0.0) else (conjugate, mu)

    def dual_value(self, multipliers: Mapping[str, FloatArray]) -> float:
        """Return the closed-form dual value at multipliers of the form's rows, moved to where it is feasible; computed from the
        data.

        It is c'β - L*(β) - ||A_P'β||²/(4μ) where A_F'β = 0, with the symbols of `models.formulations.margin.loss`. With a free
        intercept the multipliers must balance by themselves; -inf where they do not, to rounding.

        Raises
        ------
        UnsupportedModelError
            There is no closed form (`models.program.dual` builds a dual of any form: ``model.dual()``).
        """
        if self.closed_dual is None:
            raise UnsupportedModelError(
                "convex losses with mu ||w||^2 alone have a dual in closed form; dual() builds others", name="loss"
            )
        conjugate, mu = self.closed_dual
        A, c = self.loss.rows(self.points, self.y)
        beta = conjugate.feasible_beta(multipliers, self.costs)
        gradient, size = A.T @ beta, abs(A).T @ np.abs(beta)
        penalised = self.penalised & (mu > 0.0)  # without a norm all of A'β must be zero
        if (np.abs(gradient[~penalised]) > 1e-9 * (1.0 + size[~penalised])).any():
            return float("-inf")
        v = gradient[penalised]
        norm = float(v @ v) / (4.0 * mu) if mu else 0.0
        return float(c @ beta) + conjugate.value(beta, self.costs) - norm

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores x'w of new rows, or those of a loss with a variable level, such as x'w - ρ of `OneClass`."""
        products = self.features.products(values["w"], X)
        return self.loss.scores(values, products, self.features.squares(X) if self.loss.scores_need_squares else products)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its score, margin and multiplier; none where the loss reads no classes, or a point
        has no label.
        """
        if not self.loss.reads_class_labels:
            return PointExplanation()
        X, weights = in_memory(self.X, "a table of points"), primal_weights(multipliers, "margin", self.y.size)
        if not self.y.all():  # points without a label are on no side
            return PointExplanation()
        return two_classes(X, self.y, partial(self.decision_function, values), weights, self.loss.required_margin(values))

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return margin violations and misclassified points, or the mean absolute residual; non-zeros of w; excess of
        restrictions.
        """
        figures: dict[str, float] = {}
        loss, Z, y, w = self.loss, self.features.matrix, self.y, values["w"]
        products = np.asarray(Z @ w)
        if loss.reads_class_labels:
            u = y * loss.scores(values, products, products)  # losses that read squares have no labels
            figures = margin_figures(u[y != 0.0], w, loss.required_margin(values))
        if loss.of_residuals:
            figures = {"mean_absolute_residual": float(np.abs(y - products).mean())}
        figures["nonzero"] = float(np.count_nonzero(np.abs(w) > 1e-7))
        excess = {f"excess of {r.name}": r.excess(in_memory(Z, r.name), y, w, self.penalised) for r in self.subject_to}
        return figures | excess

    @property
    def statement(self) -> Statement:
        """Return the printed parts, one after the other, and the dual where it has a closed form."""
        closed, n, p, has_big_m = self.closed_dual, self.X.shape[0], self.width, self._has_big_m
        free = " (w without intercept in the first term)" if self.intercept == "free" else ""
        images = () if self.kernel is None else (f"x_i are images under the kernel {self.kernel}, after a one for the intercept",)
        ordered = (self.domain, self.regulariser, self.loss, *self.subject_to)  # as in the form
        return Statement(
            title="Margin: " + " + ".join(type(part).__name__ for part in self.parts),
            problem_class=f"{'convex' if self.convex else 'mixed-integer'} program",
            sense="minimise",
            variables=listed([line for part in ordered for line in part.variables()]),
            objective=plus(self.regulariser.cost_line(), self.loss.cost_line()),
            constraints=tuple(line for p in self.parts for line in (p.big_m_lines() if has_big_m else p.lines())),
            sizes=f"n = {count_text(n, 'point')}, p = {count_text(p, 'feature')} (a constant one included, "
            f"if any), {lam_text(self.sample_weight, 'c_i')}",
            notes=(
                *((f"the intercept is {self.intercept}{free}",) if self.loss.uses_intercept else ()),
                *((self.big_m_argument,) if has_big_m else ()),
                *images,
            ),
            dual=None if closed is None else dual_statement(*closed, free=not self.penalised.all()),
            source="stated from parts; Teo et al.: Bundle methods for regularized risk minimization, 2010, (1)",
        )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the columns; none where w are coordinates of a kernel's feature space."""
        return () if self.kernel is not None else super().feature_names

    @cached_property
    def features(self) -> Features:
        """Return the features of the program's rows: the data, or their images under a kernel."""
        return RawFeatures(self.X) if self.kernel is None else KernelFeatures(self.X, self.kernel, self.loss.uses_intercept)

    @cached_property
    def points(self) -> Points:
        """Return one row for each point, one column for each coefficient in w."""
        return self.features.rows

    @cached_property
    def width(self) -> int:
        """Return the number of coefficients."""
        return self.features.width

    @cached_property
    def penalised(self) -> BoolArray:
        """Return the mask of the coefficients that the regulariser contains."""
        mask = np.ones(self.width, dtype=bool)
        mask[:1] = self.intercept == "penalised"  # none where a kernel is zero on all points
        return mask

    @cached_property
    def costs(self) -> FloatArray:
        """Return c, one for each argument of the loss."""
        n, alike = self.X.shape[0], np.ndim(self.sample_weight) == 0
        shared = isinstance(self.X, Rows) and alike  # one number in place of n
        return self.loss.costs(
            np.broadcast_to(self.sample_weight, n) if shared else as_vector(self.sample_weight, n, "sample_weight"), self.y
        )

    def view(self, kind: type[V]) -> V | None:
        """Return the structural view of this kind, which solvers read; None where the composition has none.

        `ScoringProblem` counts errors over whole coefficients, `SparseProblem` has a convex loss and few coefficients,
        `MarginProblem` a loss that branch and bound reads (`problems`), `LinearProblem` the hinge, its square or the logistic
        loss.

        Views of other kinds are the loss's own (`Loss.view`). These and `LinearProblem` need a loss of margins, μ||w||² with
        μ > 0, and neither a domain nor restrictions.
        """
        on_disk = isinstance(self.X, Rows)
        if kind is MarginProblem:
            return self.margin_reduction.problem(lambda: dense_signed_rows(self.points, signs(self.y)), self.costs)  # type: ignore[return-value]
        if kind is ScoringProblem:
            return None if on_disk or self.kernel is not None else self._scoring()  # type: ignore[return-value]
        if kind is SparseProblem:
            return None if on_disk else self._sparse()  # type: ignore[return-value]
        if not self.domain.free or self.subject_to or not self.loss.reads_class_labels:
            return None
        if kind is LinearProblem:
            mu = self.regulariser.square
            if not mu:
                return None
            loss = self.loss.linear_loss
            free = self.intercept == "free"
            plain = self.kernel is None and (not free or loss is LinearLoss.LOGISTIC) and (self.costs > 0).all()
            X = as_row_blocks(self.X)
            return LinearProblem(X, self.y, self.costs, mu, loss, free) if plain and loss else None  # type: ignore[return-value]
        mu = self.regulariser.square
        if on_disk or not mu:
            return None
        view = self.loss.view(lambda: dense_signed_rows(self.points, self.y), self.costs, self.penalised, mu)
        return view if isinstance(view, kind) else None

    @cached_property
    def margin_reduction(self) -> MarginProblemReduction:
        """Return the reduction to the problem that `margin-bb` reads, or the obstacle to it."""
        if isinstance(self.X, Rows):
            return MarginProblemReduction(obstacle="rows in blocks are read by solvers of large linear problems alone")
        return reduce_to_margin_problem(self.loss, self.regulariser, self.domain, self.subject_to, self._context)

    def _context(self) -> AssemblyContext:
        """Return the context that parts add their rows to while no bounds of coefficients and margins are known."""
        A, c = self.loss.rows(self.points, self.y)
        w = Assembly("w").variables("w", self.width)
        unbounded_reach, wide = np.full(c.size, np.inf), np.full(self.width, np.inf)
        return AssemblyContext(self.points, self.y, self.costs, w, self.penalised, w.premultiplied(A) + c, unbounded_reach, wide)

    def _scoring(self) -> ScoringProblem | None:
        data = (self.X, self.y, as_vector(self.sample_weight, self.y.size, "sample_weight"))
        parts = (self.loss, self.regulariser, self.domain, self.subject_to)
        return reduce_to_scoring_problem(data, self.penalised, *parts)

    def _sparse(self) -> SparseProblem | None:
        problem = reduce_to_sparse_problem(self.loss, self.regulariser, self.domain, self.subject_to, self._context)
        return None if problem is None else problem(dense_signed_rows(self.points, self.y), self.costs)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Return objective and dual value of a point, computed by blocks of rows, where the composition is a `LinearProblem`."""
        view = self.view(LinearProblem)
        return None if view is None else view.appraise(values, multipliers)

    def _bound_without_level(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the Lagrangian's bound; where the composition is a `LinearProblem`, the dual value in closed form.

        The latter is the best Lagrangian bound with these multipliers of the margins and any multipliers of the other rows.
        """
        view = self.view(LinearProblem)
        if view is not None and x is not None and multipliers is not None and "margin" in multipliers:
            appraisal = view.appraise({"w": self.form.split(x)["w"]}, multipliers)
            return Bound(appraisal.bound, appraisal.argument, appraisal.bound_error)
        best = super().bound(x, multipliers)
        if x is not None and multipliers is not None and "hull" in multipliers:
            best = max([best, *self._priced_bound(x, multipliers)], key=lambda bound: (not bound.condition, bound.value))
        return best

    def tilted_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray], tilt: Tilt) -> Bound | None:
        """Return a proved lower bound of the objective less h'w, h of ``tilt``, for `StrongestConic`; None for other losses."""
        problem = self.view(ConicProblem)
        if problem is None or problem.kappa is not None or x is None or "hull" not in multipliers:
            return None
        mu = self.regulariser.square  # f/μ has costs c/μ, multipliers γ/μ and v/μ
        assert problem.lam is not None and mu is not None
        unit = replace(problem, metric=None, lam=float(np.nextafter(problem.lam / mu, 0.0)))
        scaled = Tilt(tilt.direction / mu, (tilt.error + 2.0 * UNIT * np.abs(tilt.direction)) / mu * (1.0 + 1e-12))
        gamma, v = np.asarray(multipliers["hull"]) / mu, np.asarray(multipliers.get("split", np.zeros(problem.A.shape[0]))) / mu
        bound = certified_bound(unit, gamma, w=x[: self.width], v=v, tilt=scaled)
        rounding = 4.0 * UNIT * abs(mu * bound.value)
        argument = "closed-form dual value at γ scaled into Γ (S ≻ 0 checked by Cholesky)"
        return Bound(mu * bound.value - rounding, argument, mu * bound.error + rounding)

    @cached_property
    def _unrestricted(self) -> Margin:
        """The composition without domain and restrictions."""
        return replace(self, domain=Reals(), subject_to=()) if self.subject_to or not self.domain.free else self

    def _priced_bound(self, x: FloatArray, multipliers: Mapping[str, FloatArray]) -> list[Bound]:
        """The bound of the unrestricted composition with the restrictions' rows at their prices, if there is one."""
        base = self._unrestricted

        def tilted(tilt: Tilt) -> Bound | None:
            return base.tilted_bound(x, multipliers, tilt)

        bound = restricted_bound(self.form, base.form, x, multipliers, tilted)
        return [] if bound is None else [bound]

    def _predictions(self, values: Mapping[str, FloatArray], X: object) -> np.ndarray[Any, Any]:
        """Return the classes of new rows; the scores themselves where the loss reads no classes."""
        return super()._predictions(values, X) if self.loss.reads_class_labels else self._decision_scores(values, X)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return all blocks of the form. If some are missing, the parts compute them from ``w``, which is then rounded where the
        domain is of integers; the given blocks are not changed.

        A margin below a threshold by at most 1e-9 (1 + |margin|) counts as at it, unless w is of integers.
        """
        labels = [block.label for block in self.form.blocks]
        if "w" not in values or all(label in values for label in labels):
            return dict(values)
        w, integer = np.asarray(values["w"], dtype=np.float64), self.domain.integer
        w = np.rint(w) if integer else w
        A, c = self.loss.rows(self.points, self.y)
        argument = np.asarray(A @ w + c)
        tolerance = np.zeros(c.size) if integer else _NEAR * (1.0 + np.abs(argument))
        blocks = self._filled(w, argument, tolerance)
        return {**{label: value for label, value in blocks.items() if label in labels}, **values, "w": w}

    def with_best_auxiliaries(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the point with the blocks that parts add at their best for its w, as far as the parts know them."""
        if "w" not in values:
            return dict(values)
        w = np.asarray(values["w"], dtype=np.float64)
        A, c = self.loss.rows(self.points, self.y)
        blocks = self._filled(w, np.asarray(A @ w + c), np.zeros(c.size))
        return {label: blocks.get(label, value) for label, value in values.items()} | {"w": w}

    def complete_multipliers(self, multipliers: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the multipliers of the loss's rows from those of ``margin``, where these determine them and they are missing."""
        alpha = multipliers.get("margin")
        if alpha is None or np.shape(alpha) != self.costs.shape:
            return dict(multipliers)
        return {**self.loss.multipliers(np.clip(np.asarray(alpha), 0.0, np.inf), self.costs), **multipliers}

    def _filled(self, w: FloatArray, argument: FloatArray, tolerance: FloatArray) -> dict[str, FloatArray]:
        """The blocks that the parts add, at their best for a classifier."""
        classifier = FixedClassifier(w, self.y, self.penalised, argument, tolerance)
        blocks = {**self.loss.blocks(classifier), **self.regulariser.blocks(w[self.penalised])}
        for name, restriction in self.labelled_restrictions:
            blocks |= restriction.blocks(classifier, name)
        return blocks

    @property
    def has_nonnegative_objective(self) -> bool:
        """Return whether the loss is nonnegative: no regulariser is negative."""
        return self.loss.is_nonnegative()

    @property
    def bounded_below_reason(self) -> str:
        """Return why the objective is bounded below: a nonnegative loss, or one with a conjugate and strong convexity; else "".

        ½||w||² and a convex loss have a dual that is finite wherever the conjugate of the loss is; a free intercept must balance.
        """
        if self.has_nonnegative_objective:
            return super().bounded_below_reason
        conjugate, curved = self.loss.conjugate(), self.regulariser.curvatures(self.penalised)
        diagonal = curved if curved.ndim == 1 else np.linalg.eigvalsh(curved)
        if conjugate is None or conjugate.without_regulariser or not (diagonal > 0.0).all():
            return ""
        return "its regulariser grows quadratically, and its loss falls linearly"

    @cached_property
    def exact_evaluation(self) -> ExactEvaluation | None:
        """Return the data for exact costs and margins of a w; None where the rows are on disk, or too many for a dense copy."""
        if isinstance(self.X, Rows) or self.X.shape[0] * self.width > _COUNTED:
            return None
        A, c = self.loss.rows(self.points, self.y)
        if A.shape[0] * A.shape[1] > _COUNTED:
            return None
        parts = (self.loss, self.regulariser, self.domain, self.subject_to)
        return ExactEvaluation.of(*parts, self._context(), (A.toarray(), c))

    def exact_point(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return the nearby point of least cost in exact arithmetic, with the other blocks at their best for its w.

        ``box`` are further bounds (lower, upper) of w. The point itself returns where no loss jumps and roundings hardly cost.
        """
        evaluation = self.exact_evaluation
        if evaluation is None or not self.loss.has_values or "w" not in values:
            return dict(values)
        w = np.asarray(values["w"], dtype=np.float64)
        rounding_costs = self._rounding_costs(evaluation, w)
        if not (evaluation.is_discontinuous or rounding_costs):
            return dict(values)
        if box is not None:
            lower, upper = np.maximum(evaluation.lower, box[0]), np.minimum(evaluation.upper, box[1])
            evaluation = replace(evaluation, lower=lower, upper=upper)
        at_jumps = replace(evaluation, kinks=()).nearby_points(w) if evaluation.is_discontinuous else ()
        at_kinks = evaluation.nearby_points(w) if rounding_costs else ()
        candidates = [*at_jumps, *at_kinks, np.rint(w) if self.domain.integer else w]
        candidate_costs = [(evaluation.excess(v), self._cost(v, evaluation.arguments(v))) for v in candidates]
        best = candidates[min(range(len(candidate_costs)), key=candidate_costs.__getitem__)]
        blocks = self._filled(best, evaluation.arguments(best), np.zeros(evaluation.c.size))
        return {label: blocks.get(label, value) for label, value in values.items()} | {"w": best}

    def _rounding_costs(self, evaluation: ExactEvaluation, w: FloatArray) -> bool:
        """Return whether roundings of margins at kinks of the loss may cost a share `_STEEP` of the objective."""
        if not evaluation.kinks:
            return False
        rounding = float(self.costs @ evaluation.float64_rounding(w))
        return rounding > _STEEP * abs(self._cost(w, evaluation.A @ w + evaluation.c))

    def exact_cost(self, values: Mapping[str, FloatArray]) -> ExactCost | None:
        """Return the cost of w alone from the data, thresholds decided in exact arithmetic; None where it is not known."""
        evaluation = self.exact_evaluation
        if evaluation is None or "w" not in values:
            return None
        w = np.asarray(values["w"], dtype=np.float64)
        argument = evaluation.arguments(w)
        try:
            cost = self._cost(w, argument)
        except UnsupportedModelError:  # a loss that is an optimisation problem of its own
            return None
        excess = evaluation.excess(w) if evaluation.is_discontinuous else 0
        if not (np.isfinite(cost) or excess):
            return None
        return ExactCost(cost, excess, evaluation.shortfall(argument), float(self.costs @ evaluation.rounding(w)))

    def _cost(self, w: FloatArray, argument: FloatArray) -> float:
        """R(w) and the losses of these arguments."""
        return self.regulariser.value(w[self.penalised]) + self.loss.total(self.costs, argument)

    @property
    def labelled_restrictions(self) -> tuple[tuple[str, Restriction], ...]:
        """Return each restriction after the prefix of its constraints' labels, its name; equal names are numbered from 2 on."""
        counts: dict[str, int] = {}
        pairs = []
        for restriction in self.subject_to:
            count = counts[restriction.name] = counts.get(restriction.name, 0) + 1
            pairs.append((restriction.name if count == 1 else f"{restriction.name} {count}", restriction))
        return tuple(pairs)

    def check_row_blocks(self) -> None:
        """Raise an error for a composition on rows in blocks that no algorithm reads.

        Raises
        ------
        InputError
            Another loss than the hinge, its square and the logistic loss; another regulariser than a multiple of ||w||²; a free
            intercept, but of the logistic loss; a kernel, a domain, restrictions or a weight of zero.
        """
        if isinstance(self.X, Rows) and self.view(LinearProblem) is None:
            raise InputError(
                "rows in blocks are read for Hinge, SquaredHinge and Logistic with mu ||w||^2, a penalised intercept (Logistic: "
                "any), sample_weight > 0, no kernel, domain or restriction; read the data set into memory (marginopt.read) for "
                "other compositions",
                name="X",
            )
