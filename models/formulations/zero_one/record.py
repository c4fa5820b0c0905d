"""The record of the 0-1-loss SVM."""

from __future__ import annotations

from collections.abc import Mapping

from ...arrays import FloatArray
from ...record import DataKind, FormulationInfo, always
from ..linear import COST_OR_SHARE
from .binary_margins import margin_parameters
from .model import ZeroOneSVM

__all__ = ["FORMULATIONS"]


def _objective(model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> float:
    """The stated objective from the data."""
    w = values["w"][model.penalised]
    return float(w @ w) if model.kappa is not None else float(w @ w + model.weights @ values["z"])


FORMULATIONS = (
    FormulationInfo(
        ZeroOneSVM,
        name="zero-one",
        summary="SVM with the 0-1 loss, mixed-integer",
        reference="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (3) and (5)",
        data=DataKind.TWO_CLASSES,
        objective=_objective,
        parameters=(
            *COST_OR_SHARE,
            *margin_parameters("penalised"),
        ),
        intercept=always,
    ),
)
