"""The record of the conic SVM."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...arrays import FloatArray
from ...kernel_names import kernel_parameters, named_kernel
from ...record import Arrays, Chosen, DataKind, FormulationInfo
from ...views import ConicProblem
from ..linear import COST_OR_SHARE
from .model import ConicSVM

__all__ = ["FORMULATIONS"]


def _build(arrays: Arrays, chosen: Chosen) -> ConicSVM:
    lam = 1.0 if chosen["lam"] is None and chosen["kappa"] is None else chosen["lam"]
    kernel = None if chosen["kernel"] is None else named_kernel(chosen)
    return ConicSVM(arrays["X"], arrays["y"], lam=lam, kappa=chosen["kappa"], kernel=kernel)


def _linear(chosen: Chosen) -> bool:
    return chosen["kernel"] is None


def _objective(model: ConicSVM, values: Mapping[str, FloatArray]) -> float:
    """The stated objective from the data."""
    problem = model.view(ConicProblem)
    assert problem is not None
    W, metric = values["W"], problem.metric
    trace = float(np.trace(W)) if metric is None else float(np.sum(W * metric))  # ||w||² in the metric K of the kernel form
    return trace if model.lam is None else trace + model.lam * float(values["z"].sum())


FORMULATIONS = (
    FormulationInfo(
        ConicSVM,
        name="conic",
        summary="conic relaxation of the 0-1 loss, a semidefinite program",
        reference="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (21)",
        data=DataKind.TWO_CLASSES,
        build=_build,
        objective=_objective,
        parameters=(
            *COST_OR_SHARE,
            *kernel_parameters(None),
        ),
        intercept=_linear,
    ),
)
