"""Base class of the exact solvers that search a tree by a bounding rule: `sparse-bb`, `risk-bb`, `ramp-bb`.

`ExactSearch` runs the branch and bound of `search` with limits, proof log (a file from which a checker verifies the bound, node
by node), checkpoint and remote workers. A subclass adds its rule, which bounds and splits a node, and the checker of its logs. V
is the type of the view, the form of a model's data that the solver reads.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from ...errors import InputError, WriteError
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..parallel import Cluster, cluster_executor
from ..parallel.executor import AsynchronousExecutor
from ..records import Answer, Options
from .checkpoint import open_log_file
from .dispatcher import bound_caveat
from .options import Limits, check_path
from .search import BoundingRule, SearchCheckpoint, TreeLog, TreeSearch

V = TypeVar("V")


@dataclass(eq=False)
class SearchState:
    """The state of one run: the search, its limits, its checkpoint file, and the executor of remote workers."""

    search: TreeSearch  #: the search
    limits: Limits  #: tolerance and limits of the run
    checkpoint_file: SearchCheckpoint | None = None  #: the checkpoint file; None without one
    executor: AsynchronousExecutor | None = None  #: the remote workers; None without a cluster


@dataclass(frozen=True, eq=False)
class ExactSearch(Algorithm[V, SearchState]):
    """Exact solver by branch and bound with a bounding rule.

    A subclass states ``info``, its bounding rule (``rule``) and the checker of its logs (``checker``).

    Parameters
    ----------
    proof : str, optional
        Path of a proof log that `check_proof` verifies, also where a limit ends the search.
    checkpoint : str, optional
        Path of a file that saves the search: written every minute and when a limit or Ctrl-C ends the run, read if it exists,
        removed when the search is finished. With ``proof`` the unfinished log lies beside it.
    cluster : distributed.Client or str, optional
        Distribute subtrees to the workers of a Dask cluster (a client, or its scheduler's address) or, with "ray", of this
        session's Ray cluster. The order and number of nodes then depend on timing.
    """

    proof: str | None = None
    checkpoint: str | None = None
    cluster: Cluster = None

    single_threaded_blas: ClassVar[bool] = True  # small dense algebra: a second BLAS thread costs more than it brings

    def __post_init__(self) -> None:
        super().__post_init__()
        check_path("proof", self.proof, "the proof log")
        check_path("checkpoint", self.checkpoint, "the checkpoint")

    @abstractmethod
    def rule(self) -> type[BoundingRule[Any]]:
        """Return the class of the bounding rule; its module, and with it the compiled loops, is imported here."""

    def problem(self, view: V) -> Any:
        """Return the data that the rule is created with: the view itself, unless a subclass reduces it."""
        return view

    def known_bound(self, view: V) -> float:
        """Return a lower bound of the optimum that is proved before the search; -∞ without one."""
        return -math.inf

    def load(self, view: V) -> None:
        """Import and compile the loops of the rule."""
        self.rule().load()

    def init(self, view: V, options: Options, rng: np.random.Generator) -> SearchState:
        """Create the search at the root with the user's starting point, or restore it from the checkpoint."""
        rule, limits = self.rule()(self.problem(view)), Limits.of(options, self.info.tolerance or 0.0)
        rule.lower_bound, rule.deadline = max(rule.lower_bound, self.known_bound(view)), limits.deadline
        checkpoint_file = None if self.checkpoint is None else SearchCheckpoint(self.checkpoint, self.info.name, rule, limits.tol)
        stopped = None if checkpoint_file is None else checkpoint_file.read(self.proof)
        search = TreeSearch.from_saved(rule, limits.tol, stopped)
        state = SearchState(search, limits, checkpoint_file)
        if options.start is not None and "w" in options.start:
            w, p = np.asarray(options.start["w"], dtype=np.float64), search.incumbent.w.size
            if w.shape != (p,) or not np.isfinite(w).all():
                raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
            rule.improve(w, search.incumbent)
        if self.cluster is not None:
            state.executor = cluster_executor(self.cluster)
        if self.proof is not None:
            file = open_log_file(str(self.proof), checkpoint_file, None if stopped is None else stopped.log)
            search.log = TreeLog(file, {"format": rule.format, "version": rule.version, **rule.header()})
            search.record_listener = search.log.append
        if state.executor is not None:
            search.distribute(state.executor)
        return state

    def advance(self, state: SearchState, seconds: float) -> Outcome:
        """Process nodes for about ``seconds``: at least one, or one exchange with the workers, before a limit is reached."""
        search, limits, end = state.search, state.limits, time.perf_counter() + seconds
        if state.checkpoint_file is not None and state.checkpoint_file.due:
            self._save(state)
        try:
            while not search.done:
                if limits.nodes_left(search.explored) <= 0:
                    return Outcome.NODE_LIMIT
                if search.memory > limits.memory_or(math.inf):
                    return Outcome.MEMORY_LIMIT
                search.work(max(min(end, limits.deadline) - time.perf_counter(), 1e-3))
                if search.log is not None and search.log.write_error is not None:
                    return Outcome.UNWRITTEN
                if time.perf_counter() >= min(end, limits.deadline):
                    break
        except Exception:  # such as a lost cluster: save the search
            self._save(state)
            self._release(state)
            raise
        if not search.done:
            return Outcome.RUNNING
        # a node that arithmetic cannot close leaves a bound below the cutoff
        incumbent = search.incumbent
        reached = search.bound >= incumbent.cutoff - incumbent.tol * abs(incumbent.value)
        return Outcome.CONVERGED if reached else Outcome.STALLED

    def abandon(self, state: SearchState) -> None:
        """Discard the proof log of a run that failed: no file is written at its path."""
        if state.search.log is not None:
            state.search.log.discard()

    def _save(self, state: SearchState) -> WriteError | None:
        search = state.search
        return (
            None
            if state.checkpoint_file is None
            else state.checkpoint_file.update(search.done, search.log, search.checkpoint_content)
        )

    def _release(self, state: SearchState) -> None:
        state.search.release()
        if state.executor is not None:
            state.executor.close()

    def measure(self, state: SearchState) -> ProgressState:
        """Return the value of the incumbent, the proved bound, and the numbers of processed and of open nodes."""
        search = state.search
        return ProgressState(search.explored, search.incumbent.value, search.bound, search.open_count)

    def answer(self, state: SearchState) -> Answer:
        """Return the incumbent and the proved bound; end the log with its claim (the bound and the incumbent) and its seal."""
        search = state.search
        value, w, bound = search.incumbent.value, search.incumbent.w, search.bound
        details: dict[str, object] = {"value": value, "proved_bound": bound, "open_nodes": search.open_count}
        unwritten = self._save(state)
        self._release(state)
        if search.log is not None:
            search.log.finish(bound, w)
            unwritten = search.log.write_error or unwritten
        return Answer(
            values={"w": w}, bound=bound, proved=True, nodes=search.explored, write_error=unwritten, details=details,
            proof=str(self.proof or ""),
            bound_caveat=bound_caveat(search.workers, self.proof) if search.workers else "",
        )  # fmt: skip
