# exempt (formulation): its target is the λ form of the 0-1 problem, or a form with priced rows
"""The Lagrangian relaxation (`Lagrangian`): linear rows move into the objective with multipliers, ``prices``; the rest is solved.

For rows F x + g ≥ 0 with multipliers μ ≥ 0 every feasible point has -μ'(Fx + g) ≤ 0, so

    v(μ) = min { f(x) - μ'(F x + g) : the other rows }  ≤  min f   (weak duality).

*The budget.* The κ form of the 0-1 SVM is min ||w||² subject to Σz ≤ k = ⌊κn⌋, z_i = 1 where point i violates its margin; the λ
form is min ||w||² + λΣz. Moving the budget Σz ≤ k into the objective leaves the λ form at λ = μ with its integers, which
`zero-one-bb` solves. With its optimum v(μ), the bound is v(μ) - μk, concave and piecewise linear in μ with slope Σz - k. The best
of these bounds is at least that of the relaxation without integers. Its distance from the optimum is the budget's duality gap.

*Any other linear rows* (such as the margins) of any model with integers: the integrality is dropped, and at the best μ the bound
is that of the relaxation without integers. For the margins no bound is lost by that: without them the z range over a box (with a
budget: a box under a cardinality row), whose vertices are integer (Geoffrion 1974).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError, count_text, short_text
from ...models.arrays import FloatArray, as_integer, as_vector
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.model import Model
from ...models.program.cones import Nonnegative, Zero
from ...models.program.form import StandardForm
from ...models.program.lagrangian import Bound, dual_bound
from ...models.rounding import Rounded
from ...models.statement import Line, Statement
from ...solvers.records import Options
from ...solvers.solve import solve_problem
from ..reduction import LiftedDual, Need, Reduction, Relaxation, replace_fields
from .form_relaxations import Continuous


@dataclass(frozen=True, eq=False, repr=False)
class LagrangianRelaxation(Model):
    """min f(x) - μ'(F x + g) over the other rows of a form, without integers.

    Parameters
    ----------
    original : StandardForm
        The form before its rows move into the objective.
    rows : str
        Label of linear rows of the form.
    prices : array_like
        Multipliers μ, one for each of the rows; ≥ 0 for inequalities.

    Raises
    ------
    InputError
        No such rows, rows that are not linear, or prices that do not fit.
    """

    original: StandardForm
    rows: str
    prices: FloatArray

    name = "LagrangianRelaxation"

    def __post_init__(self) -> None:
        constraint = self.original.constraint(self.rows)
        if not isinstance(constraint.cone, (Zero, Nonnegative)):
            raise InputError(f"{self.rows} are no linear rows; a price is put on linear ones", name="rows")
        prices = as_vector(self.prices, constraint.rows, "prices")
        if isinstance(constraint.cone, Nonnegative) and (prices < 0.0).any():
            raise InputError(f"prices of inequalities must be ≥ 0; the smallest is {prices.min():g}", name="prices")
        object.__setattr__(self, "prices", prices)

    @property
    def form_bytes(self) -> int:
        """Return an upper estimate of the form's bytes: those of the original form."""
        return self.original.bytes

    @cached_property
    def continuous(self) -> StandardForm:
        """The original form without integers, which the bound is computed on."""
        return self.original.relax_integrality()

    def compile(self) -> StandardForm:
        """Return the form with the rows in its objective."""
        form, constraint = self.continuous, self.continuous.constraint(self.rows)
        return form.replace(
            name=f"{form.name}, {self.rows} priced",
            q=form.q - constraint.F.T @ self.prices,
            r=form.r - float(self.prices @ constraint.g),
            constraints=tuple(c for c in form.constraints if c.label != self.rows),
        )

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the Lagrangian bound of the *original* form at μ and the multipliers of the other rows.

        It is computed on the original form, so that rounding errors of the objective with the rows do not matter.
        """
        return dual_bound(self.continuous, x, {**(multipliers or {}), self.rows: self.prices})

    @property
    def statement(self) -> Statement:
        """Return the statement: the program with the rows in its objective."""
        return Statement(
            title=f"Lagrangian relaxation of {self.original.name}",
            problem_class="what is left of the program without the rows and without integers",
            sense="minimise",
            variables=Line("x", "x"),
            objective=Line("f(x) - mu'(F x + g)", r"f(x)-\mu^\top(Fx+g)"),
            constraints=tuple(Line(c.label, rf"\text{{{c.label}}}") for c in self.continuous.constraints if c.label != self.rows),
            sizes=f"{count_text(self.prices.size, 'row')} priced, {int((self.prices != 0.0).sum())} above zero",
            notes=("mu >= 0 for inequalities, given",),
            source="Geoffrion: Lagrangean relaxation for integer programming, 1974",
        )


_BUDGET = "budget"
#: λ is doubled this often at most until the budget holds at its solution.
_DOUBLINGS = 60
#: The reduction that reads and recovers models other than `ZeroOneSVM`.
_BY_FORM = Continuous()
#: Two slopes of v are taken for one where they differ by less, relative.
_SAME = 1e-9


@dataclass(frozen=True)
class Lagrangian(Reduction[Any]):
    """The Lagrangian relaxation of the rows of one label, at given multipliers or at the best that are found.

    Parameters
    ----------
    rows : str
        ``"budget"`` (κ form) or the label of linear rows of the form (``"margin"`` of the big-M encoding).
    prices : float or tuple of float, optional
        μ. By default μ is computed: for the budget by cutting planes (each an exact solution of the λ form), for other rows as
        the multipliers of the relaxation without integers.
    rounds : int
        Problems solved for the best price of the budget, at most.

    Raises
    ------
    InputError
        A price of the budget that is not one number > 0, ``rows`` that is no label, or rounds below 1.
    """

    rows: str = "margin"
    prices: float | tuple[float, ...] | None = None
    rounds: int = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prices is not None:
            prices = as_vector(self.prices, np.size(self.prices), "prices")
            if self.rows == _BUDGET and not (prices.size == 1 and prices[0] > 0.0):
                raise InputError(f"the price of a budget is one number > 0; it is {short_text(self.prices)}", name="prices")
            price_tuple = tuple(prices.tolist())
            object.__setattr__(self, "prices", price_tuple[0] if np.ndim(self.prices) == 0 else price_tuple)
        if not isinstance(self.rows, str):
            raise InputError(f"rows must be the label of a constraint; it is {short_text(self.rows)}", name="rows")
        object.__setattr__(self, "rounds", as_integer(self.rounds, "rounds", 1))

    @property
    def name(self) -> str:
        """Return the name with the label of the rows."""
        return f"Lagrangian, {self.rows}" + ("" if self.prices is None else " at given prices")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Return the requirement of linear rows with that label."""
        return (Need(f"linear rows called {self.rows!r}", "these are what a price is put on", self._met),)

    @property
    def reads(self) -> tuple[type[Model], ...]:  # type: ignore[override]
        """Return the classes of models that it is defined for: every model, but for the budget `ZeroOneSVM` alone."""
        return (ZeroOneSVM,) if self.rows == _BUDGET else (Model,)

    def obstacle(self, model: Model) -> str:
        """Return the reason why the reduction does not read a model, such as missing rows of its label; empty if it does."""
        if ZeroOneSVM in self.reads or isinstance(model, ZeroOneSVM):
            return super().obstacle(model)
        unread = _BY_FORM.obstacle(model)
        if unread:
            return unread
        linear = [c.label for c in model.form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
        description = f"it has {', '.join(linear)}" if linear else "it has none"
        return "" if self.rows in linear else f"it needs linear rows called {self.rows!r}: {description}"

    def _met(self, model: ZeroOneSVM) -> bool:
        if self.rows == _BUDGET:
            return model.budget is not None
        if model.given_big_m is None and not np.isfinite(model.incumbent_value):  # a form with margins needs a valid M
            return False
        return any(c.label == self.rows and isinstance(c.cone, (Zero, Nonnegative)) for c in model.form.constraints)

    def apply(self, model: Model) -> ZeroOneSVM | LagrangianRelaxation:
        """Return the λ form at the price of the budget; for other rows the relaxation with the rows in the objective.

        Raises
        ------
        UnsupportedModelError
            The model has no such rows.
        InputError
            Given prices do not fit the rows.
        """
        self.check(model)
        if not isinstance(model, ZeroOneSVM):
            form = _BY_FORM.apply(model)
        elif self.rows == _BUDGET:
            return _cost_form(model, self._budget_price(model))
        else:
            form = model.form
        return LagrangianRelaxation(form, self.rows, self._row_prices(form))

    def offset(self, model: Model, target: ZeroOneSVM | LagrangianRelaxation) -> Rounded:
        """Return -μk for the budget k; 0 for other rows, whose target holds its constants."""
        if not isinstance(target, ZeroOneSVM):
            return Rounded(0.0)
        assert isinstance(model, ZeroOneSVM) and isinstance(target.lam, float) and model.budget is not None
        return Rounded(-target.lam).times(float(model.budget))

    def lift(self, model: Model, target: ZeroOneSVM | LagrangianRelaxation, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the Lagrangian bound of the form at the prices and the target's multipliers."""
        if isinstance(target, ZeroOneSVM):
            form, joint = model.form.relax_integrality(), {**multipliers, _BUDGET: np.array([target.lam])}
        else:
            form, joint = target.continuous, {**multipliers, self.rows: target.prices}
        value = dual_bound(form, None, joint).value
        return LiftedDual(value, joint, "Lagrangian of the form at the prices and the multipliers of what is left")

    def value(self, model: Model, values: Mapping[str, FloatArray]) -> float:
        """Return the model's objective at a point."""
        return super().value(model, values) if isinstance(model, ZeroOneSVM) else _BY_FORM.value(model, values)

    def recover(self, model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """Return a feasible point: in λ form the best multiple of w, in κ form the smallest with at most k violations, or None.

        For other models the point is that of the continuous relaxation (`Continuous`).
        """
        if not isinstance(model, ZeroOneSVM):
            return _BY_FORM.recover(model, values)
        if model.budget is None:
            return super().recover(model, values)
        w = np.asarray(values["w"], dtype=np.float64)
        u = np.sort(model.y * np.asarray(model.X @ w))[::-1]
        kept_count = u.size - model.budget
        if kept_count <= 0:
            return model.point(np.zeros_like(w))
        return model.point(w * (1.0 / float(u[kept_count - 1]) * (1.0 + 4e-16))) if u[kept_count - 1] > 0.0 else None

    def _row_prices(self, form: StandardForm) -> FloatArray:
        """Return the given prices, or the multipliers of the relaxation without integers, moved into the dual cone."""
        constraint = form.constraint(self.rows)
        if self.prices is not None:
            return as_vector(self.prices, constraint.rows, "prices")
        result = solve_problem(form.relax_integrality(), "auto", Options(tol=1e-8)).multipliers
        prices = np.zeros(constraint.rows) if result is None else np.asarray(result.get(self.rows, np.zeros(constraint.rows)))
        return constraint.cone.moved_into_dual(prices)

    def _budget_price(self, model: ZeroOneSVM) -> float:
        """Return the maximiser of v(μ) - μk: μ is doubled until the budget holds, then cutting planes in μ follow."""
        if self.prices is not None:
            return float(np.ravel(self.prices)[0])
        assert model.budget is not None
        k, rounds_left = model.budget, self.rounds
        squares = np.einsum("ij,ij->i", model.signed, model.signed)
        price = 1.0 / max(float(np.median(squares)), 1e-300)
        # (Σz, ||w||²) of a solution beyond the budget, and of one within it
        infeasible, feasible = (float(len(squares)), 0.0), None
        for _ in range(_DOUBLINGS):
            solution = _solution(model, price)
            rounds_left -= 1
            if solution[0] <= k:
                feasible = solution
                break
            infeasible = solution
            if rounds_left <= 0:
                return price
            price *= 2.0
        while feasible is not None and rounds_left > 0:
            meeting = (feasible[1] - infeasible[1]) / (infeasible[0] - feasible[0])
            if not meeting > 0.0 or abs(meeting - price) <= _SAME * price:
                break
            price, rounds_left = meeting, rounds_left - 1
            solution = _solution(model, price)
            if solution in (infeasible, feasible):
                break
            infeasible, feasible = (solution, feasible) if solution[0] > k else (infeasible, solution)
        return price


def _cost_form(model: ZeroOneSVM, price: float) -> ZeroOneSVM:
    return replace_fields(model, kappa=None, lam=price, upper_bound=None, incumbent=None, big_m="auto")


def _solution(model: ZeroOneSVM, price: float) -> tuple[float, float]:
    """Return the number of violations Σz and the squared norm of a solution of the λ form at this price."""
    values = solve_problem(_cost_form(model, price), "zero-one-bb", Options(tol=1e-9)).values
    w = values["w"]
    return float(np.sum(values["z"])), float(w[model.penalised] @ w[model.penalised])


#: The records of these relaxations, which `relaxations.registry` collects.
RELAXATIONS = (
    Relaxation(
        "lagrangian",
        "the margins go into the objective with their multipliers: the big-M relaxation's bound, by its dual",
        Lagrangian("margin"),
        "Geoffrion 1974",
        rank=25,
    ),
    Relaxation(
        "lagrangian-budget",
        "the budget goes into the objective at its best price, the integers stay: the λ form's optimum less λ times the budget",
        Lagrangian("budget"),
        "Geoffrion 1974",
        rank=110,
    ),
)
