"""CVXPY's canonicalisation with stated bounds only, of a problem whose variables stand as if they had no values.

CVXPY infers bounds of auxiliary variables from the bounds of expressions, for solvers that take bounded variables, and infers
them wrongly where 0 meets infinity. A bound that is right is redundant, so none is taken: neither by an import nor by a solver.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..program.cones import PSD, Cone, Nonnegative, SecondOrder, Zero
from ..program.exponential_cones import Exponential, Power

__all__ = ["cones_of", "reader", "with_stated_bounds", "without_values"]


def with_stated_bounds(problem: Any) -> Any:
    """Return the same problem, without its caches, as one whose reductions infer no bounds."""
    return _plain_problem()(problem.objective, problem.constraints)


@functools.cache
def _plain_problem() -> Any:
    """The class of such problems."""
    import cvxpy

    class PlainProblem(cvxpy.Problem):
        """A problem whose chain of reductions tells canonicalisers that the solver takes no bounds; stated ones stay."""

        def _construct_chain(self, *arguments: Any, **options: Any) -> Any:
            chain = super()._construct_chain(*arguments, **options)
            context = vars(chain).get("solver_context")  # CVXPY before 1.9 has none, and infers nothing
            if context is not None:
                context.solver_supports_bounds = False
            return chain

    return PlainProblem


@contextmanager
def without_values(leaves: Sequence[Any]) -> Iterator[None]:
    """Clear the values of variables, which canonicalisers pass on to auxiliary ones, and put them back as they were."""
    before = [(leaf, leaf._value) for leaf in leaves]
    try:
        for leaf in leaves:
            leaf.save_value(None)
        yield
    finally:
        for leaf, value in before:
            leaf._value = value


@functools.cache
def reader(bounded: bool = True) -> Any:
    """CVXPY's interface to Clarabel, whose signs and order of entries are a form's, widened to integers and (stated) bounds."""
    from cvxpy.constraints.exponential import ExpCone
    from cvxpy.constraints.nonpos import NonNeg
    from cvxpy.constraints.power import PowCone3D
    from cvxpy.constraints.psd import SvecPSD
    from cvxpy.constraints.second_order import SOC
    from cvxpy.constraints.zero import Zero as ZeroConstraint
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL

    cones: list[Any] = [ZeroConstraint, NonNeg, SOC, SvecPSD, ExpCone, PowCone3D]

    class StandardFormReader(CLARABEL):
        """A reader of everything that a standard form holds."""

        MIP_CAPABLE = True
        BOUNDED_VARIABLES = bounded
        SUPPORTED_CONSTRAINTS = cones
        MI_SUPPORTED_CONSTRAINTS = cones

        def name(self) -> str:
            return "MARGINOPT"

    return StandardFormReader()


def cones_of(piece: Any) -> list[Cone]:
    """Return the cones of one of CVXPY's canonical constraints."""
    from cvxpy.constraints.exponential import ExpCone
    from cvxpy.constraints.nonpos import NonNeg
    from cvxpy.constraints.power import PowCone3D
    from cvxpy.constraints.psd import SvecPSD
    from cvxpy.constraints.second_order import SOC
    from cvxpy.constraints.zero import Zero as ZeroConstraint

    if isinstance(piece, ZeroConstraint):
        return [Zero(piece.size)]
    if isinstance(piece, NonNeg):
        return [Nonnegative(piece.size)]
    if isinstance(piece, SOC):
        sizes = [int(size) for size in piece.cone_sizes()]
        return [SecondOrder(sizes[0], len(sizes))] if len(set(sizes)) == 1 else [SecondOrder(size) for size in sizes]
    if isinstance(piece, ExpCone):
        return [Exponential(3, piece.size // 3)]
    if isinstance(piece, PowCone3D):
        exponents = np.ravel(np.asarray(piece.alpha.value, dtype=np.float64), order="F")
        starts = np.flatnonzero(np.diff(exponents, prepend=np.nan) != 0.0)
        ends = np.append(starts[1:], exponents.size)
        return [Power(3, int(end - start), float(exponents[start])) for start, end in zip(starts, ends, strict=True)]
    assert isinstance(piece, SvecPSD)
    count = piece.num_cones()  # several of one order, where a variable of three dimensions is semidefinite along the last two
    return [PSD(piece.size // count, count)]
