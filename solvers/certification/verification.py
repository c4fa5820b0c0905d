"""Outcomes of the checks that a user asks of a result: figures recomputed, and multipliers beside finite differences."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

__all__ = ["Check", "DualCheck", "DualRow", "Verification"]


@dataclass(frozen=True)
class Check:
    """One figure: as the result states it, as it was recomputed, and whether the statement stands."""

    name: str
    stated: float | str
    found: float | str
    stands: bool

    def __str__(self) -> str:
        def shown(value: float | str) -> str:
            return value if isinstance(value, str) else f"{value:.12g}"

        return f"  {self.name:<22} stated {shown(self.stated):<22} found {shown(self.found):<22} {'ok' if self.stands else 'NO'}"


@dataclass(frozen=True)
class Verification:
    """The value of a result's claims, recomputed.

    Parameters
    ----------
    model, solver : str
    checks : tuple of Check
        Status, objective, primal residual, bound.
    objective, bound : Fraction or None
        Exact, in the form's minimisation sense, where rational arithmetic was asked for; the bound None where none follows in it.
    violations : mapping of label to float
        Exact too: 0.0 is exact, other figures are rounded up.
    unrepeated : str
        Why there is no exact bound, in words.
    """

    model: str
    solver: str
    checks: tuple[Check, ...]
    exact: bool = False
    objective: Fraction | None = None
    bound: Fraction | None = None
    violations: dict[str, float] = field(default_factory=dict)
    unrepeated: str = ""

    @property
    def stands(self) -> bool:
        """Return whether every claim was confirmed."""
        return all(check.stands for check in self.checks)

    @property
    def gap(self) -> Fraction | None:
        """Exact objective less exact bound; None without both."""
        return None if self.objective is None or self.bound is None else self.objective - self.bound

    def __str__(self) -> str:
        how = "in rational arithmetic" if self.exact else "in double precision"
        lines = [f"{self.model} by {self.solver}, recomputed {how}: {'every claim stands' if self.stands else 'NOT as claimed'}"]
        lines += [str(check) for check in self.checks]
        if self.exact and self.objective is not None:
            worst = max(self.violations.values(), default=0.0)
            lines.append(f"  exactly: objective {_shown(self.objective)}, largest violation {worst:.3g}")
            lines.append(
                f"  exactly: bound {_shown(self.bound)}, gap {float(self.gap):.3g}"
                if self.bound is not None and self.gap is not None
                else f"  exactly: {self.unrepeated}"
            )
        return "\n".join(lines)


def _shown(value: Fraction) -> str:
    text = f"{value.numerator}/{value.denominator}"
    return f"{float(value):.17g}" + (f" = {text}" if len(text) <= 40 else f" (a quotient of {len(text)} digits)")


_WORDS = {True: "agrees", False: "NO"}


@dataclass(frozen=True)
class DualRow:
    """One row: its multiplier beside -φ'(+) and -φ'(-), and whether these enclose it within ``error``."""

    name: str
    multiplier: float
    after: float
    before: float
    error: float

    @property
    def agrees(self) -> bool:
        """-φ'(+) ≤ z ≤ -φ'(-) up to the error of the differences."""
        return min(self.after, self.before) - self.error <= self.multiplier <= max(self.after, self.before) + self.error


@dataclass(frozen=True)
class DualCheck:
    """The rows that were compared."""

    rows: tuple[DualRow, ...]
    step: float

    @property
    def agrees(self) -> bool:
        """Return whether every multiplier lies where the differences put it."""
        return all(row.agrees for row in self.rows)

    def __str__(self) -> str:
        lines = [f"multipliers beside differences of the optimum, step {self.step:g}: {'agree' if self.agrees else 'DISAGREE'}"]
        lines += [
            f"  {r.name:<20} z {r.multiplier:>14.7g}   between {r.after:>14.7g} and {r.before:>14.7g}   {_WORDS[r.agrees]}"
            for r in self.rows
        ]
        return "\n".join(lines)
