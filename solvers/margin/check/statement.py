"""The problem of a proof log of `margin-bb`, and its comparison with the user's."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ....errors import InputError
from ....models.margin_view import MarginProblem
from ....models.model import Model
from ...exact.check.arithmetic import Array
from .header import fields_of
from .incumbent import exact_value

__all__ = ["FORMAT", "VERSION", "LoggedMarginProblem"]

FORMAT, VERSION = "marginopt-margin-proof", 2

_WORDS = {
    "costs": "other costs of points", "loss": "another loss", "curvature": "other squares", "atoms": "other atoms",
    "intercept": "another intercept", "lower": "other lower ends", "upper": "other upper ends",
    "whole": "other whole coefficients", "price": "other prices of coefficients", "counted": "other counted coefficients",
    "most": "another number of coefficients that may be used", "rows": "other rows", "least": "other right sides of rows",
    "kept": "other kept points", "budgets": "other budgets", "rates": "other groups whose rates are equal",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class LoggedMarginProblem(MarginProblem):
    """A `MarginProblem` that a log or a model states."""

    @classmethod
    def of_log(cls, header: dict[str, Any]) -> LoggedMarginProblem:
        """Return the problem of a log's header.

        Raises
        ------
        InvalidProofError
            It states no problem.
        """
        return cls(**fields_of(header))

    @classmethod
    def of_problem(cls, view: MarginProblem) -> LoggedMarginProblem:
        """Return the same problem."""
        return cls(**{item.name: getattr(view, item.name) for item in fields(MarginProblem)})

    @classmethod
    def of_model(cls, model: Model) -> LoggedMarginProblem:
        """Return the user's own problem.

        Raises
        ------
        InputError
            The model is no margin problem.
        """
        view = model.view(MarginProblem)
        if view is None:
            raise InputError(f"a proof log of margin-bb proves a bound of a margin problem; this {type(model).__name__} is none")
        return cls.of_problem(view)

    @property
    def parts(self) -> dict[str, tuple[Array, ...]]:
        """Return every field as arrays of numbers."""
        plain = [item.name for item in fields(self) if item.name not in ("loss", "budgets", "rates")]
        arrays: dict[str, tuple[Array, ...]] = {name: (np.asarray(getattr(self, name)),) for name in plain}
        loss = self.loss
        again = loss.again if loss.tail > 0.0 else -np.inf
        arrays["loss"] = (loss.margins, loss.below, loss.at, np.array([loss.tail, again]))
        arrays["budgets"] = tuple(np.array([*budget.points, budget.limit]) for budget in self.budgets)
        if self.rates:
            arrays["rates"] = tuple(
                part for r in self.rates for part in (r.groups.astype(np.float64), r.labels, np.array([r.epsilon]))
            )
        return arrays

    def difference(self, other: LoggedMarginProblem) -> str | None:
        """Return the difference of two problems in words; None if they are the same."""
        if self.A.shape != other.A.shape:
            return f"{self.A.shape[0]} points of {self.A.shape[1]} coefficients against {other.A.shape[0]} of {other.A.shape[1]}"
        rows = np.flatnonzero((self.A != other.A).any(axis=1))
        if rows.size:
            return f"{rows.size} of {len(self.A)} points have another y x, the first of them point {rows[0]}"
        parts, other_parts = self.parts, other.parts
        for name in {**parts, **other_parts}:
            arrays, others = parts.get(name, ()), other_parts.get(name, ())
            pairs = zip(arrays, others, strict=False)
            if len(arrays) != len(others) or not all(np.array_equal(a, b) for a, b in pairs):
                return _WORDS[name]
        return None

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the shapes and the numbers."""
        sha256 = hashlib.sha256()
        for name, arrays in self.parts.items():
            sha256.update(f"{name} {[array.shape for array in arrays]}".encode())
            for array in arrays:
                sha256.update(np.ascontiguousarray(array.astype(np.float64) + 0.0, dtype="<f8").tobytes())  # + 0.0: -0.0 is 0.0
        return sha256.hexdigest()

    def value(self, w: list[float], combination: list[float]) -> float:
        """Return the objective of w, not less than it is; infinite if w is not feasible (`exact_value`)."""
        return exact_value(self, w, combination)

    def __str__(self) -> str:
        n, p = self.A.shape
        norm = f", {len(self.atoms)} atoms" if len(self.atoms) else ""
        sets = {
            "rows": len(self.rows), "whole": int(self.whole.sum()), "priced": int((self.price > 0.0).sum()),
            "kept": int(self.kept.sum()), "budgets": len(self.budgets), "equal rates": len(self.rates),
        }  # fmt: skip
        restrictions = "".join(f", {count} {name}" for name, count in sets.items() if count)
        if self.most < self.counted.sum():
            restrictions += f", at most {self.most} of {int(self.counted.sum())}"
        tail = f", again from margin {self.loss.again:g}" if self.loss.tail > 0.0 else ""
        loss = f"loss of {self.loss.margins.size} corners{tail}"
        return f"n = {n}, p = {p}{norm}{restrictions}, {loss}, data {self.digest[:16]}"
