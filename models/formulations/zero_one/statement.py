"""The 0-1-loss SVM as mathematics: what its encoding, its cost and its norm say, put together."""

from __future__ import annotations

from ...statement import Line, Statement
from .encodings import MarginEncoding, Program

__all__ = ["zero_one_statement"]


def zero_one_statement(program: Program, written: MarginEncoding, norm: Line, kernel: str | None) -> Statement:
    """Conic (3), (5), or the strengthened program; with Σz ≤ κn in the κ form."""
    n, p = program.X.shape
    images = () if kernel is None else (f"x_i are images under the kernel {kernel}, after a one",)
    counted = "counts margin violations u < 1; misclassified points (u < 0) are reported beside it"
    cost = program.cost
    return Statement(
        title=f"0-1-loss SVM, {written.title}{cost.title}",
        problem_class=written.problem_class,
        sense="minimise",
        over=Line("w, z", r"w\in\mathbb{R}^p,\ z\in\{0,1\}^n"),
        objective=written.objective(cost.objective(norm)),
        constraints=(*written.lines(), *cost.lines),
        sizes=f"n = {n} points, p = {p} features (a constant one included), {cost.size}",
        notes=(*written.notes(program), counted, *images),
        source=f"Cepeda, Gomez, Han: Robust SVMs via conic optimization, {written.source}",
    )
