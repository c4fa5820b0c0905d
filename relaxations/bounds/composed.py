"""The registry's records of the relaxations of composed problems (`Margin`): continuous, products, hulls, thresholds."""

from __future__ import annotations

from ..composed.form_reductions import Continuous, Moments, Products
from ..composed.hull_reductions import AllHulls, EqualHulls, OneHull, PairHulls
from ..composed.thresholds import Thresholds
from ..reduction import Relaxation

RELAXATIONS = (
    Relaxation("continuous", "the form of any composed problem without its integers", Continuous(), "Conic (4)", rank=25),
    Relaxation(
        "continuous-hinge",
        "the continuous relaxation without upper bounds of switches that cost: a hinge loss with slopes c_i/M_i",
        Continuous(hinge=True),
        "Conic §2",
        rank=24,
    ),
    Relaxation(
        "products",
        "products of every row with every binary, and triangle inequalities: RLT",
        Products(),
        "Sherali, Adams, 1990",
        rank=65,
    ),
    Relaxation(
        "products-separated",
        "the same with the triangles that solutions violate, in rounds",
        Products(rounds=10),
        "Padberg, 1989; Sherali, Adams, 1990",
        rank=66,
    ),
    Relaxation(
        "moments",
        "moments up to degree four of forms with a few bounded variables and linear rows: Lasserre's second level",
        Moments(),
        "Lasserre, 2001",
        rank=96,
    ),
    Relaxation(
        "hulls-single", "each point's branches with the whole norm, one point at a time", OneHull(), "Conic Theorem 1", rank=62
    ),
    Relaxation(
        "hulls-equal", "the branches of every point's loss at equal γ: second-order cones", EqualHulls(), "Conic (13)", rank=72
    ),
    Relaxation(
        "hulls",
        "the branches of every point's loss over all γ: an SDP, with bounds of the margins",
        AllHulls(),
        "Conic (21)",
        rank=92,
    ),
    Relaxation(
        "thresholds",
        "a ramp by the exact 0-1 problem of two thresholds, 1 and its negative for a ramp of width 2: ramps are means of steps",
        Thresholds(),
        "this package",
        rank=100,
    ),
    Relaxation("hulls-pairs", "that SDP with hulls of two points at once", PairHulls(), "this package", rank=95),
)
