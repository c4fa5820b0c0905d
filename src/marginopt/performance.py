"""Performance profiles of solvers (Dolan and Moré, 2002) from results of `compare` on several instances.

A profile maps a factor τ ≥ 1 to ρ_s(τ), the share of instances that solver s solves at a cost within τ times the least one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .display import Display, Displayable, Tabular
from .drawing import colour_of, dash_of, new_axes
from .errors import InputError, count_text, short_text
from .models.arrays import FloatArray
from .relaxations.report.means import SHORTEST_TIME, fraction_within, performance_ratios
from .solvers.certification.result import Result
from .solvers.compare import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The cost of a solve by which solvers are compared: its wall seconds, or its iterations.
Measured: TypeAlias = Literal["seconds", "iterations"]
#: Factors of the printed table.
_SHOWN = (1.0, 2.0, 5.0, 10.0, 100.0)


@dataclass(frozen=True, eq=False)
class PerformanceProfile(Displayable, Tabular):
    """The performance profile: the share of problems that each solver solves within a factor of the best.

    Parameters
    ----------
    measured : {"seconds", "iterations"}
        The cost of a solve.
    instances : tuple of str
        The names of the instances.
    ratios : mapping of solver to ndarray (instances,)
        Cost over the best solver's on the same instance; infinite where it did not solve the instance.
    """

    measured: Measured
    instances: tuple[str, ...]
    ratios: Mapping[str, FloatArray]

    def within(self, solver: str, factor: float = 1.0) -> float:
        """Return ρ_s(τ), the share of the instances that solver s solved at a cost within τ = ``factor`` times the best one."""
        if solver not in self.ratios:
            raise InputError(f"{short_text(solver)} was not compared; {', '.join(self.ratios)} were", name=solver)
        return fraction_within(self.ratios[solver], factor)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each solver and instance, with the ratio."""
        return [
            {"solver": solver, "instance": instance, "ratio": float(ratio)}
            for solver, ratios in self.ratios.items()
            for instance, ratio in zip(self.instances, ratios, strict=True)
        ]

    def display(self) -> Display:
        """Return the notebook view."""
        head = ("solver", *(f"≤ {factor:g}×" for factor in _SHOWN))
        rows = tuple((name, *(f"{self.within(name, factor):.2f}" for factor in _SHOWN)) for name in self.ratios)
        return Display(self._title, head=head, rows=rows, words=("solver",))

    @property
    def _title(self) -> str:
        instances = count_text(len(self.instances), "instance")
        return f"share of the {instances} solved within a factor of the fewest {self.measured}"

    def __str__(self) -> str:
        width = max(len("solver"), *(len(name) for name in self.ratios))
        head = f"{'solver'.ljust(width)}  " + "  ".join(f"≤ {factor:g}×".rjust(7) for factor in _SHOWN)
        rows = [
            f"{name.ljust(width)}  " + "  ".join(f"{self.within(name, factor):7.2f}" for factor in _SHOWN) for name in self.ratios
        ]
        return "\n".join([self._title, head, *rows])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ρ_s(τ) against τ, a step at every ratio, on new axes if none are given; return the matplotlib axes."""
        if ax is None:
            ax = new_axes((5.5, 3.8))
        finite = np.concatenate([r[np.isfinite(r)] for r in self.ratios.values()])
        last = 1.1 * float(finite.max()) if finite.size else 2.0
        for k, (name, ratios) in enumerate(self.ratios.items()):
            steps = np.sort(ratios[np.isfinite(ratios)])
            share = np.arange(1, steps.size + 1) / ratios.size
            shares = np.r_[0.0, share, share[-1:] if share.size else 0.0]
            ax.step(np.r_[1.0, steps, last], shares, where="post", color=colour_of(k), ls=dash_of(k), label=name)
        ax.set(xscale="log", xlim=(1.0, last), ylim=(0.0, 1.03))
        ax.set_xlabel(f"factor of the fewest {self.measured}")
        ax.set_ylabel("share of instances solved")
        ax.legend()
        return ax


def performance_profile(comparisons: Mapping[str, Comparison], measured: Measured = "seconds") -> PerformanceProfile:
    """Return the profile of the solvers of several comparisons, one on each instance.

    A result counts as solved if its status is optimal or stationary, or infeasibility or unboundedness is proved. Solving
    times below 0.01 s count as 0.01 s, since ratios of shorter times are noise.

    Parameters
    ----------
    comparisons : mapping of instance name to Comparison
        The comparisons, each on one instance.
    measured : {"seconds", "iterations"}
        The cost of a solve.

    Returns
    -------
    PerformanceProfile
        For each solver, the share of the instances that it solved within each multiple of the least cost.

    Raises
    ------
    InputError
        Another measure; no comparison; a value that is no comparison; comparisons of different solvers; with "iterations" a
        solved result without their number.
    """
    if measured not in ("seconds", "iterations"):
        raise InputError(f"measured must be 'seconds' or 'iterations'; it is {short_text(measured)}", name="measured")
    if not comparisons:
        raise InputError(
            "a performance profile needs a comparison, one at least: {instance: mo.compare(...)}", name="comparisons"
        )
    for name, comparison in comparisons.items():
        if not isinstance(comparison, Comparison):
            raise InputError(
                f"{short_text(name)} must be a Comparison, what mo.compare returns; it is a {type(comparison).__name__}",
                name=name,
            )
    solvers = [[row.solver for row in c.rows] for c in comparisons.values()]
    for name, names in zip(comparisons, solvers, strict=True):
        if sorted(names) != sorted(solvers[0]):
            raise InputError(
                f"every instance needs the same solvers; {short_text(next(iter(comparisons)))} "
                f"has {solvers[0]}, {short_text(name)} has {names}",
                name="comparisons",
            )
    costs = {s: [_cost(s, c.results.get(s), measured) for c in comparisons.values()] for s in solvers[0]}
    return PerformanceProfile(measured, tuple(comparisons), performance_ratios(costs))


def _cost(solver: str, result: Result | None, measured: Measured) -> float:
    """Return the cost of a solved result; infinite for an unsolved one."""
    if result is None or not result.conclusive:
        return float("inf")
    if measured == "seconds":
        return max(result.solve_seconds, SHORTEST_TIME)
    if result.iterations is None:
        raise InputError(f"{solver} does not tell its iterations; use measured='seconds'", name="measured")
    return float(max(result.iterations, 1))
