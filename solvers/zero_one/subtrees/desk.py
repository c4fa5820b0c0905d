"""Handing out: slices of a pool of open nodes to a team, what is left of them back, as long as there are any."""

from __future__ import annotations

import time
from collections.abc import Sized
from typing import Any, Protocol

from ....errors import MarginoptError, SolverError
from ....files import fault
from ...parallel.team import AsynchronousTeam, Done, Job
from .shares import SHORT, Shares

__all__ = ["Desk", "Outcome", "Pool"]

#: Slices that may come back broken before the search gives up.
BROKEN = 8


class Outcome(Protocol):
    """What comes back of every slice."""

    @property
    def nodes(self) -> Sized:
        """Still open."""

    @property
    def seconds(self) -> float:
        """Wall time of the worker."""

    @property
    def busy(self) -> float:
        """Its processor time."""

    @property
    def who(self) -> str:
        """Machine and process."""


class Pool(Protocol):
    """Whose nodes are handed out."""

    @property
    def waiting(self) -> int:
        """Open nodes that nobody has."""

    def drawn(self, most: int) -> Any:
        """Some of them, with the least bounds; they are the worker's from now on."""

    def task(self, number: int, nodes: Any, seconds: float) -> Any:
        """A slice as it travels."""

    def check(self, found: Any) -> None:
        """That it is an outcome of a slice; ``ValueError`` and the like where it is none."""

    def take_in(self, number: int, found: Any) -> None:
        """What came of it: its open nodes, what it found, its part of the proof."""


class Desk:
    """Keeps every worker of a team busy with slices of a pool.

    Attributes
    ----------
    flying : dict
        Nodes of the slices under way, by the slice's number, as they were handed out.
    number : int
        Of the last slice.
    awake : bool
        Whether a worker has answered `rouse`.
    """

    def __init__(self, team: AsynchronousTeam, pool: Pool, job: Job) -> None:
        self._team, self._pool, self._job = team, pool, job
        self._shares = Shares()
        self.flying: dict[int, Any] = {}
        self.number, self.awake = 0, False
        self._slices = self._broken = self._called = 0
        self._busy = self._wall = self._handling = 0.0
        self._who: set[str] = set()

    def figures(self) -> dict[str, float]:
        """Slices handed out, workers met, seconds of handling here, processor and wall seconds of slices."""
        counts = {"slices": self._slices, "workers": len(self._who), "handling": self._handling}
        return {**counts, "worker_seconds": self._busy, "worker_wall": self._wall}

    def rouse(self, job: Job, task: Any) -> None:
        """Have every worker that there is load what slices need and fetch their data, before there are any; once."""
        if self._called:
            return
        for _ in range(self._team.slots):
            self._called += 1
            self._team.submit(-self._called, job, task)

    def tend(self, seconds: float) -> None:
        """Hand out, take in what comes within ``seconds``, hand out again."""
        begin = time.perf_counter()
        self._hand_out()
        self._handling += time.perf_counter() - begin
        arrived = self._team.collect(seconds) if self.flying or not self.awake else []
        begin = time.perf_counter()
        for done in arrived:
            self._take_in(done)
        self._hand_out()
        self._handling += time.perf_counter() - begin

    def _take_in(self, done: Done) -> None:
        number = done.number
        if number < 0:  # whatever it says: what is wrong with a worker shows in its slices
            self.awake = True
            return
        try:
            found: Outcome = done.result()
            self._pool.check(found)
        except MarginoptError:
            raise
        except Exception as error:  # noqa: BLE001 - what a broken worker raises, or sends back, may be anything
            self._again(number, error)
            return
        self._shares.learn(len(self.flying.pop(number)), len(found.nodes), found.seconds)
        self._busy += found.busy
        self._wall += found.seconds
        self._who.add(found.who)
        self._pool.take_in(number, found)

    def _again(self, number: int, error: Exception) -> None:
        """The nodes of a slice that came back broken go out once more, by themselves."""
        self._broken += 1
        if self._broken > BROKEN:
            what = f"workers of the cluster are broken: {self._broken} slices came back as nothing"
            raise SolverError(f"{what}: {fault(error)}") from error
        self._submit(self.flying.pop(number), SHORT)

    def _submit(self, nodes: Any, seconds: float) -> None:
        self.number += 1
        self.flying[self.number] = nodes
        self._slices += 1
        self._team.submit(self.number, self._job, self._pool.task(self.number, nodes, seconds))

    def _hand_out(self) -> None:
        """As many slices as keep every worker busy, and one more for each to go on with."""
        waiting = self._pool.waiting
        if not waiting:
            return
        slots = self._team.size
        wanted = (1 + self._team.ahead) * slots - len(self.flying)
        if wanted <= 0:
            return
        each, seconds = self._shares.share(waiting, slots, self._handling / max(self._slices, 1))
        for _ in range(wanted):
            nodes = self._pool.drawn(each)
            if not len(nodes):
                break
            self._submit(nodes, seconds)

    def release(self) -> None:
        """Let the cluster go; what is under way stays open."""
        self._team.cancel()
