"""Convex quadratics over a box in factor form: coordinate descent with shrinking, finished by Newton or interior-point steps."""

from .descent import BoxDescent, box_minimum

__all__ = ["SOLVERS", "BoxDescent", "box_minimum"]

SOLVERS = (BoxDescent(),)
