"""Base classes for checkers of proof logs: `ProofChecker` for any format, `TreeChecker` for the logs of `solvers.exact.search`.

A subclass for a kind of problem reads the problem that a log states, evaluates its incumbent, and gives the rules of its nodes.
`check_proof` calls the checker of a log's format. A checker shares no code with the searches and trusts the problem's data alone.
It reads a sealed log, compares the problem that the log states with the user's, evaluates the incumbent, compares it with the
claimed bound, and verifies the tree.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, final

import numpy as np
import numpy.typing as npt

from ....errors import SolverError, count_text
from ....models.deadline import OutOfTimeError
from ....models.model import Model
from ....models.rounding import round_down
from .arithmetic import InvalidProofError, ceil_to_float
from .log_reader import SealedLog
from .trees import ROOT, NodeRules, SpotCheckingPool, VerifierPool, index_by_parent, verify_in_order, verify_tree


@dataclass(frozen=True)
class ProofReport:
    """The result of checking a proof log.

    Parameters
    ----------
    valid : bool
        Whether the claimed bound is proved.
    bound : float
        The lower bound that is proved; of a log that is not valid, the one that it claims (NaN if its claim was not evaluated).
    value : float
        Exact objective of the incumbent, rounded up: ∞ without an incumbent, NaN if the claim was not evaluated.
    nodes : int
        Number of verified nodes; 0 of a log that is not valid.
    message : str
        The reason why the log is not valid; "every node is proved" for a valid one.
    problem : str
        Sizes, parameters and a digest of the problem that the log states; empty where it states none.
    digest : str
        SHA-256 of the stated problem's data; empty for formats whose problems have no digest.
    own_data : bool
        Whether the stated problem was compared with the user's model and equals it.
    workers : int
        Number of workers whose verification of subtrees is taken on trust; 0 if this process verified every node.
    spot_checks : int
        Number of their subtrees, drawn at random, that this process verified again with the same outcome.
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
    spot_checks: int = field(default=0, compare=False)

    @property
    def gap(self) -> float:
        """The relative gap (value - bound)/max(|value|, |bound|); 0 if both are 0."""
        scale = max(abs(self.value), abs(self.bound))
        return (self.value - self.bound) / scale if scale else 0.0

    def __str__(self) -> str:
        verdict = "proved" if self.valid else f"NOT proved: {self.message}"
        data = "" if not self.problem else f"; {self.problem}"
        source = ", the model's own" if self.own_data else ", as the log states it" if self.problem else ""
        if math.isnan(self.bound):
            return f"{verdict}{data}{source}"
        incumbent = "no incumbent" if self.value == math.inf else f"incumbent {self.value:.12g}, gap {self.gap:.3g}"
        spot = f" but for {self.spot_checks} parts that were verified here again" if self.spot_checks else ""
        workers_note = f", subtrees by {count_text(self.workers, 'worker')}, taken on trust{spot}" if self.workers else ""
        return (
            f"lower bound {self.bound:.12g} {verdict}; {incumbent}; "
            f"{count_text(self.nodes, 'node')} verified{workers_note}{data}{source}"
        )

    __repr__ = __str__


class LoggedProblem(Protocol):
    """Protocol of the problem that a log's header or a model states; ``str`` describes it in a report."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the problem's data, in hexadecimal."""

    def difference(self, other: Any) -> str | None:
        """Return a sentence about the first difference from another problem; None if they are equal."""


def first_difference(user_problem: object, logged: object, arrays: Iterable[str], scalars: Iterable[str]) -> str | None:
    """Return a sentence that names the first of these attributes in which two problems differ; None if all are equal."""
    for name in arrays:
        if not np.array_equal(getattr(user_problem, name), getattr(logged, name)):
            return f"{name} differs"
    for name in scalars:
        if getattr(user_problem, name) != getattr(logged, name):
            return f"{name} differs: {getattr(user_problem, name)!s} against {getattr(logged, name)!s}"
    return None


def data_digest(facts: str, arrays: Iterable[npt.NDArray[Any]]) -> str:
    """Return the SHA-256, in hexadecimal, of the text ``facts`` and of arrays converted to float64."""
    digest = hashlib.sha256(facts.encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array.astype(np.float64) + 0.0, dtype="<f8").tobytes())  # + 0.0: -0.0 is 0.0
    return digest.hexdigest()


@dataclass(frozen=True)
class Claim:
    """The lower bound that a log claims, and the value of its incumbent, exact or rounded up.

    An infinite bound is the claim that no point is feasible, an infinite value that no point is known.
    """

    bound: float | Fraction
    value: float | Fraction


P = TypeVar("P", bound=LoggedProblem)


class ProofChecker(ABC, Generic[P]):
    """Base class of the checkers of one format of logs; `check` verifies a file."""

    #: The name of the format, as the first record of a log states it.
    format: ClassVar[str]
    #: The versions of the format that are read.
    versions: ClassVar[tuple[int, ...]]
    #: Whether a log may claim that no point is feasible.
    claims_infeasibility: ClassVar[bool] = False
    #: Whether `prove` reads the records one by one, so that a log may be larger than the memory.
    streams: ClassVar[bool] = False

    @abstractmethod
    def of_model(self, model: Model) -> P:
        """Return the problem that the user's model states.

        Raises
        ------
        InputError
            Logs of this format are not about models of this kind.
        """

    @abstractmethod
    def of_log(self, header: dict[str, Any]) -> P:
        """Return the problem that a log's header states.

        Raises
        ------
        InvalidProofError
            The header states no valid problem.
        """

    @abstractmethod
    def claim(self, problem: P, log: SealedLog) -> Claim:
        """Return the bound that a log claims, with the exact value of its incumbent.

        Raises
        ------
        InvalidProofError
            The log makes no claim, or its incumbent is not a feasible point of the problem.
        """

    @abstractmethod
    def prove(self, problem: P, log: SealedLog, claim: Claim, verifiers: VerifierPool | None) -> tuple[float | Fraction, int]:
        """Verify the nodes of a log; return the proved bound and the number of nodes.

        Raises
        ------
        InvalidProofError
            A node is not proved.
        """

    @final
    def verify_cited(self, log: SealedLog, sha256: str, verifiers: VerifierPool | None) -> tuple[P, float]:
        """Verify a log that another log cites, once for each SHA-256; return its problem and the bound that it proves.

        Raises
        ------
        InvalidProofError
            The cited log does not prove its claim.
        """
        if sha256 not in log.proved:
            problem = self.of_log(log.header)
            claim = self.claim(problem, log)
            self._check_claim(claim)
            log.proved[sha256] = problem, _below(self.prove(problem, log, claim, verifiers)[0])
        problem, bound = log.proved[sha256]
        return problem, bound

    def _check_claim(self, claim: Claim) -> None:
        largest = math.inf if self.claims_infeasibility else math.nextafter(math.inf, 0.0)
        if not -math.inf < claim.bound <= min(claim.value, largest):
            bound, value = _below(claim.bound), _above(claim.value)
            raise InvalidProofError(f"the claimed bound {bound:g} is above the incumbent's value {value:g}")

    @final
    def check(
        self,
        path: str | Path,
        model: Model | None = None,
        verifiers: VerifierPool | None = None,
        cited: Sequence[str | Path] = (),
    ) -> ProofReport:
        """Verify a proof log and return the verdict.

        Parameters
        ----------
        path : str or Path
            Path of the log.
        model : Model, optional
            The problem that the log should be about: a log of other data, costs or restrictions is refused. Without it the log
            proves a bound of the problem that it states itself.
        verifiers : VerifierPool, optional
            At least two verifiers of the parts of the tree; two parts drawn at random are verified here again.
        cited : sequence of path-like, optional
            Files of logs that the log cites; other cited logs are searched in the log's folder.

        Returns
        -------
        ProofReport
            ``valid`` only if every step holds; a damaged or wrong log is reported, never raised.

        Raises
        ------
        InputError
            Logs of this format are not about models of this kind.
        SolverError
            The verifiers cannot be reached.
        OutOfTimeError
            The deadline passed between two nodes.
        """
        model_problem = None if model is None else self.of_model(model)
        spot_checked = None if verifiers is None or verifiers.size < 2 else SpotCheckingPool(verifiers)
        bound = value = math.nan
        statement = digest = ""
        try:
            with np.errstate(all="ignore"):
                log = SealedLog(Path(path), self.format, self.versions, self.streams, cited)
                problem = self.of_log(log.header)
                statement, digest = str(problem), problem.digest
                if model_problem is not None and (difference := model_problem.difference(problem)) is not None:
                    raise InvalidProofError(f"this log is about another problem than the model: {difference}")
                claim = self.claim(problem, log)
                bound, value = _below(claim.bound), _above(claim.value)
                self._check_claim(claim)
                proved, nodes = self.prove(problem, log, claim, spot_checked)
                bound = _below(proved)
        except InvalidProofError as error:
            return ProofReport(False, bound, value, 0, str(error), statement, digest)
        except (SolverError, OutOfTimeError):  # errors that say nothing about the log
            raise
        except Exception as error:  # noqa: BLE001 -- any malformed file is a verdict, not an error
            message = f"the log cannot be read: {type(error).__name__}: {error}"
            return ProofReport(False, bound, value, 0, message, statement, digest)
        workers_note = (
            (0, 0) if spot_checked is None or not spot_checked.spot_checks else (spot_checked.size, spot_checked.spot_checks)
        )  # a small tree has no parts
        return ProofReport(
            True, bound, value, nodes, "every node is proved", statement, digest, model_problem is not None, *workers_note
        )


class TreeChecker(ProofChecker[P]):
    """Base class of the checkers of `solvers.exact.search`'s logs; a subclass evaluates points and supplies the nodes' rules."""

    streams = True

    @abstractmethod
    def value(self, problem: P, w: list[float]) -> float | Fraction:
        """Return the objective of a point, exactly or rounded up.

        Raises
        ------
        InvalidProofError
            The point is not a feasible point of the problem.
        """

    @abstractmethod
    def rules(self, problem: P, bound: float) -> tuple[NodeRules[Any], Any]:
        """Return the rules by which nodes prove ``bound``, and the state of the root.

        The state is None if the bound needs no proof by nodes.
        """

    def precompute_for_records(self, problem: P, records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the records of a log; a subclass adds results that it computes faster for many records at a time."""
        return records

    @final
    def claim(self, problem: P, log: SealedLog) -> Claim:
        """Return the claimed bound, and the exact objective of the incumbent."""
        return Claim(float(log.claim["bound"]), self.value(problem, [float(x) for x in log.claim["w"]]))

    @final
    def prove(self, problem: P, log: SealedLog, claim: Claim, verifiers: VerifierPool | None) -> tuple[float, int]:
        """Verify the nodes in the order of the log or, with several verifiers, subtree by subtree; return bound and number."""
        bound = float(claim.bound)
        rules, root = self.rules(problem, bound)
        records = self.precompute_for_records(problem, log.records())
        if verifiers is None or verifiers.size < 2:
            return bound, verify_in_order(rules, records, root)
        tree = index_by_parent(list(records))
        if root is None:
            return bound, 0
        if ROOT not in tree:
            raise InvalidProofError("the log has no root")
        return bound, verify_tree(rules, tree, (tree[ROOT], root), verifiers)


def _below(bound: float | Fraction) -> float:
    return round_down(bound) if isinstance(bound, Fraction) else bound


def _above(value: float | Fraction) -> float:
    return ceil_to_float(value) if isinstance(value, Fraction) else value
