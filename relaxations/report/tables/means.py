"""Columns of the tables of means over the instances of a family at one λ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..means import FACTORS, NODES, SECONDS, TOLERANCES
from .column import Column

__all__ = ["EXACT_MEANS", "RELAXATION_MEANS"]


def _at(name: str, k: int) -> Callable[[Any], Any]:
    return lambda row: getattr(row, name)[k]


_GROUP = (
    Column("family", "family", "Instances whose names differ in n, p, σ or τ alone.", lambda r: r.family),
    Column("lam", "λ", "Cost of a margin violation.", lambda r: r.lam, "value"),
)

RELAXATION_MEANS: tuple[Column, ...] = (
    *_GROUP,
    Column("relaxation", "relaxation", "What is solved in place of the problem.", lambda r: r.relaxation),
    Column(
        "instances",
        "instances",
        "Instances where its bound is one of ζ, those of trivial optimum left out.",
        lambda r: r.instances,
        "count",
    ),
    Column("gap", "mean gap", "Mean of (ζ - bound)/ζ, the upper end where ζ is unproven.", lambda r: r.gap, "percent"),
    *(
        Column(name, title, f"{what} of the same gaps.", _at("quartiles", k), "percent")
        for k, (name, title, what) in enumerate(
            (
                ("q1", "lower quartile", "Lower quartile"),
                ("median", "median gap", "Median"),
                ("q3", "upper quartile", "Upper quartile"),
            )
        )
    ),
    Column(
        "closed", "mean gap closed", "Mean of the part of the base big-M's gap that it closes.", lambda r: r.closed, "percent"
    ),
    Column("exact", "exact", "Instances where its bound is ζ up to 0.01%.", lambda r: r.exact, "count"),
    Column("seconds", "mean s", f"Shifted geometric mean (shift {SECONDS:g} s) of its times.", lambda r: r.seconds, "seconds"),
)

EXACT_MEANS: tuple[Column, ...] = (
    *_GROUP,
    Column(
        "variant",
        "exact variant",
        "Solver, encoding and M where they are not the usual ones; virtual best: for each problem whoever solved it soonest.",
        lambda r: r.variant,
    ),
    Column("problems", "problems", "Instances × seeds, those of trivial optimum left out.", lambda r: r.problems, "count"),
    Column("solved", "solved", "Problems whose optimum it proved, or claims to have: the details have the kind of each bound.",
           lambda r: r.solved, "count"),
    Column(
        "right",
        "right statuses",
        "Part of its claims «optimal» that no better classifier contradicts; empty without such a claim.",
        lambda r: r.right,
        "percent",
    ),
    Column("fastest", "fastest", "Problems that nobody solved sooner.", lambda r: r.fastest, "count"),
    Column(
        "seconds",
        "mean s",
        f"Shifted geometric mean (shift {SECONDS:g} s) of the times, preparation included; a stopped run counts with its time.",
        lambda r: r.seconds,
        "seconds",
    ),
    Column("nodes", "mean nodes", f"Shifted geometric mean (shift {NODES:g}) of the nodes.", lambda r: r.nodes, "mean"),
    Column("root_gap", "root gap", "Mean of (ζ - root bound)/ζ, where it tells a root bound.", lambda r: r.root_gap, "percent"),
    Column("left", "gap left", "Mean of (incumbent - bound)/incumbent of its unsolved runs.", lambda r: r.left, "percent"),
    *(
        Column(f"reached_{t:g}", f"gap ≤ {t:.2%}", f"Part of the problems with a gap of at most {t:.2%}.", _at("reached", k),
               "percent")
        for k, t in enumerate(TOLERANCES)
    ),
    Column(
        "integral",
        "primal-dual integral",
        "Mean of ∫ (incumbent - bound)/incumbent dt up to the time limit, in seconds (Berthold 2013), 1 while either is missing.",
        lambda r: r.integral,
        "seconds",
    ),
    Column(
        "misclassified",
        "mean misclassified",
        "Mean number of points with y x'w < 0 under its classifiers.",
        lambda r: r.misclassified,
        "mean",
    ),
    *(
        Column(f"within_{f:g}", f"within {f:g}x", f"Part of the problems solved within {f:g} times the fastest time.",
               _at("within", k), "percent", drawn=True)  # in the profiles
        for k, f in enumerate(FACTORS)
    ),
)  # fmt: skip
