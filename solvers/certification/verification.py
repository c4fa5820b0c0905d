"""The records that `Result.verify` and `Result.check_duals` return: each claim beside what was recomputed from the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from ...errors import count_text


@dataclass(frozen=True)
class Check:
    """One figure: as the result states it, as it was recomputed, and whether the statement stands."""

    name: str  #: name of the figure
    claimed: float | str  #: the figure as the result states it
    recomputed: float | str  #: the figure recomputed from the model
    stands: bool  #: whether the recomputed figure confirms the claim

    def __str__(self) -> str:
        def shown(value: float | str) -> str:
            return value if isinstance(value, str) else f"{value:.12g}"

        weaker = isinstance(self.claimed, str) and self.claimed != self.recomputed
        verdict = "DIFFERS" if not self.stands else "claims less" if weaker else "agrees"
        return f"  {self.name:<22} claimed {shown(self.claimed):<22} recomputed {shown(self.recomputed):<22} {verdict}"


@dataclass(frozen=True)
class Verification:
    """A result's claims beside their recomputed values.

    Parameters
    ----------
    model, solver : str
        Names.
    checks : tuple of Check
        Status, objective, primal residual, bound; objective and bound in the model's own sense.
    objective, bound : Fraction or None
        Exact values in the model's own sense, if rational arithmetic was asked for; the bound is None if none follows.
    violations : mapping of label to float
        Violations in rational arithmetic: 0.0 is exact, other figures are rounded up. Empty without rational arithmetic.
    no_exact_bound_reason : str
        The reason to show if rational arithmetic gives no bound; empty without rational arithmetic.
    exact : bool
        Whether it was recomputed in rational arithmetic.
    maximise : bool
        The model's sense.
    """

    model: str
    solver: str
    checks: tuple[Check, ...]
    exact: bool = False
    objective: Fraction | None = None
    bound: Fraction | None = None
    violations: dict[str, float] = field(default_factory=dict)
    no_exact_bound_reason: str = ""
    maximise: bool = False

    @property
    def stands(self) -> bool:
        """Return whether every claim was confirmed."""
        return all(check.stands for check in self.checks)

    @property
    def gap(self) -> Fraction | None:
        """Exact objective less exact bound, of a maximum the bound less the objective; None without both."""
        if self.objective is None or self.bound is None:
            return None
        return self.bound - self.objective if self.maximise else self.objective - self.bound

    def __str__(self) -> str:
        arithmetic = "in rational arithmetic" if self.exact else "in double precision"
        lines = [
            f"{self.model} by {self.solver}, recomputed {arithmetic}: "
            f"{'every claim is confirmed' if self.stands else 'NOT as claimed'}"
        ]
        lines += [str(check) for check in self.checks]
        if self.exact and self.objective is not None:
            worst = max(self.violations.values(), default=0.0)
            lines.append(f"  exactly: objective {_exact_text(self.objective)}, largest violation {worst:.3g}")
            lines.append(
                f"  exactly: bound {_exact_text(self.bound)}, gap {float(self.gap):.3g}"
                if self.bound is not None and self.gap is not None
                else f"  exactly: {self.no_exact_bound_reason}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def _exact_text(value: Fraction) -> str:
    text = f"{value.numerator}/{value.denominator}"
    return f"{float(value):.17g}" + (f" = {text}" if len(text) <= 40 else f" (a quotient of {count_text(len(text), 'digit')})")


@dataclass(frozen=True)
class DualRow:
    """One constraint row with constant g_i: its multiplier z, and two difference quotients of the optimum φ(g_i), negated.

    z must lie between them, up to ``error``. The step h is `DualCheck.step` times 1 + |g_i|.
    """

    name: str  #: name of the row
    multiplier: float  #: z
    forward: float  #: -(φ(g_i + h) - φ(g_i))/h
    backward: float  #: -(φ(g_i) - φ(g_i - h))/h
    error: float  #: amount by which solver tolerance and curvature may change the quotients

    @property
    def agrees(self) -> bool:
        """Return whether z lies between the two quotients, up to their error."""
        return min(self.forward, self.backward) - self.error <= self.multiplier <= max(self.forward, self.backward) + self.error


@dataclass(frozen=True)
class DualCheck:
    """Comparison of multipliers with difference quotients of the optimum."""

    rows: tuple[DualRow, ...]  #: the rows compared
    step: float  #: change of a row's constant g_i, relative to 1 + |g_i|

    @property
    def agrees(self) -> bool:
        """Return whether every row agrees."""
        return all(row.agrees for row in self.rows)

    def __str__(self) -> str:
        lines = [
            f"multipliers z and difference quotients of the optimum, step {self.step:g}: {'agree' if self.agrees else 'DISAGREE'}"
        ]
        for r in self.rows:
            figures = f"{r.name:<20} z {r.multiplier:>14.7g}   between {r.forward:>14.7g} and {r.backward:>14.7g}"
            lines.append(f"  {figures}   {'agrees' if r.agrees else 'DIFFERS'}")
        return "\n".join(lines)
