"""The perspective relaxation of the 0-1 loss at a fixed γ (`Perspective`): second-order cones, cheaper and weaker than the SDP.

The problem is min ||w||² + Σ λ_i 1{u_i < 1}, u_i = a_i'w, a_i = y_i x_i. The relaxation is (13) of Cepeda, Gómez and Han (2024),
*Robust support vector machines via conic optimization* ("Conic"), for one γ of Γ = {γ ≥ 0 : S = I - Σ γ_i a_i a_i' ⪰ 0}. With
z_i the relaxed 1{u_i < 1} and r_i = 1 - u_i,

    min w'Sw + Σ γ_i (2u_i - 1 + s_i + t_i) + Σ λ_i z_i   subject to   s_i z_i ≥ (r_i)_+²,  t_i (1 - z_i) ≥ (r_i)_-²,  0 ≤ z ≤ 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from ...errors import InputError, count_text, short_text
from ...models.arrays import FloatArray, as_vector
from ...models.conic_bound import repair_gamma
from ...models.formulations.features import dense_signed_rows
from ...models.formulations.strengthened import as_gamma, strengthened_form, strengthened_lines
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.program.form import StandardForm
from ...models.statement import Line, Statement
from ..reduction import LiftedDual, Need, Relaxation
from .big_m import BigM, MSource
from .convexification import (
    CertifiedConvexification,
    ConvexificationModel,
    as_positive_vector,
    certified_dual,
    certified_dual_with_big_m,
)

#: ``"uniform"``: equal γ_i, as large as Γ allows; ``"stated"``: that of the model's strengthened encoding; or n numbers.
GammaSource: TypeAlias = Literal["uniform", "stated"] | FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class PerspectiveRelaxation(ConvexificationModel):
    """The program of the module's docstring, Conic (13) at one γ.

    Its optimum is at most that of the SDP, Conic (21), which is the maximum over Γ, attained at the SDP's multipliers γ*. With M
    it has the rows u_i + M_i z_i ≥ 1 as well: the continuous relaxation of the strengthened `ZeroOneSVM`.

    Parameters
    ----------
    X : array_like (n, p)
        Points; an intercept is a column of ones among them.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,)
        Costs λ_i > 0; different ones need M.
    gamma : array_like (n,)
        γ in Γ: γ ≥ 0 with Σ γ_i x_i x_i' ⪯ I.
    big_m : float or array_like (n,), optional
        Constants M_i > 0 of the big-M rows; no such rows by default.

    Notes
    -----
    Form: `models.formulations.strengthened.strengthened_form`.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels, λ ≤ 0, M ≤ 0, γ outside Γ, different λ_i without M.
    """

    gamma: FloatArray
    big_m: float | FloatArray | None = None

    name = "PerspectiveRelaxation"
    #: Labels of the constraints whose multipliers the bound needs: none, since γ is given.
    needed_multipliers = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.big_m is not None:
            as_positive_vector(self.big_m, self.X.shape[0], "big_m")
        elif self.sample_weight.min() != self.sample_weight.max():
            raise InputError(
                f"without M one lam for all points is needed; they range from {self.sample_weight.min():g} to "
                f"{self.sample_weight.max():g}",
                name="big_m",
            )
        object.__setattr__(self, "gamma", as_gamma(self.gamma, self.signed))

    @cached_property
    def big_m_values(self) -> FloatArray | None:
        """The constants M_i, (n,); None without big-M rows."""
        return None if self.big_m is None else as_vector(self.big_m, self.X.shape[0], "big_m")

    @property
    def form_bytes(self) -> int:
        """Return the estimated bytes of the form: its rows and S."""
        n, p = self.X.shape
        return 24 * n * p + 12 * p * p + 400 * n

    def compile(self) -> StandardForm:
        """Return the form that the class's notes name."""
        return strengthened_form(self.name, self.signed, self.sample_weight, self.gamma, self.big_m_values, integer=False)

    def certify(self, multipliers: Mapping[str, FloatArray], w: FloatArray | None = None) -> LiftedDual:
        """Return the dual value in closed form (`relaxations.bounds.convexification`) at the model's γ and dual slopes V.

        V_i is the sum of the multipliers of the rows ``split`` (r_i = 1 - u_i) and, with M, ``margin``; missing ones are zero. A
        search for better V starts at ``w``.
        """
        slope = np.zeros(self.X.shape[0])
        if "split" in multipliers:
            split = np.asarray(multipliers["split"], dtype=np.float64)
            slope[np.arange(slope.size) if split.size == slope.size else np.flatnonzero(self.gamma > 0.0)] += split
        if self.big_m_values is None:
            return certified_dual(self.problem, self.gamma, {"split": slope}, "closed-form dual value at the given gamma", w)
        slope += np.asarray(multipliers.get("margin", 0.0), dtype=np.float64)
        argument = "closed-form dual value at the given gamma, big-M rows included"
        return certified_dual_with_big_m(self, self.big_m_values, self.gamma, slope, argument, w)

    @property
    def statement(self) -> Statement:
        """Return the statement of Conic (13) at a fixed γ."""
        n, p = self.X.shape
        count = int((self.gamma > 0).sum())
        objective, lines = strengthened_lines(count, "cone" if self.big_m_values is None else "bigm")
        return Statement(
            title="Perspective relaxation at a fixed gamma (of the 0-1 loss)",
            problem_class="convex QP over rotated second-order cones",
            sense="minimise",
            variables=Line("w, z", r"w\in\mathbb{R}^p,\ z\in[0,1]^n"),
            objective=objective,
            constraints=(*lines[:-1], Line("0 <= z_i <= 1", r"0\le z_i\le 1")),
            sizes=f"n = {count_text(n, 'point')}, p = {p}",
            notes=(f"g = gamma in Gamma, {count} of {n} positive; at most the SDP over all of Gamma, equal at gamma*",),
            source="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (13)",
        )


@dataclass(frozen=True, eq=False)
class Perspective(CertifiedConvexification[PerspectiveRelaxation]):
    """`PerspectiveRelaxation` at a γ that needs no semidefinite program.

    Parameters
    ----------
    gamma : {"uniform", "stated"} or array_like (n,)
        Source of γ: equal γ_i, as large as Γ allows; the model's own (`ZeroOneSVM.gamma`); or numbers, scaled into Γ.
    big_m : {"zero", "incumbent", "stated"} or float, optional
        Source of the constants of big-M rows (w = 0, the incumbent, the model's own), or one number; no such rows by default.

    Raises
    ------
    InputError
        An unknown source.
    """

    gamma: GammaSource = "uniform"
    big_m: MSource | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.gamma, str) and self.gamma not in ("uniform", "stated"):
            raise InputError(f"gamma must be 'uniform', 'stated' or n numbers; it is {short_text(self.gamma)}", name="gamma")
        _ = self._rows  # raises for an unknown source

    @property
    def name(self) -> str:
        """Return the name with the sources of γ and M."""
        source = f"{self.gamma} gamma" if isinstance(self.gamma, str) else "given gamma"
        return f"perspective, {source}" + ("" if self._rows is None else f" + big-M, {self._rows.source_name}")

    @property
    def _rows(self) -> BigM | None:
        """The reduction that gives the constants of the big-M rows; None without such rows."""
        return None if self.big_m is None else BigM(self.big_m)

    def gamma_for(self, model: ZeroOneSVM) -> FloatArray:
        """Return γ for a model, in Γ.

        Parameters
        ----------
        model : ZeroOneSVM

        Returns
        -------
        ndarray (n,)
            γ ≥ 0 with Σ γ_i a_i a_i' ⪯ I.

        Raises
        ------
        InputError
            γ has not one number for each point, or is ``"stated"`` and the model has none.
        """
        if isinstance(self.gamma, str) and self.gamma == "stated":
            if model.gamma is None:
                raise InputError("gamma='stated' needs a model with a gamma: strengthen(model) returns one", name="gamma")
            return model.gamma
        A = dense_signed_rows(model.X, model.y)
        if isinstance(self.gamma, str):
            largest = float(np.linalg.eigvalsh(A.T @ A)[-1] if A.shape[1] <= A.shape[0] else np.linalg.eigvalsh(A @ A.T)[-1])
            if largest <= 0.0:
                raise InputError("the squares of all data are zero: there is nothing to separate", name="X")
            return repair_gamma(A, np.full(A.shape[0], 1.0 / largest), margin=1e-8)
        return repair_gamma(A, np.asarray(as_vector(self.gamma, A.shape[0], "gamma")), margin=1e-8)

    @property
    def cost_needs(self) -> tuple[Need, ...]:
        """Return the requirement that all points have one λ; none with big-M rows."""
        return super().cost_needs if self.big_m is None else ()

    def target(self, model: ZeroOneSVM) -> PerspectiveRelaxation:
        """Return the relaxation with the same data and λ at the γ of this model."""
        assert model.lam is not None  # the λ form
        return PerspectiveRelaxation(model.X, model.y, model.lam, self.gamma_for(model), self.big_m_constants(model))

    def big_m_constants(self, model: ZeroOneSVM) -> FloatArray | None:
        """Return the constants M_i of the big-M rows, (n,); None without such rows."""
        return None if self._rows is None else self._rows.big_m_constants(model)

    def m_source(self, model: ZeroOneSVM) -> str:
        """Return the source of the constants of the big-M rows in words; empty without such rows."""
        return "" if self._rows is None else self._rows.m_source(model)

    def caveat(self, model: ZeroOneSVM) -> str:
        """Return the caveat of `BigM` with these constants; empty without big-M rows."""
        return "" if self._rows is None else self._rows.caveat(model)


#: The records of these relaxations, which `relaxations.registry` collects.
RELAXATIONS = (
    Relaxation(
        "perspective",
        "the convexification at equal γ_i, as large as Γ allows: second-order cones, no SDP",
        Perspective("uniform"),
        "Conic (13)",
        rank=70,
    ),
)
