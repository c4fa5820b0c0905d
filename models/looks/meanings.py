"""What multipliers mean, formulation by formulation; every sentence is a test."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MEANINGS", "meaning"]

_HULLS = {
    "sum": "p and q, the smallest scores (Qa)_i of the two classes; twice the optimum is p + q",
    "bounds": "the reduced cost of a_i is (Qa)_i - p (or q): by how much point i clears its class's edge",
}
#: By formulation and constraint (without its number, where there is one for each class).
MEANINGS: Mapping[str, Mapping[str, str]] = {
    "HingeSVM": {
        "margin": "alpha_i is 0 beyond the margin, lam inside it or on the wrong side, and between them only on it; "
        "w = 1/2 sum alpha_i y_i x_i",
        "bounds": "the reduced cost of xi_i is lam - alpha_i: what is left of the penalty",
    },
    "ConicSVM": {
        "hull": "gamma*_i of Conic (19): how much of the conic loss point i is given, under sum gamma_i x_i x_i' <= I",
        "split": "v_i of the dual: the slope at r_i = 1 - u_i of point i's loss plus gamma_i r_i^2",
        "budget": "by how much the optimum falls for one more unit of allowed violations, kappa n",
        "margin": "alpha_i prices the margin of point i (kappa = 0: hard margin)",
    },
    "L2SVMDual": {
        "sum": "rho = a'K~a, the margin of the primal; a_i > 0 marks support vectors, whose slack is xi_i = a_i/C",
        "bounds": "the reduced cost of a_i is (K~a)_i - rho: by how much point i clears the margin",
    },
    "L1SVMDual": {
        "balance": "-b, the intercept with its sign turned",
        "bounds": "the reduced cost of a_i is y_i f(x_i) - 1: how far beyond the margin (a_i = 0) or inside it (a_i = C)",
    },
    "MEBDual": {
        "sum": "||c||^2 - r^2; a_i > 0 marks the points on the sphere",
        "bounds": "the reduced cost of a_i is r^2 - ||phi_i - c||^2: how far inside the ball point i is",
    },
    "ConvexHullsDual": _HULLS,
    "MaxMinSVM": _HULLS,
    "ZeroOneSVM": {
        "margin": "integer variables: no multipliers; z_i = 1 marks the points whose margin is given up",
    },
    "RampSVM": {
        "margin": "integer variables: no multipliers; z_i = 1 marks the points that are given up at the cost of a ramp, 2 lam",
    },
    "NonparallelSVM": {
        "margin": "0 where f clears its target, the loss's weight where it falls short, and between them only on it",
        "bounds": "the reduced cost of xi_j is what is left of the loss's weight",
    },
    "HingeQuadratic": {
        "margin": "0 where g_j'u > h_j, w_j where g_j'u < h_j (tau_j = 0); lambda_j = margin - tau_j overshoot",
        "bounds": "the reduced cost of xi_j is w_j - lambda_j (tau_j = 0): what is left of the weight",
    },
    "BoxProgram": {
        "bounds": "the reduced cost of a_i is the gradient's entry: >= 0 at the lower, <= 0 at the upper bound",
    },
    "ChebyshevNPSVC": {
        "objective": "its first entry over varpi_l is tau_l: these sum to 1, and only the largest objectives have one",
        "margin": "for P as found: at most c varpi_l tau_l, reached where the point falls short of the margin",
    },
    "ParetoQP": {
        "sum": "-t, t the largest slope of an objective along Delta (plus gamma J_l)",
        "bounds": "the reduced cost of tau_l is t - <grad_l, Delta> - gamma J_l: how much faster objective l descends",
    },
    "StiefelQP": {
        "orthonormal": "no multipliers: the symmetric part of P'(HP + E) is theirs, up to its sign",
    },
}


def meaning(model: str, label: str) -> str:
    """The sentence on a constraint's multipliers, or nothing."""
    said = MEANINGS.get(model, {})
    stem, _, number = label.rpartition("_")
    return said.get(label) or (said.get(stem, "") if number.isdigit() else "")
