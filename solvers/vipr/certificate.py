"""``write_vipr`` as users call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from ...errors import SolverError
from ...files import check_target, whole_file
from ...models.arrays import FloatArray
from ...models.bare_form import as_model
from ...models.model import Model
from ...models.program.form import StandardForm
from .program import LinearProgram
from .tree import branch_and_bound
from .writer import bound_of, certificate_lines

__all__ = ["ViprCertificate", "write_vipr"]


@dataclass(frozen=True)
class ViprCertificate:
    """The content of a VIPR file, in the sense of the model (a model that maximises has its bound above).

    Parameters
    ----------
    path : Path
    bound : Fraction, optional
        The proved bound of the optimum; None where the file proves that there is no point.
    value : Fraction, optional
        Objective of the best point that satisfies everything exactly; None where none was found.
    nodes : int
    """

    path: Path
    bound: Fraction | None
    value: Fraction | None
    nodes: int

    @property
    def gap(self) -> float:
        """|value - bound| / max(1, |value|); infinite without a value, 0 where there is no point."""
        if self.bound is None:
            return 0.0
        if self.value is None:
            return float("inf")
        return float(abs(self.value - self.bound) / max(Fraction(1), abs(self.value)))

    def __str__(self) -> str:
        if self.bound is None:
            return f"{self.path}: no point satisfies the constraints; {self.nodes} nodes"
        value = "no point was found" if self.value is None else f"best value {float(self.value):.10g}"
        return f"{self.path}: bound {float(self.bound):.10g}, {value}, relative gap {self.gap:.1e}; {self.nodes} nodes"


def write_vipr(
    model: Model | StandardForm,
    path: str | Path,
    *,
    start: Mapping[str, FloatArray] | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> ViprCertificate:
    """Prove the optimum of a mixed-integer linear program in the VIPR format, which the field's checkers read.

    A branch and bound whose bounds are sums of rows and bounds of variables with rational multipliers: nothing in the file
    rests on rounding, and `viprchk` (Cheung, Gleixner, Steffy) verifies it without this package. The numbers of the form are
    taken as the rational numbers that they are. It is meant for small programs, where somebody else is to believe the answer:
    the bounds are those of linear relaxations, without cuts.

    Parameters
    ----------
    model : Model or StandardForm
        With a linear objective, linear rows and any integers: scoring systems, L1-regularised 0-1 and ramp losses, programs read
        from files or taken from CVXPY, Pyomo and others.
    path : str or Path
    start : mapping of str to ndarray, optional
        Values by label, from another solver: a good point to begin with.
    time_limit : float, optional
        Seconds. What is open then is written as it stands: the file proves the bound reached.
    node_limit : int, optional

    Returns
    -------
    ViprCertificate

    Raises
    ------
    UnsupportedModelError
        A quadratic objective, cones or indicators.
    TooLargeError
        More coefficients than rational arithmetic is offered for.
    SolverError
        A bound of a variable that no number meets; a relaxation that is unbounded, or whose numbers overflow; or
        multipliers of variables without bounds could not be made rational.
    WriteError
        The file cannot be written.

    References
    ----------
    Cheung, Gleixner, Steffy: Verifying integer programming results, 2017; format 1.1.
    """
    target = check_target(path, "the certificate")
    form = as_model(model).form
    program = LinearProgram.of(form)
    if not form.n:
        raise SolverError(f"{form.name} has no variables: nothing is to be proved")
    if (form.lower == np.inf).any() or (form.upper == -np.inf).any():
        raise SolverError(f"{form.name} has a variable with a lower bound of inf or an upper one of -inf: it has no point")
    try:
        tree = branch_and_bound(program, None if start is None else form.join(start), time_limit, node_limit)
    except OverflowError:
        raise SolverError(f"numbers of {form.name} are beyond float64 in its relaxations: scale it") from None
    with whole_file(target) as file:
        for line in certificate_lines(program, tree):
            file.write(line.encode() + b"\n")
    bound, value = bound_of(tree.root), None if tree.best is None else program.value(tree.best)
    sign, constant = (-1 if form.maximise else 1), Fraction(form.r)
    return ViprCertificate(
        target,
        None if bound is None else sign * (bound + constant),
        None if value is None else sign * (value + constant),
        tree.nodes,
    )
