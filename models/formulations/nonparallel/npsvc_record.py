"""The record of one class's problem."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...arrays import FloatArray, as_points
from ...kernel_names import kernel_parameters, named_kernel
from ...record import Arrays, Chosen, DataKind, FormulationInfo, Parameter
from .class_labels import as_classes
from .npsvc import NonparallelSVM
from .pair_losses import SIMILARITY

__all__ = ["FORMULATIONS"]


def _build(arrays: Arrays, chosen: Chosen) -> NonparallelSVM:
    labels = arrays["y"]
    return NonparallelSVM(
        arrays["X"],
        labels,
        np.unique(as_classes(labels, as_points(arrays["X"]).shape[0]))[0] if chosen["target"] is None else chosen["target"],
        loss=chosen["loss"],
        c=chosen["c"],
        r=chosen["r"],
        margin=chosen["margin"],
        epsilon=chosen["epsilon"],
        tau=chosen["tau"],
        gamma=chosen["decay"],
        manifold=chosen["manifold"],
        kernel=named_kernel(chosen),
    )


def _linear(chosen: Chosen) -> bool:
    return bool(chosen["kernel"] == "linear")


def _objective(model: NonparallelSVM, values: Mapping[str, FloatArray]) -> float:
    """The stated objective from the data."""
    return model.objective(values["u"])


FORMULATIONS = (
    FormulationInfo(
        NonparallelSVM,
        name="nonparallel",
        summary="hyperplane near one class and away from the others",
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, (2)",
        data=DataKind.CLASSES,
        build=_build,
        objective=_objective,
        parameters=(
            Parameter("target", "code of the class whose hyperplane it is; the first where it is not given", int),
            Parameter("loss", "pair of losses", str, "twsvm", tuple(SIMILARITY)),
            Parameter("c", "weight of the other classes' losses", float, 1.0),
            Parameter("r", "weight of the norm", float, 1.0),
            Parameter("margin", "s, where the other classes are to be", float, 1.0),
            Parameter("epsilon", "ε of npsvm and capped", float, 0.1),
            Parameter("tau", "τ of pinball", float, 0.5),
            Parameter("decay", "γ of correntropy", float, 1.0),
            Parameter("manifold", "μ, weight of the neighbour graph", float, 0.0),
            *kernel_parameters("linear"),
        ),
        intercept=_linear,
        also=("nearest_hyperplane",),
    ),
)
