"""A formulation as mathematics: what ``print(model)`` and ``model.latex()`` show."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

__all__ = ["Line", "Statement"]


@dataclass(frozen=True)
class Line:
    """One expression, as text and as LaTeX, with the label of the constraint that it states."""

    text: str
    latex: str
    label: str = ""


@dataclass(frozen=True)
class Statement:
    """A mathematical program in words and symbols.

    Parameters
    ----------
    title : str
    problem_class : str
        Such as "convex QP" or "mixed-integer QP".
    sense : str
        "minimise", "maximise".
    over : Line
        The variables.
    objective : Line
    constraints : tuple of Line
    sizes : str
        The instance's sizes.
    notes : tuple of str
        Assumptions, arguments (why M is valid), equivalences.
    source : str
        Paper and equation number.
    """

    title: str
    problem_class: str
    sense: str
    over: Line
    objective: Line
    constraints: tuple[Line, ...]
    sizes: str
    source: str
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        width = max((len(c.label) for c in self.constraints), default=0)
        lines = [f"{self.title}  [{self.problem_class}]", f"  {self.sense}    {self.objective.text}   over {self.over.text}"]
        lead = "subject to"
        for c in self.constraints:
            lines.append(f"  {lead:<10}  {c.label:<{width}}  {c.text}")
            lead = ""
        lines.append(f"  sizes: {self.sizes}")
        lines += [f"  note: {note}" for note in self.notes]
        lines.append(f"  source: {self.source}")
        return "\n".join(lines)

    def latex(self) -> str:
        r"""The program as an ``aligned`` display, ready for a document with amsmath and amssymb."""
        operator = r"\min" if self.sense == "minimise" else r"\max"
        rows = [rf"{operator}_{{{self.over.latex}}}\quad & {self.objective.latex}"]
        for k, c in enumerate(self.constraints):
            rows.append((r"\text{s.t.}\quad & " if k == 0 else r"& ") + c.latex)
        body = " \\\\\n  ".join(rows)
        return f"\\[\n\\begin{{aligned}}\n  {body}\n\\end{{aligned}}\n\\]"

    def html(self) -> str:
        """The statement for a notebook; readable without network."""
        return f'<pre style="line-height:1.35">{html.escape(str(self))}</pre>'
