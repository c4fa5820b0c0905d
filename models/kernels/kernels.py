"""Kernels k(x, x') for dense and CSR data: the abstract kernel, linear, RBF, polynomial, precomputed and user-defined kernels.

A kernel is a frozen object. γ may be a number or the name of a *rule* that computes it from data (`gamma_by_rule`).
`Kernel.fitted` replaces the name by the number, without which a kernel has no values. In error bounds
γ_m = m·2⁻⁵³/(1 - m·2⁻⁵³) bounds the relative error of m roundings (`models.rounding.gamma`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from ...errors import InputError, count_text, short_text
from ..arrays import FloatArray, IntArray, Points, as_integer, as_positive, row_norms_squared, to_dense
from ..rounding import gamma as gamma_n

#: Squared distance of Z's farthest row from Z's mean, over the mean's squared norm, below which points are moved to the mean.
_NEAR = 0.04
#: Errors of a kernel's value above which distances are computed by differences: if that takes at most `_FEW` operations, and
#: else.
_ERROR, _LARGE_ERROR = 1e-10, 1e-7
#: A number of multiplications, and the most entries of sparse points that are made dense for differences.
_FEW, _DENSE = 4e8, 5e7


def cross_products(X: Points, Z: Points) -> FloatArray:
    """Return X Z' as a dense array, for dense and CSR data in any mixture."""
    if not isinstance(X, np.ndarray) and not isinstance(Z, np.ndarray) and Z.shape[1] <= 4 * X.shape[0]:
        return np.asarray(X @ Z.T.toarray())  # no larger than the result; SciPy's sparse products take three times as long
    return to_dense(X @ Z.T)


def squared_distances(X: Points, Z: Points, steepness: float = 0.0) -> FloatArray:
    """Return ||x_i - z_j||², never negative. Dense points are moved to the mean of Z where that is far from the origin.

    They are computed from inner products, or from differences of the points where products lose too many digits.

    Parameters
    ----------
    X, Z : array (n, p), (m, p)
        The points x_i and z_j as rows.
    steepness : float
        Largest slope of the kernel in the squared distance: an error of a distance times this is one of the kernel's value.

    Returns
    -------
    ndarray (n, m)
        The squared distances.
    """
    rows, columns = X, Z
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and len(Z):
        centre = Z.mean(axis=0)
        centred = Z - centre
        if float(row_norms_squared(centred).max()) < _NEAR * float(centre @ centre):
            rows, columns = X - centre, centred
    squares = row_norms_squared(rows), row_norms_squared(columns)
    error = steepness * distance_error(X.shape[1], max(float(norms.max(initial=0.0)) for norms in squares))
    if _prefers_differences(error, len(squares[0]) * len(squares[1]) * X.shape[1], X):
        return distances_by_differences(X, Z)
    return distances_with_norms(rows, columns, *squares)


def distance_error(features: int, largest: float) -> float:
    """Return a bound of the error of ||x||² + ||z||² - 2x'z: ``largest`` is the largest squared norm of the points.

    The bound also holds if a common centre is subtracted from the points, provided that their largest norm grows by a factor of
    at most √1.2.
    """
    return 5.0 * gamma_n(features + 8) * largest


def _prefers_differences(error: float, operations: float, X: Points) -> bool:
    """Return whether to compute distances by differences, ten times as slow as products, for a kernel with this rounding error.

    ``operations`` is the number of multiplications; large sparse data X never have distances by differences.
    """
    dense = isinstance(X, np.ndarray) or X.shape[0] * X.shape[1] <= _DENSE
    return dense and error > (_ERROR if operations <= _FEW else _LARGE_ERROR)


def distances_by_differences(X: Points, Z: Points) -> FloatArray:
    """Return ||x_i - z_j||² with a small relative error, 0 of equal points; CSR rows are made dense."""
    from scipy.spatial.distance import cdist  # imported here: it takes a fifth of a second, and few problems need it

    return np.asarray(cdist(to_dense(X), to_dense(Z), "sqeuclidean"))


def distances_with_norms(X: Points, Z: Points, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Return ||x_i - z_j||² = rows_i + columns_j - 2 x_i'z_j, never negative, of points with known squared norms."""
    distances = cross_products(X, Z)
    distances *= -2.0
    distances += rows[:, None]
    distances += columns[None, :]
    return np.maximum(distances, 0.0, out=distances)


#: Names of rules for γ: three by the mean squared distance, and scikit-learn's two (see `gamma_by_rule`).
GammaRule: TypeAlias = Literal["frank-wolfe", "frank-wolfe-polynomial", "npsvc", "scale", "auto"]
#: The names of all rules.
GAMMA_RULES: tuple[GammaRule, ...] = get_args(GammaRule)


def mean_squared_distance(X: Points, sample_weight: FloatArray | None = None) -> float:
    """Return the mean of ||x_i - x_j||² over all n² pairs, the diagonal included: twice the total variance.

    With ``sample_weight`` a point of weight k counts as k points. The features are centred first: mean ||x||² - ||mean x||² would
    cancel where the mean is large.
    """
    s = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    total = float(s.sum())
    mean = np.asarray(X.T @ s) / total
    if isinstance(X, np.ndarray):
        return 2.0 * float(row_norms_squared(X - mean) @ s) / total
    of_entry = np.repeat(s, np.diff(X.indptr))
    stored = np.bincount(X.indices, weights=of_entry, minlength=X.shape[1])
    deviations = of_entry @ (X.data - mean[X.indices]) ** 2
    zeros = np.maximum(total - stored, 0.0) @ mean**2  # the entries that are not stored are at distance |mean| from it
    return 2.0 * float(deviations + zeros) / total


def _scikit_learn(rule: GammaRule, X: Points) -> float:
    """Return γ by scikit-learn's rules: "scale", 1/(p·Var X) over all entries, zeros of sparse rows included; "auto", 1/p."""
    n, p = X.shape
    if rule == "auto":
        return 1.0 / p
    mean = float(X.sum()) / (n * p)
    squares = float(row_norms_squared(X).sum()) / (n * p)
    deviations = X - mean if isinstance(X, np.ndarray) else X.data - mean
    variance = (float(np.vdot(deviations, deviations)) + (n * p - deviations.size) * mean**2) / (n * p)
    # equal entries leave the rounding errors of their mean
    if variance <= 1e3 * float(np.finfo(np.float64).eps) ** 2 * squares:
        raise InputError(
            "all entries of X are equal, and gamma follows from their variance: give gamma as a number", name="gamma"
        )
    return 1.0 / (p * variance)


def gamma_by_rule(rule: GammaRule, X: Points, sample_weight: FloatArray | None = None) -> float:
    """Return γ of a named rule on the data X (n × p).

    Three rules use m, the mean squared distance over all n² pairs of rows. ``"frank-wolfe"``: Frandi et al. (2013) set σ² = m in
    exp(-||·||²/(2σ²)), so γ = 1/(2m). ``"frank-wolfe-polynomial"``: γ = 1/m, their rule for polynomial kernels (Table 8).
    ``"npsvc"``: Zhang et al. (NPSVC++, 2024) use exp(-||·||²/t) with t = m, so γ = 1/m. scikit-learn's two rules use the entries
    of X: ``"scale"`` is 1/(p·Var X), ``"auto"`` is 1/p.

    Parameters
    ----------
    rule : str
        Name of the rule.
    X : array (n, p)
        The points as rows.
    sample_weight : ndarray (n,), optional
        Weights of the points in m; scikit-learn's rules do not use them.

    Returns
    -------
    float
        γ > 0.

    Raises
    ------
    InputError
        All rows (for ``"scale"``: all entries) are equal, so that their distances (their variance) give no γ; never for
        ``"auto"``.
    """
    if rule in ("scale", "auto"):
        return _scikit_learn(rule, X)
    mean = mean_squared_distance(X, sample_weight)
    # equal rows leave the rounding errors of their mean, some eps² of the squared norms
    if mean <= 1e3 * float(np.finfo(np.float64).eps) ** 2 * float(row_norms_squared(X).mean()):
        raise InputError("all rows of X are equal, and gamma follows from their distances: give gamma as a number", name="gamma")
    return 1.0 / (2.0 * mean) if rule == "frank-wolfe" else 1.0 / mean


def _as_kernel_gamma(gamma: float | GammaRule) -> float | GammaRule:
    """Check that γ is a number > 0 or the name of a rule."""
    if isinstance(gamma, str):
        if gamma not in GAMMA_RULES:
            raise InputError(
                f"gamma must be a number > 0 or one of the rules {', '.join(GAMMA_RULES)}; it is {short_text(gamma)}",
                name="gamma",
            )
        return gamma
    return as_positive(gamma, "gamma")


def _gamma_number(gamma: float | str) -> float:
    """Return γ as a number; raise `InputError` for the name of a rule, which `Kernel.fitted` replaces by a number."""
    if isinstance(gamma, str):
        raise InputError(
            f"gamma={short_text(gamma)} is a rule: call kernel.fitted(X) to turn it into a number on your data", name="gamma"
        )
    return float(gamma)


def gamma_text(gamma: float | str) -> str:
    """Return γ, or the name of its rule, as formulas print it."""
    return gamma if isinstance(gamma, str) else f"{gamma:g}"


#: Roundings that a value of an unknown kernel function is assumed to have.
_UNKNOWN = 64


@dataclass(frozen=True)
class ParameterRange:
    """The interval of values that a kernel's differentiable parameter may take.

    Parameters
    ----------
    lower, upper : float
        Ends, which belong to the interval if they are finite.
    positive : bool
        Whether 0 is excluded all the same.
    """

    lower: float
    upper: float
    positive: bool = False


@dataclass(frozen=True)
class Kernel(ABC):
    """The abstract kernel: a symmetric function k of two points, positive semidefinite where `positive_semidefinite` says so.

    A kernel may declare ``parameters``: numbers with a range and with ``derivative``, the derivative of k with respect to each.
    `MaxMinSVM` optimises any of them.
    """

    #: Name of the kernel in messages.
    name: ClassVar[str]
    #: Whether X holds rows of the kernel matrix in place of points, so that no decision function of points can be drawn.
    reads_matrix_rows: ClassVar[bool] = False

    def fitted(self, X: Points, sample_weight: FloatArray | None = None) -> Kernel:
        """Return the same kernel with every named rule replaced by its number on X, whose rows have weights if they are given."""
        return self

    @abstractmethod
    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return k(x_i, z_j), len(X) × len(Z).

        Raises
        ------
        InputError
            Points that the kernel cannot take.
        """

    @abstractmethod
    def diagonal(self, X: Points) -> FloatArray:
        """Return k(x_i, x_i)."""

    def columns(self, X: Points, indices: IntArray, norms: FloatArray) -> FloatArray:
        """Return the columns ``indices`` of the matrix k(x_i, x_j) of one set of points; ``norms`` holds every ||x_i||²."""
        return self.matrix(X, X[indices])

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """Return the differentiable parameters by name, with their ranges; by default an empty mapping."""
        return {}

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """Return ∂k(x_i, z_j)/∂parameter, len(X) × len(Z).

        Raises
        ------
        InputError
            The kernel has no such parameter, or it declares one without a derivative.
        """
        self.check_parameter(parameter)
        raise InputError(
            f"{type(self).__name__} declares the parameter {short_text(parameter)} and must define `derivative` for it"
        )

    def parameter_value(self, parameter: str) -> float:
        """Return the value of a parameter."""
        self.check_parameter(parameter)
        return _gamma_number(getattr(self, parameter))

    def with_parameter(self, parameter: str, value: float) -> Kernel:
        """Return the same kernel with another value of the parameter."""
        self.check_parameter(parameter)
        return replace(self, **{parameter: float(value)})

    def check_parameter(self, parameter: str) -> None:
        """Check that the kernel has this differentiable parameter.

        Parameters
        ----------
        parameter : str
            A name that `parameters` should hold.

        Raises
        ------
        InputError
            The kernel has no differentiable parameter of this name.
        """
        if parameter not in self.parameters:
            names = ", ".join(self.parameters) or "none"
            raise InputError(
                f"the {self.name} kernel has no differentiable parameter {short_text(parameter)}; it has: {names}",
                name="parameter",
            )

    @property
    @abstractmethod
    def latex(self) -> str:
        """Return the formula as LaTeX."""

    @property
    def constant_diagonal(self) -> bool:
        """Return whether k(x, x) is the same for every x, whatever the data."""
        return False

    @property
    def positive_semidefinite(self) -> bool:
        """Return whether every matrix of this kernel is positive semidefinite, by a theorem; False where that is not known."""
        return False

    @property
    def translation_invariant(self) -> bool:
        """Return whether k(x + c, z + c) = k(x, z)."""
        return False

    def rounding(self, X: Points) -> FloatArray:
        """Return e (n,), e ≥ 0, with |computed k(x_i, x_j) - k(x_i, x_j)| ≤ e_i e_j for the points as they are stored.

        The bound of this class assumes a positive semidefinite kernel whose values have at most 64 roundings.
        """
        return np.sqrt(gamma_n(_UNKNOWN) * np.abs(self.diagonal(X)))

    def needs_differences(self, X: Points) -> bool:
        """Return whether distances from inner products are too inaccurate for these points, so that `matrix_by_differences` is
        worth its time.
        """
        return False

    def matrix_by_differences(self, X: Points, Z: Points) -> FloatArray:
        """Return k(x_i, z_j), from the differences x_i - z_j where the kernel is a function of them, else by `matrix`."""
        return self.matrix(X, Z)

    def rounding_by_differences(self, X: Points) -> FloatArray:
        """Return the error bound e of `rounding` for `matrix_by_differences`."""
        return self.rounding(X)


class DistanceKernel(Kernel):
    """The abstract positive semidefinite function of x - z with k(x, x) = 1."""

    #: k(x, x) = 1.
    constant_diagonal = True
    #: Subclasses are mixtures of Gaussian kernels (Schoenberg), or products of exp(-γ|x_j - z_j|) over the features j.
    positive_semidefinite = True
    #: A function of x - z.
    translation_invariant = True

    def diagonal(self, X: Points) -> FloatArray:
        """Return ones."""
        return np.ones(X.shape[0])


class RadialKernel(DistanceKernel):
    """The abstract kernel that is a function of ||x - z||² alone."""

    @abstractmethod
    def steepness(self) -> float:
        """Return L with |k - k'| ≤ L |d - d'| for values k, k' at squared distances d, d'."""

    def rounding(self, X: Points) -> FloatArray:
        """Return e with e_i e_j = L·(error of ||x_i||² + ||x_j||² - 2x_i'x_j) + error of the function; L as in `steepness`."""
        return np.full(X.shape[0], np.sqrt(self._error(X) + gamma_n(32)))

    def _error(self, X: Points) -> float:
        """Return L times the error of the squared distances, L as in `steepness`."""
        return self.steepness() * distance_error(X.shape[1], float(row_norms_squared(X).max(initial=0.0)))

    @abstractmethod
    def of_distances(self, distances: FloatArray) -> FloatArray:
        """Return k where ||x - z||² = ``distances`` (n × m); the method may overwrite ``distances``."""

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return k(x_i, z_j) from the squared distances."""
        return self.of_distances(squared_distances(X, Z, self.steepness()))

    def needs_differences(self, X: Points) -> bool:
        """Return whether the error of `rounding` is so large that differences are worth their time."""
        return _prefers_differences(self._error(X), X.shape[0] ** 2 * X.shape[1], X)

    def matrix_by_differences(self, X: Points, Z: Points) -> FloatArray:
        """Return k(x_i, z_j) from the differences."""
        return self.of_distances(distances_by_differences(X, Z))

    def rounding_by_differences(self, X: Points) -> FloatArray:
        """Return the error bound e of `rounding` for `matrix_by_differences`, which does not grow with the steepness.

        e_i e_j covers the relative error γ_p of d = ||x - z||² times |dk/d log d| ≤ exp(-1), since k is a mixture of exp(-td),
        and the error of the function.
        """
        return np.full(X.shape[0], np.sqrt(gamma_n(X.shape[1] + 40)))

    def columns(self, X: Points, indices: IntArray, norms: FloatArray) -> FloatArray:
        """Return the columns of k(x_i, x_j) by inner products; callers centre the points, so that distances keep their digits."""
        return self.of_distances(distances_with_norms(X, X[indices], norms, norms[indices]))


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The kernel of a given matrix X: n × n between training points; new points × n for a decision function."""

    name = "precomputed"
    reads_matrix_rows = True
    latex = r"k(x_i,x_j) = K_{ij}"

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return X itself, dense: its rows hold k(x_i, z_j) for the n training points, the rows of Z.

        Z must have all n rows; callers that need some of the training points index the columns of the result.
        """
        if X.shape[1] != Z.shape[0]:
            raise InputError(
                "a precomputed kernel needs one column for each training point: "
                f"the matrix has {count_text(X.shape[1], 'column')}, there are {count_text(Z.shape[0], 'training point')}",
                name="X",
            )
        return to_dense(X)

    def diagonal(self, X: Points) -> FloatArray:
        """Return the diagonal of the matrix."""
        return np.asarray(X.diagonal(), dtype=np.float64)

    def rounding(self, X: Points) -> FloatArray:
        """Return zeros: the given matrix is the kernel."""
        return np.zeros(X.shape[0])

    def __str__(self) -> str:
        return "k(x_i,x_j) = K_ij, given"


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A user-defined kernel, a function ``f(X, Z)`` that returns a len(X) × len(Z) array.

    Parameters
    ----------
    function : callable
        f(X, Z), the (len(X), len(Z)) array of k(x_i, z_j), symmetric and finite.
    """

    function: Callable[[Points, Points], FloatArray]

    name = "callable"
    latex = r"k(x,z) = f(x,z)"

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return the user's matrix, checked for shape and finite values; without points the function is not called."""
        if not X.shape[0] or not Z.shape[0]:  # pairwise kernels of other packages refuse such arrays
            return np.zeros((X.shape[0], Z.shape[0]))
        try:
            values = np.asarray(self.function(X, Z), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"the kernel function must take two arrays of points and return numbers: {error}") from error
        if values.shape != (X.shape[0], Z.shape[0]) or not np.isfinite(values).all():
            raise InputError(
                f"the kernel function must return a finite array of shape {(X.shape[0], Z.shape[0])}; "
                f"it returned shape {values.shape}",
                name="function",
            )
        return values

    def diagonal(self, X: Points) -> FloatArray:
        """Return k(x_i, x_i), computed point by point."""
        return np.array([self.matrix(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])])

    def __str__(self) -> str:
        return f"k(x,z) = {getattr(self.function, '__name__', 'f')}(x,z)"


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel k(x, z) = x'z."""

    name = "linear"
    #: K = XX'.
    positive_semidefinite = True
    latex = r"k(x,z) = x^\top z"

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return X Z'."""
        return cross_products(X, Z)

    def diagonal(self, X: Points) -> FloatArray:
        """Return ||x_i||²."""
        return row_norms_squared(X)

    def rounding(self, X: Points) -> FloatArray:
        """Return e with e_i e_j = γ_{p+8} ||x_i|| ||x_j||, which covers the roundings of centred points too."""
        return np.sqrt(gamma_n(X.shape[1] + 8) * row_norms_squared(X))

    def __str__(self) -> str:
        return "k(x,z) = x'z"


@dataclass(frozen=True)
class RBF(RadialKernel):
    """The RBF (Gaussian) kernel k(x, z) = exp(-γ||x - z||²).

    Parameters
    ----------
    gamma : float or {"frank-wolfe", "frank-wolfe-polynomial", "npsvc", "scale", "auto"}
        γ > 0, or the name of a rule (`gamma_by_rule`): three by the mean squared distance, and scikit-learn's two.
    """

    gamma: float | GammaRule = "frank-wolfe"

    name = "rbf"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", _as_kernel_gamma(self.gamma))

    def fitted(self, X: Points, sample_weight: FloatArray | None = None) -> RBF:
        """Return the kernel with γ as a number."""
        return replace(self, gamma=gamma_by_rule(self.gamma, X, sample_weight)) if isinstance(self.gamma, str) else self

    def of_distances(self, distances: FloatArray) -> FloatArray:
        """Return exp(-γ d) of squared distances d (n × m), computed in place."""
        distances *= -_gamma_number(self.gamma)
        return np.exp(distances, out=distances)

    def steepness(self) -> float:
        """Return γ, the largest slope of k in the squared distance."""
        return _gamma_number(self.gamma)

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """Return γ, with its range (0, ∞)."""
        return {"gamma": ParameterRange(0.0, np.inf, positive=True)}

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """Return -||x_i - z_j||² k, as in Luo et al., *MaxMin-L2-SVC-NCH*, (51)."""
        self.check_parameter(parameter)
        distances = squared_distances(X, Z)
        return np.asarray(-distances * np.exp(-_gamma_number(self.gamma) * distances))

    @property
    def latex(self) -> str:
        """Return the formula, as LaTeX."""
        return rf"k(x,z) = \exp(-{self.gamma}\,\|x-z\|^2)"

    def __str__(self) -> str:
        return f"k(x,z) = exp(-{gamma_text(self.gamma)} ||x - z||^2)"


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel k(x, z) = (γ x'z + c0)^degree.

    Parameters
    ----------
    degree : int
        The exponent, ≥ 1.
    gamma : float or rule
        γ > 0, or the name of a rule (`gamma_by_rule`).
    coef0 : float
        c0 ≥ 0 (a negative one gives no positive semidefinite kernel).
    """

    degree: int = 2
    gamma: float | GammaRule = "frank-wolfe-polynomial"
    coef0: float = 0.0

    name = "polynomial"
    #: Sums and products of positive semidefinite kernels, c0 ≥ 0 and degree a whole number.
    positive_semidefinite = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", _as_kernel_gamma(self.gamma))
        object.__setattr__(self, "coef0", as_positive(self.coef0, "coef0", zero=True))
        object.__setattr__(self, "degree", as_integer(self.degree, "degree", 1))

    def fitted(self, X: Points, sample_weight: FloatArray | None = None) -> Polynomial:
        """Return the kernel with γ as a number."""
        return replace(self, gamma=gamma_by_rule(self.gamma, X, sample_weight)) if isinstance(self.gamma, str) else self

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return (γ x_i'z_j + c0)^degree."""
        return self.of_products(cross_products(X, Z))

    def of_products(self, products: FloatArray) -> FloatArray:
        """Return the kernel's values from x_i'z_j, by multiplication: NumPy's power takes ten times as long."""
        base = _gamma_number(self.gamma) * products + self.coef0
        value = base.copy()
        for _ in range(self.degree - 1):
            value *= base
        return value

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """Return γ and c0, with their ranges (0, ∞) and [0, ∞)."""
        return {"gamma": ParameterRange(0.0, np.inf, positive=True), "coef0": ParameterRange(0.0, np.inf)}

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """Return degree·(γ x_i'z_j + c0)^(degree - 1), times x_i'z_j for γ."""
        self.check_parameter(parameter)
        products = cross_products(X, Z)
        outer = self.degree * (_gamma_number(self.gamma) * products + self.coef0) ** (self.degree - 1)
        return np.asarray(outer * products if parameter == "gamma" else outer)

    def diagonal(self, X: Points) -> FloatArray:
        """Return (γ||x_i||² + c0)^degree."""
        return np.asarray((_gamma_number(self.gamma) * row_norms_squared(X) + self.coef0) ** self.degree)

    def rounding(self, X: Points) -> FloatArray:
        """Return e with e_i e_j = γ_m √(k_ii k_jj), m = degree·(p + 8): γ||x_i|| ||x_j|| + c0 ≤ √(k_ii k_jj)^(1/degree)."""
        return np.sqrt(gamma_n(self.degree * (X.shape[1] + 8)) * self.diagonal(X))

    @property
    def latex(self) -> str:
        """Return the formula, as LaTeX."""
        return rf"k(x,z) = ({self.gamma}\,x^\top z + {self.coef0:g})^{{{self.degree}}}"

    def __str__(self) -> str:
        return f"k(x,z) = ({gamma_text(self.gamma)} x'z + {self.coef0:g})^{self.degree}"


#: Entries of a kernel matrix that a decision function computes at once: 64 MB.
_BLOCK_ENTRIES = 8_000_000


def expansion(kernel: Kernel, X: Points, Z: Points, coefficients: FloatArray) -> FloatArray:
    """Return Σ_j c_j k(x_i, z_j) for every row of X and every column of ``coefficients`` c, over the non-zero c_j.

    With a precomputed kernel row i of X holds k(x_i, z_1), ..., k(x_i, z_n), and Z is not read.
    """
    if isinstance(kernel, Linear):
        return np.asarray(X @ (Z.T @ coefficients))
    if isinstance(kernel, Precomputed):
        return np.asarray(X @ coefficients)
    support = np.flatnonzero(coefficients if coefficients.ndim == 1 else coefficients.any(axis=1))
    if not support.size:
        return np.zeros((X.shape[0], *coefficients.shape[1:]))
    centres, weights = Z[support], coefficients[support]
    step = max(1, _BLOCK_ENTRIES // support.size)
    blocks = [kernel.matrix(X[i : i + step], centres) @ weights for i in range(0, X.shape[0], step)]
    return np.concatenate(blocks)


#: Most points on which the symmetry of a kernel that is not known to be positive semidefinite is checked.
_SAMPLE = 32


def _check_symmetric(kernel: Kernel, X: Points) -> None:
    """Raise InputError for k(x, z) ≠ k(z, x) on a sample of the points."""
    points = X[:: -(-X.shape[0] // _SAMPLE)]
    values = kernel.matrix(points, points)
    if abs(values - values.T).max() > 1e-8 * max(1.0, abs(values).max()):
        raise InputError(f"a kernel must be symmetric, k(x, z) = k(z, x); {kernel} is not", name="kernel")


def as_kernel(kernel: object, X: Points) -> Kernel:
    """Return the kernel fitted on X from a `Kernel` or a function k(X, Z).

    Raises
    ------
    InputError
        X is no symmetric matrix for a precomputed kernel, a kernel is not symmetric on a sample of X, or not a kernel at all.
    """
    if isinstance(kernel, Precomputed):
        if X.shape[0] != X.shape[1]:
            raise InputError(f"kernel=Precomputed() needs X to be the n × n kernel matrix; its shape is {X.shape}", name="X")
        if abs(X - X.T).max() > 1e-8 * max(1.0, abs(X).max()):
            raise InputError("kernel=Precomputed() needs a symmetric kernel matrix; X differs from its transpose", name="X")
    if isinstance(kernel, Kernel) or callable(kernel):
        fitted = kernel.fitted(X) if isinstance(kernel, Kernel) else CallableKernel(kernel)
        if not (fitted.positive_semidefinite or fitted.reads_matrix_rows):
            _check_symmetric(fitted, X)
        return fitted
    raise InputError(
        f"kernel must be a kernel such as RBF(gamma), Precomputed() or a function of two arrays; it is a {type(kernel).__name__}",
        name="kernel",
    )
