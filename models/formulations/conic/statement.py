"""The conic SVM as mathematics: Conic (21) in its λ and κ forms, linear or with a kernel, and its dual in closed form.

*The dual.* The derivation is that of `models.conic_dual.bound`: with S = I - Σγ_i x_i x_i' ⪰ 0 and g = Σ(v_i - 2γ_i) a_i,
D(γ, v) = Σ(v_i - γ_i) - Σψ*_i(v_i) - ¼ g'S⁻¹g, where ψ*_i(v) = 0 on 0 ≤ v ≤ 2√(λγ_i). *Nothing is lost on that interval*: let
(γ, v) be optimal, v_i outside. Then z_i is 0 or 1, r_i ≠ 0 and v_i = 2γ_i r_i; hull row i is active with x_i'W x_i = u_i², so
that (W - ww')a_i = 0. Put γ_i to γ' = 0 (r_i < 0) or γ' = λ/r_i² (z_i = 1), v_i to 2γ' r_i: S changes by a multiple of
a_i a_i', which keeps S(W - ww') = 0, and both sides of 2Sw = g by the same 2(γ_i - γ')u_i a_i. The new point satisfies every
condition of optimality, and v_i is 0 or 2√(λγ').
"""

from __future__ import annotations

from dataclasses import dataclass

from ...kernels.kernels import Kernel
from ...statement import DualStatement, Line, Statement, plus

__all__ = ["conic_statement"]

_SOURCE = "Cepeda, Gomez, Han: Robust SVMs via conic optimization"


@dataclass(frozen=True)
class _Symbols:
    """The symbols with which one form (linear, kernel) writes its pieces, as text and as LaTeX."""

    x: str
    trace: Line
    row: Line
    metric: str
    space: str

    @classmethod
    def of(cls, kernel: Kernel | None) -> _Symbols:
        if kernel is None:
            return cls("x_i", Line("Tr W", r"\operatorname{Tr} W"), Line("y_i x_i", r"y_i x_i"), "I", "p")
        return cls("K_i", Line("<K,W>", r"\langle K, W\rangle"), Line("K_i", "K_i"), "K", "n")


def conic_statement(n: int, p: int, lam: float | None, kappa: float | None, kernel: Kernel | None) -> Statement:
    """Conic (21) with its dual; the hard-margin problem for κ = 0."""
    if kappa == 0.0:
        return _hard(n, p, kernel)
    s = _Symbols.of(kernel)
    x = s.x
    cost = Line("", "") if lam is None else Line("lam sum_i z_i", r"\lambda\sum_{i=1}^n z_i")
    budget = () if kappa is None else (Line("sum_i z_i <= kappa n", r"\textstyle\sum_{i=1}^n z_i \le \kappa n", "budget"),)
    hull = Line(
        f"{x}'W {x} - 2u_i + 1 >= (1-u_i)_+^2/z_i + (1-u_i)_-^2/(1-z_i)",
        rf"{x}^\top W {x} - 2u_i + 1 \ge \frac{{(1-u_i)_+^2}}{{z_i}} + \frac{{(1-u_i)_-^2}}{{1-z_i}},\quad i=1,\dots,n",
        "hull",
    )
    return Statement(
        title="Conic SVM (SDP relaxation of the 0-1 loss)",
        problem_class="semidefinite program with rotated second-order cones",
        sense="minimise",
        over=Line("w, W, z", rf"w\in\mathbb{{R}}^{s.space},\ W\in\mathbb{{S}}^{s.space},\ z\in[0,1]^n"),
        objective=plus(s.trace, cost),
        constraints=(
            hull,
            Line("[1 w'; w W] psd", r"\begin{pmatrix}1 & w^\top\\ w & W\end{pmatrix}\succeq 0", "lifted"),
            *budget,
        ),
        sizes=f"n = {n} points, p = {p}, PSD order {p + 1}, {f'kappa = {kappa:g}' if lam is None else f'lam = {lam:g}'}",
        notes=(
            f"u_i = y_i x_i'w{'' if kernel is None else ' = K_i w, K_ij = y_i y_j (k_ij + 1), ' + str(kernel)}",
            "lower bound of ZeroOneSVM; exact where W = ww' (rank ratio 0) and z binary; multipliers of hull are gamma*",
        ),
        equivalences=("ZeroOneSVM with a penalised intercept where the rank ratio is 0 and z is binary",),
        source=f"{_SOURCE}, (21), Theorem 2, Appendices A and C; dual: (13)-(19)",
        dual=_dual(s, kappa),
    )


def _dual(s: _Symbols, kappa: float | None) -> DualStatement:
    """max Σ(v - γ) - τ over the Schur complement of τ ≥ ¼g'S⁻¹g; in κ form μ stands for λ and the budget costs μκn."""
    price, tex = ("lam", r"\lambda") if kappa is None else ("mu", r"\mu")
    budget = Line("", "") if kappa is None else Line(" - mu kappa n", r" - \mu\kappa n")
    more = Line("", "") if kappa is None else Line(", mu >= 0", r",\ \mu\ge 0")
    x, a = s.x, s.row
    S = Line(f"S = {s.metric} - sum_i gamma_i {x} {x}'", rf"S = {s.metric} - \textstyle\sum_{{i=1}}^n \gamma_i {x} {x}^\top")
    g = Line(f"g = sum_i (v_i - 2 gamma_i) {a.text}", rf"g = \textstyle\sum_{{i=1}}^n (v_i - 2\gamma_i)\, {a.latex}")
    slack = Line("mu (kappa n - sum_i z_i) = 0", r"\mu\,(\kappa n - \textstyle\sum_{i=1}^n z_i) = 0")
    return DualStatement(
        sense="maximise",
        over=Line(f"gamma, v, tau{more.text}", rf"\gamma,\, v\in\mathbb{{R}}^n,\ \tau{more.latex}"),
        objective=Line(
            f"sum_i (v_i - gamma_i) - tau{budget.text}", rf"\textstyle\sum_{{i=1}}^n (v_i - \gamma_i) - \tau{budget.latex}"
        ),
        constraints=(
            Line("[tau g'/2; g/2 S] psd", r"\begin{pmatrix}\tau & \tfrac12 g^\top\\[2pt] \tfrac12 g & S\end{pmatrix}\succeq 0"),
            Line(f"{S.text}, {g.text}", rf"{S.latex},\quad {g.latex}"),
            Line(
                f"0 <= v_i <= 2 sqrt({price} gamma_i), gamma_i >= 0",
                rf"0 \le v_i \le 2\sqrt{{{tex}\,\gamma_i}},\quad \gamma_i \ge 0,\quad i=1,\dots,n",
            ),
        ),
        kkt=(
            Line("2 S w = g, S (W - w w') = 0", r"2 S w = g,\qquad S\,(W - w w^\top) = 0"),
            Line(
                f"gamma_i ({x}'W {x} - 2u_i + 1 - (1-u_i)_+^2/z_i - (1-u_i)_-^2/(1-z_i)) = 0",
                rf"\gamma_i\Bigl({x}^\top W {x} - 2u_i + 1" + r" - \frac{(1-u_i)_+^2}{z_i} - \frac{(1-u_i)_-^2}{1-z_i}\Bigr) = 0",
            ),
            Line(
                f"2 gamma_i (1-u_i)_+ = v_i z_i, (2 sqrt({price} gamma_i) - v_i) z_i = 0",
                rf"2\gamma_i\,(1-u_i)_+ = v_i z_i,\qquad \bigl(2\sqrt{{{tex}\,\gamma_i}} - v_i\bigr)\, z_i = 0",
            ),
            *(() if kappa is None else (slack,)),
        ),
    )


def _hard(n: int, p: int, kernel: Kernel | None) -> Statement:
    norm, tex = ("||w||^2", r"\|w\|_2^2") if kernel is None else ("w'Kw", r"w^\top K w")
    row, row_tex = ("y_i x_i'w", r"y_i x_i^\top w") if kernel is None else ("K_i'w", r"K_i^\top w")
    if kernel is None:
        cost = Line("1/4 ||sum_i alpha_i y_i x_i||^2", r"\tfrac14\bigl\|\textstyle\sum_{i=1}^n \alpha_i y_i x_i\bigr\|_2^2")
        point = Line("w = 1/2 sum_i alpha_i y_i x_i", r"w = \tfrac12\textstyle\sum_{i=1}^n \alpha_i y_i x_i")
    else:
        cost = Line("1/4 alpha'K alpha", r"\tfrac14\,\alpha^\top K \alpha")
        point = Line("K w = 1/2 K alpha", r"K w = \tfrac12 K\alpha")
    return Statement(
        title="Conic SVM for kappa = 0: the hard-margin SVM",
        problem_class="convex QP",
        sense="minimise",
        over=Line("w", rf"w\in\mathbb{{R}}^{'p' if kernel is None else 'n'}"),
        objective=Line(norm, tex),
        constraints=(Line(f"{row} >= 1", rf"{row_tex} \ge 1,\quad i=1,\dots,n", "margin"),),
        sizes=f"n = {n} points, p = {p}",
        notes=(
            "sum_i z_i <= 0 leaves no margin violated; as an SDP this would be weakly infeasible on non-separable data",
            *(() if kernel is None else (f"K_ij = y_i y_j (k_ij + 1), {kernel}",)),
        ),
        source=f"{_SOURCE}, (21), Appendix C with kappa = 0",
        dual=DualStatement(
            sense="maximise",
            over=Line("alpha", r"\alpha\in\mathbb{R}^n"),
            objective=Line(f"sum_i alpha_i - {cost.text}", rf"\textstyle\sum_{{i=1}}^n \alpha_i - {cost.latex}"),
            constraints=(Line("alpha_i >= 0", r"\alpha_i \ge 0,\quad i=1,\dots,n"),),
            kkt=(point, Line(f"alpha_i ({row} - 1) = 0", rf"\alpha_i\,({row_tex} - 1) = 0")),
        ),
    )
