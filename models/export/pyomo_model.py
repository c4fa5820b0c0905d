"""Export of a standard form as a Pyomo model, whose components bear the form's labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import ExportError, MissingPackageError, short_text
from ..arrays import FloatArray
from ..program.cones import Bilinear, Indicator, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ..program.exponential_cones import Exponential, Power
from ..program.form import Block, Constraint, StandardForm
from .cone_rows import ConeRows, IndicatorRows, bilinear_rows, indicator_rows, quadratic_cones

#: Cones that the export takes.
_TAKEN = (Zero, Nonnegative, SecondOrder, RotatedSecondOrder, Exponential, Power, Indicator, Bilinear)


def to_pyomo(form: StandardForm) -> Any:
    """Return the form as a ``pyomo.environ.ConcreteModel`` (always a minimisation, as the form is).

    Each block is a ``Var`` of its label, indexed as `Block.names` (a symmetric matrix X: X_ii, and √2 X_ij for i < j); each
    constraint a ``Constraint`` of its label, indexed by row, or by cone for the quadratic constraints of a stack of
    second-order cones or bilinear rows, whose auxiliary variables and linking equations (`quadratic_cones`) are
    ``<label>_value`` and ``<label>_link``, indexed by row; the objective is ``objective``. Exponential cones are y e^{x/y} ≤ z,
    and power cones two inequalities, for z and -z, with such variables for divisors and bases of powers. Indicators are a
    ``Disjunction`` of ``pyomo.gdp`` of their label, of the disjuncts ``<label>_on`` (the switch has the value at which the row
    must hold, and the row holds) and ``<label>_off`` (the switch has its other value). ``TransformationFactory("gdp.bigm")``
    and other transformations turn them into rows.

    Raises
    ------
    ExportError
        Semidefinite cones, a label that Pyomo does not take, or a switch that is no binary variable.
    MissingPackageError
        Pyomo is not installed.
    """
    unsupported = [f"{c.label} ({c.cone})" for c in form.constraints if not isinstance(c.cone, _TAKEN)]
    if unsupported:
        sentence = f"Pyomo takes linear, quadratic, exponential and power constraints, not {', '.join(unsupported)}"
        raise ExportError(f"{sentence}; to_cvxpy and to_mosek take semidefinite cones", name="Pyomo")
    try:
        import pyomo.environ as pyo
    except ImportError as error:
        raise MissingPackageError("Pyomo is not installed", "pyomo", "pip install pyomo") from error
    model = pyo.ConcreteModel(form.name)
    x = [variable for block in form.blocks for variable in _block(pyo, model, form, block)]
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)) and c.rows:
            _rows(pyo, model, c, x)
        elif isinstance(c.cone, (Exponential, Power)) and c.rows:
            _transcendental(pyo, model, c, x)
        elif isinstance(c.cone, Bilinear) and c.rows:
            _bilinear(pyo, model, c, x)
    for cone in quadratic_cones(form):
        _cones(pyo, model, cone, x)
    for switches in indicator_rows(form):
        _disjunctions(pyo, model, switches, x)
    _component(model, "objective", pyo.Objective(expr=_objective(form, x), sense=pyo.minimize))
    return model


def pyomo_indices(block: Block) -> list[Any]:
    """Return the Pyomo index of every scalar variable of a block, in the order of x; None for a scalar block."""
    if not block.shape:
        return [None]
    if len(block.shape) == 1:
        return list(range(block.shape[0]))
    return list(zip(*(axis.tolist() for axis in block.indices), strict=True))


def _component(model: Any, label: str, component: Any) -> Any:
    try:
        model.add_component(label, component)
    except (RuntimeError, ValueError) as error:
        raise ExportError(f"Pyomo does not take {short_text(label)} as a name: {error}", name=label) from error
    return component


def _block(pyo: Any, model: Any, form: StandardForm, block: Block) -> list[Any]:
    keys = pyomo_indices(block)
    s = form.slices[block.label]
    data = dict(zip(keys, zip(form.lower[s], form.upper[s], form.integer[s], strict=True), strict=True))

    def bounds(_: Any, *index: Any) -> tuple[float | None, float | None]:
        lower, upper, _integer = data[_key(index)]
        return (float(lower) if np.isfinite(lower) else None, float(upper) if np.isfinite(upper) else None)

    def domain(_: Any, *index: Any) -> Any:
        lower, upper, integer = data[_key(index)]
        return (pyo.Binary if lower >= 0 and upper <= 1 else pyo.Integers) if integer else pyo.Reals

    if not block.shape:
        variable = _component(model, block.label, pyo.Var(bounds=bounds, domain=domain(None)))
        return [variable]
    variable = _component(model, block.label, pyo.Var(keys, bounds=bounds, domain=domain))
    return [variable[key] for key in keys]


def _key(index: tuple[Any, ...]) -> Any:
    return None if not index else index[0] if len(index) == 1 else index


def _linear(coefficients: FloatArray, variables: list[Any]) -> Any:
    from pyomo.core.expr.numeric_expr import LinearExpression

    return LinearExpression(constant=0.0, linear_coefs=coefficients.tolist(), linear_vars=variables)


def _products(c: Constraint, x: list[Any]) -> list[Any]:
    """Return F x row by row."""
    F = c.F
    spans = [slice(F.indptr[i], F.indptr[i + 1]) for i in range(c.rows)]
    return [_linear(F.data[span], [x[j] for j in F.indices[span]]) for span in spans]


def _rows(pyo: Any, model: Any, c: Constraint, x: list[Any]) -> None:
    """Add linear rows; one without variables is decided here, since Pyomo has no constraints without variables."""
    equal = isinstance(c.cone, Zero)
    products, filled = _products(c, x), np.diff(c.F.indptr)

    def rule(_: Any, i: int) -> Any:
        right = -float(c.g[i])
        if not filled[i]:
            return pyo.Constraint.Skip if (right == 0.0 if equal else right <= 0.0) else pyo.Constraint.Infeasible
        return products[i] == right if equal else products[i] >= right

    _component(model, c.label, pyo.Constraint(range(c.rows), rule=rule))


def _cones(pyo: Any, model: Any, rows: ConeRows, x: list[Any]) -> None:
    """Add auxiliary variables with their equations, and one quadratic constraint for each cone of the stack."""
    c = rows.constraint
    linked = rows.linked.tolist()
    if linked:
        heads = dict(zip(linked, rows.head[rows.linked].tolist(), strict=True))
        products = _products(c, x)
        auxiliary = pyo.Var(linked, bounds=lambda _, i: (0.0 if heads[i] else None, None))
        _component(model, f"{c.label}_value", auxiliary)
        x.extend(auxiliary[i] for i in linked)
        link = pyo.Constraint(linked, rule=lambda _, i: products[i] - auxiliary[i] == -float(c.g[i]))
        _component(model, f"{c.label}_link", link)

    values = rows.expressions(x)

    def rule(_: Any, k: int) -> Any:
        return sum(coefficient * values[i] * values[j] for coefficient, i, j in rows.products(k)) <= 0.0

    _component(model, c.label, pyo.Constraint(range(c.cone.count), rule=rule))


def _bilinear(pyo: Any, model: Any, c: Constraint, x: list[Any]) -> None:
    """Add one quadratic constraint t - a'b ≥ 0 or = 0 for each set of the stack."""
    rows = [product + float(g) for product, g in zip(_products(c, x), c.g, strict=True)]

    def rule(_: Any, k: int) -> Any:
        t, terms = stack[k]
        slack = rows[t] - sum(rows[a] * rows[b] for a, b in terms)
        return slack == 0.0 if c.cone.equality else slack >= 0.0  # type: ignore[attr-defined]

    stack = list(bilinear_rows(c))
    _component(model, c.label, pyo.Constraint(range(len(stack)), rule=rule))


def _disjunctions(pyo: Any, model: Any, switches: IndicatorRows, x: list[Any]) -> None:
    """Add the disjunctions of indicators: the switch has its active value and the row holds, or it has the other value."""
    from pyomo.gdp import Disjunct, Disjunction

    c, pairs = switches.constraint, range(switches.binary.size)
    products, filled = _products(c, x), np.diff(c.F.indptr)

    def on(disjunct: Any, k: int) -> None:
        row = int(switches.rows[k])
        disjunct.switch = pyo.Constraint(expr=x[switches.binary[k]] == float(switches.active[k]))
        if filled[row]:
            disjunct.row = pyo.Constraint(expr=products[row] >= -float(c.g[row]))
        elif c.g[row] < 0.0:  # the row holds nowhere, and Pyomo has no constraints without variables
            disjunct.deactivate()

    def off(disjunct: Any, k: int) -> None:
        disjunct.switch = pyo.Constraint(expr=x[switches.binary[k]] == 1.0 - float(switches.active[k]))

    active, free = (
        _component(model, f"{c.label}_{name}", Disjunct(pairs, rule=rule)) for name, rule in (("on", on), ("off", off))
    )
    _component(model, c.label, Disjunction(pairs, rule=lambda _, k: [active[k], free[k]]))


def _transcendental(pyo: Any, model: Any, c: Constraint, x: list[Any]) -> None:
    """Add y e^{x/y} ≤ z, or |z| ≤ x^α y^{1-α} as two constraints; variables ≥ 0 stand for y, and for x of power cones."""
    products, filled = _products(c, x), np.diff(c.F.indptr)
    power = isinstance(c.cone, Power)
    bases = [i for i in range(c.rows) if (filled[i] or c.g[i] <= 0.0) and (i % 3 < 2 if power else i % 3 == 1)]
    auxiliary = pyo.Var(bases, bounds=(0.0, None), initialize=1.0)
    if bases:
        _component(model, f"{c.label}_value", auxiliary)
        rule = pyo.Constraint(bases, rule=lambda _, i: products[i] - auxiliary[i] == -float(c.g[i]))
        _component(model, f"{c.label}_link", rule)

    def value(i: int) -> Any:
        return auxiliary[i] if i in auxiliary else products[i] + float(c.g[i]) if filled[i] else float(c.g[i])

    def exponential(_: Any, k: int) -> Any:
        a, y, z = (value(3 * k + i) for i in range(3))
        return y * pyo.exp(a / y) - z <= 0.0

    def powers(_: Any, k: int, sign: int) -> Any:
        a, b, z = (value(3 * k + i) for i in range(3))
        return sign * z - a**c.cone.alpha * b ** (1.0 - c.cone.alpha) <= 0.0  # type: ignore[attr-defined]

    cones = range(c.cone.count)
    _component(model, c.label, pyo.Constraint(cones, (1, -1), rule=powers) if power else pyo.Constraint(cones, rule=exponential))


def _objective(form: StandardForm, x: list[Any]) -> Any:
    """Return ½x'Px + q'x + r, with a square ½P_ii x_i² for each i and a product P_ij x_i x_j for each i < j."""
    from pyomo.core.expr.numeric_expr import SumExpression

    touched = np.flatnonzero(form.q)
    linear = _linear(form.q[touched], [x[j] for j in touched]) + float(form.r)
    if form.quadratic is None:
        return linear
    upper = sp.coo_array(sp.triu(form.quadratic.csc))
    scale = np.where(upper.row == upper.col, 0.5, 1.0) * upper.data
    terms = [float(v) * x[i] * x[j] for v, i, j in zip(scale, upper.row, upper.col, strict=True)]
    return SumExpression([linear, *terms])
