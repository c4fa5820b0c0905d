"""An independent checker of proof logs: it shares no code with the solver and trusts nothing but the problem's data.

What is verified, for the stated problem min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} and the claimed bound B: no w has a value
below B, and the incumbent has the value that is reported. Every inequality is evaluated in outward-rounded arithmetic (each
operation moved by one unit in the last place to the safe side; sums are exact by `math.fsum`), the incumbent in rational
arithmetic. The rules (with proofs: ``docs/zero-one-bb.md``) are applied anew from the multipliers alone: the log's own bounds,
boxes and fixings are not in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import SolverError
from ....models.model import Model
from .arithmetic import Array, InvalidProofError
from .boxes import check_box_tree
from .sealed import held_records
from .statement import LoggedZeroOneProblem
from .trees import SpotChecked, VerifierPool

__all__ = ["FORMAT", "ProofReport", "check_proof"]

FORMAT = "marginopt-zero-one-proof"
#: Rounds of 4 may weigh losses; conflicts of 5 say their numbers.
_VERSIONS = (3, 4, 5)
_KINDS = ("boxes", "conflicts", "budget")


@dataclass(frozen=True)
class ProofReport:
    """The verdict on a proof log.

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
    problem : str
        n, p, λ or κ, the intercept and a digest of the data that the log states; empty where it states none.
    digest : str
        SHA-256 of the stated rows, costs and intercept.
    own_data : bool
        Whether these were compared with the user's model, and are the same.
    workers : int
        How many workers verified subtrees, whose word that is; 0 where this process verified every node.
    again : int
        Parts of theirs, drawn at random, that this process verified once more, with the same outcome.
    """

    valid: bool
    bound: float
    value: float
    nodes: int
    message: str
    problem: str = ""
    digest: str = ""
    own_data: bool = False
    workers: int = field(default=0, compare=False)
    again: int = field(default=0, compare=False)

    @property
    def gap(self) -> float:
        """(value - bound)/max(|value|, |bound|)."""
        scale = max(abs(self.value), abs(self.bound))
        return (self.value - self.bound) / scale if scale else 0.0

    def __str__(self) -> str:
        verdict = "proved" if self.valid else f"NOT proved: {self.message}"
        incumbent = "no incumbent" if self.value == math.inf else f"incumbent {self.value:.12g}, gap {self.gap:.3g}"
        data = "" if not self.problem else f"; {self.problem}"
        source = ", the model's own" if self.own_data else ", as the log states it" if self.problem else ""
        spot = f" but for {self.again} parts that were verified here again" if self.again else ""
        by = f", subtrees by {self.workers} workers, whose word it is{spot}" if self.workers else ""
        return f"lower bound {self.bound:.12g} {verdict}; {incumbent}; {self.nodes} nodes verified{by}{data}{source}"


def check_proof(path: str | Path, model: Model | None = None, crew: VerifierPool | None = None) -> ProofReport:
    """Verify a proof log.

    Parameters
    ----------
    path : str or Path
        The file that ``zero-one-bb`` wrote with ``proof=path``.
    model : ZeroOneSVM, optional
        The problem that the log should be about. Its rows are built anew from X and y, and a proof about other data, another λ
        or κ, or another intercept is refused. Without it the log proves a bound of the problem that it states itself.
    crew : Crew, optional
        Who verifies the parts of the tree, all at once; two parts drawn at random are verified here again, and for the others
        their word is believed.

    Returns
    -------
    ProofReport
        ``valid`` only where every step holds; a damaged or wrong log is reported, whatever is wrong with it, never raised.

    Raises
    ------
    InputError
        The model is no `ZeroOneSVM`.
    SolverError
        The crew is gone.
    """
    model_problem = None if model is None else LoggedZeroOneProblem.of_model(model)
    watched = None if crew is None or crew.size < 2 else SpotChecked(crew)
    bound = value = math.nan
    nodes, problem, digest = 0, "", ""
    try:
        with np.errstate(all="ignore"):
            header, records, claim = _read(Path(path))
            stated = LoggedZeroOneProblem.of_log(header)
            problem, digest = str(stated), stated.digest
            if header["kind"] not in _KINDS:
                raise InvalidProofError(f"the log is of an unknown kind, {header['kind']!r}")
            if model_problem is not None and (other := model_problem.difference(stated)) is not None:
                raise InvalidProofError(f"this log is about another problem than the model: {other}")
            A, weights, penalised = stated.A, stated.weights, stated.penalised
            bound = float(claim["bound"])
            if header["kind"] == "budget":
                from .conflict_problem import norm_within_budget

                value = norm_within_budget(header, A, penalised, claim["w"])
            else:
                value = _incumbent_value(A, weights, penalised, claim["w"])
            if not math.isfinite(bound) or bound > value:
                raise InvalidProofError(f"the claimed bound {bound:g} is above the incumbent's value {value:g}")
            if bound > 0.0 and header["kind"] in ("conflicts", "budget"):
                from .conflicts import check_conflict_tree

                nodes = check_conflict_tree(header, A, weights, penalised, bound, records, watched)
            elif bound > 0.0:
                nodes = check_box_tree(header, A, weights, penalised, bound, records, watched)
    except InvalidProofError as error:
        return ProofReport(False, bound, value, nodes, str(error), problem, digest)
    except SolverError:  # the crew is lost, which says nothing of the log
        raise
    except Exception as error:  # noqa: BLE001 -- a file may be wrong in every way, and all of them are a verdict
        message = f"the log cannot be read: {type(error).__name__}: {error}"
        return ProofReport(False, bound, value, nodes, message, problem, digest)
    by = (0, 0) if watched is None or not watched.again else (watched.size, watched.again)  # a small tree has no parts
    return ProofReport(True, bound, value, nodes, "every node is proved", problem, digest, model_problem is not None, *by)


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """Header, records and claim of a log of this format whose seal fits."""
    header, *records, claim = held_records(path, FORMAT, _VERSIONS)
    return header, records, claim


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
