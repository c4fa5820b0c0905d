"""`Instance`, a checked, read-only data set with class labels: what readers and generators return, and models are stated on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ..data_names import DataNames, LabelledData, distinct_names, is_pandas_or_polars, names_of_rows
from ..display import Display, Displayable, data_frame
from ..errors import DataError, InputError, MarginoptWarning, count_text, short_text
from .arrays import FloatArray, IntArray, Label, Matrix, check_codes, check_matrix, encode_labels, is_sparse
from .naming import InstanceName, checked_parameters, composed_name
from .preparation import Rng, as_fraction, as_generator, choose_rows, column_statistics, prepend_ones, scale_columns, split_rows

#: "standardised": mean 0 and variance 1; "scaled": variance 1, not centred (sparse data).
Scaling: TypeAlias = Literal["none", "standardised", "scaled"]


def _prepared(instance: Instance, standardise: bool, intercept: bool, fit_on: Instance | None) -> Instance:
    """Standardise the features by the statistics of ``fit_on`` (by default the instance's own), and prepend a column of ones.

    Column j becomes (x_j - mean_j) / std_j with the population's std (divisor n), in sparse data x_j / std_j: taking the mean
    away would fill the matrix. Constant columns cannot be scaled to unit variance and say nothing beside an intercept, so they
    are dropped with a warning. Scaled data are not scaled again, and a column of ones is not put before another.
    """
    if fit_on is not None:
        _check_fit_on(instance, fit_on)
    body, names = _body(instance), _body_names(instance)
    scaling = instance.scaling
    if standardise and scaling == "none":
        statistics = _body(fit_on if fit_on is not None else instance)
        mean, std, constant = column_statistics(statistics)
        if constant.any():
            _warn_constant(instance.name, constant, names)
        body = scale_columns(body, mean, std, ~constant)
        names = None if names is None else tuple(names[j] for j in np.flatnonzero(~constant))
        scaling = "scaled" if is_sparse(body) else "standardised"
    with_ones = intercept or instance.intercept
    if with_ones:
        body = prepend_ones(body)
        names = None if names is None else ("intercept", *names)
    unchanged = scaling == instance.scaling and with_ones == instance.intercept
    population = instance.population if unchanged else None
    return replace(instance, X=body, feature_names=names, scaling=scaling, intercept=with_ones, population=population)


def _check_fit_on(instance: Instance, fit_on: Instance) -> None:
    own_layout = (instance.X.shape[1], instance.intercept, is_sparse(instance.X))
    fitted_layout = (fit_on.X.shape[1], fit_on.intercept, is_sparse(fit_on.X))
    if own_layout != fitted_layout:
        raise InputError(
            "fit_on must have the same columns and storage as the instance: "
            f"{count_text(fitted_layout[0], 'column')}, intercept {fitted_layout[1]}, "
            f"sparse {fitted_layout[2]} against {count_text(own_layout[0], 'column')}, "
            f"intercept {own_layout[1]}, sparse {own_layout[2]}",
            name="fit_on",
        )
    if fit_on.scaling != "none" or instance.scaling != "none":
        raise InputError("fit_on must be given, and used on, data as they were before any scaling", name="fit_on")


def _body(instance: Instance) -> Matrix:
    return instance.X[:, 1:] if instance.intercept else instance.X


def _body_names(instance: Instance) -> tuple[str, ...] | None:
    names = instance.feature_names
    return names if names is None or not instance.intercept else names[1:]


def _warn_constant(name: str, constant: npt.NDArray[np.bool_], names: tuple[str, ...] | None) -> None:
    columns = np.flatnonzero(constant)
    shown = [str(j) if names is None else f"{j} ({names[j]})" for j in columns[:10]]
    if columns.size > 10:
        shown.append(f"... {columns.size} in all")
    message = (
        f"{name}: dropped constant feature column(s) {', '.join(shown)}, counting from 0 without the intercept; "
        "a constant cannot be standardised. prepared(standardise=False) keeps them"
    )
    warnings.warn(MarginoptWarning(message, name="standardise"), stacklevel=4)


#: Most names of features that the notebook view shows.
_NAMES = 12


class Population(Protocol):
    """The distribution that a generated instance was drawn from."""

    @property
    def bayes(self) -> FloatArray:
        """Return the weights w of the distribution's rule sign(w'x), one for each column of X, the intercept's first; (p+1,)."""

    def sample(self, n: int, seed: Rng) -> Instance:
        """Draw n further points, with outliers or flipped labels as in the distribution."""

    def sample_clean(self, n: int, seed: Rng) -> Instance:
        """Draw n points without outliers or flipped labels."""


def _column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a frame's columns; None where X is no frame."""
    return tuple(map(str, X.columns)) if is_pandas_or_polars(X, "DataFrame") else None


def _row_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a frame's rows; None where they have none, or X is no frame."""
    return (names_of_rows(X) or None) if is_pandas_or_polars(X, "DataFrame") else None


@dataclass(frozen=True, eq=False, repr=False)
class Instance(Displayable, LabelledData):
    """A checked, read-only classification data set.

    Parameters
    ----------
    X : (n, columns) array or scipy sparse array
        Rows of data, stored as a float64 copy: dense in C order, or CSR. Its columns include the intercept's if there is one.
    y : (n,) array
        Class codes: -1 and +1 (kept as float64), or 0..K-1 for K ≥ 3 classes (kept as int64).
    name, source, description : str
        Name, origin, and what else is worth knowing. The default name is "data", or the family with sizes and parameters:
        ``gaussian-clustered[n=50, p=3, sigma=0.2]``.
    feature_names : sequence of str, optional
        One for each column of X.
    point_names : sequence of str, optional
        One for each row of X, all different; by default the index of a frame, unless it holds numbers.
    labels : sequence, optional
        The original label of each class in the order of the codes; the codes by default.
    intercept : bool
        Whether the first column of X is the constant 1.
    scaling : {"none", "standardised", "scaled"}
        What was done to the features: nothing, mean 0 and variance 1, or variance 1 without centring. The intercept is left out.
    population : Population, optional
        The distribution that generated the data; dropped by anything that changes the columns or classes.
    family : str
        Name shared by instances that differ in sizes and parameters alone; if it is empty, the name stands for it. A report takes
        means over a family.
    parameters : mapping of str to float, optional
        Parameters of the generator or of a change, without n and p, which X determines. A report draws gaps against a parameter
        in which instances of a family differ.

    Raises
    ------
    DataError
        Wrong shapes, no rows, NaN or infinite values, one class, other codes, an intercept column that is not 1, or a wrong
        number of names.
    InputError
        An unknown scaling; parameters that are no finite numbers.
    """

    X: Matrix
    y: npt.NDArray[Any]
    name: str = ""
    source: str = "given"
    feature_names: tuple[str, ...] | None = None
    description: str = ""
    labels: tuple[Label, ...] | None = None
    intercept: bool = False
    scaling: Scaling = "none"
    population: Population | None = None
    family: str = ""
    parameters: Mapping[str, float] | None = None
    point_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.feature_names is None:
            object.__setattr__(self, "feature_names", _column_names(self.X))
        if self.point_names is None:
            object.__setattr__(self, "point_names", _row_names(self.X))
        X = check_matrix(self.X)
        y, labels = check_codes(self.y, self.labels, X.shape[0])
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "labels", labels)
        if self.feature_names is not None:
            names = tuple(str(name) for name in self.feature_names)
            if len(names) != X.shape[1]:
                raise DataError(
                    f"feature_names must hold one name for each of {X.shape[1]} columns, got {len(names)}", name="feature_names"
                )
            object.__setattr__(self, "feature_names", names)
        if self.point_names is not None:
            points = distinct_names(map(str, self.point_names))
            if len(points) != X.shape[0]:
                raise DataError(f"point_names must hold a different name for each of {X.shape[0]} rows", name="point_names")
            object.__setattr__(self, "point_names", points)
        if self.intercept and not np.all(_first_column(X) == 1.0):
            raise DataError("intercept=True says that the first column of X is constant 1, and it is not", name="intercept")
        if self.scaling not in ("none", "standardised", "scaled"):
            raise InputError(
                f"scaling must be 'none', 'standardised' or 'scaled', got {short_text(self.scaling)}", name="scaling"
            )
        object.__setattr__(self, "parameters", checked_parameters({} if self.parameters is None else self.parameters))
        if not self.name:
            naming = self.naming
            name = composed_name(self.family, {**naming.sizes, **naming.parameters}) if self.family else "data"
            object.__setattr__(self, "name", name)

    @classmethod
    def from_labels(
        cls,
        X: object,
        y: object,
        name: str = "",
        source: str = "given",
        feature_names: Sequence[str] | None = None,
        description: str = "",
    ) -> Instance:
        """Build an instance from labels of any kind; of two classes the one that sorts second becomes +1.

        A data frame brings the names of its columns and, unless they are numbers, of its rows.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame (n, p)
            Rows of data.
        y : array_like (n,)
            Labels: numbers, text or truth values.
        name, source, description : str
            Shown in tables and prints.
        feature_names : sequence of str, optional
            Names of the columns.

        Returns
        -------
        Instance
            With labels coded -1 and +1, or 0 to K - 1, and the classes' names.

        Raises
        ------
        DataError
            X or y has no such shape, missing values, a single class, or labels that look like measurements.
        """
        feature_names = _column_names(X) if feature_names is None else feature_names
        matrix = check_matrix(X)
        codes, classes = encode_labels(y)
        names = None if feature_names is None else tuple(feature_names)
        return cls(matrix, codes, name, source, names, description, classes, point_names=_row_names(X))

    @property
    def arrays(self) -> tuple[Matrix, npt.NDArray[Any]]:
        """Return X and y."""
        return self.X, self.y

    @property
    def data_names(self) -> DataNames:
        """Return the scaling and the names of columns, points and classes; no names of classes if their labels are the codes."""
        coded = [str(code) for code in self.classes]
        labels = tuple(str(label) for label in self._labels)
        classes = () if list(labels) == coded else labels
        return DataNames(self.feature_names or (), classes, self.point_names or (), self.scaling)

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    @property
    def classes(self) -> tuple[int, ...]:
        """Return the class codes: (-1, 1), or 0..K-1."""
        count = len(self._labels)
        return (-1, 1) if count == 2 else tuple(range(count))

    @property
    def standardised(self) -> bool:
        """Return whether the features were brought to unit variance (centred too, unless sparse: see ``scaling``)."""
        return self.scaling != "none"

    @property
    def bayes(self) -> FloatArray | None:
        """Return the weights w of the generating distribution's rule sign(w'x), (columns,); None without a population."""
        return None if self.population is None else self.population.bayes

    @property
    def _labels(self) -> tuple[Label, ...]:
        # None only in the constructor's signature: __post_init__ always fills it.
        return self.labels if self.labels is not None else ()

    @property
    def naming(self) -> InstanceName:
        """Return the name, family, parameters and sizes."""
        sizes = {"n": self.n, "p": int(self.X.shape[1]) - self.intercept}
        return InstanceName(self.name, self.family, self.parameters or {}, sizes)

    def sizes(self) -> dict[Label, int]:
        """Count the rows of each class, by original label."""
        return {label: int(np.count_nonzero(self.y == code)) for label, code in zip(self._labels, self.classes, strict=True)}

    def prepared(self, standardise: bool = True, intercept: bool = True, fit_on: Instance | None = None) -> Instance:
        """Return the instance with standardised features and a constant column of ones first.

        Parameters
        ----------
        standardise : bool
            Scale every feature to mean 0 and variance 1 (divisor n); sparse data are scaled and not centred, which
            ``scaling`` and the printed form say. Constant columns are dropped with a `MarginoptWarning`.
        intercept : bool
            Put a column of ones first, unless there is one.
        fit_on : Instance, optional
            Take means, deviations and the constant columns from these (unscaled) data: prepare a test part with
            the statistics of its training part.

        Returns
        -------
        Instance
            The same points. Scaled data are not scaled again, and a column of ones is not put before another.

        Raises
        ------
        InputError
            ``fit_on`` has other columns or storage, or it or this instance is scaled.
        DataError
            No feature varies, or a mean or variance is not finite.
        """
        return _prepared(self, standardise, intercept, fit_on)

    def take(self, indices: npt.ArrayLike, name: str | None = None) -> Instance:
        """Return the rows with these indices, in the order given.

        Parameters
        ----------
        indices : array_like
            Integers (negative ones count from the end), or a mask of n truth values.
        name : str, optional
            Name of the result; by default this instance's.

        Returns
        -------
        Instance
            The rows in the order given.

        Raises
        ------
        InputError
            No such rows, no integers, or a mask of another length.
        DataError
            The rows have one class only.
        """
        rows = np.asarray(indices)
        if rows.dtype == np.bool_ and rows.shape == (self.n,):
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or rows.size == 0 or not np.issubdtype(rows.dtype, np.integer):
            raise InputError(
                f"indices must be a non-empty vector of integers or a mask of {self.n} truth values, "
                f"got shape {rows.shape} of {rows.dtype}",
                name="indices",
            )
        if rows.min() < -self.n or rows.max() >= self.n:
            raise InputError(
                f"indices must be between {-self.n} and {self.n - 1}, got {rows.min()} to {rows.max()}", name="indices"
            )
        return self._taken(rows, name=self.name if name is None else name)

    def _taken(self, rows: IntArray, **naming: Any) -> Instance:
        try:
            return replace(self, X=self.X[rows], y=self.y[rows], point_names=self._names_at(rows), **naming)
        except DataError as error:
            raise DataError(f"{rows.size} of the {self.n} rows of {self.name}: {error}", name=error.name) from None

    def _names_at(self, rows: IntArray) -> tuple[str, ...] | None:
        """Return the names of some rows; None if a row occurs twice."""
        names = self.point_names
        return None if names is None else distinct_names(names[i] for i in rows.tolist()) or None

    def subsample(self, n: int, seed: Rng, stratified: bool = True) -> Instance:
        """Return n rows chosen at random without repetition, in the order of this instance.

        The name carries a seed that is a number: ``wdbc[n=60, seed=3]``.

        Parameters
        ----------
        n : int
            Number of rows.
        seed : int or Generator
            Seed of the choice, or a generator that is advanced.
        stratified : bool
            Whether the classes keep their proportions.

        Returns
        -------
        Instance
            n rows of this instance.

        Raises
        ------
        InputError
            n is not between 2 and the number of rows, or no valid seed.
        DataError
            The rows have one class only.
        """
        rows = choose_rows(self.y, n, seed, stratified)
        sample_parameters = {"seed": float(seed)} if isinstance(seed, int | np.integer) else {}
        return self._taken(rows, **self.naming.changed_fields({"n": rows.size}, sample_parameters))

    def subsamples(self, n: int, seeds: Iterable[int], stratified: bool = True) -> tuple[Instance, ...]:
        """Return one `subsample` of n rows for each seed, all of one family.

        A report takes means over a family: ``gap_report(data.subsamples(30, seeds=range(10)))``.

        Parameters
        ----------
        n : int
            Number of rows of each.
        seeds : iterable of int
            Seeds of the choices.
        stratified : bool
            Whether the classes keep their proportions.

        Returns
        -------
        tuple of Instance
            One for each seed.

        Raises
        ------
        InputError
            No seeds, or more rows than there are.
        """
        samples = [self.subsample(n, seed, stratified) for seed in seeds]
        if not samples:
            raise InputError("subsamples needs at least one seed", name="seeds")
        return tuple(replace(part, family=f"{self.naming.family_name}[n={part.n}]") for part in samples)

    def split(self, fractions: Sequence[float], seed: Rng, stratified: bool = True) -> tuple[Instance, ...]:
        """Return all rows in random parts of the given fractions, which sum to 1.

        Parameters
        ----------
        fractions : sequence of float
            Positive; they sum to 1.
        seed : int or Generator
            Seed of the choice, or a generator that is advanced.
        stratified : bool
            Whether the classes keep their proportions.

        Returns
        -------
        tuple of Instance
            One for each fraction, in the order given.

        Raises
        ------
        InputError
            Fractions that do not sum to 1, or leave a part empty.
        DataError
            A part has one class only.
        """
        parts = split_rows(self.y, fractions, seed, stratified)
        family, count = self.naming.family_name, len(parts)
        return tuple(self._taken(rows, name=f"{self.name}[{k}/{count}]", family=family) for k, rows in enumerate(parts, 1))

    def pair(self, a: Label, b: Label) -> Instance:
        """Return the rows of the classes with original labels a (coded -1) and b (coded +1).

        Parameters
        ----------
        a, b : label
            Original labels of two classes.

        Returns
        -------
        Instance
            The rows of the two classes, with codes -1 and +1.

        Raises
        ------
        InputError
            A label that the data do not have, or one label twice.
        """
        codes = [self._code(a), self._code(b)]
        if codes[0] == codes[1]:
            raise InputError(f"a pair needs two different classes, got {short_text(a)} twice", name="b")
        rows: IntArray = np.flatnonzero(np.isin(self.y, codes))
        labels = tuple(self._labels[self.classes.index(code)] for code in codes)
        return replace(
            self,
            X=self.X[rows],
            y=np.where(self.y[rows] == codes[1], 1.0, -1.0),
            point_names=self._names_at(rows),
            labels=labels,
            name=f"{self.name}-{labels[0]}-{labels[1]}",
            family=f"{self.family}-{labels[0]}-{labels[1]}" if self.family else "",
            population=None,
        )

    def _code(self, label: Label) -> int:
        for value, code in zip(self._labels, self.classes, strict=True):
            if value == label or str(value) == str(label):
                return code
        raise InputError(f"{self.name} has no class {short_text(label)}; its classes are {list(self._labels)}", name=str(label))

    def with_label_noise(self, tau: float, seed: Rng) -> Instance:
        """Return the rows with each label changed with probability τ, independently, to another class at random.

        With two classes the change is a flip, as in Cepeda, Gómez and Han (2024), §5.2.

        Parameters
        ----------
        tau : float
            Probability τ, between 0 and 0.5.
        seed : int or Generator
            Seed of the changes, or a generator that is advanced.

        Returns
        -------
        Instance
            The same rows with the changed labels.
        """
        tau = as_fraction(tau, "tau", 0.5)
        generator = as_generator(seed)
        codes = np.array(self.classes)
        flipped = generator.random(self.n) < tau
        shift = generator.integers(1, codes.size, size=self.n)
        other_labels = codes[(np.searchsorted(codes, self.y) + shift) % codes.size]
        return replace(self, y=np.where(flipped, other_labels, self.y), **self.naming.changed_fields({}, {"tau": tau}))

    def dense(self) -> Instance:
        """Return the same data with X stored as a dense array."""
        return replace(self, X=self.X.toarray()) if is_sparse(self.X) else self

    def to_frame(self) -> Any:
        """Return features by name and, last, ``label`` with the original labels, as a pandas data frame.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        X = self.X.toarray() if is_sparse(self.X) else self.X
        names = self.feature_names or tuple(f"x{k}" for k in range(X.shape[1]))
        columns = {name: X[:, k] for k, name in enumerate(names)}
        table = data_frame({**columns, "label": np.asarray(self._labels)[np.searchsorted(self.classes, self.y)]})
        return table if self.point_names is None else table.set_axis(list(self.point_names), axis="index")

    def display(self) -> Display:
        """Return the notebook view."""
        facts = [("rows", f"{self.n:,}"), ("columns", f"{self.X.shape[1]:,}{', the intercept first' if self.intercept else ''}")]
        facts += [("features", _listed(self.feature_names))] if self.feature_names else []
        facts += [(f"class {label}", f"{count:,}") for label, count in self.sizes().items()]
        facts += [("scaling", self.scaling), ("source", self.source)]
        facts += [("description", self.description)] if self.description else []
        return Display(self.name, tuple(facts))

    def __repr__(self) -> str:
        """Return one line: name, sizes, storage, scaling and source."""
        sizes = ", ".join(f"{label}: {count}" for label, count in list(self.sizes().items())[:4])
        ellipsis = ", ..." if len(self._labels) > 4 else ""
        storage = f", CSR {self.X.nnz / np.prod(self.X.shape):.1%} filled" if is_sparse(self.X) else ""
        scaling = {"none": "", "standardised": ", standardised", "scaled": ", scaled to unit variance, not centred"}
        columns = count_text(self.X.shape[1], "column") + (" with the intercept first" if self.intercept else "")
        return (
            f"Instance({self.name!r}: {count_text(self.n, 'row')}, {columns}, "
            f"{count_text(len(self._labels), 'class', 'classes')} ({sizes}{ellipsis})"
            f"{storage}{scaling[self.scaling]}; {self.source})"
        )


def _listed(names: Sequence[str]) -> str:
    omitted = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {omitted} more" if omitted > 0 else "")


def _first_column(X: Matrix) -> FloatArray:
    return np.asarray(X[:, [0]].toarray() if is_sparse(X) else X[:, 0], dtype=np.float64).ravel()
