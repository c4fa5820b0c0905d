"""The restrictions of `Margin`, conditions on w or on the margins y_i x_i'w: linear rows, fixed coefficients, points that keep a
margin of at least 1, limits on numbers of non-zero coefficients or of margins below 1 (*errors*), and parity of groups.
"""

from __future__ import annotations

import itertools
import numbers
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ....data_names import DataNames, is_missing
from ....errors import InputError, count_text, short_text
from ....rows import Rows
from ...arrays import BoolArray, FloatArray, IntArray, Points, as_integer, as_positive, as_share, in_memory, to_dense
from ...program.cones import Nonnegative, Zero
from ...statement import Line, equation, latex_words, listed
from ...views import Budget, EqualRates
from ..features import first_column_is_one
from .assembly import Affine, Assembly
from .part import AssemblyContext, FixedClassifier, Part, as_columns, as_integers, as_numbers, by_column, column_places
from .regularisers import add_nonzero_indicators


class Restriction(Part):
    """Base class of restrictions, which solvers read as rows of the form (`add`) or by the property of their kind.

    Attributes
    ----------
    needs_margins : bool
        Whether the restriction reads the points' margins, which a loss of residuals, scores or pairs does not have.
    depends_on_points : bool
        Whether the restriction names points, counts them or takes their mean, so that a point given twice is two points.
    counted_by_loss : bool
        Whether the restriction limits the sum of the loss's own variables for violated margins, as `ViolationBudget` does.
    """

    needs_margins: ClassVar[bool] = False
    depends_on_points: ClassVar[bool] = False
    counted_by_loss: ClassVar[bool] = False

    @abstractmethod
    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add variables and constraints, under labels that begin with ``name``.

        ``errors`` are the loss's variables that measure violated margins, one for each point; 0-1 variables count them.

        Raises
        ------
        InputError
            The loss does not count what the restriction limits.
        """

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the label with which the restriction's constraints begin."""

    @property
    def max_nonzeros(self) -> int | None:
        """Return k where the restriction is that at most k penalised coefficients are not zero; None for another one."""
        return None

    def kept_points(self, n: int) -> IntArray | None:
        """Return the points, of n, whose margins must be at least 1; None where the restriction is something else."""
        return None

    def budget(self, y: FloatArray) -> Budget | None:
        """Return the points and the number of them whose margins may be below 1; None where the restriction is another."""
        return None

    def linear_rows(self, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return A, lower and upper of lower ≤ Aw ≤ upper where that is the restriction; None where it is something else."""
        return None

    def holds_intercept(self, X: FloatArray, y: FloatArray) -> bool:
        """Return whether moving a free intercept towards zero may violate the restriction, though each score keeps the
        intercept's sign and a size of at least 1.

        False for kept points, error budgets and limits on non-zeros: such a move keeps every margin of at least 1 at 1 or more.
        """
        if self.kept_points(y.size) is not None or self.budget(y) is not None or self.max_nonzeros is not None:
            return False
        rows = self.linear_rows(X, y)
        return rows is None or bool(rows[0][:, 0].any())

    def check(self, p: int, y: FloatArray) -> None:
        """Check that the restriction fits p coefficients and these labels.

        Raises
        ------
        InputError
            Another number of points or coefficients, or points of a class that is not there.
        """
        return

    def equal_rates(self, y: FloatArray) -> EqualRates | None:
        """Return the groups whose shares of positive scores must be close; None where the restriction is something else."""
        return None

    def blocks(self, classifier: FixedClassifier, name: str) -> dict[str, FloatArray]:
        """Return the variables that the restriction adds, by label, at their best values for a classifier; by default none."""
        return {}

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Return the violation by a classifier, from the data; 0 where it is satisfied."""
        linear = self.linear_rows(X, y)
        if linear is None:
            return 0.0
        A, low, high = linear
        value = A @ w
        return float(max((low - value).max(initial=0.0), (value - high).max(initial=0.0)))

    def excess(self, X: FloatArray, y: FloatArray, w: FloatArray, penalised: BoolArray) -> float:
        """Return `violation`; a restriction that counts coefficients counts those of the mask ``penalised`` alone."""
        return self.violation(X, y, w)


def point_indices(points: Sequence[int] | ArrayLike, n: int, noun: str) -> IntArray:
    """Return the indices, of n, of points given as indices or as a boolean mask; ``noun`` names the points in messages."""
    points_array = np.asarray(points)
    indices = np.flatnonzero(points_array)
    if points_array.dtype != bool:
        indices = np.unique(np.array(as_integers(np.atleast_1d(points_array), noun), dtype=np.int64))
    if points_array.dtype == bool and points_array.shape != (n,):
        raise InputError(f"{noun} given as a mask must have {n} entries, one for each point; it has {points_array.size}")
    if not indices.size or indices.min() < 0 or indices.max() >= n:
        raise InputError(
            f"{noun} must name points by indices from 0 to {n - 1}, at least one; it is {short_text(points)}", name="points"
        )
    return indices


def _indices_of_names(points: Any, names: DataNames) -> list[int]:
    """Return the indices of points that are given by their names; [] where they are given otherwise."""
    listed = list(points) if isinstance(points, list | tuple | np.ndarray) and np.ndim(points) == 1 else []
    return [names.point(str(name)) for name in listed] if listed and all(isinstance(name, str) for name in listed) else []


@dataclass(frozen=True, eq=False)
class LinearRows(Restriction):
    """The restriction lower ≤ Aw ≤ upper.

    Parameters
    ----------
    A : array_like (k, p), or mapping, or sequence of mappings
        Rows; or a row by name or index of its columns, ``{"age": 1.0, "income": -1.0}``, zero in the other columns.
    lower, upper : float or array_like (k,), or None
        Infinite, or None, where there is none.
    label : str
        Name of the rows in the form.

    Raises
    ------
    InputError
        Shapes that do not fit, or no such column (when the problem is stated).
    """

    A: Any
    lower: Any = -np.inf
    upper: Any = np.inf
    label: str = "rows"

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label:
            raise InputError(f"label must be a name for these rows; it is {short_text(self.label)}", name="label")
        for side, absent in (("lower", -np.inf), ("upper", np.inf)):
            if getattr(self, side) is None:
                object.__setattr__(self, side, absent)

    @property
    def _by_column(self) -> list[Mapping[Any, Any]]:
        """Return the rows that are given by column; none where A is a matrix."""
        rows = [self.A] if isinstance(self.A, Mapping) else list(self.A) if isinstance(self.A, list | tuple) else []
        return rows if rows and all(isinstance(row, Mapping) for row in rows) else []

    @property
    def names_coefficients(self) -> bool:
        """Return whether the rows are given by column."""
        return bool(self._by_column)

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the restriction with a matrix in place of rows by column."""
        rows = self._by_column
        if not rows:
            return self
        A = np.zeros((len(rows), X.shape[1]))
        for row, named in zip(A, rows, strict=True):
            places = column_places(as_columns(named, "A"), names, row.size, "A")
            row[list(places)] = as_numbers(list(named.values()), "A")
        return replace(self, A=A)

    @property
    def name(self) -> str:
        """Return the given label."""
        return self.label

    def _data(self, p: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        A = np.atleast_2d(as_numbers(self.A, "A"))
        if A.shape[1] != p or not np.isfinite(A).all():
            raise InputError(
                f"{self.label} must have rows of {p} finite numbers, one a coefficient; theirs have {A.shape[1]}", name="A"
            )
        sides = as_numbers(self.lower, "lower"), as_numbers(self.upper, "upper")
        low, high = (np.array(np.broadcast_to(side, A.shape[:1])) for side in sides)
        return A, low, high

    def check(self, p: int, y: FloatArray) -> None:
        """Check the number of columns and the two sides."""
        self._data(p)

    def linear_rows(self, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return A, lower and upper."""
        return self._data(X.shape[1])

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add one constraint for each side."""
        A, low, high = self._data(context.w.rows)
        rows = context.w.premultiplied(A)
        for suffix, side, sign in (("lower", low, 1.0), ("upper", high, -1.0)):
            finite = np.flatnonzero(np.isfinite(side))
            builder.require_nonnegative(f"{name} {suffix}", rows.at(finite).scaled(sign) - sign * side[finite])

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows."""
        return (Line("l <= A w <= u", r"l \le A w \le u", self.label),)


@dataclass(frozen=True, eq=False)
class Fixed(Restriction):
    """The restriction w_j = v_j for each key j of ``coefficients``.

    Parameters
    ----------
    coefficients : mapping of int or str to float
        v_j by the index or the name of a column; the name of a column of words stands for all its indicators.
    shown : tuple of str
        Printed names of the columns, in the order of ``coefficients``; empty without names.
    """

    coefficients: Mapping[int | str, float] = field(default_factory=dict)
    shown: tuple[str, ...] = field(default=(), repr=False, metadata={"identity": False})

    name = "fixed"

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping):
            raise InputError(
                f"fixed coefficients are a mapping of index to value, {{3: 0.0}}; they are {short_text(self.coefficients)}",
                name="coefficients",
            )
        places = as_columns(self.coefficients, "indices of fixed coefficients")
        values = as_numbers(list(self.coefficients.values()), "values of fixed coefficients")
        if values.shape != (len(places),) or not np.isfinite(values).all():
            raise InputError(f"fixed coefficients have one finite value each; they are {short_text(self.coefficients)}")
        object.__setattr__(self, "coefficients", dict(zip(places, map(float, values), strict=True)))

    @property
    def names_coefficients(self) -> bool:
        """Return whether a key is the name of a column."""
        return any(isinstance(j, str) for j in self.coefficients)

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the restriction with indices in place of names, and the names to print."""
        values = by_column(self.coefficients, names, X.shape[1], "coefficients")
        return type(self)(values, tuple(names.features[int(j)] for j in values) if names.features else ())

    def check(self, p: int, y: FloatArray) -> None:
        """Check the indices."""
        self._fixed(p)

    def _fixed(self, p: int) -> tuple[IntArray, FloatArray]:
        """Return the indices of the fixed coefficients among p, and their values."""
        places = point_indices([j for j in self.coefficients if not isinstance(j, str)], p, "fixed coefficients")
        return places, np.array([self.coefficients[int(j)] for j in places])

    def linear_rows(self, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return one equation for each coefficient."""
        places, values = self._fixed(X.shape[1])
        return np.eye(X.shape[1])[places], values, values

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add one equation for each coefficient."""
        places, values = self._fixed(context.w.rows)
        builder.require(name, context.w.at(places) - values, Zero(places.size))

    def lines(self) -> tuple[Line, ...]:
        """Return the printed values."""
        indices, values = self.shown or self.coefficients, self.coefficients.values()
        return (listed([equation(f"w[{index}]", v) for index, v in zip(indices, values, strict=True)], "fixed"),)


@dataclass(frozen=True, eq=False)
class Keep(Restriction):
    """The restriction y_i x_i'w ≥ 1 of some points, whose margins are kept.

    Parameters
    ----------
    points : array_like of int, bool or str, or str
        Indices, a mask, names of points; or the name of a class, for all its points.
    """

    points: Any

    name = "keep"
    needs_margins: ClassVar[bool] = True
    depends_on_points: ClassVar[bool] = True

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add a row for each point."""
        chosen = self.kept_points(context.argument.rows)
        builder.require_nonnegative(name, context.argument.at(chosen) - 1.0, tuple(chosen.tolist()))

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the restriction with indices in place of the name of a class, or of the names of points."""
        if isinstance(self.points, str):
            return type(self)(np.flatnonzero(y == names.code(self.points)))
        return type(self)(indices) if (indices := _indices_of_names(self.points, names)) else self

    def check(self, p: int, y: FloatArray) -> None:
        """Check the points."""
        self.kept_points(y.size)

    def kept_points(self, n: int) -> IntArray:
        """Return the points."""
        return point_indices(self.points, n, "points to keep")

    def linear_rows(self, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the margins of the points, at least 1."""
        chosen = self.kept_points(y.size)
        return y[chosen, None] * to_dense(X[chosen]), np.ones(chosen.size), np.full(chosen.size, np.inf)

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Return the largest shortfall of a margin."""
        chosen = self.kept_points(y.size)
        return float(np.maximum(1.0 - (y * np.asarray(X @ w))[chosen], 0.0).max())

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows."""
        return (Line("y_i x_i'w >= 1 for kept i", r"y_i x_i^\top w \ge 1 \text{ for kept } i", "keep"),)


#: The most groups whose names are numbers: more different numbers are a quantity, such as an age.
_MOST_NUMBERED = 20


def group_indicators(groups: Any, n: int) -> FloatArray:
    """Return the rows 1{i in g}, one for each group g.

    Raises
    ------
    InputError
        Not one group for each point, points whose group is missing, names of several types, fewer than two groups, or numbers
        that are a quantity: more than 20 different ones, or a different one for each of three points or more.
    """
    groups_array = np.asarray(groups)
    if groups_array.shape != (n,):
        raise InputError(
            f"groups must name one group for each of the {n} points; its shape is {groups_array.shape}", name="groups"
        )
    missing = sum(map(is_missing, groups_array.tolist()))
    if missing:
        raise InputError(
            f"groups misses the group of {missing} points, who would be in none: leave these points out, or name a group of them",
            name="groups",
        )
    try:
        names, places = np.unique(groups_array, return_inverse=True)
    except TypeError:
        raise InputError("groups mixes names of several types: they must be comparable with each other", name="groups") from None
    if names.size < 2:
        raise InputError("parity needs at least two groups", name="groups")
    if groups_array.dtype.kind in "iuf" and (names.size > _MOST_NUMBERED or 2 < names.size == n):
        raise InputError(
            f"groups holds {names.size} different numbers for {count_text(n, 'point')}, "
            "and each would be a group: make few groups of them, "
            "such as pandas.cut(ages, [0, 30, 60, 120]), or name the groups by words",
            name="groups",
        )
    return (places[None, :] == np.arange(names.size)[:, None]).astype(np.float64)


def _groups_of_words(X: Points, words: Mapping[str, int]) -> NDArray[np.str_]:
    """Return the word of each point from the columns of the words' indicators, scaled or not.

    "other" is the group of points without any of these words, such as those of the word that has no indicator.
    """
    columns = to_dense(X[:, list(words.values())])
    chosen = (columns == columns.max(axis=0)) & (columns.max(axis=0) > columns.min(axis=0))  # no point has a constant one's word
    names = np.array([*words, "other"])
    return np.asarray(names[np.where(chosen.any(axis=1), chosen.argmax(axis=1), len(words))])


def _group_covariances(X: Any, groups: Any, n: int) -> sp.csr_array:
    """Return rows c_g = (1/n) Σ_i (1{i in g} - share of g) x_i: c_g'w is the covariance of membership in g and the score.

    One row for each group g; of two groups the second alone, whose covariance is minus the first's.
    """
    inside = group_indicators(groups, n)
    inside = inside[1:] if inside.shape[0] == 2 else inside
    centred = (inside - inside.mean(axis=1, keepdims=True)) / n
    data = sp.csr_array(X)
    rows, sizes = sp.csr_array(sp.csr_array(centred) @ data), sp.csr_array(sp.csr_array(np.abs(centred)) @ abs(data))
    # a constant column has a covariance of zero, and rounding errors of it are no coefficients
    return sp.csr_array(rows.multiply(abs(rows) > 8.0 * np.finfo(float).eps * sizes))


@dataclass(frozen=True)
class Nonzero(Restriction):
    """The restriction that at most k penalised coefficients are not zero: |w_j| ≤ u_j s_j with s in {0, 1}, Σ s_j ≤ k, u_j a
    bound of |w_j|.

    Parameters
    ----------
    k : int
        k ≥ 0.

    Raises
    ------
    InputError
        k < 0; coefficients without a bound (when the problem is compiled).
    """

    k: int

    name = "nonzero"
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_integer(self.k, "k"))

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add s, its rows and their sum."""
        chosen = np.flatnonzero(context.penalised)
        s = add_nonzero_indicators(builder, context.w.at(chosen), context.span[chosen], name)
        builder.require(
            f"{name} count", -s.premultiplied(np.ones((1, chosen.size))) + float(min(self.k, chosen.size)), Nonnegative(1)
        )

    @property
    def max_nonzeros(self) -> int:
        """Return k."""
        return self.k

    def blocks(self, classifier: FixedClassifier, name: str) -> dict[str, FloatArray]:
        """Return the values of s."""
        return {name: (classifier.w[classifier.penalised] != 0.0).astype(np.float64)}

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Return the number of coefficients above 1e-7 in size beyond k, without the first one where X begins with ones (it may
        be free).
        """
        return self.excess(X, y, w, np.arange(w.size) > 0 if first_column_is_one(X) else np.ones(w.size, dtype=bool))

    def excess(self, X: FloatArray, y: FloatArray, w: FloatArray, penalised: BoolArray) -> float:
        """Return the number of penalised coefficients above 1e-7 in size beyond k."""
        return float(max(int((np.abs(w)[penalised] > 1e-7).sum()) - self.k, 0))

    def lines(self) -> tuple[Line, ...]:
        """Return the printed limit."""
        return (Line(f"|{{j : w_j != 0}}| <= {self.k}", rf"\|w\|_0 \le {self.k}", "nonzero count"),)


@dataclass(frozen=True, eq=False)
class ErrorBudget(Restriction):
    """The restriction that at most a share of the named points has a margin below 1: Neyman-Pearson for a class, equal
    opportunity for a group.

    The variables z of the 0-1 loss at margin 1 count these errors; with other losses e in {0, 1} does, e_i = 0 requiring
    y_i x_i'w ≥ 1.

    Parameters
    ----------
    points : {-1, +1}, str or array_like
        A class by its code or name, or points by indices, mask or names.
    share : float
        The largest share of these points that may be errors, in [0, 1].
    shown : str
        Printed name of the class; empty without one.

    Raises
    ------
    InputError
        A share outside [0, 1].
    """

    points: Any
    share: float
    shown: str = field(default="", repr=False, metadata={"identity": False})

    name = "budget"
    convex: ClassVar[bool] = False
    reads_big_m: ClassVar[bool] = True
    needs_margins: ClassVar[bool] = True
    depends_on_points: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "share", as_share(self.share, "share", zero=True))

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the restriction with the code of a class and its name to print, or with indices in place of names of points."""
        if isinstance(self.points, str):
            return replace(self, points=int(names.code(self.points)), shown=self.points)
        if self._is_of_class and names.classes:
            return replace(self, shown=str(names.class_name(self.points)))
        return replace(self, points=indices) if (indices := _indices_of_names(self.points, names)) else self

    @property
    def _is_of_class(self) -> bool:
        """Return whether the points are a class, by its code."""
        return np.ndim(self.points) == 0 and self.points in (-1, 1)

    def check(self, p: int, y: FloatArray) -> None:
        """Check the points."""
        self._chosen(y)

    def _chosen(self, y: FloatArray) -> IntArray:
        if np.ndim(self.points) == 0:
            if not isinstance(self.points, numbers.Real) or self.points not in (-1, 1):
                raise InputError(f"a class is -1 or +1; it is {short_text(self.points)}", name="points")
            return np.flatnonzero(y == self.points)
        return point_indices(self.points, y.size, "points of an error budget")

    def allowed(self, y: FloatArray) -> int:
        """Return the number of errors that are allowed."""
        return int(np.floor(self.share * self._chosen(y).size + 1e-9))

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add the sum, and the indicators e of errors where the loss has no 0-1 variables that count them."""
        chosen = self._chosen(context.y)
        if errors is None or not builder.is_integer(errors):
            counted = builder.binaries(f"{name} e", chosen.size)
            big_m = context.big_m(1.0)
            builder.switch(name, counted, context.argument.at(chosen) - 1.0, None if big_m is None else big_m[chosen])
        else:
            counted = errors.at(chosen)
        builder.require(
            f"{name} count", -counted.premultiplied(np.ones((1, chosen.size))) + float(self.allowed(context.y)), Nonnegative(1)
        )

    def budget(self, y: FloatArray) -> Budget:
        """Return the points, and how many errors are allowed."""
        return Budget(self._chosen(y), self.allowed(y))

    def blocks(self, classifier: FixedClassifier, name: str) -> dict[str, FloatArray]:
        """Return e, which the form has where the loss does not count such errors."""
        chosen = self._chosen(classifier.y)
        return {f"{name} e": (classifier.argument < 1.0 - classifier.tolerance)[chosen].astype(np.float64)}

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Return the number of errors beyond the limit, where margins within 1e-6 of 1 count as kept."""
        wrong = (y * np.asarray(X @ w))[self._chosen(y)] < 1.0 - 1e-6
        return float(max(int(wrong.sum()) - self.allowed(y), 0))

    def lines(self) -> tuple[Line, ...]:
        """Return the printed limit."""
        code, shown = f"{int(self.points):+d}" if self._is_of_class else "", str(self.shown)
        group = f"class {shown} ({code})" if code and shown else f"class {code}" if code else "the group"
        latex = rf"\text{{errors of {latex_words(group)}}} \le {self.share:g}\ \text{{of its points}}"
        return (Line(f"errors of {group} <= {self.share:g} of its points", latex, "budget count"),)


@dataclass(frozen=True)
class ViolationBudget(Restriction):
    """The restriction Σ_i z_i ≤ κn in the loss's own measure z of violated margins: Cepeda, Gómez and Han, 2024, Appendix C.

    z counts violated margins for `ZeroOne`, and relaxes the count for `StrongestConic`. The form's limit is κn itself; searches
    with a loss that counts read ⌊κn⌋.

    Parameters
    ----------
    kappa : float
        κ in [0, 1], the largest share of the n points.

    Raises
    ------
    InputError
        κ outside [0, 1]; a loss without such variables (when the problem is compiled).
    """

    kappa: float

    name = "budget"
    needs_margins: ClassVar[bool] = True
    depends_on_points: ClassVar[bool] = True
    counted_by_loss: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "kappa", as_share(self.kappa, "kappa", zero=True))

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add the sum."""
        if errors is None:
            raise InputError(
                "a budget of violations is for losses that measure them: ZeroOne at margin 1, StrongestConic", name="loss"
            )
        builder.require(name, -errors.premultiplied(np.ones((1, errors.rows))) + self.kappa * errors.rows, Nonnegative(1))

    def budget(self, y: FloatArray) -> Budget:
        """Return all points with the limit ⌊κn⌋, where the loss counts."""
        return Budget(np.arange(y.size), int(np.floor(self.kappa * y.size + 1e-9)))

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Return the number of margins below 1 beyond κn: for a relaxed count an upper bound of its excess."""
        wrong = (y * np.asarray(X @ w)) < 1.0 - 1e-6
        return float(max(wrong.sum() - self.kappa * y.size - 1e-9, 0.0))

    def lines(self) -> tuple[Line, ...]:
        """Return the printed sum."""
        return (Line(f"sum_i z_i <= {self.kappa:g} n", rf"\textstyle\sum_i z_i \le {self.kappa:g}\, n", "budget"),)


@dataclass(frozen=True, eq=False)
class _OfGroups(Restriction):
    """Base class of the restrictions on groups of points: the groups, the slack ε, and the printed name of the groups' column."""

    groups: Any
    epsilon: float = 0.0
    shown: str = field(default="", metadata={"identity": False})

    depends_on_points: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", np.array(self.groups))
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon", zero=True))

    def __repr__(self) -> str:
        groups = repr(self.groups.item()) if self.groups.ndim == 0 else f"<groups of {self.groups.size} points>"
        return f"{type(self).__name__}(groups={groups}, epsilon={self.epsilon:g})"

    def resolve_names(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Self:
        """Return the restriction with the column that ``groups`` names, or whose index it is, in its place."""
        if self.groups.ndim or self.groups.dtype.kind not in "Ui":
            return self
        if self.groups.dtype.kind == "U":
            words = names.words(str(self.groups))
            if words:
                groups = _groups_of_words(in_memory(X, "groups by the name of a column"), words)
                return replace(self, groups=groups, shown=str(self.groups))
            j = names.column(str(self.groups))
        else:
            j, width = int(self.groups), X.shape[1]
            if not 0 <= j < width:
                raise InputError(
                    f"groups is a column of X from 0 to {width - 1}, its name, or a group for each point; it is {j}",
                    name="groups",
                )
        column = in_memory(X, "a group by the name of its column")[:, [j]]
        return replace(self, groups=to_dense(column).reshape(-1), shown=names.features[j] if names.features else "")

    def check(self, p: int, y: FloatArray) -> None:
        group_indicators(self.groups, y.size)


@dataclass(frozen=True, eq=False, repr=False)
class Parity(_OfGroups):
    """The restriction |cov(1{i in g}, x_i'w)| ≤ ε for each group g (one of two groups is enough): two linear rows.

    Zafar, Valera, Gomez Rodriguez, Gummadi: Fairness constraints, 2017, (6): a convex proxy of equal shares of positive answers.

    Parameters
    ----------
    groups : array_like (n,), str or int
        The group of each point, any names; or the name or the index of the column of X that holds it.
    epsilon : float
        ε ≥ 0.
    shown : str
        Printed name of the column of the groups; empty without one.

    Raises
    ------
    InputError
        ε < 0; when the problem is stated: not one group for each point, one group alone, or no such column.
    """

    name = "parity"

    def linear_rows(self, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the covariances, within ε of zero."""
        rows = _group_covariances(X, self.groups, X.shape[0]).toarray()
        return rows, np.full(rows.shape[0], -self.epsilon), np.full(rows.shape[0], self.epsilon)

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add two rows for each group."""
        rows = context.w.premultiplied(_group_covariances(context.X, self.groups, context.X.shape[0]))
        builder.require_nonnegative(f"{name} above", -rows + self.epsilon)
        builder.require_nonnegative(f"{name} below", rows + self.epsilon)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows."""
        group, e = self.shown or "group", f"{self.epsilon:g}"
        tex = rf"|\mathrm{{cov}}(\text{{{latex_words(group)}}}, x^\top w)| \le {e}"
        return (Line(f"|cov({group}, x'w)| <= {e}", tex, "parity above, parity below"),)


@dataclass(frozen=True, eq=False, repr=False)
class CountParity(_OfGroups):
    """The restriction |share of positive scores in group g - that in group h| ≤ ε for any two groups, counted by binaries.

    d_i in {0, 1}; d_i = 1 requires x_i'w ≥ 0, d_i = 0 requires x_i'w ≤ 0, so that a score of zero counts on either side.

    Parameters
    ----------
    groups : array_like (n,), str or int
        The group of each point, any names; or the name or the index of the column of X that holds it.
    epsilon : float
        ε ≥ 0.
    shown : str
        Printed name of the column of the groups; empty without one.

    Raises
    ------
    InputError
        ε < 0; when the problem is stated: not one group for each point, one group alone, or no such column.
    """

    name = "count parity"
    convex: ClassVar[bool] = False
    reads_big_m: ClassVar[bool] = True
    needs_margins: ClassVar[bool] = True

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        """Add d, its switches, and two rows for each two groups."""
        n = context.X.shape[0]
        d, scores, big_m = builder.binaries(f"{name} d", n), context.w.premultiplied(context.X), context.big_m(0.0)
        other = -d + 1.0
        if big_m is None:  # the switch of an indicator is a variable
            other = builder.binaries(f"{name} not d", n)
            builder.require(f"{name} either", d + other - 1.0, Zero(n))
        builder.switch(f"{name} positive", other, scores, big_m)
        builder.switch(f"{name} negative", d, -scores, big_m)
        rows = d.premultiplied(_group_differences(self.groups, n))
        builder.require_nonnegative(f"{name} above", -rows + self.epsilon)
        builder.require_nonnegative(f"{name} below", rows + self.epsilon)

    def equal_rates(self, y: FloatArray) -> EqualRates:
        """Return the groups by number with ε."""
        inside = group_indicators(self.groups, y.size)
        return EqualRates(inside.argmax(axis=0), y, self.epsilon)

    def blocks(self, classifier: FixedClassifier, name: str) -> dict[str, FloatArray]:
        """Return d and its complement, which the form has if its switches are indicators; scores near 0 take the side that
        evens out the shares.
        """
        scores, tolerance = classifier.y * classifier.argument, 10.0 * classifier.tolerance
        d = self.equal_rates(classifier.y).signs(scores, tolerance).astype(np.float64)
        return {f"{name} d": d, f"{name} not d": 1.0 - d}

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Return the excess over ε of the largest difference of shares, scores within 1e-6 of zero counted to make it least."""
        scores = np.asarray(X @ w)
        return max(self.equal_rates(y).least_spread(scores > 1e-6, scores > -1e-6) - self.epsilon, 0.0)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows."""
        groups = f"groups g, h of {self.shown}" if self.shown else "groups g, h"
        zero, e = "a score of 0 counted as positive or negative", f"{self.epsilon:g}"
        tex = rf"|\mathrm{{share}}_g(x^\top w > 0) - \mathrm{{share}}_h(x^\top w > 0)| \le {e}"
        row = Line(f"|share_g(x'w > 0) - share_h(x'w > 0)| <= {e}", tex)
        return (listed([row, Line.of_words(groups), Line.of_words(zero)], "count parity above, count parity below"),)


def _group_differences(groups: Any, n: int) -> FloatArray:
    """Return the rows 1{i in g}/|g| - 1{i in h}/|h|, one for each two groups g, h: differences of shares."""
    inside = group_indicators(groups, n)
    means = inside / inside.sum(axis=1, keepdims=True)
    return np.array([means[g] - means[h] for g, h in itertools.combinations(range(len(means)), 2)])
