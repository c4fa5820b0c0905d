"""An independent checker of proof logs: it shares no code with the solver and trusts nothing but the problem's data.

What is verified, for the stated problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the claimed bound B: no w has a value
below B, and the incumbent has the value that is reported. Every inequality is evaluated in outward-rounded arithmetic (each
operation moved by one unit in the last place to the safe side; sums are exact by `math.fsum`), the incumbent in rational
arithmetic. The rules (with proofs: ``docs/zero-one-bb.md``) are applied anew from the multipliers alone: the log's own bounds,
boxes and fixings are not in it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .arithmetic import Array, InvalidProofError

__all__ = ["ProofReport", "check_proof"]


@dataclass(frozen=True)
class ProofReport:
    """What a proof log was found to prove.

    Parameters
    ----------
    valid : bool
        Whether the claimed bound is proved.
    bound : float
        The claimed lower bound.
    value : float
        Exact objective of the incumbent, rounded up.
    nodes : int
        Nodes verified.
    message : str
        What is wrong, where something is.
    """

    valid: bool
    bound: float
    value: float
    nodes: int
    message: str

    @property
    def gap(self) -> float:
        """(value - bound)/max(|value|, |bound|)."""
        scale = max(abs(self.value), abs(self.bound))
        return (self.value - self.bound) / scale if scale else 0.0


def check_proof(path: str | Path) -> ProofReport:
    """Verify a proof log.

    Parameters
    ----------
    path : str or Path
        The file that ``zero-one-bb`` wrote with ``proof=path``.

    Returns
    -------
    ProofReport
        ``valid`` only where every step holds; a damaged or wrong log is reported, never raised.
    """
    bound = value = math.nan
    nodes = 0
    try:
        with np.errstate(all="ignore"):
            header, records, claim = _read(Path(path))
            A, weights, penalised = _data(header)
            bound = float(claim["bound"])
            if header["kind"] == "budget":
                from .conflicts import norm_within_budget

                value = norm_within_budget(header, A, penalised, claim["w"])
            else:
                value = _incumbent_value(A, weights, penalised, claim["w"])
            if not math.isfinite(bound) or bound > value:
                raise InvalidProofError(f"the claimed bound {bound:g} is above the incumbent's value {value:g}")
            if bound > 0.0 and header["kind"] in ("conflicts", "budget"):
                from .conflicts import check_conflict_tree

                nodes = check_conflict_tree(header, A, weights, penalised, bound, records)
            elif bound > 0.0:
                from .boxes import check_box_tree

                nodes = check_box_tree(header, A, weights, penalised, bound, records)
    except InvalidProofError as error:
        return ProofReport(False, bound, value, nodes, str(error))
    except (ArithmeticError, AttributeError, EOFError, LookupError, OSError, TypeError, ValueError) as error:
        return ProofReport(False, bound, value, nodes, f"the log cannot be read: {type(error).__name__}: {error}")
    return ProofReport(True, bound, value, nodes, "every node is proved")


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """Header, records and claim of a log whose seal fits: the last line is the SHA-256 of all others."""
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        lines = file.readlines()
    parsed = [json.loads(line) for line in lines]
    if not all(isinstance(record, dict) for record in parsed):
        raise InvalidProofError("a line of the log is not an object")
    if not parsed or parsed[0].get("format") != "marginopt-zero-one-proof" or parsed[0].get("version") != 3:
        raise InvalidProofError("this is not a proof log of version 3")
    if len(parsed) < 3 or "sha256" not in parsed[-1] or "bound" not in parsed[-2]:
        raise InvalidProofError("the log ends without its claim and its seal")
    if parsed[-1]["sha256"] != hashlib.sha256("".join(lines[:-1]).encode()).hexdigest():
        raise InvalidProofError("the seal does not fit: the log was changed or damaged after it was written")
    return parsed[0], parsed[1:-2], parsed[-2]


def _data(header: dict[str, Any]) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    A = np.array(header["A"], dtype=np.float64)
    weights = np.array(header["weights"], dtype=np.float64)
    penalised = np.array(header["penalised"], dtype=bool)
    if A.ndim != 2 or weights.shape != A.shape[:1] or penalised.shape != A.shape[1:]:
        raise InvalidProofError("the shapes of A, weights and penalised do not fit")
    if not (np.isfinite(A).all() and np.isfinite(weights).all() and (weights > 0).all()):
        raise InvalidProofError("A or the weights are not finite, or a weight is not positive")
    return A, weights, penalised


def _incumbent_value(A: Array, weights: Array, penalised: npt.NDArray[np.bool_], w: list[float]) -> float:
    """The exact objective in rational arithmetic, rounded up."""
    if len(w) != A.shape[1]:
        raise InvalidProofError("the incumbent has the wrong length")
    point = [Fraction(float(x)) for x in w]
    total = sum((x * x for x, d in zip(point, penalised, strict=True) if d), Fraction(0))
    for row, weight in zip(A.tolist(), weights.tolist(), strict=True):
        if sum((Fraction(a) * x for a, x in zip(row, point, strict=True)), Fraction(0)) < 1:
            total += Fraction(weight)
    value = float(total)
    return value if Fraction(value) >= total else math.nextafter(value, math.inf)
