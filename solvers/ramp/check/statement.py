"""The problem that a proof log of `ramp-bb` is about, and whether it is the user's."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from ....errors import InputError
from ....models.model import Model
from ....models.views import RampProblem
from ...zero_one.check.arithmetic import Array, InvalidProofError

__all__ = ["FORMAT", "Stated"]

FORMAT = "marginopt-ramp-proof"


@dataclass(frozen=True, eq=False)
class Stated:
    """min Σ_j d_j w_j² + min{||α||_1 : w = Σ_k α_k x_k} + Σ_i c_i ρ(a_i'w), ρ as of `RampProblem`; w_j is free where d, x are 0.

    Parameters
    ----------
    A : ndarray (n, p)
    costs : ndarray (n,)
    curvature : ndarray (p,)
    atoms : ndarray (k, p)
    height, width, beyond : float
    """

    A: Array
    costs: Array
    curvature: Array
    atoms: Array
    height: float
    width: float
    beyond: float

    @classmethod
    def of_log(cls, header: dict[str, Any]) -> Stated:
        """What a log's header states.

        Raises
        ------
        InvalidProofError
            It states no problem.
        """
        A, costs, curvature = (np.array(header[name], dtype=np.float64) for name in ("A", "costs", "curvature"))
        atoms = np.array(header["atoms"], dtype=np.float64).reshape(len(header["atoms"]), curvature.size)
        height, width = float(header["height"]), float(header["width"])
        beyond = math.inf if header["beyond"] is None else float(header["beyond"])
        if A.ndim != 2 or costs.shape != A.shape[:1] or curvature.shape != A.shape[1:]:
            raise InvalidProofError("the shapes of A, costs and curvature do not fit")
        if not all(np.isfinite(part).all() for part in (A, costs, curvature, atoms)):
            raise InvalidProofError("a number of the problem is not finite")
        if (costs < 0).any() or (curvature < 0).any() or not (0 < height < math.inf and 0 < width < math.inf and beyond >= width):
            raise InvalidProofError("costs, squares, height or width are negative, or the ramp costs again before its end")
        if len(atoms) and (curvature[~atoms.any(axis=0)] > 0.0).any():
            raise InvalidProofError("squares hold a coefficient that the norm does not know")
        return cls(A, costs, curvature, atoms, height, width, beyond)

    @classmethod
    def of_model(cls, model: Model) -> Stated:
        """The user's own.

        Raises
        ------
        InputError
            The model is no ramp problem.
        """
        view = model.view(RampProblem)
        if view is None:
            raise InputError(f"a proof log of ramp-bb proves a bound of a ramp problem, which this {type(model).__name__} is not")
        return cls(view.A, view.costs, view.curvature, view.atoms, view.height, view.width, view.beyond)

    def difference(self, other: Stated) -> str | None:
        """In what two problems differ, in words; None where they are the same."""
        if self.A.shape != other.A.shape:
            return f"{self.A.shape[0]} points of {self.A.shape[1]} coefficients against {other.A.shape[0]} of {other.A.shape[1]}"
        rows = np.flatnonzero((self.A != other.A).any(axis=1))
        if rows.size:
            return f"{rows.size} of {len(self.A)} points have another y x, the first of them point {rows[0]}"
        different = [f.name for f in fields(self) if not np.array_equal(getattr(self, f.name), getattr(other, f.name))]
        return f"another {different[0]}" if different else None

    @property
    def held(self) -> Any:
        """Coefficients that squares or the norm know."""
        return (self.curvature > 0.0) | self.atoms.any(axis=0)

    @property
    def digest(self) -> str:
        """SHA-256 of the shapes and the numbers."""
        found = hashlib.sha256(f"{self.A.shape} {self.atoms.shape}".encode())
        ramp = np.array([self.height, self.width, self.beyond])
        for part in (self.A + 0.0, self.costs, self.curvature, self.atoms + 0.0, ramp):  # + 0.0: -0.0 is 0.0
            found.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
        return found.hexdigest()

    def value(self, w: list[float], combination: list[float]) -> float:
        """The exact objective of the combination of atoms, rounded up; w says only what atoms do not, an intercept.

        Raises
        ------
        InvalidProofError
            Their lengths do not fit.
        """
        if len(w) != self.curvature.size or len(combination) != len(self.atoms):
            raise InvalidProofError("the incumbent has the wrong length")
        point, alpha = [Fraction(float(x)) for x in w], [Fraction(float(a)) for a in combination]
        for j in np.flatnonzero(self.atoms.any(axis=0)).tolist():
            parts = zip(alpha, self.atoms[:, j].tolist(), strict=True)
            point[j] = sum((a * Fraction(x) for a, x in parts if a), Fraction(0))
        total = sum(map(abs, alpha), Fraction(0))
        total += sum((Fraction(d) * x * x for d, x in zip(self.curvature.tolist(), point, strict=True)), Fraction(0))
        slope = Fraction(self.height) / Fraction(self.width)
        for row, cost in zip(self.A.tolist(), self.costs.tolist(), strict=True):
            below = 1 - sum((Fraction(a) * x for a, x in zip(row, point, strict=True)), Fraction(0))
            loss = min(max(below, Fraction(0)), Fraction(self.width))
            if self.beyond < math.inf:
                loss += max(below - Fraction(self.beyond), Fraction(0))
            total += Fraction(cost) * slope * loss
        value = float(total)
        return value if Fraction(value) >= total else math.nextafter(value, math.inf)

    def __str__(self) -> str:
        again = f", again from {self.beyond:g}" if self.beyond < math.inf else ""
        norm = f", {len(self.atoms)} atoms" if len(self.atoms) else ""
        n, p = self.A.shape
        return f"n = {n}, p = {p}{norm}, ramp {self.height:g}/{self.width:g}{again}, data {self.digest[:16]}"
