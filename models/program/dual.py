r"""The Lagrangian dual of a convex standard form, again as a standard form (`form.dual()`).

Primal and dual, with z_k in the dual cone of K_k, multipliers ζ_l, ζ_u ≥ 0 of the finite bounds, and P = R'R::

    minimise  ½ x'P x + q'x + r                   maximise  r - ½ ||s||² - Σ_k <z_k, g_k> + l'ζ_l - u'ζ_u
    with      F_k x + g_k in K_k,  l ≤ x ≤ u      with      R's + q = Σ_k F_k'z_k + ζ_l - ζ_u

(s = Rx at the optimum; where no factor R is known, P x̂ stands for R's and ½ x̂'P x̂ for ½ ||s||².) Weak duality holds for every
pair of feasible points; the optima agree where one of the two has a strictly feasible point, or all cones are polyhedral.

Names: a *block* of the dual has the label of the *constraint* of the primal whose multipliers it holds; an equality of the dual
has the label of the *block* of the primal whose stationarity it states. So the multipliers of a solved primal are values of the
dual's blocks, and the dual's multipliers of ``w`` are a primal w.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ...errors import UnsupportedModelError
from ..arrays import FloatArray, IntArray
from .cones import Feature, Indicator, Nonnegative, Zero
from .form import Block, Constraint, StandardForm
from .quadratic import Quadratic


def dual_form(form: StandardForm) -> StandardForm:
    """Return the dual of a convex form; its optimum, in the sense of the stated model, is the primal's.

    Parameters
    ----------
    form : StandardForm
        Continuous and convex.

    Returns
    -------
    StandardForm
        Blocks by the labels of the primal's constraints, ``lower <block>`` and ``upper <block>`` for the multipliers of
        bounds, and ``image`` for s = Rx (``point`` for x̂). Names that the primal's rows and variables were given are kept.
        ``maximise`` is the opposite of the primal's.

    Raises
    ------
    UnsupportedModelError
        Integer variables, indicators, bilinear rows or known negative curvature of P.
    """
    if form.integer.any() or any(isinstance(c.cone, Indicator) for c in form.constraints):
        raise UnsupportedModelError(
            f"{form.name} has integer variables or indicators, whose Lagrangian dual has another optimum; relax them first "
            "(form.relaxed().dual())",
            name="model",
        )
    if Feature.BILINEAR in form.features or form.convexity.is_refuted:
        raise UnsupportedModelError(
            f"{form.name} is not convex, so its Lagrangian dual has another optimum; Gurobi, SCIP and Pyomo take such programs",
            name="model",
        )
    parts = _Parts(form.n)
    image = None if form.quadratic is None else _image(form.quadratic, parts, form)
    for c in form.constraints:
        cone = None if isinstance(c.cone, (Zero, Nonnegative)) else c.cone
        low = 0.0 if isinstance(c.cone, Nonnegative) else -np.inf
        parts.add(c.label, sp.csc_array(-c.F.T), c.g, low, c.given_names)
        if cone is not None:
            parts.cones.append((c.label, len(parts.blocks) - 1))
    identity = sp.eye_array(form.n, format="csc")
    for b in form.blocks:
        places = np.arange(form.n)[form.slices[b.label]]
        for side, bounds, sign in (("lower", form.lower, 1.0), ("upper", form.upper, -1.0)):
            finite = places[np.isfinite(bounds[places])]
            if finite.size:
                given_names = _multiplier_names(b, side, finite - form.slices[b.label].start)
                parts.add(
                    f"{side} {b.label}", sp.csc_array(-sign * identity[:, finite]), -sign * bounds[finite], 0.0, given_names
                )
    return _assembled(form, parts, image)


def _multiplier_names(block: Block, side: str, entries: IntArray) -> tuple[str, ...] | None:
    """Return names of the multipliers of some entries' bounds, after the entries; None where the label and a number suffice."""
    if entries.size == block.size and _row_names(block) is None:
        return None
    names = block.names()
    return tuple(f"{side} {names[j]}" for j in entries)


def _row_names(block: Block) -> tuple[str, ...] | None:
    """Return the names of a block's entries; None where the label and a number suffice."""
    return tuple(block.names()) if block.given_names is not None or len(block.shape) > 1 else None


@dataclass(eq=False)
class _Parts:
    """The dual's blocks, collected one by one, with their columns of the stationarity rows, costs and lower bounds.

    ``rows`` is the number of stationarity rows; ``cones`` has the label and the block's index of each constraint that is not
    linear.
    """

    rows: int
    blocks: list[Block] = field(default_factory=list)
    columns: list[sp.csc_array] = field(default_factory=list)
    costs: list[FloatArray] = field(default_factory=list)
    lower: list[FloatArray] = field(default_factory=list)
    cones: list[tuple[str, int]] = field(default_factory=list)

    def add(
        self, label: str, columns: sp.csc_array, costs: FloatArray, lower: float, given_names: tuple[str, ...] | None = None
    ) -> None:
        size = columns.shape[1]
        self.blocks.append(Block(label, (size,), given_names=given_names))
        self.columns.append(columns)
        self.costs.append(np.asarray(costs, dtype=np.float64))
        self.lower.append(np.full(size, lower))


def _image(quadratic: Quadratic, parts: _Parts, form: StandardForm) -> sp.csc_array | FloatArray:
    """Add the block of s (or x̂) before all others; return the matrix of its quadratic objective."""
    names_in_use = {b.label for b in form.blocks} | {c.label for c in form.constraints}
    factored = quadratic.factor is not None
    label = "image" if factored else "point"
    while label in names_in_use:
        label += "'"
    if factored:
        R = sp.csr_array(quadratic.factor)
        parts.add(label, sp.csc_array(R.T), np.zeros(R.shape[0]), -np.inf)
        return sp.eye_array(R.shape[0], format="csc")
    P = quadratic.csc
    parts.add(label, P, np.zeros(P.shape[0]), -np.inf)
    return P


def _assembled(form: StandardForm, parts: _Parts, image: sp.csc_array | FloatArray | None) -> StandardForm:
    columns = sp.csr_array(sp.hstack(parts.columns, format="csr")) if parts.columns else sp.csr_array((form.n, 0))
    starts = np.concatenate([[0], np.cumsum([b.size for b in parts.blocks])]).astype(int)
    n = int(starts[-1])
    constraints = [
        Constraint(
            b.label,
            sp.csr_array(columns[form.slices[b.label]]),
            form.q[form.slices[b.label]],
            Zero(b.size),
            given_names=_row_names(b),
        )
        for b in form.blocks
        if b.size
    ]
    identity = sp.eye_array(n, format="csr")
    for label, k in parts.cones:
        constraint = form.constraint(label)
        rows = sp.csr_array(identity[starts[k] : starts[k + 1]])
        if constraint.cone.dual_map is not None:  # K* = {z : D z in K}
            rows = sp.csr_array(sp.kron(sp.eye_array(constraint.cone.count), constraint.cone.dual_map, format="csr") @ rows)
        constraints.append(Constraint(f"cone of {label}", rows, np.zeros(constraint.rows), constraint.cone))
    quadratic = None
    if image is not None:
        size = image.shape[0]
        P = sp.block_diag([image, sp.csc_array((n - size, n - size))], format="csc") if n > size else image
        quadratic = Quadratic(matrix=sp.csc_array(P))
    return StandardForm(
        name=f"dual of {form.name}",
        blocks=tuple(parts.blocks),
        q=np.concatenate([np.zeros(0), *parts.costs]),
        constraints=tuple(constraints),
        lower=np.concatenate([np.zeros(0), *parts.lower]),
        upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=bool),
        quadratic=quadratic,
        r=-form.r,
        maximise=not form.maximise,
    )
