"""The table of points of a scoring system, as a person adds them up: text and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....display import Display, Displayed, Tabular
from ...statement import latex_words

#: Totals below and above the one of risk ½ whose risks are shown.
_TOTALS = 4


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
    status_text : str
        Errors on the training points, and what is proved.
    risk : bool
        Whether a total s means a risk of 1/(1 + exp(above - s)), as with the logistic loss.
    """

    classes: tuple[str, str]
    points: Sequence[tuple[str, int]]
    above: int
    status_text: str
    risk: bool = False

    @property
    def risks(self) -> list[tuple[int, str]]:
        """Totals around the threshold and their risks in percent; none where totals are no risks."""
        totals = range(self.above - _TOTALS, self.above + _TOTALS + 1) if self.risk else range(0)
        return [(total, f"{100.0 / (1.0 + math.exp(self.above - total)):.1f}") for total in totals]

    def __str__(self) -> str:
        width = max([len(name) for name, _ in self.points] + [len("feature")])
        lines = [f"{'feature':<{width}}  points"]
        lines += [f"{name:<{width}}  {points:+6d}" for name, points in self.points] or ["(none)"]
        lines.append(f"{self.classes[1]} if points times features add up to more than {self.above}, else {self.classes[0]}")
        if self.risk:
            lines.append("risk: " + ", ".join(f"{total}: {percent}%" for total, percent in self.risks))
        return "\n".join([*lines, self.status_text])

    __repr__ = __str__

    def latex(self) -> str:
        """Return the table as a LaTeX tabular, rows numbered, as Ustun and Rudin print theirs."""
        lines = [r"\begin{tabular}{rlr}", r"\hline"]
        lines += [
            rf"{k}. & {latex_words(name)} & ${points:+d}$ points \\" for k, (name, points) in enumerate(self.points, 1)
        ] or [r" & no feature & \\"]
        low, high = map(latex_words, self.classes)
        lines += [r"\hline", rf" & {high} if the total exceeds ${self.above}$, else {low} & \\", r"\hline"]
        lines += [rf" & total ${total}$ & ${percent}\,\%$ \\" for total, percent in self.risks]
        return "\n".join([*lines, *([r"\hline"] if self.risk else []), r"\end{tabular}"])

    def records(self) -> Sequence[Mapping[str, str | int]]:
        """Return one row for each feature in use."""
        return [{"feature": name, "points": points} for name, points in self.points]

    def display(self) -> Display:
        """Return the notebook view."""
        rows = tuple((name, f"{points:+d}") for name, points in self.points)
        verdict = f"{self.classes[1]} above {self.above}, else {self.classes[0]}; {self.status_text}"
        return Display(title=verdict, head=("feature", "points"), rows=rows, words=("feature",))
