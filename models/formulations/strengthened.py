"""The strengthened program of `ZeroOneSVM`: second-order cones of a γ in Γ state z_i = 0 ⇒ u_i ≥ 1.

Equations are those of Cepeda, Gómez and Han, 2024 ("Conic"). The problem is min ||w||² + Σ λ_i z_i with z binary.

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

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ..arrays import FloatArray, IntArray, as_vector
from ..program.form import StandardForm
from ..program.quadratic import Quadratic
from ..statement import Line
from .margin.assembly import Assembly
from .margin.conic_losses import require_perspectives


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
