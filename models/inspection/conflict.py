"""Why a form has no point: rows and bounds that exclude each other; solvers find them (`solvers.checks.conflict`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Conflict"]


@dataclass(frozen=True)
class Conflict:
    """Rows and bounds that cannot hold together.

    Parameters
    ----------
    name : str
        The form's.
    elements : tuple of str
        Names of the rows, cones and bounds.
    multipliers : mapping of str to float
        Their Farkas multipliers where there are some: added up with these weights the rows say 0 > 0.
    proven : bool
        The set is infeasible by an exact proof in rational arithmetic.
    proven_irreducible : bool
        No element can be left out, by the same proof.
    argument : str
        What the two rest on.
    rows : mapping of label to tuple of int
        The elements by constraint.
    points : tuple of int
        The points of the data that rows among them keep: with the others they cannot all be kept.
    """

    name: str
    elements: tuple[str, ...]
    multipliers: Mapping[str, float]
    proven: bool
    proven_irreducible: bool
    argument: str
    rows: Mapping[str, tuple[int, ...]]
    points: tuple[int, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.name} has no point: {len(self.elements)} of its rows and bounds exclude each other ({self.argument})"]
        if self.points:
            listed = ", ".join(map(str, self.points[:40])) + (", ..." if len(self.points) > 40 else "")
            beside = "" if len(self.points) == len(self.elements) else " beside the other rows"
            lines.append(f"  these {len(self.points)} points cannot all be kept{beside}: {listed}")
        for element in self.elements[:40]:
            weight = self.multipliers.get(element)
            lines.append(f"  {element}" + ("" if weight is None else f"   weight {weight:.6g}"))
        if len(self.elements) > 40:
            lines.append(f"  and {len(self.elements) - 40} more")
        return "\n".join(lines)
