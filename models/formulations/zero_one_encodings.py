"""The three encodings of z_i = 0 ⇒ u_i ≥ 1 in `ZeroOneSVM`: big-M rows, indicator constraints, and the cones of its strengthened
form. Equations are those of Cepeda, Gómez and Han, 2024 ("Conic"). The problem is min ||w||² + Σ λ_i z_i with z binary.

*The 0-1 loss strengthened by γ in Γ.* For γ in Γ = {γ ≥ 0 : S = I - Σ γ_i x_i x_i' ⪰ 0}, u_i = y_i x_i'w and r_i = 1 - u_i =
r_i⁺ - r_i⁻,

    min  w'Sw + Σ γ_i (2u_i - 1) + Σ λ_i z_i + Σ γ_i (s_i + t_i),     s_i z_i ≥ (r_i⁺)²,  t_i (1 - z_i) ≥ (r_i⁻)².

*Why it is exact.* ||w||² = w'Sw + Σ γ_i u_i² = w'Sw + Σ γ_i (2u_i - 1) + Σ γ_i r_i². With z_i binary one of r_i⁺, r_i⁻ is zero,
so s_i + t_i ≥ r_i², and the least value is attained: the objective is ||w||² + Σ λ_i z_i. The cones say z_i = 0 ⇒ u_i ≥ 1 (and
z_i = 1 ⇒ u_i ≤ 1: a point that meets its margin needs no z_i = 1). *This holds only for the points that have their cones.* Where
γ_i = 0 nothing would require z_i = 1 for a violated point, and where γ_i is tiny a violation costs next to nothing within a
solver's integrality tolerance. So every point, whatever its γ_i, has a constraint that requires it: a valid big-M row u_i + M_i
z_i ≥ 1, or the cone itself with an s_i that costs γ_i = 0 (``rows="cone"``).

*Its continuous bound.* With z in [0, 1] the program is Conic (13) at this γ (perspectives of r⁺ and r⁻), plus the big-M rows with
``rows="bigm"``. At γ = γ*, the multipliers of the SDP (21), and without big-M rows, its optimum equals the SDP's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, short_text
from ..arrays import FloatArray, IntArray, as_vector
from ..program.cones import Nonnegative
from ..program.form import Block, Constraint, StandardForm
from ..program.quadratic import Quadratic
from ..statement import Line
from .margin.assembly import Assembly
from .margin.conic_losses import require_perspectives
from .margin.margin_losses import ZeroOne
from .margin.model import Margin, check_encoding_name
from .margin_violations import MarginViolationModel


def as_gamma(gamma: object, A: FloatArray) -> FloatArray:
    """Check that γ is inside Γ, Conic (13), and return it: n numbers ≥ 0 with I - Σ γ_i a_i a_i' ≻ 0, a_i the rows of A."""
    checked = as_vector(gamma, A.shape[0], "gamma")
    if not (checked >= 0).all():
        raise InputError(f"gamma must be ≥ 0; it is {checked.min():g}", name="gamma")
    try:
        _root(A, checked)
    except np.linalg.LinAlgError as error:
        largest = float(np.linalg.eigvalsh((A * checked[:, None]).T @ A)[-1])
        raise InputError(
            f"gamma must lie in Gamma: I - sum gamma_i x_i x_i' must be positive definite, but the sum's largest eigenvalue is "
            f"{largest:.6g}; models.conic_bound.repair_gamma(A, gamma) scales it",
            name="gamma",
        ) from error
    return checked


def points_with_cones(gamma: FloatArray, rows: str) -> IntArray:
    """Return the indices of the points with cones: all for ``rows="cone"``, for "bigm" the points with γ_i > 0."""
    return np.arange(gamma.size) if rows == "cone" else np.flatnonzero(gamma > 0.0)


def strengthened_form(
    name: str, A: FloatArray, weights: FloatArray, gamma: FloatArray, big_m: FloatArray | None, integer: bool
) -> StandardForm:
    """Return the strengthened program that the docstring of this module derives.

    Parameters
    ----------
    name : str
        Name of the form.
    A : ndarray (n, p)
        Signed rows y_i x_i.
    weights, gamma : ndarray (n,)
        λ_i, and γ in Γ.
    big_m : ndarray (n,) or None
        M_i of a row ``margin`` for each point; None gives every point its cones instead.
    integer : bool
        Whether z is binary.

    Notes
    -----
    Blocks ``w``, ``z``, and for the m points with cones ``r_plus``, ``r_minus``, ``s``, ``t``. Constraints ``margin``
    u + Mz - 1 ≥ 0, ``split`` r⁺ - r⁻ + u - 1 = 0, ``violated`` (s/2, z, r⁺), ``kept`` (t/2, 1 - z, r⁻).
    """
    n, p = A.shape
    chosen = points_with_cones(gamma, "cone" if big_m is None else "bigm")
    builder = Assembly(name)
    w, z = builder.variables("w", p), builder.variables("z", n, 0.0, 1.0, integer=integer)
    u = w.premultiplied(A)
    builder.cost(2.0 * (A.T @ gamma), w)
    builder.cost(weights, z)
    if big_m is not None:
        builder.require_nonnegative("margin", u + z.scaled(big_m) - 1.0, range(n))
    if chosen.size:
        parts = [builder.variables(label, chosen.size, 0.0) for label in ("r_plus", "r_minus", "s", "t")]
        require_perspectives(builder, -u.at(chosen) + 1.0, z.at(chosen), parts)
        builder.cost(gamma[chosen], parts[2] + parts[3])
    form = builder.form()
    factor = sp.csr_array(sp.hstack([sp.csr_array(_root(A, gamma)), sp.csr_array((p, form.n - p))]))
    return form.replace(quadratic=Quadratic(factor=factor), r=-float(gamma.sum()))


def strengthened_values(A: FloatArray, gamma: FloatArray, rows: str, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
    """Return blocks of `strengthened_form` from w and binary z: s = (r⁺)², t = (r⁻)²; r⁺ = 0 where z_i = 0."""
    chosen = points_with_cones(gamma, rows)
    r, violated = 1.0 - A[chosen] @ w, z[chosen] > 0.5
    plus, minus = np.where(violated, np.maximum(r, 0.0), 0.0), np.where(violated, 0.0, np.maximum(-r, 0.0))
    values = {"w": w, "z": z}
    return values | ({"r_plus": plus, "r_minus": minus, "s": plus**2, "t": minus**2} if chosen.size else {})


def strengthened_lines(n_cones: int, rows: str) -> tuple[Line, tuple[Line, ...]]:
    """Return objective and constraints of `strengthened_form`, as text and LaTeX; ``n_cones`` points have γ_i > 0."""
    objective = Line(
        "w'(I - sum_i g_i x_i x_i')w + sum_i g_i (2u_i - 1 + s_i + t_i) + lam sum_i z_i",
        r"w^\top\bigl(I-\textstyle\sum_i\gamma_i x_i x_i^\top\bigr)w + \sum_i \gamma_i(2u_i-1+s_i+t_i) + \lambda\sum_i z_i",
    )
    quantifier = "every i" if rows == "cone" else f"the {n_cones} i with g_i > 0"
    where_tex = r"\forall i" if rows == "cone" else r"i:\gamma_i>0"
    lines = [
        Line(f"r+_i - r-_i = 1 - u_i,  r+, r- >= 0,  {quantifier}", rf"r_i^+ - r_i^- = 1-u_i,\quad {where_tex}", "split"),
        Line("s_i z_i >= (r+_i)^2", r"s_i z_i \ge (r_i^+)^2", "violated"),
        Line("t_i (1 - z_i) >= (r-_i)^2", r"t_i(1-z_i) \ge (r_i^-)^2", "kept"),
    ]
    if rows == "bigm":
        lines.insert(
            0, Line("u_i = y_i x_i'w >= 1 - M_i z_i,  every i", r"y_i x_i^\top w \ge 1-M_i z_i,\quad i=1,\dots,n", "margin")
        )
    return objective, (*lines, Line("z_i in {0, 1}", r"z_i\in\{0,1\}"))


def _root(A: FloatArray, gamma: FloatArray) -> FloatArray:
    """Return R with R'R = 2S; LinAlgError where S is not positive definite."""
    S = np.eye(A.shape[1]) - (A * gamma[:, None]).T @ A
    return np.asarray(np.sqrt(2.0) * np.linalg.cholesky(S).T)


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
    def form(self, model: MarginViolationModel) -> StandardForm:
        """Return the form with z binary, without the κ form's row Σz ≤ ⌊κn⌋."""

    def point(self, model: MarginViolationModel, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
        """Return all blocks of the form from w and binary z."""
        return {"w": w, "z": z}

    def objective(self, plain: Line) -> Line:
        """Return the objective to print; ``plain`` is the line of ||w||² and the cost."""
        return plain

    @abstractmethod
    def lines(self) -> tuple[Line, ...]:
        """Return the constraints to print."""

    @abstractmethod
    def notes(self, model: MarginViolationModel) -> tuple[str, ...]:
        """Return notes to print, such as the reason why the constants of the encoding are valid."""

    def form_with_fixed_integers(self, model: MarginViolationModel, z: FloatArray) -> StandardForm | None:
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

    def form(self, model: MarginViolationModel) -> StandardForm:
        """Return the form with blocks ``w``, ``z`` and the constraint ``margin``."""
        return _switched_form(model, model.big_m_values)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows and binaries."""
        return (Line("y_i x_i'w >= 1 - M_i z_i", r"y_i x_i^\top w \ge 1 - M_i z_i,\quad i=1,\dots,n", "margin"), _BINARY)

    def notes(self, model: MarginViolationModel) -> tuple[str, ...]:
        """Return the proof that M is valid."""
        return (model.big_m_argument,)


@dataclass(frozen=True)
class Indicators(MarginEncoding):
    """The encoding by the solver's indicator constraints, Conic (5a)-(5b), with |w_j| ≤ √UB (SCIP may not end on unbounded w)."""

    title = "indicators"
    problem_class = "mixed-integer convex QP"
    source = "(5a)-(5b)"
    uses_big_m = False

    def form(self, model: MarginViolationModel) -> StandardForm:
        """Return the form with blocks ``w``, ``z`` and the constraint ``margin`` of indicators."""
        return _switched_form(model, None)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed implications and binaries."""
        switch = Line("z_i = 0  =>  y_i x_i'w >= 1", r"z_i = 0 \Rightarrow y_i x_i^\top w \ge 1,\quad i=1,\dots,n", "margin")
        return (switch, _BINARY)

    def notes(self, model: MarginViolationModel) -> tuple[str, ...]:
        """Return the proof that w is bounded."""
        return (f"|w_j| <= sqrt(UB), UB = {model.incumbent_value:.6g}: any w beyond it is worse than a known point",)


def _switched_form(model: MarginViolationModel, big_m: FloatArray | None) -> StandardForm:
    """Return the form of ||w||² + cost with the rows u + Mz - 1 ≥ 0; without M with indicators, and |w_j| ≤ √UB."""
    reach = np.full(model.X.shape[1], np.sqrt(model.incumbent_value) if big_m is None else np.inf)
    lower, upper = -reach, reach.copy()
    if model.free and model.given_big_m is None:  # given M bound b by the rows
        lower[0], upper[0] = -model.intercept_bound, model.intercept_bound
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

    def form(self, model: MarginViolationModel) -> StandardForm:
        """Return `strengthened_form` of the model's data."""
        big_m = model.big_m_values if self.uses_big_m else None
        return strengthened_form(
            f"{model.name}, strengthened", model.signed, model.cost.point_costs, self.gamma, big_m, integer=True
        )

    def point(self, model: MarginViolationModel, w: FloatArray, z: FloatArray) -> dict[str, FloatArray]:
        """Return the point with the parts of 1 - u and their squares."""
        return strengthened_values(model.signed, self.gamma, self.rows, w, z)

    def form_with_fixed_integers(self, model: MarginViolationModel, z: FloatArray) -> StandardForm:
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

    def notes(self, model: MarginViolationModel) -> tuple[str, ...]:
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
