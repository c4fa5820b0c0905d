"""Regularisers of `Margin`: none, squared norms, L1 norms of coefficients, groups and kernel weights, and counts of non-zeros.

R(w) is the regulariser's cost of the penalised coefficients w; ||w||_0 is the number of non-zero ones.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, as_integer, as_positive
from ...program.cones import Nonnegative, SecondOrder, Zero
from ...statement import Line, plus, times
from .assembly import Affine, Assembly
from .part import Part, as_integers, as_numbers


@dataclass(frozen=True)
class Sparsity:
    """A regulariser written as μ_0 ||w||_0 + μ_1 ||w||_1 with a bound on ||w||_0, as exact searches read it.

    Parameters
    ----------
    mu0, mu1 : float
        μ_0, μ_1 ≥ 0.
    max_nonzeros : int, optional
        Bound on ||w||_0; None where there is none.
    """

    mu0: float
    mu1: float
    max_nonzeros: int | None = None


@dataclass(frozen=True, eq=False)
class AtomicForm:
    """A regulariser written as an atomic norm and squares, min{||α||_1 : w = Σ_j α_j x_j} + μ||w||², as `margin-bb` reads it.

    Parameters
    ----------
    atoms : ndarray (k, p)
        x_j, which span all w; (0, p) where the regulariser is μ||w||² alone.
    mu : float
        μ ≥ 0.
    """

    atoms: FloatArray
    mu: float


class Regulariser(Part):
    """Base class of regularisers: a convex cost R(w) ≥ 0 of the penalised coefficients, or a cost of the non-zero ones."""

    @abstractmethod
    def value(self, w: FloatArray) -> float:
        """Return R(w)."""

    @abstractmethod
    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add variables, constraints and cost for the penalised coefficients ``w`` to the form; ``span`` bounds |w_j|."""

    @abstractmethod
    def cost_line(self) -> Line:
        """Return the printed regulariser in the objective."""

    def curvature(self) -> float:
        """Return a μ ≥ 0 such that R(w) - μ||w||² is convex."""
        return 0.0

    def curvatures(self, penalised: BoolArray) -> FloatArray:
        """Return D ⪰ 0 over all coefficients, or its diagonal, such that R(w) - w'Dw is convex.

        Raises
        ------
        InputError
            A matrix of another order than there are penalised coefficients.
        """
        return np.where(penalised, self.curvature(), 0.0)

    @property
    def square(self) -> float | None:
        """Return μ where R is μ||w||² and nothing else, 0 for no regulariser; None for any other."""
        return None

    def atomic_form(self, p: int) -> AtomicForm | None:
        """Return the regulariser of p coefficients by atoms and μ||w||²; None if it has no such form, or p is too large."""
        return None if self.square is None else AtomicForm(np.zeros((0, p)), self.square)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the variables that the regulariser adds to the form, by label, at their best for w."""
        return {}

    @property
    def sparsity(self) -> Sparsity | None:
        """Return the regulariser as costs of non-zero coefficients and of their absolute values; None where it is another one."""
        return None

    def support_function(self, level: float, rows: FloatArray) -> FloatArray:
        """Return max x'w subject to R(w) ≤ level, for each row x; infinite where R does not bound it."""
        return np.where(rows.any(axis=1), np.inf, 0.0)


@dataclass(frozen=True)
class NoRegulariser(Regulariser):
    """No regulariser: the loss alone, as with a domain of integers."""

    square = 0.0
    sparsity = Sparsity(0.0, 0.0)

    def value(self, w: FloatArray) -> float:
        """Return 0."""
        return 0.0

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add nothing."""

    def cost_line(self) -> Line:
        """Return an empty line."""
        return Line("", "")


@dataclass(frozen=True)
class SquaredNorm(Regulariser):
    """The squared norm μ||w||²; μ = 1 as in Cepeda, Gómez and Han (2024), μ = ½ as in the usual SVM.

    Parameters
    ----------
    mu : float
        μ > 0.

    Raises
    ------
    InputError
        μ ≤ 0.
    """

    mu: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def value(self, w: FloatArray) -> float:
        """Return μ||w||²."""
        return float(self.mu * (w @ w))

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add the quadratic cost."""
        builder.cost_of_squares(self.mu, w)

    def cost_line(self) -> Line:
        """Return the printed μ||w||²."""
        return times(self.mu, Line("||w||^2", r"\|w\|_2^2"))

    def curvature(self) -> float:
        """Return μ."""
        return self.mu

    @property
    def square(self) -> float:
        """Return μ."""
        return self.mu

    def support_function(self, level: float, rows: FloatArray) -> FloatArray:
        """Return ||x|| √(level/μ)."""
        return np.asarray(np.linalg.norm(rows, axis=1) * np.sqrt(level / self.mu))


@dataclass(frozen=True, eq=False)
class KernelNorm(Regulariser):
    """The kernel norm w'Kw = ||Σ_j w_j φ(x_j)||², K the kernel matrix φ(x_j)'φ(x_k) of the feature map φ; X has the rows of K.

    Parameters
    ----------
    K : array_like (m, m)
        Symmetric, positive semidefinite to rounding.

    Raises
    ------
    InputError
        K is not finite, symmetric and positive semidefinite, or has another order than there are penalised coefficients (when the
        problem is stated).
    """

    K: Any

    def __post_init__(self) -> None:
        K = as_numbers(self.K, "K")
        if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all() or not np.array_equal(K, K.T):
            raise InputError(f"K must be a finite symmetric matrix; its shape is {K.shape}", name="K")
        spectrum = np.linalg.eigvalsh(K)
        if spectrum[0] < -1e-8 * max(abs(spectrum[-1]), 1.0):
            raise InputError(f"K must be positive semidefinite; it has the eigenvalue {spectrum[0]:.3g}", name="K")
        object.__setattr__(self, "K", K)

    def value(self, w: FloatArray) -> float:
        """Return w'Kw."""
        return float(w @ self.K @ w)

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add the quadratic cost."""
        builder.cost_of_quadratic_form(self.K, w)

    def curvatures(self, penalised: BoolArray) -> FloatArray:
        """Return K over the penalised coefficients."""
        if int(penalised.sum()) != self.K.shape[0]:
            raise InputError(f"K has {self.K.shape[0]} rows, but {int(penalised.sum())} coefficients are penalised", name="K")
        D = np.zeros((penalised.size, penalised.size))
        D[np.ix_(penalised, penalised)] = self.K
        return D

    def cost_line(self) -> Line:
        """Return the printed w'Kw."""
        return Line("w'Kw", r"w^\top K w")


#: Coefficients up to which an L1 norm is written by its atoms, the rows of a square matrix.
_FEW = 1000


def _absolute(builder: Assembly, w: Affine) -> Affine:
    """Add variables a ≥ |w| and return them."""
    size = builder.variables("a", w.rows, 0.0)
    builder.require_nonnegative("size above", size - w)
    builder.require_nonnegative("size below", size + w)
    return size


_SIZES = Line("a >= 0", r"a\ge 0", "a")
_INDICATORS = Line("s_j in {0, 1}", r"s_j\in\{0,1\}", "s")
_SUM = Line("sum_j a_j", r"\textstyle\sum_j a_j")
_LINES = (Line("w <= a", r"w \le a", "size above"), Line("w >= -a", r"w \ge -a", "size below"))


class _AbsoluteNorm(Regulariser):
    """μ_1||w||_1 + μ_2||w||²: a ≥ |w|, cost μ_1 Σ a_j and squares."""

    @property
    @abstractmethod
    def _weights(self) -> tuple[float, float]:
        """μ_1 > 0 and μ_2 ≥ 0."""

    def value(self, w: FloatArray) -> float:
        mu1, mu2 = self._weights
        return float(mu1 * np.abs(w).sum() + mu2 * (w @ w))

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        mu1, mu2 = self._weights
        builder.cost(mu1, _absolute(builder, w))
        if mu2:
            builder.cost_of_squares(mu2, w)

    def cost_line(self) -> Line:
        mu1, mu2 = self._weights
        absolute = times(mu1, _SUM)
        return plus(absolute, times(mu2, Line("||w||^2", r"\|w\|_2^2"))) if mu2 else absolute

    def variables(self) -> tuple[Line, ...]:
        return (_SIZES,)

    def lines(self) -> tuple[Line, ...]:
        return _LINES

    def curvature(self) -> float:
        return self._weights[1]

    def support_function(self, level: float, rows: FloatArray) -> FloatArray:
        """Return ||x||_∞ level/μ_1, or ||x|| √(level/μ_2) if that is less."""
        mu1, mu2 = self._weights
        reach = np.asarray(np.abs(rows).max(axis=1, initial=0.0) * level / mu1)
        return np.minimum(reach, np.linalg.norm(rows, axis=1) * np.sqrt(level / mu2)) if mu2 else reach

    def atomic_form(self, p: int) -> AtomicForm | None:
        """Return the unit vectors over μ_1 as atoms, and μ_2."""
        mu1, mu2 = self._weights
        return AtomicForm(np.eye(p) / mu1, mu2) if p <= _FEW else None

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """a = |w|."""
        return {"a": np.abs(w)}


@dataclass(frozen=True)
class L1(_AbsoluteNorm):
    """The L1 norm μ||w||_1: a ≥ |w|, cost μ Σ a_j.

    Parameters
    ----------
    mu : float
        μ > 0.

    Raises
    ------
    InputError
        μ ≤ 0.
    """

    mu: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    @property
    def _weights(self) -> tuple[float, float]:
        return self.mu, 0.0

    @property
    def sparsity(self) -> Sparsity:
        """Return the regulariser as a `Sparsity`."""
        return Sparsity(0.0, self.mu)


@dataclass(frozen=True)
class ElasticNet(_AbsoluteNorm):
    """The elastic net μ_1||w||_1 + μ_2||w||².

    Parameters
    ----------
    l1, l2 : float
        μ_1 and μ_2 > 0.

    Raises
    ------
    InputError
        A weight that is not > 0.
    """

    l1: float = 1.0
    l2: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", as_positive(self.l1, "l1"))
        object.__setattr__(self, "l2", as_positive(self.l2, "l2"))

    @property
    def _weights(self) -> tuple[float, float]:
        return self.l1, self.l2


@dataclass(frozen=True)
class GroupL1(Regulariser):
    """The group lasso μ Σ_g ||w_g||, w_g the coefficients of group g: variables a_g ≥ ||w_g||, cost μ Σ a_g.

    Parameters
    ----------
    groups : tuple of int
        The group of each penalised coefficient, in their order.
    mu : float
        μ > 0.

    Raises
    ------
    InputError
        μ ≤ 0; groups that do not fit the coefficients (when the problem is stated).
    """

    groups: tuple[int, ...]
    mu: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_integers(self.groups, "groups"))
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def _members(self, size: int) -> list[list[int]]:
        if len(self.groups) != size:
            raise InputError(
                f"groups must name a group for each of the {size} penalised coefficients; it has {len(self.groups)}",
                name="groups",
            )
        return [[j for j, g in enumerate(self.groups) if g == name] for name in sorted(set(self.groups))]

    def value(self, w: FloatArray) -> float:
        """Return μ Σ_g ||w_g||."""
        return float(self.mu * sum(np.linalg.norm(w[members]) for members in self._members(w.size)))

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add a and a second-order cone for each group."""
        members = self._members(w.rows)
        size = builder.variables("a", len(members), 0.0)
        for k, group in enumerate(members):
            top = sp.csr_array(([1.0], ([0], [k])), shape=(len(group) + 1, len(members)))
            below = sp.csr_array((np.ones(len(group)), (np.arange(1, len(group) + 1), group)), shape=(len(group) + 1, w.rows))
            builder.require(f"group {k}", size.premultiplied(top) + w.premultiplied(below), SecondOrder(len(group) + 1))
        builder.cost(self.mu, size)

    def cost_line(self) -> Line:
        """Return the printed μ Σ a_g."""
        return times(self.mu, Line("sum_g a_g", r"\textstyle\sum_g a_g"))

    def variables(self) -> tuple[Line, ...]:
        """Return the printed norms of the groups."""
        return (_SIZES,)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed cones."""
        return (Line("||w_g|| <= a_g", r"\|w_g\|_2 \le a_g", "group 0, ..."),)

    def support_function(self, level: float, rows: FloatArray) -> FloatArray:
        """Return max_g ||x_g|| level/μ: the dual norm."""
        members = self._members(rows.shape[1])
        norms = [np.linalg.norm(rows[:, group], axis=1) for group in members]
        return np.asarray(np.max(norms, axis=0) * level / self.mu)


@dataclass(frozen=True, eq=False)
class KernelWeightsL1(Regulariser):
    """The L1 norm of kernel weights, μ min{||α||_1 : w = Σ_j α_j x_j} over given points x_j.

    MIPLIB's instance gsvm2rl, after Brooks (2011), has it.

    Parameters
    ----------
    points : array_like (m, p)
        x_j, in the penalised coefficients alone.
    mu : float
        μ > 0.

    Raises
    ------
    InputError
        μ ≤ 0, or points with another number of columns than there are penalised coefficients (when the problem is compiled).
    """

    points: Any
    mu: float = 1.0

    def __post_init__(self) -> None:
        points = as_numbers(self.points, "points")
        if points.ndim != 2 or not np.isfinite(points).all():
            raise InputError(
                f"points must be a finite matrix with a row for each point; its shape is {points.shape}", name="points"
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def value(self, w: FloatArray) -> float:
        """Return μ||α||_1 of the best combination; infinite where w is no combination of the points."""
        weights = self._combination(w)
        return float("inf") if weights is None else float(self.mu * weights.sum())

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the best combination, as its positive and negative parts; empty where w is no combination of the points."""
        weights = self._combination(w)
        return (
            {} if weights is None else {"alpha plus": weights[: weights.size // 2], "alpha minus": weights[weights.size // 2 :]}
        )

    def _combination(self, w: FloatArray) -> FloatArray | None:
        """Positive and negative parts of the best α, by a linear program."""
        from scipy.optimize import linprog  # slow to import, and read here alone

        self._check_width(w.size)
        m = self.points.shape[0]
        size = float(np.abs(w).max(initial=0.0)) or 1.0  # the solver's tolerances are absolute
        solution = linprog(np.ones(2 * m), A_eq=np.hstack([self.points.T, -self.points.T]), b_eq=w / size, bounds=(0, None))
        return size * np.maximum(solution.x, 0.0) if solution.status == 0 else None

    def atomic_form(self, p: int) -> AtomicForm | None:
        """Return the points as atoms; None where they do not span all coefficients."""
        self._check_width(p)
        return AtomicForm(self.points / self.mu, 0.0) if np.linalg.matrix_rank(self.points) == p else None

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add α as the difference of two non-negative parts, and w as their combination."""
        m, p = self.points.shape
        self._check_width(w.rows)
        plus, minus = builder.variables("alpha plus", m, 0.0), builder.variables("alpha minus", m, 0.0)
        builder.require("combination", w - plus.premultiplied(self.points.T) + minus.premultiplied(self.points.T), Zero(p))
        builder.cost(self.mu, plus)
        builder.cost(self.mu, minus)

    def _check_width(self, p: int) -> None:
        if self.points.shape[1] != p:
            raise InputError(
                f"points must have {p} columns, one for each penalised coefficient; they have {self.points.shape[1]}",
                name="points",
            )

    def cost_line(self) -> Line:
        """Return the printed μ Σ |α_j|."""
        return times(self.mu, Line("sum_j |alpha_j|", r"\textstyle\sum_j|\alpha_j|"))

    def variables(self) -> tuple[Line, ...]:
        """Return the printed weights."""
        return (Line("alpha in R^m", r"\alpha\in\mathbb{R}^m", "alpha plus, alpha minus"),)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed combination."""
        return (Line("w = sum_j alpha_j x_j", r"w = \textstyle\sum_j \alpha_j x_j", "combination"),)

    def support_function(self, level: float, rows: FloatArray) -> FloatArray:
        """Return max_j |x_j'x| level/μ: the extreme points of the set R(w) ≤ level are ±x_j level/μ."""
        products = sp.csr_array(rows) @ self.points.T
        return np.asarray(np.abs(products).max(axis=1) * level / self.mu)


def add_nonzero_indicators(builder: Assembly, w: Affine, span: FloatArray, label: str) -> Affine:
    """Add and return the block ``label`` of indicators s in {0, 1} of non-zero coefficients, with |w_j| ≤ span_j s_j."""
    if not np.isfinite(span).all():
        raise InputError(
            "counting coefficients needs bounds on them: give the problem domain=Box(lower, upper) or Integers(lower, upper), or "
            "upper_bound= with a regulariser that bounds them (SquaredNorm, L1)",
            name="domain",
        )
    s = builder.binaries(label, w.rows)
    builder.require_nonnegative(f"{label} above", s.scaled(span) - w)
    builder.require_nonnegative(f"{label} below", s.scaled(span) + w)
    return s


def _nonzero_indicator_lines(label: str) -> tuple[Line, ...]:
    """Return the printed rows of `add_nonzero_indicators`."""
    return (
        Line("w_j <= u_j s_j", r"w_j \le u_j s_j", f"{label} above"),
        Line("w_j >= -u_j s_j", r"w_j \ge -u_j s_j", f"{label} below"),
        Line("s_j in {0, 1}", r"s_j\in\{0,1\}"),
    )


@dataclass(frozen=True)
class L0(Regulariser):
    """The cost μ of each non-zero coefficient: s in {0, 1}, |w_j| ≤ u_j s_j, u_j a bound by the domain or by restrictions.

    Parameters
    ----------
    mu : float
        μ > 0.

    Raises
    ------
    InputError
        μ ≤ 0; coefficients without bounds (when the problem is compiled).
    """

    mu: float = 1.0

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def value(self, w: FloatArray) -> float:
        """Return μ |{j : w_j ≠ 0}|."""
        return float(self.mu * np.count_nonzero(w))

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add s and its rows."""
        builder.cost(self.mu, add_nonzero_indicators(builder, w, span, "s"))

    def cost_line(self) -> Line:
        """Return the printed μ Σ s."""
        return times(self.mu, Line("sum_j s_j", r"\textstyle\sum_j s_j"))

    def variables(self) -> tuple[Line, ...]:
        """Return the printed indicators of non-zero coefficients."""
        return (_INDICATORS,)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of s."""
        return _nonzero_indicator_lines("s")

    @property
    def sparsity(self) -> Sparsity:
        """Return the regulariser as a `Sparsity`."""
        return Sparsity(self.mu, 0.0)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the values of s."""
        return {"s": (w != 0.0).astype(np.float64)}


@dataclass(frozen=True)
class L0L1(Regulariser):
    """The sum μ_0 ||w||_0 + μ_1 ||w||_1, infinite beyond k non-zero coefficients: Ustun and Rudin, 2015, (4).

    Blocks ``s`` in {0, 1}, |w_j| ≤ u_j s_j, u_j a bound by the domain or by restrictions, where non-zero coefficients are
    counted, and ``a`` ≥ |w| where μ_1 > 0.

    Parameters
    ----------
    mu0, mu1 : float
        μ_0, μ_1 ≥ 0.
    k : int, optional
        The most non-zero coefficients; any number where it is not given.

    Raises
    ------
    InputError
        A price below 0, a limit that is no integer ≥ 0; coefficients without bounds (when the problem is compiled).
    """

    mu0: float = 0.0
    mu1: float = 0.0
    k: int | None = None

    def __post_init__(self) -> None:
        for name in ("mu0", "mu1"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name, zero=True))
        if self.k is not None:
            object.__setattr__(self, "k", as_integer(self.k, "k"))

    @property
    def counts(self) -> bool:
        """Return whether the form has indicators of non-zero coefficients."""
        return self.mu0 > 0 or self.k is not None

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Return whether no coefficient is counted: μ_0 = 0 without a limit is μ_1 ||w||_1."""
        return not self.counts

    def value(self, w: FloatArray) -> float:
        """Return μ_0 ||w||_0 + μ_1 ||w||_1; infinite beyond the limit."""
        count = int(np.count_nonzero(w))
        if self.k is not None and count > self.k:
            return float("inf")
        return float(self.mu0 * count + self.mu1 * np.abs(w).sum())

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """Add s and a with their rows, and the limit."""
        if self.counts:
            s = add_nonzero_indicators(builder, w, span, "s")
            builder.cost(self.mu0, s)
            if self.k is not None:
                builder.require("s count", -s.premultiplied(np.ones((1, w.rows))) + float(min(self.k, w.rows)), Nonnegative(1))
        if self.mu1 > 0:
            L1(self.mu1).add(builder, w, span)

    def cost_line(self) -> Line:
        """Return the printed μ_0 Σ s + μ_1 Σ a."""
        terms = [(mu, f"sum_j {v}_j", rf"\textstyle\sum_j {v}_j") for mu, v in ((self.mu0, "s"), (self.mu1, "a")) if mu > 0]
        return plus(*(times(mu, Line(text, latex)) for mu, text, latex in terms))

    def variables(self) -> tuple[Line, ...]:
        """Return the printed indicators and absolute values, of which the form has those that cost or are limited."""
        return (*([_INDICATORS] if self.counts else []), *([_SIZES] if self.mu1 > 0 else []))

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of s and a."""
        rows = _nonzero_indicator_lines("s") if self.counts else ()
        if self.k is not None:
            rows = (*rows, Line(f"sum_j s_j <= {self.k}", rf"\textstyle\sum_j s_j \le {self.k}", "s count"))
        return (*rows, *L1(1.0).lines()) if self.mu1 > 0 else rows

    @property
    def sparsity(self) -> Sparsity:
        """Return the regulariser as a `Sparsity`."""
        return Sparsity(self.mu0, self.mu1, self.k)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return s and a, of which the form has those that cost or are limited."""
        return {"s": (w != 0.0).astype(np.float64), "a": np.abs(w)}
