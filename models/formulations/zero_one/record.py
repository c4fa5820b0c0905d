"""The record of the 0-1-loss SVM."""

from __future__ import annotations

from collections.abc import Mapping

from ...arrays import FloatArray
from ...record import Arrays, Chosen, Data, FormulationInfo, Parameter, always
from .model import ZeroOneSVM

__all__ = ["FORMULATIONS"]


def _build(arrays: Arrays, chosen: Chosen) -> ZeroOneSVM:
    return ZeroOneSVM(
        arrays["X"],
        arrays["y"],
        lam=chosen["lam"],
        M=chosen["M"],
        intercept=chosen["intercept"],
        encoding=chosen["encoding"],
        kappa=chosen["kappa"],
    )


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
        data=Data.TWO_CLASSES,
        build=_build,
        objective=_objective,
        parameters=(
            Parameter("lam", "λ, cost of a violated margin; 1 where neither it nor κ is given"),
            Parameter("kappa", "κ, share of the margins that may be violated, in place of λ"),
            Parameter("M", "big-M; a valid one from the data where it is not given"),
            Parameter("intercept", "whether the intercept is part of the norm", str, "penalised", ("penalised", "free")),
            Parameter("encoding", "rows with M, or indicator constraints", str, "bigm", ("bigm", "indicator")),
        ),
        intercept=always,
    ),
)
