"""The table of points of a fitted scoring system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...display import Display, Displayed, Tabular

__all__ = ["PointsTable"]


@dataclass(frozen=True)
class PointsTable(Displayed, Tabular):
    """Points to add up, and the total above which one class is predicted.

    Parameters
    ----------
    classes : (str, str)
        The class predicted up to ``above``, and the one beyond it.
    points : sequence of (str, int)
        Features in use and their points, the largest in size first.
    above : int
        -ρ_0.
    standing : str
        Errors on the training points, and what is proved.
    """

    classes: tuple[str, str]
    points: Sequence[tuple[str, int]]
    above: int
    standing: str

    def __str__(self) -> str:
        width = max([len(name) for name, _ in self.points] + [len("feature")])
        lines = [f"{'feature':<{width}}  points"]
        lines += [f"{name:<{width}}  {points:+6d}" for name, points in self.points] or ["(none)"]
        lines.append(f"{self.classes[1]} if points times features add up to more than {self.above}, else {self.classes[0]}")
        return "\n".join([*lines, self.standing])

    __repr__ = __str__

    def records(self) -> Sequence[Mapping[str, str | int]]:
        """One row for each feature in use."""
        return [{"feature": name, "points": points} for name, points in self.points]

    def display(self) -> Display:
        """Return the notebook view."""
        rows = tuple((name, f"{points:+d}") for name, points in self.points)
        verdict = f"{self.classes[1]} above {self.above}, else {self.classes[0]}; {self.standing}"
        return Display(title=verdict, head=("feature", "points"), rows=rows, words=("feature",))
