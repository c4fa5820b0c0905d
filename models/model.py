"""`Model`, the base class of formulations: a frozen object that is stated and compiled once, can be changed, shown and exported,
and predicts the classes of new points.
"""

from __future__ import annotations

import copy
import inspect
import math
import os
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np

from ..data_names import DataNames, labelled_arrays
from ..display import Display, Displayable
from ..errors import InputError, UnsupportedModelError, checked_return, count_text, replace_old_name, short_text, unknown_name
from .appraisal import Appraisal, ExactCost
from .arrays import FloatArray, IntArray, blas_threads, check_bytes
from .digest import EARLIER_NAMES
from .explanation import Explanation, PointExplanation, PointSolution, Solution, explain
from .export_methods import ExportMethods
from .program.cones import Feature
from .program.form import StandardForm, check_mapping
from .program.lagrangian import Bound, dual_bound
from .restricted_bound import Tilt
from .statement import Line, Statement, name_lines

if TYPE_CHECKING:
    from .form_change import Change
    from .importing.source import Import

V = TypeVar("V")


# The rule by which scores decide classes, for models, estimators and reports: a point is of the second class, +1, if its score is
# above 0; a score of exactly 0 is of the first, -1. Of several scores the highest decides, the first of equal ones. The linear
# classifiers of scikit-learn have the same rule.


def decided_codes(scores: FloatArray) -> IntArray:
    """Return the code of each point's class: 0 or 1 by the sign of one score (n,), 0 to K - 1 by the largest of K (n × K)."""
    return (scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)


def decided_labels(scores: FloatArray) -> FloatArray:
    """Return the labels -1 and +1 that the scores of points (n,) decide."""
    return np.where(scores > 0.0, 1.0, -1.0)


@cache
def _parameter_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(kind.__init__).parameters)[1:]


def _weight_advice(kind: type[Any], name: str) -> str:
    """Return the clause that names the parameter with a number for each point, where a user gives weights by another name."""
    if name not in ("sample_weight", "sample_weights", "class_weight", "class_weights", "weights"):
        return ""
    parameters = inspect.signature(kind.__init__).parameters
    # exempt (text): annotations, for advice on a parameter that does not exist
    costs = [p for p in ("sample_weight", "lam", "C") if p in parameters and "FloatArray" in str(parameters[p].annotation)]
    return f". {costs[0]} takes one number for each point" if costs else ""


class FormulationType(ABCMeta):
    """The metaclass of formulations: it reads an `Instance` or a data frame that is given for X, with labels and names."""

    #: New names of parameters by their old ones.
    renamed: Mapping[str, str]

    @property
    def __signature__(cls) -> inspect.Signature:
        signature = inspect.signature(cast("Any", cls).__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(cls, *args: Any, **options: Any) -> Any:
        """Make a formulation; an `Instance` for ``X`` brings ``y`` and the names, a data frame the names."""
        for old, new in cls.renamed.items():
            if old in options:
                options = replace_old_name(cls.__name__, options, old, new, since="0.2", until="0.4", level=4)
        for new, old in EARLIER_NAMES.get(cls.__name__, {}).items():
            if old in options:
                raise InputError(
                    f"{cls.__name__} has no parameter {short_text(old)}: its name is {short_text(new)}", name=old, allowed=[new]
                )
        given_names = options.get("data_names")
        if given_names is not None and not isinstance(given_names, DataNames):
            raise InputError(
                f"data_names must be names of features and classes (DataNames); it is {short_text(given_names)}",
                name="data_names",
            )
        names = _parameter_names(cls)
        unknown = next((name for name in options if name not in names), None)
        if unknown is not None:
            raise unknown_name(f"parameter of {cls.__name__} called", unknown, names, _weight_advice(cls, unknown))
        X = args[0] if args else options.get("X")
        if names[:1] != ("X",) or X is None:
            return super().__call__(*args, **options)
        with_labels = names[1:2] == ("y",)
        y = args[1] if with_labels and len(args) > 1 else options.get("y")
        data = labelled_arrays(X, y)
        if data is None and with_labels and y is None:
            raise InputError(f"{cls.__name__} needs y, one label for each row of X; only an Instance brings its labels", name="y")
        if data is None:
            return super().__call__(*args, **options)
        parameters = args[2:] if with_labels else args[1:]
        arrays = data[:2] if with_labels else data[:1]
        parameter_values = {name: value for name, value in options.items() if name not in ("X", "y")}
        return super().__call__(*arrays, *parameters, **{"data_names": data[2], **parameter_values})


class RowsToSeparate(NamedTuple):
    """Signed rows that some hyperplane through the origin must separate for a model to be feasible."""

    rows: FloatArray  #: the rows, (n, p)
    reason: str  #: the reason, in words
    computed: bool = False  #: whether the rows have rounding errors, as those of a kernel matrix


@dataclass(frozen=True, eq=False)
class Model(Displayable, ExportMethods, ABC, metaclass=FormulationType):
    """Base class of formulations: data and parameters, taken literally, validated once.

    ``form`` is the standard form: minimise ½x'Px + q'x + r over the variables x, in labelled *blocks* such as ``w``, subject to
    labelled constraints. ``view(kind)`` is a *structural view*: the arrays of a special problem class, such as `BoxQP`, that
    hand-written algorithms read in place of the form. ``statement`` is the mathematics. `marginopt.solve` solves it.

    Parameters
    ----------
    data_names : DataNames, optional
        Names of features and classes, set where the data are an `Instance` or a data frame: print, LaTeX, files, values and
        explanations show them.
    """

    data_names: DataNames | None = field(default=None, kw_only=True, repr=False, metadata={"identity": False})

    #: Name of the formulation in messages, statements and results.
    name: ClassVar[str]
    #: New names of parameters by their old ones, which work with a warning.
    renamed: ClassVar[Mapping[str, str]] = {}
    #: How the model is stated by rows with M in place of indicator constraints, for messages; empty where it cannot be.
    big_m_advice: ClassVar[str] = ""
    #: A sentence on the meaning of multipliers for each constraint, by label, and for ``bounds``. Labels that end in the number
    #: of a class stand without the number. Tests check every sentence.
    meanings: ClassVar[Mapping[str, str]] = {}

    def with_data_names(self, names: DataNames) -> Self:
        """Return the same model with these names of features, classes and points; its form is compiled anew."""
        named = copy.copy(self)
        vars(named).pop("form", None)
        object.__setattr__(named, "data_names", names)
        return named

    @property
    def certified_by_appraisal(self) -> bool:
        """Return whether `appraise` certifies points in place of the form, which is not convex, so that no multipliers prove a
        bound.
        """
        return False

    @cached_property
    def form(self) -> StandardForm:
        """The labelled standard form; compiled on the first use.

        Raises
        ------
        TooLargeError
            The form would need more than `materialise_limit` bytes (by default half of the memory); hand-written algorithms
            still run.
        """
        check_bytes(self.form_bytes, f"the standard form of {self.name}")
        with blas_threads(math.isqrt(self.form_bytes // 8)):
            form = checked_return(self.compile(), StandardForm, "compile", self.name)
        for label, axes in self.named_axes.items():
            form = form.with_names(label, *axes) if all(axes) else form
        names = self.point_names
        form = form.with_point_names(names) if names else form
        return form.replace(class_names=self.class_names) if self.class_names else form

    @property
    def named_axes(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the names of the indices of each axis, by block: those of the features for the coefficients ``w``."""
        return {"w": (self.feature_names,)}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the columns of X; none where the data have none."""
        names = self.original_model.data_names
        return names.features if names is not None else ()

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of the classes in the order of their codes; none where the data have none."""
        names = self.original_model.data_names
        return names.classes if names is not None else ()

    def class_label(self, code: Any) -> str:
        """Return the name of the class of a code or label; the label as text where the classes have no names."""
        names = self.original_model.data_names
        return str(code) if names is None or not names.classes else str(names.class_name(code))

    @property
    def point_names(self) -> tuple[str, ...]:
        """Return the names of the rows of X, from a frame's index; none where the rows have none."""
        names = self.original_model.data_names
        return names.points if names is not None else ()

    @property
    def named_statement(self) -> Statement:
        """Return the statement with the names of classes and features."""
        names, statement = self.original_model.data_names, self.statement
        if names is None:
            return statement
        of_coefficients = "w" in statement.letters and self.named_axes.get("w") == (names.features,)
        return replace(statement, names=name_lines(names, of_coefficients=of_coefficients))

    @property
    @abstractmethod
    def form_bytes(self) -> int:
        """Return the bytes that the form's largest arrays need."""

    @abstractmethod
    def compile(self) -> StandardForm:
        """Build and return the standard form."""

    @property
    @abstractmethod
    def statement(self) -> Statement:
        """Return the mathematics of this model with the sizes of its instance."""

    def view(self, kind: type[V]) -> V | None:
        """Return the structural view of this kind, or None where the model has none."""
        return None

    @property
    def no_view_reason(self) -> str:
        """Return the reason, in words, why the model has no structural view, such as a restriction of it; empty by default."""
        return ""

    def origin(self, label: str) -> str:
        """Return the part of the model that adds this block or constraint, in words; empty where the model has no parts."""
        return ""

    @property
    def rows_to_separate(self) -> RowsToSeparate | None:
        """Return signed rows that some hyperplane must separate for the model to be feasible; None if there are none."""
        return None

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return a proved lower bound of the form's optimum from a primal point and multipliers of any quality.

        The multipliers are repaired to be exactly feasible; -inf where no bound follows. The general argument is the
        Lagrangian's (`models.program.lagrangian`); formulations with a closed-form dual replace it.
        """
        convexity = self.form.convexity
        if convexity.is_refuted:
            return Bound(-np.inf, convexity.argument, condition=convexity.condition)
        if multipliers is None:
            return Bound(-np.inf, "no multipliers")
        return dual_bound(self.form, x, multipliers)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the values of all blocks of the form from the blocks that determine the others.

        An algorithm on a structural view returns only the latter. By default no block is computed.
        """
        return dict(values)

    def with_best_auxiliaries(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the point with all variables but the coefficients at their best for these; the point itself by default.

        Within its tolerance a solver's slacks may be smaller or larger than its coefficients need.
        """
        return dict(values)

    def complete_multipliers(self, multipliers: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return multipliers of all rows of the form from those that an algorithm on a structural view returns."""
        return dict(multipliers)

    def zero_objective_point(self) -> dict[str, FloatArray] | None:
        """Return a feasible point whose objective is exactly zero, or None: by default the point within the bounds that is
        nearest to the origin, if it is one.

        Near an optimum of zero no relative gap is small, so this point is certified in place of a solver's.
        """
        form = self.form
        x = np.clip(np.zeros(form.n), form.lower, form.upper)
        if form.r != 0.0 or x[form.has_cost].any() or (x < form.lower).any():
            return None
        if any(c.cone.violation(c.value(x)) > 0.0 for c in form.constraints if c.rows):
            return None
        return form.split(x)

    @property
    def has_nonnegative_objective(self) -> bool:
        """Return whether no point has a negative objective, judged by the terms of the objective; False if that is not known."""
        return False

    @property
    def bounded_below_reason(self) -> str:
        """Return why the objective has a lower bound on all points, judged by its terms; empty where that is not known."""
        return "no term of it can be negative" if self.has_nonnegative_objective else ""

    def exact_point(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return a point beside this one, within rounding, whose objective is what exact arithmetic gives for its coefficients.

        For models whose objective jumps (a margin of 1 - 1e-16 is violated) or whose weights are huge, by `composition`; others
        return the point. ``box`` are further bounds of w, lower and upper.
        """
        composed = self.composition
        if composed is None or composed is self or "w" not in values:
            return dict(values)
        w = composed.exact_point({"w": values["w"]}, box)["w"]
        return dict(values) if np.array_equal(w, values["w"]) else self.with_best_auxiliaries({**values, "w": w})

    def form_with_fixed_integers(self, values: Mapping[str, FloatArray]) -> StandardForm | None:
        """Return the continuous problem with the integers fixed at those of ``values``, in fewer variables than the form; None if
        the model knows no simpler problem than the form with the integers fixed by bounds.

        `complete` makes a point of the form from the blocks that the two have in common, in label and shape.
        """
        return None

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Return objective, residuals and bound of a point without the form; None, as by default, if only the form gives them."""
        return None

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores f(x) of new rows, whose sign is the class.

        Raises
        ------
        InputError
            There is no point, or X has other columns.
        UnsupportedModelError
            The formulation has no classifier.
        """
        self._check_point(values)
        return self._decision_scores(values, X)

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores of `decision_function`, which has checked the point; a formulation with a classifier overrides it."""
        raise UnsupportedModelError(f"{self.name} has no classifier, so no scores of points")

    def predict(self, values: Mapping[str, FloatArray], X: object) -> np.ndarray[Any, Any]:
        """Predict the classes of new rows by the classifier of a point, ``model.predict(result.values, X)``.

        Returns
        -------
        ndarray (rows,)
            Names of the classes, where the data were given with names; else -1 and +1, or the labels of several classes. A score
            of exactly 0 is of class -1, as estimators have it. The scores themselves, where the model predicts numbers.

        Raises
        ------
        UnsupportedModelError
            The formulation has no classifier.
        InputError
            There is no point, or X has other columns, or the same ones in another order.
        """
        self._check_point(values)
        return self._predictions(values, self.unnamed_rows(X))

    def _predictions(self, values: Mapping[str, FloatArray], X: object) -> np.ndarray[Any, Any]:
        """Return what `predict` returns, which has checked the point and the columns: the classes that the scores decide."""
        scores = self.decision_function(values, X)
        return self.class_values(1 if scores.ndim == 1 else scores.shape[1])[decided_codes(scores)]

    def _check_point(self, values: object) -> None:
        """Raise `InputError` unless values are a mapping of block to array, and not an empty one."""
        check_mapping(values, "values")
        if not values:
            raise InputError(f"there is no point of {self.name} to predict by", name="values")

    def class_values(self, scores: int) -> np.ndarray[Any, Any]:
        """Return the classes in the order of their codes: their names, else -1 and +1 of one score, 0 to K - 1 of K scores."""
        if self.class_names:
            return np.array(self.class_names)
        return np.array([-1.0, 1.0]) if scores == 1 else np.arange(scores)

    def unnamed_rows(self, X: object, name: str = "X") -> object:
        """Return new rows without the names of their columns, which must be the model's where both have names.

        ``name`` is what messages call X.

        Raises
        ------
        InputError
            Other columns, or the same ones in another order; a column without numbers, or with missing ones.
        """
        named = labelled_arrays(X, None)
        if named is None:
            return X
        features, names = named[2].features, self.original_model.data_names
        if names is not None and names.features and features and features != names.features:
            if sorted(features) == sorted(names.features):
                raise InputError(
                    f"{name} has the model's columns in another order: give {name}[list(model.feature_names)]",
                    name=name,
                    allowed=names.features,
                )
            raise InputError(
                f"{name} has the columns {', '.join(features[:12])}; the model has {', '.join(names.features[:12])}: prepare new "
                "rows as the training rows were, rows.prepared(fit_on=training)",
                name=name,
                allowed=names.features,
            )
        return named[0]

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return a row with score, margin and weight in a solution for each data point (of a multiobjective model: for each
        objective); no rows by default.

        Formulations with labels -1 and +1 and a score f(x) take them from `models.explanation.two_classes`.
        """
        return PointExplanation()

    def meaning(self, label: str) -> str:
        """Return the sentence of `meanings` on a constraint's multipliers (or on ``bounds``); empty without one."""
        return self.meanings.get(label, "")

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return figures of merit of a point beside its objective (margin violations, misclassified points, radius, ...)."""
        return {}

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the fields that hold data and parameters, without ``data_names``: `with_parameter` takes them."""
        return tuple(item.name for item in fields(self) if item.init and item.metadata.get("identity", True))

    def replace(self, parameter: str, value: Any) -> Self:
        """Return the same model with one field changed, checked and compiled anew: no part of the form is shared.

        Raises
        ------
        InputError
            A value that the model refuses.
        """
        return replace(self, **{parameter: value})

    def with_parameter(self, parameter: str, value: Any) -> Self:
        """Return the model with one field changed; formulations share with it what does not depend on the field.

        Parameters
        ----------
        parameter : str
            Name of a field, such as "lam".
        value : object
            Its new value.

        Returns
        -------
        Model
            A new model of the same class; this one stays as it is.

        Raises
        ------
        InputError
            A value that the model refuses.
        """
        return self.replace(parameter, value)

    @property
    def composition(self) -> Model | None:
        """Return the same problem as a `Margin`, whose parts relaxations read; None where it is not one."""
        return None

    def exact_cost(self, values: Mapping[str, FloatArray]) -> ExactCost | None:
        """Return the cost of the point's w from the data, thresholds decided in exact arithmetic; None where it is not known."""
        composition = self.composition
        return None if composition is None or composition is self else composition.exact_cost(values)

    def tilted_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray], tilt: Tilt) -> Bound | None:
        """Return a proved lower bound of the objective less h'w, h a vector in ``tilt``; None by default.

        Multipliers of any quality give it. `models.restricted_bound` bounds a model with added rows by it. A model that only its
        form's Lagrangian bounds returns None: the Lagrangian of the changed form contains the added rows already.
        """
        return None

    @property
    def original_model(self) -> Model:
        """Return the formulation before changes (`with_constraint` and its like); itself where there were none."""
        return self

    @property
    def bounding_model(self) -> Model:
        """Return the model whose lower bounds hold for this one too: the one before the latest changes that only restrict."""
        return self

    @property
    def changes(self) -> tuple[Change, ...]:
        """Return the changes that made this model from `original_model`, in order; empty for a formulation."""
        return ()

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the programs of other packages that the model contains, each compared with its source
        (`models.importing.source`).
        """
        return ()

    @property
    def cutoff(self) -> float:
        """Return the objective up to which the form contains every point: big-M constants from a known point cut off costlier
        ones.

        Infinite where nothing in the form follows from a known point. The optimum of a formulation is at most the cutoff. The
        optimum of a changed model may be above it, and is then not known from the form.
        """
        return float("inf")

    @property
    def value_at_zero(self) -> float:
        """Return the objective of w = 0, which no useful classifier exceeds; infinite where that is infeasible or not known."""
        return float("inf")

    @property
    def has_given_big_m(self) -> bool:
        """Return whether big-M constants of the form are the user's, who may have them too small."""
        return False

    @property
    def loss_bounded_variables(self) -> tuple[int, ...]:
        """Return the indices in x of variables that only the loss bounds: their bounds hold for some optimal point only."""
        return ()

    def at_solution(self, optimised: Mapping[str, Any]) -> Model:
        """Return the model of a result's form, multipliers and certificate: this one, unless a parameter was left to the solver.

        ``optimised`` is the result's ``optimised_parameters``, by name: γ of a kernel, or the matrix P of shared features.
        """
        return self

    def explain(self, result: Solution | Mapping[str, object]) -> Explanation:
        """Return the explanation of a result: the meaning of its multipliers, active constraints, support vectors, misclassified
        points.

        Printable; ``.picture()`` draws it where the data have two features (`models.explanation`). The values of a point, by
        block or by variable, may stand in place of the result; those of slacks may be missing.
        """
        if isinstance(result, Mapping):
            values = self.complete(self.form.read_values(result, "values"))
            missing = any(block.label not in values for block in self.form.blocks)
            result = PointSolution(self.name, self.with_best_auxiliaries(values) if missing else values)
        return explain(self, result)

    # -- display ------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return str(self.named_statement)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.statement.sizes})"

    def latex(self, *, standalone: bool = False) -> str:
        """Return the program, and its dual with the optimality conditions where it has a closed form, as LaTeX.

        Displays for a document with amsmath and amssymb, or a document of its own (``standalone=True``).
        """
        return self.named_statement.latex(standalone=standalone)

    def display(self) -> Display:
        """Return the notebook view: the statement."""
        return self.named_statement.display()

    def _repr_latex_(self) -> str:
        return self.latex()


@dataclass(frozen=True, eq=False)
class BareForm(Model):
    """A model made from a standard form: it has no structural view, no dual of its own and no meaning beyond the program.

    Parameters
    ----------
    source_form : StandardForm
        Its name is the model's.
    """

    source_form: StandardForm

    name = "a standard form"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.source_form.name)

    @cached_property
    def form(self) -> StandardForm:
        """Return the source form, with the names of the data where it has some."""
        return self.source_form if self.data_names is None else super().form

    @property
    def form_bytes(self) -> int:
        """Return 0: the form is there."""
        return 0

    def compile(self) -> StandardForm:
        """Return the form itself."""
        return self.source_form

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the record of the program that the form was imported from; empty for a form made here."""
        return self.source_form.imports

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return values of all blocks from those of the variables of the package that the form was imported from."""
        complete_values = dict(values)
        for record in self.imports:
            complete_values = record.source.complete(complete_values)
        return complete_values

    @property
    def statement(self) -> Statement:
        """Return min ½x'Px + q'x + r, or max of its negative, over F_k x + g_k in K_k and the bounds."""
        form, quadratic = self.source_form, self.source_form.quadratic is not None
        cones = [(c.cone.symbol, c.label) for c in form.constraints]
        rows = [Line(f"F x + g in {kind}", rf"F x + g \in \mathrm{{{kind}}}", label) for kind, label in cones]
        bounds = [Line("l <= x <= u", r"l \le x \le u", "bounds")] if form.has_bounds else []
        text, latex = ("1/2 x'Px + ", r"\tfrac12 x^\top P x + ") if quadratic else ("", "")
        text, latex = f"{text}q'x + r", rf"{latex}q^\top x + r"
        objective = Line(f"-({text})", f"-({latex})") if form.maximise else Line(text, latex)
        kind = "mixed-integer program" if Feature.INTEGER in form.features else "continuous program"
        return Statement(
            title=self.name,
            problem_class=kind,
            sense="maximise" if form.maximise else "minimise",
            variables=Line("x", "x"),
            objective=objective,
            constraints=(*rows, *bounds),
            sizes=f"{count_text(form.n, 'variable')}, {count_text(form.rows, 'row')}",
            source="the form itself",
        )


#: Functions that take in other packages' programs, by the package.
_IMPORTERS = {name: f"from_{name}" for name in ("cvxpy", "pyomo")} | {"gurobipy": "from_gurobi", "highspy": "from_highs"}


def as_model(problem: object) -> Model:
    """Return a model itself, a form as a `BareForm`; raise `InputError` for anything else."""
    if isinstance(problem, Model):
        return problem
    if isinstance(problem, StandardForm):
        return BareForm(problem)
    # exempt (text): the module of an object that is no model, which may be another package's
    package = type(problem).__module__.partition(".")[0]
    advice = f"; marginopt.{_IMPORTERS[package]}(model) takes it in" if package in _IMPORTERS else ""
    if isinstance(problem, str | os.PathLike):
        advice = "; marginopt.read(path) reads the file of a program"
    raise InputError(
        f"expected a formulation such as ZeroOneSVM(X, y) or a StandardForm; got {type(problem).__name__}{advice}", name="model"
    )
