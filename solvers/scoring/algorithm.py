"""The algorithm class of `supports-bb`, the exact solver of scoring systems, and the writer of its proof log.

A scoring system minimises Σ_i c_i 1{y_i (ρ_0 + x_i'ρ) < t} + price ||ρ||_0 + size_price ||ρ||_1 over integers ρ_0 and ρ within
bounds, with costs c_i, a threshold t, and at most ``max_nonzeros`` coefficients ρ_j that are not 0.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import InputError, short_text
from ...models.arrays import IntArray, as_integer
from ...models.formulations.margin.problems import ScoringProblem
from ...models.rounding import round_down
from ..exact.log_file import LogFile, LogWriter
from ..exact.options import Limits, check_path
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..interface.solver import Gives, Purpose, SolverInfo
from ..records import Answer, Options
from .check import FORMAT, ScoringChecker
from .reduced_problem import ReducedScoringProblem, reduce_problem

if TYPE_CHECKING:
    from .box_program import PairMultipliers
    from .search import SupportsSearch


class SupportsLog(LogWriter):
    """Writer of the proof log: the problem, the splits of the tree, multipliers of nodes, the claimed bound and system, a seal.

    A node that is not split is closed: `solvers.scoring.check` computes its bound again.

    Parameters
    ----------
    path : str
        Path of the log.
    reduced : ReducedScoringProblem
        The searched problem.
    """

    def __init__(self, path: str, reduced: ReducedScoringProblem) -> None:
        p = reduced.problem
        super().__init__(LogFile(path), {
            "format": FORMAT, "version": 2, "X": p.X.tolist(), "y": p.y.tolist(), "weights": p.weights.tolist(),
            "lower": p.lower.tolist(), "upper": p.upper.tolist(), "intercept": list(p.intercept), "price": str(p.price),
            "size_price": str(p.size_price), "most": p.max_nonzeros, "threshold": str(p.threshold),
        })  # fmt: skip
        self._reduced, self._written = reduced, set[int]()

    def append_splits(self, splits: IntArray) -> None:
        """Append splits, rows of four integers: kind (as in `tree`), number of the node, coefficient, end of the lower half."""
        self._file.write([{"splits": splits.tolist()}])

    def append_multipliers(self, number: int, multipliers: PairMultipliers) -> None:
        """Append the dual multipliers that bound node ``number``, if it has none in the log yet; pairs of rows become points."""
        if number in self._written:
            return
        self._written.add(number)
        plus, minus = (self._reduced.points[c][multipliers.pairs[:, c]].tolist() for c in (0, 1))
        pairs = [list(pair) for pair in zip(plus, minus, multipliers.cover, multipliers.margin, strict=True)]
        denominator = str(multipliers.denominator * self._reduced.unit)
        record = {"node": number, "denominator": denominator, "limit": multipliers.limit, "pairs": pairs}
        self._file.write([{"multipliers": [record]}])

    def finish(self, bound: Fraction, rho0: int, rho: IntArray) -> None:
        """Write the claim (the bound, and intercept ``rho0`` and coefficients ``rho`` of the incumbent) and the seal."""
        self._seal({"bound": str(bound), "rho0": rho0, "rho": rho.tolist()})


#: Number of nodes between two descents, once the first ones are done.
_NODES_A_DESCENT = 4_000
#: Largest integer up to which doubles hold all integers.
_LARGEST = 2**53
#: Effort of the descents before the search begins, in scores computed: about 4 seconds.
_EFFORT = 4e8


@dataclass(eq=False)
class SupportsState:
    """The state of one run of `supports-bb`."""

    search: SupportsSearch  #: the search
    limits: Limits  #: tolerance and limits of the run
    first_descents: int  #: number of descents before the first node
    log: SupportsLog | None = None  #: the proof log
    lower_bound: Fraction = Fraction(0)  #: the best proved bound so far


@dataclass(frozen=True, eq=False)
class SupportsBB(Algorithm[ScoringProblem, SupportsState]):
    """Exact branch and bound for scoring systems, over supports (which coefficients are not 0) and boxes of integer coefficients.

    A node is a box of coefficients. Its bound counts the errors among points with equal features, or among pairs of points of
    which every system of the box misclassifies one (`solvers.scoring.bounds`). Bounds are integers in units of cost, rounded down
    if the costs have no common unit; values are fractions.

    Parameters
    ----------
    branching : {"auto", "supports", "signs", "pairs"}
        The decisions that nodes are split by first. "supports": which coefficients are not 0. "signs": the sign of each
        coefficient. "pairs": the halves of its range, with a linear program over pairs of points of opposite classes at each
        node (`solvers.scoring.box_program`). "auto": chosen by the number of features, the number of their values, and the
        points of opposite classes with equal rows.
    descents : int
        Largest number of coordinate descents for an incumbent before the search; where they take long fewer are run, down to 5.
        One more follows every 4000 nodes. None is run once the objective is 0.
    proof : str, optional
        Path of a proof log that `check_proof` verifies, also where a limit ends the search.
    """

    branching: str = "auto"
    descents: int = 100
    proof: str | None = None

    single_threaded_blas: ClassVar[bool] = True  # small dense algebra: a second BLAS thread costs more than it brings
    expected_compile_seconds: ClassVar[float] = 4.5  # shown at the first run on a machine
    checker: ClassVar[ScoringChecker] = ScoringChecker()
    info: ClassVar[SolverInfo] = SolverInfo(
        name="supports-bb",
        rank={Purpose.STRUCTURE: 2},
        summary="exact branch and bound for scoring systems: supports and boxes of whole coefficients",
        views=(ScoringProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-9,
        reference="docs/explanation/open-instances.md",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.branching not in ("auto", "supports", "signs", "pairs"):
            raise InputError(
                f"branching must be 'auto', 'supports', 'signs' or 'pairs'; it is {short_text(self.branching)}", name="branching"
            )
        object.__setattr__(self, "descents", as_integer(self.descents, "descents", 1))
        check_path("proof", self.proof, "the proof log")

    def load(self, view: ScoringProblem) -> None:
        """Compile the loops, or load them from Numba's cache on disk."""
        _load()

    def init(self, view: ScoringProblem, options: Options, rng: np.random.Generator) -> SupportsState:
        """Return the state of a new search: the problem with equal rows merged, and the given start offered as incumbent.

        Raises
        ------
        InputError
            The intercept may exceed 2^53, or ``start["w"]`` has the wrong shape or entries that are not finite.
        """
        from .search import SupportsSearch

        limits = Limits.of(options, 0.0)
        low, high = view.intercept
        if not -_LARGEST <= low <= high <= _LARGEST:
            raise InputError(
                f"the intercept would range from {low:.3g} to {high:.3g}, and scores are whole numbers up to 2^53: "
                "give features in smaller numbers, or intercept_range"
            )
        reduced = reduce_problem(view)
        log = None if self.proof is None else SupportsLog(str(self.proof), reduced)
        listeners = (None, None) if log is None else (log.append_splits, log.append_multipliers)
        search = SupportsSearch(reduced, rng, self.branching, limits.deadline, *listeners)
        m, d = reduced.Z.shape
        one = float(m) * float((view.upper - view.lower + 1).sum()) * 4
        descents = int(np.clip(_EFFORT / max(one, 1.0), 5, self.descents))
        state = SupportsState(search, limits, descents, log)
        if options.start is not None and "w" in options.start:
            w = np.asarray(options.start["w"], dtype=np.float64)
            free = view.intercept != (0, 0)
            if w.shape != (d + free,) or not np.isfinite(w).all():
                raise InputError(f"start['w'] must hold {d + free} finite numbers; it has shape {w.shape}", name="start")
            rounded = np.rint(w).astype(np.int64)
            search.incumbent.offer(int(rounded[0]) if free else 0, rounded[free:])
        return state

    def advance(self, state: SupportsState, seconds: float) -> Outcome:
        """Run descents for about ``seconds``, or one step of the search.

        A step is limited by nodes, so that the order of descents and steps depends on nodes and not on time.
        """
        search, limits, incumbent = state.search, state.limits, state.search.incumbent
        if search.done:
            return Outcome.CONVERGED
        due, end = state.first_descents + search.nodes // _NODES_A_DESCENT, time.perf_counter() + seconds
        if incumbent.descents < due and incumbent.value > 0:
            incumbent.run_descent()  # one in any case
            while incumbent.descents < due and incumbent.value > 0 and time.perf_counter() < end:
                incumbent.run_descent()
            return Outcome.RUNNING
        if limits.nodes_left(search.nodes) <= 0:
            return Outcome.NODE_LIMIT
        search.step(limits.nodes_left(search.nodes))
        state.lower_bound = max(state.lower_bound, search.bound)
        if state.log is not None and state.log.write_error is not None:
            return Outcome.UNWRITTEN
        if incumbent.value - state.lower_bound <= Fraction(limits.tol) * incumbent.value:
            return Outcome.CONVERGED
        if search.memory > limits.memory_or(math.inf):
            return Outcome.MEMORY_LIMIT
        return Outcome.CONVERGED if search.done else Outcome.RUNNING

    def abandon(self, state: SupportsState) -> None:
        """Discard the unfinished log."""
        if state.log is not None:
            state.log.discard()

    def measure(self, state: SupportsState) -> ProgressState:
        """Return the incumbent's value, the proved bound, and the numbers of processed and of open nodes."""
        search = state.search
        bound = round_down(max(state.lower_bound, search.bound))
        return ProgressState(
            search.nodes, float(search.incumbent.value), bound, search.open_nodes, step="search" if search.nodes else "descents"
        )

    def answer(self, state: SupportsState) -> Answer:
        """Return the incumbent and the proved bound, and write the claim and the seal of the log."""
        search, incumbent, problem = state.search, state.search.incumbent, state.search.reduced.problem
        free = problem.intercept != (0, 0)
        w = np.concatenate([[incumbent.rho0] * free, incumbent.rho]).astype(np.float64)
        bound = max(state.lower_bound, search.bound)
        details: Mapping[str, Any] = {
            "value": str(incumbent.value), "proved_bound": str(bound), "open_nodes": search.open_nodes,
            "distinct_rows": len(search.reduced.Z), "branching": search.branching,
        }  # fmt: skip
        unwritten = None
        if state.log is not None:
            for certificate in search.certificates:
                state.log.append_multipliers(certificate.number, certificate.multipliers)
            state.log.finish(search.bound, incumbent.rho0, incumbent.rho)
            unwritten = state.log.write_error
        return Answer(
            values={"w": w}, bound=round_down(bound), proved=True, nodes=search.nodes, write_error=unwritten,
            proof=str(self.proof or ""), details=dict(details),
        )  # fmt: skip


@functools.cache
def _load() -> None:
    """Solve a small problem with each branching rule, so that every loop is compiled."""
    from .search import SupportsSearch

    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0], [0.0, 2.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    for branching in ("supports", "signs", "pairs"):
        bounds = np.array([3.0, 3.0])
        problem = ScoringProblem(X, y, np.ones(5), -bounds, bounds, (-9, 9), Fraction(1, 10), Fraction(1, 100), 2, Fraction(1))
        search = SupportsSearch(reduce_problem(problem), np.random.default_rng(0), branching=branching)
        search.incumbent.run_descent()
        while not search.done:
            search.step()
