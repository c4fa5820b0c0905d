"""The base classes of all estimators (pickling, checks of X and y, options of solves), and the record that lists each of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data_names import DataNames, is_missing, is_pandas_or_polars
from ..errors import DataError, InputError, MarginoptWarning, short_text
from ..models.arrays import FloatArray, IntArray, Points, as_points
from ..models.formulations.margin.part import Part
from ..models.formulations.margin.restrictions import Restriction
from ..models.kernels.kernels import Precomputed
from ..models.model import Model
from ..solvers.records import Options
from .training_set import FeatureSpace, KernelSpace, LinearSpace, Scaling, WeightedPoints, is_precomputed, make_kernel

M = TypeVar("M", bound=Model)

#: Number of the layout of the fitted attributes. A change of the attributes that a pickle holds needs a new number.
_LAYOUT = 2
_KEY = "_marginopt_layout"


class Estimator(BaseEstimator):  # type: ignore[misc]
    """The base class of all estimators. It refuses pickles of versions with other fitted attributes: predictions could differ."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, and the number of their layout (the version of the set of fitted attributes)."""
        return {**super().__getstate__(), _KEY: _LAYOUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes; raise DataError for those of another layout."""
        state = dict(state)
        if state.pop(_KEY, None) != _LAYOUT:
            raise DataError(f"this {type(self).__name__} was written by an earlier version of marginopt; fit it again")
        super().__setstate__(state)


def refuse_fit_arguments(estimator: object, fit_params: Mapping[str, object]) -> None:
    """Raise a `TypeError` if ``fit_params`` has arguments, which ``fit`` does not take; advise what replaces ``sample_weight``.

    scikit-learn looks for ``sample_weight`` among the parameters of ``fit`` to learn whether weights are taken, so an estimator
    without weights cannot name that parameter to refuse it.
    """
    if not fit_params:
        return
    name = type(estimator).__name__
    if "sample_weight" in fit_params:
        raise TypeError(
            f"{name} takes no sample_weight: its model prices all points alike. Repeat points that count more, or take one "
            "that has weights: L2SVC, NCHSVC, HingeSVC, ZeroOneSVC, RampSVC or SparseSVC"
        )
    raise TypeError(f"{name}.fit takes X and y; it was given {', '.join(fit_params)}")


@dataclass(frozen=True)
class EstimatorInfo:
    """The record of one estimator, in ``ESTIMATORS`` at the end of its module; `marginopt.estimators` collects them.

    Parameters
    ----------
    estimator : type
        The class.
    model : type of Model
        The formulation that it solves.
    summary : str
        The estimator in one line.
    quick_parameters : mapping
        Parameters for a quick fit of small data, as scikit-learn's estimator checks need.
    """

    estimator: type[Any]
    model: type[Model]
    summary: str
    quick_parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the estimator's class."""
        return self.estimator.__name__

    def make(self) -> Any:
        """Return an unfitted estimator with the parameters `quick_parameters`."""
        return self.estimator(**self.quick_parameters)


def _name_fault(X: Any, y: Any, error: Exception) -> None:
    """Raise InputError for a column of a frame that holds words, or for missing labels; return if there are none of either."""
    columns = X.columns if is_pandas_or_polars(X, "DataFrame") else ()
    for name in columns:
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            if any(isinstance(value, str) for value in np.asarray(X[name]).tolist()):
                raise InputError(
                    f"column {short_text(name)} holds words: encode it, such as by OneHotEncoder in a pipeline, or leave it out",
                    name="X",
                ) from error
    labels = [] if y is None or isinstance(y, str) else np.ravel(np.asarray(y, dtype=object)).tolist()
    missing = sum(is_missing(label) for label in labels if np.ndim(label) == 0)
    if missing:
        raise InputError(f"y misses {missing} of {len(labels)} entries: leave these points out", name="y") from error


class PointsEstimator(Estimator):
    """The base class of estimators on points, dense or CSR, which they may standardise and map by a kernel."""

    def _without_names(self, parts: Any, X: Points, y: FloatArray) -> Any:
        """Return a part, or several, with indices in place of the names of columns and of the two classes of the problem."""
        if isinstance(parts, str) or not isinstance(parts, Part | Iterable):
            return parts
        if not isinstance(parts, Part):
            return [self._without_names(part, X, y) for part in parts]
        return parts.resolve_names(DataNames(self._feature_names(), vars(self).get("_class_names", ())), X, y)

    def _feature_names(self) -> tuple[str, ...]:
        """Return the names of the intercept and the features of a frame; none of an array."""
        columns = self._column_names()
        return ("intercept", *columns) if columns else ()

    def _column_names(self) -> tuple[str, ...]:
        """Return the names of the features of a frame, without the intercept; none of an array."""
        return tuple(map(str, vars(self).get("feature_names_in_", ())))

    def _with_columns(self, problem: M) -> M:
        """Return a problem on the features alone, without a column for the intercept, with their names."""
        columns = self._column_names()
        return problem.with_data_names(DataNames(columns)) if columns else problem

    def _named(self, problem: M, space: FeatureSpace, labels: Sequence[object] = ()) -> M:
        """Return a problem of these points with the names of the features, and those of the classes unless these are the codes.

        ``labels`` are the labels of the classes in the order of their codes, None for all the rest of them.
        """
        features = self._feature_names() if space.kernel is None else ()
        classes = () if tuple(labels) == (-1, 1) else tuple("rest" if label is None else str(label) for label in labels)
        return problem.with_data_names(DataNames(features, classes)) if features or classes else problem

    def _merged(self, X: Points, codes: IntArray, weights: FloatArray) -> WeightedPoints:
        """Return the points of positive weight, equal ones as one unless a restriction counts or names points."""
        restrictions = vars(self).get("subject_to", ())
        listed = restrictions if isinstance(restrictions, Iterable) else [restrictions]
        if not any(isinstance(part, Restriction) and part.depends_on_points for part in listed):
            return WeightedPoints.merged(X, codes, weights)
        if not (weights > 0).all():
            raise InputError(
                "restrictions in subject_to count or name points, and some points have weight 0: leave these points out",
                name="sample_weight",
            )
        return WeightedPoints.separate(weights)

    def _validate(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Return what scikit-learn's `validate_data` does; an error names a column of words, or counts missing labels."""
        try:
            validated = validate_data(self, X, y, **{"accept_sparse": "csr", "dtype": np.float64, **options})
            if is_classifier(self) and not isinstance(y, str):
                check_classification_targets(validated[1])
        except (TypeError, ValueError) as error:
            _name_fault(X, y, error)
            raise
        return validated

    def _new_points(self, X: Any) -> Points:
        check_is_fitted(self)
        return as_points(self._validate(X, reset=False))

    def _scaling_of(self, X: Points, sample: WeightedPoints) -> Scaling:
        """Return the standardisation of the sample, or the identity with ``standardise=False``."""
        return Scaling.of(X[sample.rows], sample.weight) if self.standardise else Scaling()

    def _linear_space(self, X: Points, sample: WeightedPoints) -> LinearSpace:
        return LinearSpace.of(X[sample.rows], self._scaling_of(X, sample))

    def _kernel_space(self, X: Points, sample: WeightedPoints) -> KernelSpace:
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        scaling = Scaling() if isinstance(kernel, Precomputed) else self._scaling_of(X, sample)
        return KernelSpace.of(X, sample.rows, scaling, kernel, sample.weight)

    def _pairwise(self) -> bool:
        """Return whether X is a kernel matrix."""
        return is_precomputed(vars(self).get("kernel"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._pairwise()
        return tags


@dataclass(eq=False, repr=False)
class ModelEstimator(PointsEstimator):
    """The base class of estimators that solve models of `marginopt.models`: the parameters of these solves.

    Parameters
    ----------
    solver : str or Solver
        A solver, as for `marginopt.solve`.
    tol : float or None
        Relative gap at which the solver stops; the solver's own default where it is None.
    standardise : bool
        Whether to scale features to mean 0 and deviation 1 before the solve; sparse features to deviation 1 only.
    time_limit : float or None
        Seconds of each solve.
    verbose : bool
        Whether to print the solver's log and progress.
    """

    _: KW_ONLY
    solver: Any = "auto"
    tol: float | None = 1e-6
    standardise: bool = True
    time_limit: float | None = None
    verbose: bool = False

    def _options(self, start: Mapping[str, FloatArray] | None = None) -> Options:
        """Return the options of one solve."""
        progress = bool(self.verbose)
        return Options(tol=self.tol, time_limit=self.time_limit, start=start, progress=progress, verbose=progress)

    @contextmanager
    def _no_advice(self) -> Iterator[None]:
        """Silence a model's advice to standardise where the features are standardised."""
        with warnings.catch_warnings():
            if self.standardise:
                warnings.simplefilter("ignore", MarginoptWarning)
            yield
