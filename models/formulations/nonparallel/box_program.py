"""A convex quadratic over a box, with its factor given: the duals of the class problems as programs of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import FloatArray, as_array, as_vector
from ...model import Bound, Model
from ...program.form import Block, Quadratic, StandardForm
from ...record import Arrays, DataKind, FormulationInfo
from ...rounding import UNIT, Rounded, dot, gamma, transposed_product
from ...statement import Line, Statement
from ...views import BoxPoint, BoxQP

__all__ = ["BoxProgram"]

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class BoxProgram(Model):
    """min ½a'(ZZ' + D)a + q'a over lower ≤ a ≤ upper, with the factor Z given.

    Parameters
    ----------
    Z : array_like (m, r)
    q, lower, upper : array_like (m,)
        A single number stands for m equal ones; lower < upper, both finite.
    ridge : array_like (m,)
        D ≥ 0.

    Notes
    -----
    Form: block ``a`` with its bounds, P = R'R, R = [Z'; √D].

    Raises
    ------
    InputError
        Shapes that do not fit, values that are not finite, lower > upper, a negative ridge.
    """

    Z: FloatArray
    q: FloatArray
    lower: FloatArray
    upper: FloatArray
    ridge: FloatArray

    name = "BoxProgram"
    meanings: ClassVar[Mapping[str, str]] = {
        "bounds": "the reduced cost of a_i is the gradient's entry: >= 0 at the lower, <= 0 at the upper bound",
    }

    def __post_init__(self) -> None:
        Z = as_array(self.Z, "Z")
        if Z.ndim != 2 or not np.isfinite(Z).all():
            raise InputError(f"Z must be a finite m × r matrix; its shape is {Z.shape}")
        with np.errstate(over="ignore"):
            largest = float(np.einsum("ij,ij->i", Z, Z).max(initial=0.0))
        if not np.isfinite(largest):
            raise InputError(f"products of rows of Z are not finite in float64 (largest entry {np.abs(Z).max():.3g}): scale it")
        object.__setattr__(self, "Z", np.ascontiguousarray(Z))
        for name in ("q", "lower", "upper", "ridge"):
            object.__setattr__(self, name, as_vector(getattr(self, name), Z.shape[0], name))
        if (self.lower > self.upper).any() or (self.ridge < 0).any():
            raise InputError("a box program needs lower ≤ upper and ridge ≥ 0")

    @cached_property
    def box(self) -> BoxQP:
        """The structural view."""
        gram = self.Z @ self.Z.T if self.Z.shape[0] <= self.Z.shape[1] else None
        return BoxQP(self.Z, self.q, self.lower, self.upper, self.ridge, self._point, gram=gram)

    def _point(self, a: FloatArray) -> BoxPoint:
        return BoxPoint({"a": a}, {}, self.box.gradient(a))

    def view(self, kind: type[V]) -> V | None:
        """`BoxQP`."""
        return self.box if kind is BoxQP else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """The factor: P stays factored until a reader materialises it."""
        return 8 * int(self.Z.size)

    def compile(self) -> StandardForm:
        """Block ``a`` with bounds."""
        m = self.q.size
        factor: FloatArray | sp.csr_array = np.asarray(self.Z.T)
        if self.ridge.any():
            factor = np.vstack([self.Z.T, np.diag(np.sqrt(self.ridge))])
        return StandardForm(
            name=self.name,
            blocks=(Block("a", (m,)),),
            q=self.q,
            constraints=(),
            lower=self.lower,
            upper=self.upper,
            integer=np.zeros(m, dtype=bool),
            quadratic=Quadratic(factor=factor),
        )

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """f(a) - gap(a) at the point moved into the box; needs no multipliers."""
        if x is None:
            return Bound(-np.inf, "no point")
        a = np.clip(x, self.lower, self.upper)
        inner, off = transposed_product(self.Z, a)  # Z'a cancels at an optimum
        gradient = self.Z @ inner + self.ridge * a + self.q
        size = float(np.linalg.norm(off)) + gamma(self.Z.shape[1]) * float(np.linalg.norm(inner))
        error = self._norms * size + 4.0 * UNIT * (np.abs(self.ridge * a) + np.abs(gradient) + np.abs(self.q))
        error *= 1.0 + 1e-9
        # -½a'(ZZ' + D)a + the least value of ∇'x in the box
        square = dot(inner, inner) + dot(self.ridge * a, a, 2.0 * UNIT * np.abs(a))
        square = Rounded(
            square.value, square.error + 2.0 * float(np.abs(inner) @ off) + float(off @ off) + UNIT * float(self.ridge @ (a * a))
        )
        value = dot(gradient, np.where(gradient > 0.0, self.lower, self.upper)) - square.times(0.5)
        lost = float(error @ np.maximum(np.abs(self.lower), np.abs(self.upper))) * (1.0 + 1e-9)
        return Bound(value.lower - lost, "linearisation at the point, minimised over the box", value.error + lost)

    @cached_property
    def _norms(self) -> FloatArray:
        return np.asarray(np.linalg.norm(self.Z, axis=1) * (1.0 + 1e-12))

    @property
    def statement(self) -> Statement:
        """The algebra above."""
        m, r = self.Z.shape
        return Statement(
            title="Convex quadratic over a box",
            problem_class="convex QP with bounds only",
            sense="minimise",
            over=Line("a", r"a\in\mathbb{R}^m"),
            objective=Line("1/2 a'(ZZ' + D)a + q'a", r"\tfrac12\, a^\top (ZZ^\top + D)\, a + q^\top a"),
            constraints=(Line("lower <= a <= upper", r"\underline{a} \le a \le \overline{a}"),),
            sizes=f"m = {m} variables, r = {r} columns of Z",
            notes=("duality gap at any feasible a: sum of grad_i (a_i - the box end that grad_i points away from)",),
            source="the duals of the class problems, NPSVC++ (16)",
        )


def _small(rng: np.random.Generator) -> Arrays:
    q = rng.normal(size=8)
    return {"Z": rng.normal(size=(8, 3)), "q": q, "lower": np.full(8, -0.5), "upper": np.ones(8), "ridge": np.full(8, 0.1)}


def _objective(model: BoxProgram, values: Mapping[str, FloatArray]) -> float:
    """The stated objective from the data."""
    a = values["a"]
    half = model.Z.T @ a
    return 0.5 * float(half @ half + model.ridge @ (a * a)) + float(model.q @ a)


FORMULATIONS = (
    FormulationInfo(
        BoxProgram,
        name="box",
        summary="convex quadratic over a box, its factor given",
        reference="the duals of the class problems, NPSVC++ (16)",
        data=DataKind.ARRAYS,
        objective=_objective,
        arrays=("Z", "q", "lower", "upper", "ridge"),
        small=_small,
    ),
)
