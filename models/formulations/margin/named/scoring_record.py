"""The record of scoring systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....record import Arrays, Chosen, DataKind, FormulationInfo, Parameter, always
from .scoring_system import ScoringSystem

__all__ = ["FORMULATIONS"]


def _build(arrays: Arrays, chosen: Chosen) -> ScoringSystem:
    largest = chosen["largest"]
    return ScoringSystem(
        arrays["X"], arrays["y"], (-largest, largest), max_features=chosen["max_features"], C0=chosen["C0"], C1=chosen["C1"]
    )  # fmt: skip


def _small(rng: np.random.Generator) -> dict[str, Any]:
    X = np.column_stack([np.ones(16), rng.integers(0, 3, size=(16, 3))])
    y = np.where(X[:, 1] - X[:, 2] + rng.normal(scale=0.8, size=16) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return {"X": X, "y": y}


def _objective(model: ScoringSystem, values: Mapping[str, Any]) -> float:
    """The stated objective from the data."""
    w = values["w"]
    wrong = model.y * np.asarray(model.X @ w) < model.threshold - 1e-9
    price, tie = model.prices
    counted = float(model.problem.weights[wrong].sum())
    return counted + float(price) * np.count_nonzero(np.abs(w[1:]) > 1e-6) + float(tie) * float(np.abs(w[1:]).sum())


FORMULATIONS = (
    FormulationInfo(
        ScoringSystem,
        name="scoring-system",
        summary="SLIM: points to add up, few features, fewest errors",
        reference="Ustun, Rudin: Supersparse linear integer models for optimized medical scoring systems, 2015, (4)",
        data=DataKind.TWO_CLASSES,
        small=_small,
        build=_build,
        objective=_objective,
        parameters=(
            Parameter("C0", "C0, the share of points that one more feature must put right", float, 0.01),
            Parameter("C1", "C1, the price of a coefficient's size; a tie-breaking one if not given", float),
            Parameter("largest", "largest size of a coefficient", int, 10),
            Parameter("max_features", "most features in use; any number if not given", int),
        ),
        intercept=always,
    ),
)
