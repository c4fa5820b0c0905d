"""Backends: off-the-shelf solvers that read a standard form, after the bridges that they need."""

from __future__ import annotations

import functools
import time
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

from ...errors import UnsupportedModelError
from ...models.memory import materialise_limit
from ...models.model import Model
from ...models.program.form import StandardForm
from ..records.answer import Answer, Update, UpdateKind
from ..records.options import Options
from .bridge_chain import BridgeChain, bringing, missing_features
from .kept_model import BUILT, Kept
from .solver import Solver
from .subprocess_limit import LEFT, CallTimeout, allowed, forked_with, run_in_subprocess
from .versions import version_of

__all__ = ["Backend"]


class Backend(Solver):
    """An off-the-shelf solver: one file, one record, one method."""

    reads_form: ClassVar[bool] = True

    @abstractmethod
    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Solve a form that has only features this backend reads; the answer is the form's."""

    def pools_threads(self, options: Options) -> bool:
        """Return whether a call with these options leaves threads behind that later calls wait for (`SolverInfo.threads_of`)."""
        return True

    def obstacle(self, model: Model) -> str | None:
        """Features of the form that it cannot read, even after bridges; no form at all, or one too large to materialise."""
        try:
            form = model.form
        except UnsupportedModelError as error:
            return str(error)
        missing = missing_features(form, self.info)
        if missing:
            return f"it does not read {missing}{_brought(model, bringing(form, self.info))}"
        need, limit = form.bytes, materialise_limit()
        return f"the materialised form would need {need:,} bytes (limit {limit:,})" if need > limit else None

    def version(self) -> str:
        """Version of the installed package."""
        return version_of(self.info.package)

    def solve_kept(self, form: StandardForm, options: Options, kept: Kept) -> Answer:
        """Solve a form by updating what is kept of an earlier one; solvers that cannot build anew and say so."""
        first = kept.update is None
        kept.update = BUILT if first else Update(UpdateKind.REBUILT, "the solver, or our use of it, has no updates")
        return self.solve_form(form, options)

    def run(self, model: Model, options: Options, kept: Kept | None = None) -> Answer:
        """Bridge the form, solve it, and bring point, multipliers and rays back."""
        begin = time.perf_counter()
        chain = BridgeChain.plan(model.form, self.info)
        if options.start is not None:
            options = replace(options, start=chain.extend_start(options.start))
        built = time.perf_counter() - begin
        try:
            answer = self._solved(chain.target, options, built, kept)
        except CallTimeout as left:
            if kept is not None:
                kept.close()
            answer = self._left(left, time.perf_counter() - begin - built)
        return replace(
            chain.bring_back(answer),
            build_seconds=built + answer.build_seconds,
            version=self.version(),
            update=None if kept is None else kept.update,
        )

    def _solved(self, form: StandardForm, options: Options, built: float, kept: Kept | None) -> Answer:
        begin = time.perf_counter()  # P may be made now, to see how large it is
        why = self._why_apart(form, options)
        if why:
            if kept is not None:
                kept.close()
                first = kept.update is None
                kept.update = BUILT if first else Update(UpdateKind.REBUILT, f"in a process of its own, {why}")
            left = options.after(built)
            return run_in_subprocess(functools.partial(self.solve_form, form, left), left, begin)
        if kept is None:
            return self.solve_form(form, options.after(built))
        other = kept.under(options)
        answer = self.solve_kept(form, options, kept)
        kept.update = Update(UpdateKind.REBUILT, "other options") if other else kept.update
        return answer

    def _why_apart(self, form: StandardForm, options: Options) -> str:
        """Return why the call runs in a process of its own; empty where it does not."""
        if self.info.threads_of and self.pools_threads(options) and forked_with(self.info.threads_of):
            return "for the process was forked"
        return "for the time limit" if self._overruns(form, options) else ""

    def _overruns(self, form: StandardForm, options: Options) -> bool:
        """Return whether the call may hold Python's lock beyond the time limit; a callback needs this process all the same."""
        limit, locked = options.time_limit, self.info.uninterruptible_seconds
        return limit is not None and locked is not None and options.callback is None and locked(form) > allowed(limit)

    def _left(self, left: CallTimeout, seconds: float) -> Answer:
        """The answer where the library's call was left: no point, for it gives none before it ends."""
        caveat = self.info.time_limit_caveat
        said = f"{self.info.name} was left beyond the time limit ({caveat}): it gives no point before it returns"
        return Answer(left.status, LEFT, solve_seconds=seconds, details={"left": said})


def _brought(model: Model, labels: tuple[str, ...]) -> str:
    """Return the parts of the statement that bring these blocks and constraints, in brackets; empty where the model has no
    parts.
    """
    by: dict[str, list[str]] = {}
    for label in labels:
        by.setdefault(model.origin(label), []).append(label)
    said = [f"{', '.join(brought)} of {part}" for part, brought in by.items() if part]
    return f" ({'; '.join(said)})" if said else ""
