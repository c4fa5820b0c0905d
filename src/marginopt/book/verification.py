"""Verification of entries of the open book of margins in rational arithmetic: `verify_entry`, for ``marginopt book verify``.

An *entry* claims, for one model on one data set, the objective of a point and a lower bound of the optimum. `verify_entry`
generates the data again, recomputes the objective and a bound by multipliers, and checks a proof log if one is given. It does not
check a bound by a certificate; `solving.remake_entry` does. `MODELS` has the rules of each model of the book: its exact
objective, its solvers, and the kind of evidence for bounds. Throughout x_i is a row of X, u_i = y_i x_i'w its margin, w_0 the
intercept, and (t)_+ = max(t, 0), (t)_- = max(-t, 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import linprog

from ..errors import InputError, short_text
from ..instances.sources import UnavailableError
from ..margin import KernelWeightsL1, Ramp
from ..models import Model
from ..models.arrays import FloatArray
from ..models.formulations import get_formulation
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.scoring_system import ScoringSystem
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.model import as_model
from ..models.program.quadratic import is_semidefinite
from ..solvers.proofs import check_proof
from .data import build_data, data_digest
from .entries import Entry
from .semidefinite import dual_matrices, exact_cost, exact_dual_value, shifted_form

#: Rows of exact numbers.
_Rows = list[list[Fraction]]
#: The model's parameters by name, such as λ and the kind of intercept.
Parameters: TypeAlias = Mapping[str, Any]
#: The vectors of a point by name, such as w: those of an entry, or of a solver's result.
Point: TypeAlias = Mapping[str, Any]

#: The largest number in double precision.
_LARGEST = Fraction(np.finfo(np.float64).max)
#: Sums of many quotients are rounded up to whole multiples of this, which keeps their digits few.
_GRAIN = Fraction(1, 2**90)
#: Multipliers of hinge losses are rounded to whole multiples of 2⁻²⁴: a bound is flat at its maximiser.
_GRAIN_OF_MULTIPLIERS = 2.0**24


def _hinge_loss(u: Fraction) -> Fraction:
    return max(1 - u, Fraction(0))


def _margin_loss(loss: Callable[[Fraction], Fraction | int]) -> Callable[..., Fraction]:
    """Return the function of data, parameters and point to ||w||² + λ Σ loss(u_i)."""

    def value(X: FloatArray, y: FloatArray, parameters: Parameters, point: Point) -> Fraction:
        w = _vector(point, "w", X.shape[1])
        losses = sum(map(loss, _margins(_signed(X, y), w)), Fraction(0))
        return _norm(w, parameters.get("intercept") == "free") + Fraction(float(parameters["lam"])) * losses

    return value


def _conic(X: FloatArray, y: FloatArray, parameters: Parameters, point: Point) -> Fraction:
    """Return Tr W + λ Σ z_i with the least feasible z of (w, W), rounded up.

    W - ww' ⪰ 0 gives h_i = x_i'W x_i - 2u_i + 1 ≥ (1 - u_i)², and the least z_i with r_i = 1 - u_i and
    (r_i)_+²/z_i + (r_i)_-²/(1 - z_i) ≤ h_i is (r_i)_+²/h_i.
    """
    rows, p, lam = _signed(X, y), X.shape[1], Fraction(float(parameters["lam"]))
    w = _vector(point, "w", p)
    lower = _vector(point, "W", p * (p + 1) // 2)
    W = [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(p)] for i in range(p)]
    if not is_semidefinite([[W[i][j] - w[i] * w[j] for j in range(p)] for i in range(p)]):
        raise InputError("the point is not feasible: W - ww' is not positive semidefinite")
    total = sum((W[i][i] for i in range(p)), Fraction(0))
    for row, margin in zip(rows, _margins(rows, w), strict=True):
        short = 1 - margin
        if short > 0:
            curvature = sum((row[i] * sum((W[i][j] * row[j] for j in range(p)), Fraction(0)) for i in range(p)), Fraction(0))
            total += lam * (math.ceil(short * short / (curvature - 2 * margin + 1) / _GRAIN) * _GRAIN)
    return total


def _balanced(X: FloatArray, y: FloatArray, parameters: Parameters, point: Point) -> Fraction:
    """Return ||w||² + Σ C_i 1{u_i < 1}, w_0 outside the norm, C_i = C over the size of the point's class."""
    w = _vector(point, "w", X.shape[1])
    costs = map(Fraction, _class_costs(y, parameters).tolist())
    wrong = (cost for margin, cost in zip(_margins(_signed(X, y), w), costs, strict=True) if margin < 1)
    return _norm(w, True) + sum(wrong, Fraction(0))


def _semi_supervised(X: FloatArray, y: FloatArray, parameters: Parameters, point: Point) -> Fraction:
    """Return ||w||² + C Σ (1 - u_i)_+ over points with a label + C Σ (1 - |x_i'w|)_+ over others, w_0 outside the norm."""
    w = _vector(point, "w", X.shape[1])
    scores = _margins(_signed(X, np.ones(len(y))), w)
    margins = (label * score if label else abs(score) for label, score in zip(map(int, y), scores, strict=True))
    losses = sum((max(1 - margin, Fraction(0)) for margin in margins), Fraction(0))
    return _norm(w, True) + Fraction(float(parameters["C"])) * losses


def _scoring(X: FloatArray, y: FloatArray, parameters: Parameters, point: Point) -> Fraction:
    """Return Σ 1{y_i x_i'ρ < t} + N C0 ||ρ||_0 + N C1 ||ρ||_1 of N points, threshold t and whole coefficients ρ.

    The norms leave the intercept out; C1 is so small that it only breaks ties (`ScoringSystem`).
    """
    model = _scoring_system(X, y, parameters)
    rho = _vector(point, "w", X.shape[1])
    (first, last), (lower, upper) = model.intercept_bounds, model.coefficients
    ranges = zip(rho, (first, *lower), (last, *upper), strict=True)
    used = sum(r != 0 for r in rho[1:])
    if any(r.denominator != 1 or not low <= r <= high for r, low, high in ranges):
        raise InputError("the point is not feasible: its coefficients are not whole numbers within their bounds")
    if model.max_features is not None and used > model.max_features:
        raise InputError(f"the point is not feasible: it uses {used} features, {model.max_features} are allowed")
    threshold, (price, tie) = Fraction(model.threshold), model.prices
    wrong = sum(margin < threshold for margin in _margins(_signed(X, y), rho))
    return wrong + price * used + tie * sum(map(abs, rho[1:]), Fraction(0))


def _kernel_ramp(X: FloatArray, y: FloatArray, parameters: Parameters, point: Point) -> Fraction:
    """Return ||u||_1 + Σ C_i min((1 - m_i)_+, 2 + (-99 - m_i)_+) of kernel weights u, m_i = y_i (x_i'Σ_j u_j x_j + b)."""
    u, (b,) = _vector(point, "u", len(y)), _vector(point, "b", 1)
    rows = [[Fraction(x) for x in row] for row in X[:, 1:].tolist()]
    used = [(weight, row) for weight, row in zip(u, rows, strict=True) if weight]
    w = [sum((weight * row[j] for weight, row in used), Fraction(0)) for j in range(X.shape[1] - 1)]
    total = sum(map(abs, u), Fraction(0))
    costs = map(Fraction, _class_costs(y, parameters).tolist())
    for margin, cost in zip(_margins(_signed(X, y), [b, *w]), costs, strict=True):
        total += cost * min(max(1 - margin, Fraction(0)), 2 + max(-99 - margin, Fraction(0)))
    return total


def _semidefinite(X: FloatArray, y: FloatArray, parameters: Parameters, point: Point) -> Fraction:
    """Return c'x, where Σ x_k F_k - F_0 ⪰ 0."""
    return exact_cost(X, y, _vector(point, "x", len(y)))


def _hinge_bound(X: FloatArray, y: FloatArray, parameters: Parameters, multipliers: Sequence[float]) -> Fraction:
    """Return Σα - ¼||Σ α_i y_i x_i||², 0 ≤ α ≤ λ."""
    lam = Fraction(float(parameters["lam"]))
    alpha = _vector({"multipliers": multipliers}, "multipliers", len(y))
    if any(not 0 <= a <= lam for a in alpha):
        raise InputError("a multiplier is outside [0, λ]")
    rows = _signed(X, y)
    sums = [sum((a * row[j] for a, row in zip(alpha, rows, strict=True)), Fraction(0)) for j in range(len(rows[0]))]
    return sum(alpha, Fraction(0)) - sum((s * s for s in sums), Fraction(0)) / 4


def _semidefinite_bound(X: FloatArray, y: FloatArray, parameters: Parameters, multipliers: Sequence[float]) -> Fraction:
    """Return F_0 • Y for the Y with F_k • Y = c_k that is next to the multipliers."""
    return exact_dual_value(X, y, _vector({"multipliers": multipliers}, "multipliers", len(multipliers)))


def _by_name(name: str) -> Callable[..., Model]:
    def state(X: FloatArray, y: FloatArray, parameters: Parameters) -> Model:
        formulation: Callable[..., Model] = get_formulation(name).model
        return formulation(X, y, **parameters)

    return state


def _scoring_system(X: FloatArray, y: FloatArray, parameters: Parameters) -> ScoringSystem:
    limits = {key: value for key, value in parameters.items() if key != "C0"}
    return ScoringSystem(X, y, C0=Fraction(parameters["C0"]), **limits)


def _class_costs(y: FloatArray, parameters: Parameters) -> FloatArray:
    """Return C over the size of the point's class (n,)."""
    C = float(parameters["C"])
    return np.where(y > 0, C / (y > 0).sum(), C / (y < 0).sum())


def _balanced_model(X: FloatArray, y: FloatArray, parameters: Parameters) -> ZeroOneSVM:
    return ZeroOneSVM(X, y, _class_costs(y, parameters), intercept="free")


def _semi_supervised_model(X: FloatArray, y: FloatArray, parameters: Parameters) -> Margin:
    groups = np.where(y == 0, "unlabelled", "labelled")
    losses = {"labelled": "hinge", "unlabelled": "hat"}
    return Margin(X, y, losses, groups=groups, intercept="free", sample_weight=np.full(len(y), float(parameters["C"])))


def _kernel_ramp_model(X: FloatArray, y: FloatArray, parameters: Parameters) -> Margin:
    weights = KernelWeightsL1(X[:, 1:])
    return Margin(X, y, Ramp(2.0, 2.0, second_width=100.0), weights, intercept="free", sample_weight=_class_costs(y, parameters))


def _w(values: Point, X: FloatArray) -> dict[str, Any]:
    return {"w": np.asarray(values["w"], dtype=np.float64).tolist()}


def _w_and_W(values: Point, X: FloatArray) -> dict[str, Any]:
    """Return w and the lower triangle of W, which is moved into the cone."""
    w, W = (np.asarray(values[name], dtype=np.float64) for name in ("w", "W"))
    W = 0.5 * (W + W.T)
    p, scale = len(w), max(float(np.abs(W).max()), 1e-300)
    smallest_eigenvalue = float(np.linalg.eigvalsh(W - np.outer(w, w)).min())
    W = W + (max(-smallest_eigenvalue, 0.0) + 1e-13 * scale) * np.eye(p)
    return {"w": w.tolist(), "W": [float(W[i, j]) for i in range(p) for j in range(i + 1)]}


def _x(values: Point, X: FloatArray) -> dict[str, Any]:
    return {"x": np.asarray(values["x"], dtype=np.float64).tolist()}


def _hinge_multipliers(values: Mapping[str, Any], parameters: Parameters) -> list[float]:
    """Return the multipliers of the margins, rounded, within [0, λ]."""
    rounded = np.round(np.asarray(values.get("margin", ())) * _GRAIN_OF_MULTIPLIERS) / _GRAIN_OF_MULTIPLIERS
    return [float(x) for x in np.clip(rounded, 0.0, float(parameters["lam"]))]


def _semidefinite_multipliers(values: Mapping[str, Any], parameters: Parameters) -> list[float]:
    return dual_matrices([np.asarray(svec) for svec in values.values()], float(parameters["shift"]))


def _shifted(X: FloatArray, y: FloatArray, parameters: Parameters) -> Model:
    return as_model(shifted_form(X, y, float(parameters["shift"])))


def _stated_coefficients(point: Point, X: FloatArray) -> list[float]:
    return list(point["w"])


def _coefficients_of_weights(point: Point, X: FloatArray) -> list[float]:
    return [*point["b"], *(np.asarray(point["u"]) @ X[:, 1:]).tolist()]


def _kernel_weights(values: Point, X: FloatArray) -> dict[str, Any]:
    """Return b and the kernel weights of least L1 norm that give w."""
    b, *w = np.asarray(values["w"], dtype=np.float64).tolist()
    weights = linprog(np.ones(2 * len(X)), A_eq=np.hstack([X[:, 1:].T, -X[:, 1:].T]), b_eq=w, method="highs")
    if weights.status != 0:
        raise InputError(f"no kernel weights give the coefficients of the result: {weights.message}")
    return {"u": (weights.x[: len(X)] - weights.x[len(X) :]).tolist(), "b": [b]}


@dataclass(frozen=True)
class ModelRules:
    """The rules of the book for one model: its objective, its solvers, and how points and bounds are made and checked.

    Parameters
    ----------
    statement : str
        The problem in one line.
    exact_objective : callable
        Returns the exact objective of a point, from X, y, parameters and point; raises InputError for an infeasible point.
    make_model : callable
        Returns the `Model` from X, y and parameters.
    solvers : tuple of str
        The solvers whose bounds the book accepts, the default one first.
    evidence : {"log", "multipliers", "certificate"}
        The proof of a bound: the solver's proof log, multipliers in the entry, or the certificate of the solver's result.
    main_parameter : str
        Name of the one required parameter, a positive number that the book's page shows: "lam", "C" or "C0", the weight in the
        objective, or "shift", the δ by which a semidefinite program is shifted before it is solved.
    optional_parameters : mapping
        For each optional parameter, by name, a function that returns whether a value is valid.
    point_parts : tuple of str
        The names of the vectors of a point.
    make_point : callable
        Returns an entry's point, from a result's values and X.
    values_block : str
        The vector that a result's values must have for `make_point`.
    start_coefficients : callable
        Returns the coefficients w with which a solve starts, from an entry's point and X.
    multiplier_bound : callable, optional
        Returns the exact bound by multipliers, from X, y, parameters and multipliers; for the evidence "multipliers".
    make_multipliers : callable, optional
        Returns an entry's multipliers, from those of a result and parameters; for the evidence "multipliers".
    """

    statement: str
    exact_objective: Callable[[FloatArray, FloatArray, Parameters, Point], Fraction]
    make_model: Callable[[FloatArray, FloatArray, Parameters], Model]
    solvers: tuple[str, ...]
    evidence: str = "log"
    main_parameter: str = "lam"
    optional_parameters: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    point_parts: tuple[str, ...] = ("w",)
    make_point: Callable[[Point, FloatArray], dict[str, Any]] = _w
    values_block: str = "w"
    start_coefficients: Callable[[Point, FloatArray], list[float]] = _stated_coefficients
    multiplier_bound: Callable[[FloatArray, FloatArray, Parameters, Sequence[float]], Fraction] | None = None
    make_multipliers: Callable[[Mapping[str, Any], Parameters], list[float]] | None = None


#: The optional parameter of models whose intercept may be free.
_INTERCEPT: Mapping[str, Callable[[Any], bool]] = {"intercept": lambda value: value in ("penalised", "free")}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_range(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(end, int) for end in value)


#: The models of the book by name; the symbols of their statements are those of the module's docstring.
MODELS: dict[str, ModelRules] = {
    "zero-one": ModelRules(
        "min ||w||² + λ Σ 1{u_i < 1}", _margin_loss(lambda u: int(u < 1)), _by_name("zero-one"), ("zero-one-bb",),
        optional_parameters=_INTERCEPT,
    ),
    "balanced": ModelRules(
        "min ||w||² + Σ C_i 1{u_i < 1}, w_0 outside the norm, C_i = C / size of i's class",
        _balanced, _balanced_model, ("zero-one-bb",), main_parameter="C",
    ),
    "hinge": ModelRules(
        "min ||w||² + λ Σ (1 - u_i)_+", _margin_loss(_hinge_loss), _by_name("hinge"), ("auto",), "multipliers",
        multiplier_bound=_hinge_bound, make_multipliers=_hinge_multipliers,
    ),
    "ramp": ModelRules(
        "min ||w||² + λ Σ min((1 - u_i)_+, 2)", _margin_loss(lambda u: min(_hinge_loss(u), Fraction(2))), _by_name("ramp"),
        ("margin-bb",), optional_parameters=_INTERCEPT,
    ),
    "conic": ModelRules(
        "min Tr W + λ Σz, x_i'W x_i - 2u_i + 1 ≥ (1 - u_i)_+²/z_i + (1 - u_i)_-²/(1 - z_i), W ⪰ ww'",
        _conic, _by_name("conic"), ("conic-ipm",), "certificate", point_parts=("w", "W"), make_point=_w_and_W,
    ),
    "scoring": ModelRules(
        "min Σ 1{y_i x_i'ρ < t} + N C0 ||ρ||_0 + N C1 ||ρ||_1, ρ whole numbers, C1 so small that it breaks ties",
        _scoring, _scoring_system, ("supports-bb",), main_parameter="C0",
        optional_parameters={"max_features": _is_count, "intercept_range": _is_range},
    ),
    "semi-supervised": ModelRules(
        "min ||w||² + C Σ_labelled (1 - u_i)_+ + C Σ_others (1 - |x_i'w|)_+, w_0 outside the norm",
        _semi_supervised, _semi_supervised_model, ("margin-bb",), main_parameter="C",
    ),
    "kernel-ramp": ModelRules(
        "min ||α||_1 + Σ C_i min((1 - u_i)_+, 2 + (-99 - u_i)_+), w = (b, Σ α_j x_j), C_i = C / size of i's class",
        _kernel_ramp, _kernel_ramp_model, ("margin-bb", "ramp-bb"), main_parameter="C", point_parts=("u", "b"),
        make_point=_kernel_weights,
        start_coefficients=_coefficients_of_weights,
    ),
    "semidefinite": ModelRules(
        "min c'x, Σ x_k F_k - F_0 ⪰ 0",
        _semidefinite, _shifted, ("clarabel",), "multipliers", main_parameter="shift",
        point_parts=("x",), make_point=_x, values_block="x",
        multiplier_bound=_semidefinite_bound, make_multipliers=_semidefinite_multipliers,
    ),
}  # fmt: skip


def make_entry_model(name: str, parameters: Parameters, X: FloatArray, y: FloatArray) -> Model:
    """Return the `Model` of an entry, from the name and parameters of the book's model and data X, y.

    Raises
    ------
    InputError
        The model is unknown, or a parameter is missing, unknown or has an invalid value.
    """
    return get_model_rules(name, parameters).make_model(X, y, parameters)


def get_model_rules(name: str, parameters: Parameters) -> ModelRules:
    """Return the rules of a model of the book; raise InputError for parameters that it does not have.

    Raises
    ------
    InputError
        The model is unknown, or a parameter is missing, unknown or has an invalid value.
    """
    if name not in MODELS:
        raise InputError(f"the book knows no model {short_text(name)}; known: {', '.join(MODELS)}")
    model = MODELS[name]
    price = parameters.get(model.main_parameter)
    try:
        positive = 0 < Fraction(price) <= 10**12 and isinstance(price, str) == (model.main_parameter == "C0")  # type: ignore[arg-type]
    except (TypeError, ValueError, ArithmeticError):
        positive = False
    if not positive:
        raise InputError(
            f"{model.main_parameter} of {name} must be a positive number up to 1e12; it is {short_text(price)}",
            name=model.main_parameter,
        )
    for key, value in parameters.items():
        if key != model.main_parameter and not (key in model.optional_parameters and model.optional_parameters[key](value)):
            raise InputError(f"an entry of {name} has no parameter {key} = {short_text(value)}", name=key)
    return model


def exact_value(model: str, parameters: Mapping[str, Any], X: FloatArray, y: FloatArray, point: Mapping[str, Any]) -> Fraction:
    """Return the objective of an entry's point in rational arithmetic; of "conic" rounded up by less than λ 2⁻⁹⁰ a data point.

    Raises
    ------
    InputError
        The point is infeasible, or has other parts or sizes than the model's; and as `get_model_rules`.
    """
    rules = get_model_rules(model, parameters)
    if set(point) != set(rules.point_parts):
        raise InputError(
            f"a point of {model} has the parts {', '.join(rules.point_parts)}; it has {', '.join(map(str, point)) or 'none'}"
        )
    return rules.exact_objective(X, y, parameters, point)


def exact_bound(
    model: str, parameters: Mapping[str, Any], X: FloatArray, y: FloatArray, multipliers: Sequence[float]
) -> Fraction:
    """Return the lower bound that the multipliers of an entry prove, in rational arithmetic.

    Raises
    ------
    InputError
        The model has no bounds by multipliers, or these are infeasible; and as `get_model_rules`.
    """
    bound = get_model_rules(model, parameters).multiplier_bound
    if bound is None:
        raise InputError(f"bounds of {model} rest on no multipliers")
    return bound(X, y, parameters, multipliers)


def _nearest(value: Fraction) -> float:
    """Return the nearest double, the largest one of a number beyond all of them."""
    return float(max(min(value, _LARGEST), -_LARGEST))


def _signed(X: FloatArray, y: FloatArray) -> _Rows:
    return [[Fraction(x) * int(label) for x in row] for row, label in zip(X.tolist(), y.tolist(), strict=True)]


def _vector(point: Mapping[str, Any], name: str, size: int) -> list[Fraction]:
    numbers = point.get(name)
    if not isinstance(numbers, list | tuple) or len(numbers) != size:
        raise InputError(f"{name} must hold {size} numbers", name=name)
    if not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
        raise InputError(f"{name} must hold finite numbers", name=name)
    return [Fraction(x) for x in numbers]


def _norm(w: list[Fraction], free: bool) -> Fraction:
    return sum((x * x for x in w[1 if free else 0 :]), Fraction(0))


def _margins(rows: _Rows, w: list[Fraction]) -> list[Fraction]:
    used = [(j, x) for j, x in enumerate(w) if x]
    return [sum((row[j] * x for j, x in used), Fraction(0)) for row in rows]


#: A value may be rounded up by this much of itself.
_ROUNDING = Fraction(1, 10**12)


@dataclass(frozen=True)
class EntryVerdict:
    """The outcome of `verify_entry`.

    Parameters
    ----------
    name : str
        Name of the entry.
    stands : bool or None
        True if every claim that was checked holds, False if one does not, None if the data are not on this machine.
    message : str
        The claims that were verified, or the false claim.
    value : Fraction or None
        Exact objective of the point; None if it was not computed.
    bound : Fraction or None
        Exact bound by the multipliers, or the bound that the checked log proves; None if no bound was checked.
    """

    name: str
    stands: bool | None
    message: str
    value: Fraction | None = None
    bound: Fraction | None = None

    def __str__(self) -> str:
        word = {True: "stands", False: "REFUSED", None: "not checked"}[self.stands]
        return f"{self.name}: {word}: {self.message}"


def verify_entry(entry: Entry, log: str | Path | None = None) -> EntryVerdict:
    """Verify the value and, where its evidence is at hand, the bound of an entry.

    The value and every constraint are recomputed from the point in rational arithmetic, and so is a bound by multipliers. A bound
    by a log is checked if the log is given. An entry with a bound above its value is refused.

    Parameters
    ----------
    entry : Entry
        The entry to verify.
    log : str or Path, optional
        The proof log of the entry's bound.
    """
    try:
        X, y = build_data(entry.data)
    except UnavailableError as error:
        return EntryVerdict(entry.name, None, f"the data are not here: {error}")
    except InputError as error:
        return EntryVerdict(entry.name, False, str(error))
    if data_digest(X, y) != entry.sha256:
        return EntryVerdict(entry.name, False, "the data have another digest than the entry states")
    if misfit := _misfit(entry, y):
        return EntryVerdict(entry.name, False, misfit)
    try:
        value = exact_value(entry.model, entry.parameters, X, y, entry.point)
        bound = None if not entry.multipliers else exact_bound(entry.model, entry.parameters, X, y, entry.multipliers)
    except (InputError, KeyError, TypeError, ValueError) as error:
        return EntryVerdict(entry.name, False, f"the point or the multipliers cannot be evaluated: {error}")
    fault = _fault(entry, value, bound)
    if fault:
        return EntryVerdict(entry.name, False, fault, value, bound)
    if log is None:
        return EntryVerdict(entry.name, True, f"value {_nearest(value):.12g} exact; {_support(entry, bound)}", value, bound)
    report = check_proof(log, make_entry_model(entry.model, entry.parameters, X, y))
    if not report.valid:
        return EntryVerdict(entry.name, False, f"the log is refused: {report.message}", value)
    if report.bound < entry.bound:
        return EntryVerdict(entry.name, False, f"the log proves {report.bound:.17g}, less than the entry's bound", value)
    return EntryVerdict(entry.name, True, f"value exact; the log proves {report.bound:.12g}", value, Fraction(report.bound))


def _misfit(entry: Entry, y: FloatArray) -> str:
    """Return why the model cannot be stated on the data; empty if it can."""
    if (entry.data["kind"] == "sdpa") != (entry.model == "semidefinite"):
        return f"{entry.model} cannot be stated on data of the kind {entry.data['kind']}"
    labels = {-1.0, 0.0, 1.0} if entry.model == "semi-supervised" else {-1.0, 1.0}
    if entry.model != "semidefinite" and not set(y.tolist()) <= labels:
        return f"{entry.model} needs a label of every point"
    return ""


def _fault(entry: Entry, value: Fraction, bound: Fraction | None) -> str:
    """Return the claims of an entry that its point and its evidence do not support; empty if there are none."""
    if not (math.isfinite(entry.value) and math.isfinite(entry.bound)):
        return "the value or the bound is not finite"
    if Fraction(entry.value) < value:
        return f"the entry claims the value {entry.value:.17g}; its point has {_nearest(value):.17g}"
    if Fraction(entry.value) > value + abs(value) * _ROUNDING:
        return f"the entry states the value {entry.value:.17g}; its point has {_nearest(value):.17g}, which is better"
    if entry.bound > entry.value:
        return f"the bound {entry.bound:.17g} is above the value {entry.value:.17g}"
    evidence = MODELS[entry.model].evidence
    if entry.evidence != evidence:
        return f"bounds of {entry.model} rest on {evidence}; the entry's rests on {entry.evidence!r}"
    if (evidence == "log") != (entry.log != "") or (evidence == "multipliers") != (bound is not None):
        return f"the bound rests on {evidence}, which is not there, or there is other evidence beside it"
    if bound is not None and Fraction(entry.bound) > bound:
        return f"the entry claims the bound {entry.bound:.17g}; its multipliers prove {_nearest(bound):.17g}"
    return ""


def _support(entry: Entry, bound: Fraction | None) -> str:
    if bound is not None:
        return f"bound {entry.bound:.12g} proved by its multipliers"
    if entry.evidence == "log":
        return f"bound {entry.bound:.12g} not checked: it rests on the log {entry.log[:16]}, which --remake makes again"
    return f"bound {entry.bound:.12g} not checked: it rests on a certificate, which --remake computes again"
