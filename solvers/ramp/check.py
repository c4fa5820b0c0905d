"""An independent checker of the proof logs of `ramp-bb`: it shares no code with the search and trusts the data alone.

The objective is f(w) = ||w|| + Σ_i c_i ρ(m_i) with margins m_i = a_i'w, costs c_i, the norm of atoms x_j, and a ramp ρ: 0 from r
on, h at q < r, linear between. A node is a set of points that are given up, m_i ≤ q, and a lower bound l_i of each margin at the
w with f(w) < B, the claimed bound; at the root the l_i follow from B (`RampRules.root`). With σ_i = (r - min(l_i, q))/h and ρ̄ =
min(ρ, h), a point that is not given up has (r - m_i)_+ ≤ σ_i ρ̄_i.

*Conflicts.* The header's u ≥ 0 give V = Σ u_i a_i whose component V_b of a free intercept is 0, η = max_j |x_j'V| and t = r Σ
u_i. If all points of u have m_i ≥ q, then Σ u_i (r - m_i)_+ + η ||w|| ≥ t and (r - m_i)_+ ≤ ρ̄_i (r - q)/h; else some point with
m_i < q has ρ̄_i = h and l_i < q, and pays t alone. So Σ L_i ρ̄_i + η ||w|| ≥ t with L_i = u_i (r - q)/h where l_i ≥ q, else
max(u_i (r - q), t)/h where u_i > 0.

*A record's multipliers* β ≥ 0 of points and λ ≥ 0 of conflicts prove, with loads g = Σ_k λ_k L_k, V = Σ ±β_i a_i (minus where i
is given up), V_b = 0, θ ≥ max_j |x_j'V| + Σ_k λ_k η_k, and by adding up the inequalities,

    θ f(w) ≥ θ h Σ_{given up} c_i + D,
    D = r Σ_{others} β - q Σ_{given up} β + Σ λ_k t_k - h Σ_{given up} g - h Σ_{others} (β_i σ_i + g_i - θ c_i)_+.

With V - a_i for V they prove m_i ≥ D + θ (h Σ_{given up} c_i - B) where f(w) < B. Margins are raised in the record's order; then
the node is bounded, and closed, or split into m_i ≥ q and m_i ≤ q.

Multipliers are whole multiples of a power of two, so that a free intercept balances exactly. Products with the data have the
a-priori error bound γ_n max_i |a_ij| Σβ with γ_n = n2⁻⁵³/(1 - n2⁻⁵³); sums are exact before their last rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...models.arrays import BoolArray, FloatArray
from ...models.model import Model
from ...models.rounding import gamma
from ...models.views import MarginProblem
from ..exact.check.arithmetic import InvalidProofError, decode_multipliers, round_down, round_up, sum_down, sum_up
from ..exact.check.checker import TreeChecker
from ..exact.check.trees import NodeRules
from ..margin.check.logged_problem import LoggedMarginProblem, exact_value, least_combination

#: Name and version of the log format.
FORMAT, VERSION = "marginopt-ramp-proof", 1
#: Value of ``split`` of a node that is closed.
_CLOSED = -1
#: Factor above every product of a few roundings.
_ABOVE = 1.0 + 2.0**-48


def ramp_obstacle(view: MarginProblem) -> str | None:
    """Return the reason why `ramp-bb` cannot read a problem; None for one ramp and a norm of all but the intercept."""
    loss = view.loss
    if view.other_losses or loss.symmetric or loss.margins.size != 2 or not np.array_equal(loss.below, loss.at):
        return "it reads ramps alone, one for all points"
    if not view.is_unrestricted or view.curvature.any():
        return "it reads a norm, without squares, prices and restrictions"
    if not len(view.atoms) or not np.abs(view.atoms).max(axis=0)[int(view.intercept) :].all():
        return "it needs a norm of all coefficients but the intercept"
    return None


@dataclass(frozen=True, eq=False)
class LoggedRampProblem(LoggedMarginProblem):
    """A ramp problem that a log or a model states, without points of cost 0; a log also states conflicts (module docstring)."""

    conflicts: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  #: (K, n) multipliers u of the conflicts

    @property
    def field_arrays(self) -> dict[str, tuple[FloatArray, ...]]:
        """Every field but the conflicts as arrays: conflicts are part of the proof, not of the problem."""
        return {name: arrays for name, arrays in super().field_arrays.items() if name != "conflicts"}


@dataclass(frozen=True, eq=False)
class _Node:
    """An open node: points that are given up, lower bounds of margins, and a proved bound."""

    given_up: npt.NDArray[np.bool_]  #: (n,) mask of the points that are given up
    lower: FloatArray  #: (n,) lower bounds l of the margins
    floor: float  #: proved bound


_OpenNode: TypeAlias = "_Node | None"


class RampRules(NodeRules[_OpenNode]):
    """The rules by which a record proves that a node costs the claimed ``bound``: its multipliers raise the l_i and bound f."""

    def __init__(self, problem: LoggedRampProblem, bound: float) -> None:
        self._problem, self._bound = problem, bound
        self._corner, self._reach = problem.loss.margins.tolist()
        self._height = problem.loss.height
        self._sizes, self._absolute = np.abs(problem.A).max(axis=0, initial=0.0), np.abs(problem.atoms)
        u, r = problem.conflicts, self._reach
        sums = np.array([sum_down(row) if r > 0.0 else sum_up(row) for row in u]).reshape(len(u))
        self._thresholds = round_down(sums * r)
        above = np.array([sum_up(row) for row in u]).reshape(len(u), 1) * max(r, 0.0) * _ABOVE
        self._kept_loads = u * (r - self._corner) * _ABOVE / self._height * _ABOVE
        self._loads = np.where(u > 0.0, np.maximum(self._kept_loads, above / self._height * _ABOVE), 0.0)
        self._dual_norms = np.array([self._dual_norm_bound(row, None) for row in u]).reshape(len(u))

    def root(self) -> _Node:
        """Return the root node, which holds all points that cost less than the claim.

        |a_i'w| ≤ ||w|| max_j |x_j'a_i|, and ||w|| < B. For fixed other coefficients the objective is piecewise linear in a free
        intercept b: some best b puts a margin at a breakpoint of the loss, so that |b| is at most the largest |breakpoint| plus
        the largest |a_i'w|. A loss that rises with slope s below the margin e has c_i (h + s (e - m_i)) < B.
        """
        problem, inside = self._problem, self._problem.A.copy()
        if problem.intercept:
            inside[:, 0] = 0.0
        products = np.abs(inside) @ self._absolute.T * gamma(inside.shape[1] + 2) + np.abs(inside @ problem.atoms.T)
        reach = products.max(axis=1, initial=0.0) * self._bound * _ABOVE
        lower = -reach
        if problem.intercept:
            lower = lower - (problem.loss.largest_breakpoint + float(reach.max(initial=0.0))) * _ABOVE
        if (tail := problem.loss.tail) > 0.0:
            excess = np.maximum(self._bound / problem.costs * _ABOVE - self._height, 0.0) / tail * _ABOVE
            lower = np.maximum(lower, round_down(problem.loss.rise_start - excess * _ABOVE))
        return _Node(np.zeros(len(problem.A), dtype=np.bool_), round_down(lower * _ABOVE), 0.0)

    def _dual_norm_bound(self, signed: FloatArray, target: int | None) -> float:
        """Return an upper bound of max_j |x_j'V|, once V_b = 0 is verified."""
        problem = self._problem
        if problem.intercept:
            terms = (problem.A[:, 0] * signed).tolist() + ([] if target is None else [-float(problem.A[target, 0])])
            if math.fsum(terms) != 0.0:
                raise InvalidProofError("the multipliers of a record do not balance the intercept")
        v, total = problem.A.T @ signed, sum_up(np.abs(signed))
        if target is not None:
            v, total = v - problem.A[target], total + 1.0
        if problem.intercept:
            v[0] = 0.0
        error = gamma(signed.size + 2) * self._sizes * total * _ABOVE + 1e-300
        products = np.abs(problem.atoms @ v) + self._absolute @ (gamma(v.size + 2) * np.abs(v) + error) * _ABOVE
        return float(products.max(initial=0.0)) * _ABOVE

    def _proved(self, node: _Node, entry: list[Any], target: int | None) -> tuple[float, float]:
        """Return D, rounded down, and θ, of the module's inequality for multipliers in a record."""
        problem, n, given_up = self._problem, len(self._problem.A), node.given_up
        numbers = decode_multipliers(entry[0], entry[1], n + len(self._loads))
        beta, weights, theta = numbers[:n], numbers[n:], float(entry[2])
        if not 0.0 <= theta < math.inf:
            raise InvalidProofError("the multiplier of the objective must be a number that is not negative")
        share = self._dual_norm_bound(np.where(given_up, -beta, beta), target)
        theta = max(theta, (share + sum_up(weights * self._dual_norms * _ABOVE)) * _ABOVE, 1e-290)
        loads = np.where(node.lower >= self._corner, weights @ self._kept_loads, weights @ self._loads)
        loads *= (1.0 + gamma(weights.size + 2)) * _ABOVE
        slack = round_up(round_up(self._reach - np.minimum(node.lower, self._corner)) / self._height)
        excess = np.maximum(round_up(round_up(round_up(beta * slack) + loads) - round_down(theta * problem.costs)), 0.0)
        terms = np.concatenate([
            round_down(self._reach * beta[~given_up]), round_down(-self._corner * beta[given_up]),
            round_down(weights * self._thresholds), -round_up(self._height * loads[given_up]),
            -round_up(self._height * excess[~given_up]),
        ])  # fmt: skip
        return sum_down(terms), theta

    def _paid(self, given_up: BoolArray) -> float:
        return sum_down(round_down(self._height * self._problem.costs[given_up]))

    def children(self, record: dict[str, Any], state: _OpenNode) -> list[_OpenNode]:
        """Return the two children of a node, with the margin bounds and the bound that the record proves."""
        assert state is not None
        n, split, paid = len(self._problem.A), int(record["split"]), self._paid(state.given_up)
        node = _Node(state.given_up, state.lower.copy(), state.floor)
        for i, *entry in record["margins"]:
            if not 0 <= int(i) < n:
                raise InvalidProofError(f"node {record['id']} bounds the margin of a point that there is not")
            value, theta = self._proved(node, entry, int(i))
            node.lower[i] = max(node.lower[i], round_down(value - round_up(theta * round_up(self._bound - paid))))
        floor = state.floor
        if record["bound"]:
            value, theta = self._proved(node, record["bound"], None)
            floor = max(floor, round_down(round_down(value / theta) + paid))
        if floor >= self._bound:
            return []
        if split == _CLOSED:
            raise InvalidProofError(f"node {record['id']} {self.reason_unproved(_Node(node.given_up, node.lower, floor))}")
        if not 0 <= split < n:
            raise InvalidProofError(f"node {record['id']} is split by a point that there is not")
        above, below = node.lower.copy(), node.given_up.copy()
        above[split], below[split] = max(above[split], self._corner), True
        return [_Node(node.given_up, above, floor), _Node(below, node.lower, floor)]

    def reason_unproved(self, state: _OpenNode) -> str:
        """Return the end of a message on an open node: its bound is below the claim."""
        assert state is not None
        return f"is proved to cost {state.floor:.12g} and no more; the claim is {self._bound:.12g}"


class RampChecker(TreeChecker[LoggedRampProblem]):
    """Checker of the logs of ``ramp-bb``."""

    format, versions = FORMAT, (VERSION,)

    def of_model(self, model: Model) -> LoggedRampProblem:
        """Return the problem of a composition with ramps and a norm."""
        view = model.view(MarginProblem)
        if view is None or ramp_obstacle(view) is not None:
            raise InputError(
                "a proof log of ramp-bb proves a bound of a Margin with ramp losses and a norm; "
                f"{type(model).__name__} is not such a problem",
                name="model",
            )
        keep = view.costs > 0.0
        problem = replace(view, A=view.A[keep], costs=view.costs[keep], kept_points=view.kept_points[keep])
        return LoggedRampProblem(**vars(LoggedMarginProblem.of_problem(problem)))

    def of_log(self, header: dict[str, Any]) -> LoggedRampProblem:
        """Return the problem of a log's header, after checking its fields."""
        problem = LoggedMarginProblem.of_log(header)
        if ramp_obstacle(problem) is not None or not (problem.costs > 0.0).all():
            raise InvalidProofError("the stated problem has other parts than ramps of positive costs and a norm")
        if problem.intercept and not (np.abs(problem.A[:, 0]) == 1.0).all():
            raise InvalidProofError("the column of the intercept must have entries of 1 and -1")
        n = len(problem.A)
        conflicts = np.array([decode_multipliers(size, text, n) for size, text in header["conflicts"]]).reshape(-1, n)
        return LoggedRampProblem(**vars(problem), conflicts=conflicts)

    def value(self, problem: LoggedRampProblem, w: list[float]) -> float:
        """Return the objective of a point, rounded up."""
        return exact_value(problem, w, least_combination(problem.atoms, np.array(w)))

    def rules(self, problem: LoggedRampProblem, bound: float) -> tuple[RampRules, _OpenNode]:
        """Return the rules, and the root: a bound of 0 needs no proof."""
        rules = RampRules(problem, bound)
        return rules, rules.root() if bound > 0.0 else None
