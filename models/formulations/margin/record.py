"""The record of problems stated from parts."""

from __future__ import annotations

from typing import Any

from ...record import Arrays, Chosen, DataKind, FormulationInfo, Parameter, always
from .model import Margin
from .naming import LOSSES
from .regularisers.l1 import L1, ElasticNet
from .regularisers.squared_norm import SquaredNorm

__all__ = ["FORMULATIONS"]


#: What the prompt offers.
_OF_MARGINS = ("hinge", "squared-hinge", "logistic", "ramp", "zero-one", "nu", "conic")


def _build(arrays: Arrays, chosen: Chosen) -> Margin:
    mu = float(chosen["mu"])
    regulariser: dict[str, Any] = {"l2": SquaredNorm(mu), "l1": L1(mu), "elastic-net": ElasticNet(mu, mu)}
    return Margin(
        arrays["X"], arrays["y"], LOSSES[chosen["loss"]], regulariser[chosen["regulariser"]], weights=float(chosen["lam"]),
    )  # fmt: skip


FORMULATIONS = (
    FormulationInfo(
        Margin,
        name="margin",
        summary="a loss and a regulariser by name; in Python any parts",
        reference="Teo et al.: Bundle methods for regularized risk minimization, 2010, (1)",
        data=DataKind.TWO_CLASSES,
        build=_build,
        parameters=(
            Parameter("loss", "the loss of a margin", str, "hinge", _OF_MARGINS),
            Parameter("regulariser", "the cost of coefficients", str, "l2", ("l2", "l1", "elastic-net")),
            Parameter("lam", "cost of one unit of loss", float, 1.0),
            Parameter("mu", "weight of the regulariser", float, 1.0),
        ),
        intercept=always,
    ),
)
