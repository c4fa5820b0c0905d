"""The record of the problem of all classes at once."""

from __future__ import annotations

from ...kernel_names import kernel_parameters, with_kernel
from ...record import Chosen, DataKind, FormulationInfo, Parameter
from .chebyshev import ChebyshevNPSVC

__all__ = ["FORMULATIONS"]


def _linear(chosen: Chosen) -> bool:
    return bool(chosen["kernel"] == "linear")


FORMULATIONS = (
    FormulationInfo(
        ChebyshevNPSVC,
        name="chebyshev",
        summary="hyperplanes of all classes at once, with features learned and shared",
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, (8)",
        data=DataKind.CLASSES,
        build=with_kernel(ChebyshevNPSVC),
        parameters=(
            Parameter("c", "weight of the other classes' losses", float, 1.0),
            Parameter("r1", "weight of what the projection leaves", float, 1.0),
            Parameter("r2", "weight of the projected norm", float, 1.0),
            Parameter("mu", "μ, weight of the neighbour graph", float, 0.0),
            Parameter("d", "columns of the projection; min(2K, features - 1) where it is not given", int),
            Parameter("orientation", "whose points are near hyperplane l", str, "one", ("one", "rest")),
            *kernel_parameters("linear"),
        ),
        intercept=_linear,
    ),
)
