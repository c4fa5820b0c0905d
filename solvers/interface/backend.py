"""`Backend`, the base class of third-party solvers: it reformulates a form (bridges), calls the package, maps the answer back.

The form is min ½x'Px + q'x + r subject to F x + g in K, a product of cones, and bounds; z are the multipliers of its rows. A
*bridge* is a reformulation with the way back, such as an epigraph for a quadratic objective.

The module also has the parts that backends share: logs of compiled libraries (`native_log`), the reformulations that a solver
needs (`BridgeChain`), and the linear rows of a form as solvers of quadratic programs read them (`LinearRows`).
"""

from __future__ import annotations

import ctypes
import functools
import io
import os
import sys
import tempfile
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...errors import UnsupportedModelError, checked_return
from ...models.arrays import BoolArray, FloatArray, materialise_limit
from ...models.deadline import OutOfTimeError
from ...models.model import Model
from ...models.program.bridges import BoundsToRows, Bridge, DualPoint, EpigraphBridge, RotatedBridge
from ...models.program.cones import Feature, Zero
from ...models.program.form import StandardForm, multipliers_by_label
from ..records import Answer, Options, Update, UpdateKind
from .solver import FIRST_BUILD, KeptModel, Solver, SolverInfo, installed_version
from .timeouts import ABANDONED_STATUS, CallTimeout, forked_with, run_in_subprocess, time_allowance

# Logs of off-the-shelf solvers: in a file, or on the standard output that Python code sees.
#
# Compiled code writes to the process's own standard output, whatever `sys.stdout` is: in a notebook the terminal of the server,
# and under `contextlib.redirect_stdout` the wrong stream.


@contextmanager
def native_log(name: str, options: Options) -> Iterator[Options]:
    """Redirect a library's log to ``log_file``, or to a `sys.stdout` that is not the process's own, inside the ``with`` block.

    The process has one standard output: the output of other threads is redirected meanwhile, too.

    Parameters
    ----------
    name : str
        The solver's name, the heading in the file.
    options : Options

    Yields
    ------
    Options
        The options with which the library is to run.
    """
    if options.log_file is None and (not options.verbose or _is_standard_output()):
        yield options
        return
    with tempfile.TemporaryFile() if options.log_file is None else Path(options.log_file).open("ab") as target:
        if options.log_file is not None:
            target.write(f"{name}\n".encode())
            target.flush()
        saved = _redirected(target.fileno())
        words = io.TextIOWrapper(target, encoding="utf-8", write_through=True)
        try:
            with redirect_stdout(words):  # some libraries write there
                yield replace(options, verbose=True, log_file=None)
        finally:
            words.detach()
            os.close(_redirected(saved))
            os.close(saved)
            if options.log_file is None:
                target.seek(0)
                sys.stdout.write(target.read().decode("utf-8", errors="replace"))


def _is_standard_output() -> bool:
    try:
        return sys.stdout.fileno() == 1
    except (AttributeError, OSError, ValueError):
        return False


def _redirected(descriptor: int) -> int:
    """Redirect standard output to a file after flushing it, and return a descriptor of the original."""
    if _is_standard_output():
        sys.stdout.flush()
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
    saved = os.dup(1)
    os.dup2(descriptor, 1)
    return saved


# The bridges that a solver needs for a form, as one bridge: there and back in one call each.


@dataclass(frozen=True, eq=False)
class BridgeChain:
    """The bridges from ``source`` to ``target``, which a solver reads, and the way back for its answer."""

    source: StandardForm  #: the form that is to be solved
    bridges: tuple[Bridge, ...] = ()  #: in order; the source of each is the target of the one before

    @classmethod
    def plan(cls, form: StandardForm, info: SolverInfo) -> BridgeChain:
        """Return the bridges that this solver needs for this form."""
        chain = cls(form)
        if Feature.QUADRATIC in form.features and _needs_epigraph(form.features, info):
            chain = chain.with_bridge(EpigraphBridge(chain.target))
        if Feature.ROTATED in chain.target.features and Feature.ROTATED not in info.reads:
            chain = chain.with_bridge(RotatedBridge(chain.target))
        if not info.bounds and chain.target.has_bounds:
            chain = chain.with_bridge(BoundsToRows(chain.target))
        return chain

    def with_bridge(self, bridge: Bridge) -> BridgeChain:
        """Return the chain with one more bridge."""
        return BridgeChain(self.source, (*self.bridges, bridge))

    @property
    def target(self) -> StandardForm:
        """The form that the solver reads."""
        return self.bridges[-1].target if self.bridges else self.source

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds of the bridges."""
        return tuple(type(bridge).__name__ for bridge in self.bridges)

    def extend(self, x: FloatArray) -> FloatArray:
        """Return the target's point for a point of the source."""
        for bridge in self.bridges:
            x = bridge.extend(x)
        return x

    def recover(self, x: FloatArray) -> FloatArray:
        """Return the source's point for a point of the target."""
        for bridge in reversed(self.bridges):
            x = bridge.recover(x)
        return x

    def lift_dual(self, dual: DualPoint) -> DualPoint:
        """Return the source's multipliers for multipliers of the target."""
        for bridge in reversed(self.bridges):
            dual = bridge.lift_dual(dual)
        return dual

    def extend_start(self, start: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
        """Return the target's start values: NaN for variables without a value, and no entry for blocks without any."""
        if not self.bridges:
            return start
        unknown = self.source.split(np.full(self.source.n, np.nan))
        values = self.target.split(self.extend(self.source.join({**unknown, **start})))
        return {label: value for label, value in values.items() if not np.isnan(value).all()}

    def bring_back(self, answer: Answer) -> Answer:
        """Return the source's answer for an answer of the target: point, multipliers and rays."""
        multipliers, reduced, farkas = answer.multipliers, answer.reduced, answer.farkas
        if multipliers is not None:
            dual = self.lift_dual(DualPoint(multipliers, np.zeros(self.target.n) if reduced is None else reduced))
            multipliers, reduced = dual.multipliers, dual.reduced
        if farkas is not None:
            farkas = self.lift_dual(DualPoint(farkas, np.zeros(self.target.n))).multipliers
        return replace(
            answer,
            values=self._brought_back(answer.values),
            pool=tuple(values for point in answer.pool if (values := self._brought_back(point)) is not None),
            multipliers=multipliers,
            reduced=reduced,
            farkas=farkas,
            ray=self._brought_back(answer.ray),
            bridges=self.names,
        )

    def _brought_back(self, values: Mapping[str, FloatArray] | None) -> Mapping[str, FloatArray] | None:
        if values is None or not self.bridges:
            return values
        return self.source.split(self.recover(self.target.join(values)))


def missing_features(form: StandardForm, info: SolverInfo) -> str:
    """Return, in words, the features of a form that the solver cannot read even after bridges; empty if it reads the form."""
    needed = _after_bridges(form.features, info)
    missing = sorted(f.value for f in needed - info.reads)
    if missing:
        return " and ".join(missing)
    clash = next((pair for pair in info.forbids if pair <= needed), None)
    return " together with ".join(sorted(f.value for f in clash)) if clash else ""


def _unreadable_labels(form: StandardForm, info: SolverInfo) -> tuple[str, ...]:
    """Return the labels of blocks and constraints with features that the solver cannot read, alone or together."""
    needed = _after_bridges(form.features, info)
    wrong = needed - info.reads or frozenset().union(*(pair for pair in info.forbids if pair <= needed))
    blocks = [b.label for b in form.blocks if Feature.INTEGER in wrong and form.integer[form.slices[b.label]].any()]
    return (*blocks, *(c.label for c in form.constraints if c.rows and c.cone.feature in wrong))


def _needs_epigraph(features: frozenset[Feature], info: SolverInfo) -> bool:
    clash = any(pair <= features and Feature.QUADRATIC in pair for pair in info.forbids)
    return Feature.QUADRATIC not in info.reads or clash


def _after_bridges(features: frozenset[Feature], info: SolverInfo) -> frozenset[Feature]:
    if Feature.NONCONVEX in features and Feature.QUADRATIC not in info.reads and Feature.BILINEAR in info.reads:
        features = (features - {Feature.QUADRATIC, Feature.NONCONVEX}) | {Feature.BILINEAR}
    reads_cones = bool(info.reads & {Feature.ROTATED, Feature.SECOND_ORDER})
    if Feature.QUADRATIC in features and _needs_epigraph(features, info) and reads_cones:
        features = (features - {Feature.QUADRATIC}) | {Feature.ROTATED}
    if Feature.ROTATED in features and Feature.ROTATED not in info.reads and Feature.SECOND_ORDER in info.reads:
        features = (features - {Feature.ROTATED}) | {Feature.SECOND_ORDER}
    return features


class Backend(Solver):
    """The base class of third-party solvers: a subclass has a record (``info``) and the method `solve_form`."""

    reads_form: ClassVar[bool] = True

    @abstractmethod
    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer for a form that has only features this backend reads."""

    def pools_threads(self, options: Options) -> bool:
        """Return whether a call uses a pool of threads, which a forked process lacks (`SolverInfo.threads_of`)."""
        return True

    def obstacle(self, model: Model) -> str | None:
        """Return why the solver cannot read a model: unread features of its form, no form, or one too large; else None."""
        try:
            form = model.form
        except UnsupportedModelError as error:
            return str(error)
        missing = missing_features(form, self.info)
        if missing:
            unread = f"it does not read {missing}{_brought(model, _unreadable_labels(form, self.info))}"
            advice = model.big_m_advice if missing == Feature.INDICATOR.value else ""
            return f"{unread}; {advice}" if advice else unread
        size, limit = form.bytes, materialise_limit()
        return f"the materialised form would need {size:,} bytes (limit {limit:,})" if size > limit else None

    def version(self) -> str:
        """Return the version of the installed package; empty if no package of that name is installed."""
        return installed_version(self.info.package) or "" if self.info.package else ""

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Solve a form by updating the native model of a path's last solve (``kept_model``); by default build it again."""
        first = kept_model.update is None
        kept_model.update = FIRST_BUILD if first else Update(UpdateKind.REBUILT, "the solver, or our use of it, has no updates")
        return self.solve_form(form, options)

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Bridge the form, solve it (on a path with ``kept_model``, see `solve_kept`), bring point, multipliers, rays back."""
        begin = time.perf_counter()
        chain = BridgeChain.plan(model.form, self.info)
        if options.start is not None:
            options = replace(options, start=chain.extend_start(options.start))
        built = time.perf_counter() - begin
        try:
            answer = self._solved(chain.target, options, built, kept_model)
        except OutOfTimeError as timeout:
            if kept_model is not None:
                kept_model.close()
            if not isinstance(timeout, CallTimeout):  # the time limit passed before the library's call
                raise
            answer = self._left(timeout, time.perf_counter() - begin - built)
        answer = checked_return(answer, Answer, "solve_form", self.info.name)
        if answer.solve_seconds == answer.build_seconds == 0.0:  # a backend that times nothing
            answer = replace(answer, solve_seconds=time.perf_counter() - begin - built)
        return replace(
            chain.bring_back(answer),
            build_seconds=built + answer.build_seconds,
            version=self.version(),
            update=None if kept_model is None else kept_model.update,
        )

    def _solved(self, form: StandardForm, options: Options, built: float, kept_model: KeptModel | None) -> Answer:
        begin = time.perf_counter()  # the next line may build P
        reason = self._why_apart(form, options)
        if reason:
            if kept_model is not None:
                kept_model.close()
                first = kept_model.update is None
                kept_model.update = FIRST_BUILD if first else Update(UpdateKind.REBUILT, f"in a process of its own, {reason}")
            remaining = options.with_time_spent(built)
            return run_in_subprocess(functools.partial(self._logged, form, remaining), remaining, begin)
        if kept_model is None:
            return self._logged(form, options.with_time_spent(built))
        other = kept_model.drop_if_options_changed(options)
        with native_log(self.info.name, options) as logged:
            answer = self.solve_kept(form, logged, kept_model)
        kept_model.update = Update(UpdateKind.REBUILT, "other options") if other else kept_model.update
        return answer

    def _logged(self, form: StandardForm, options: Options) -> Answer:
        with native_log(self.info.name, options) as logged:
            return self.solve_form(form, logged)

    def _why_apart(self, form: StandardForm, options: Options) -> str:
        """Return why the call runs in a separate process; empty if it does not."""
        if self.info.threads_of and self.pools_threads(options) and forked_with(self.info.threads_of):
            return "for the process was forked"
        return "for the time limit" if self._overruns(form, options) else ""

    def _overruns(self, form: StandardForm, options: Options) -> bool:
        """Return whether the call may hold Python's lock beyond the time limit; no with a callback, which needs this process."""
        limit, locked = options.time_limit, self.info.uninterruptible_seconds
        return limit is not None and locked is not None and options.callback is None and locked(form) > time_allowance(limit)

    def _left(self, left: CallTimeout, seconds: float) -> Answer:
        """Return the answer if the library's call was abandoned: without a point, since the library gives none before it ends."""
        caveat = self.info.time_limit_caveat
        remark = (
            f"{self.info.name} did not return at the time limit and was abandoned ({caveat}): it gives no point before it returns"
        )
        return Answer(left.status, ABANDONED_STATUS, solve_seconds=seconds, details={"abandoned": remark})


def _brought(model: Model, labels: tuple[str, ...]) -> str:
    """Return, in brackets, the parts of the model's statement that these blocks and constraints come from; empty if it has no
    parts.
    """
    labels_by_feature: dict[str, list[str]] = {}
    for label in labels:
        labels_by_feature.setdefault(model.origin(label), []).append(label)
    phrases = [f"{', '.join(natives)} of {part}" for part, natives in labels_by_feature.items() if part]
    return f" ({'; '.join(phrases)})" if phrases else ""


# What backends for linear and quadratic programs share: the size of a factorisation, rows by kind, multipliers by label.


def dense_block_order(form: StandardForm) -> int:
    """Return an estimate of the order of the dense block that arises when sparse optimality conditions are factorised.

    It is the number of columns with entries in several rows, or of rows with more than two entries, whichever is less. The
    factorisation of the block costs the cube of its order.
    """
    F, _ = form.rows_matrix()
    return min(int((np.bincount(F.indices, minlength=form.n) > 1).sum()), int((np.diff(F.indptr) > 2).sum()))


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The linear rows of a form by kind: E x + e = 0 and G x + h ≥ 0."""

    form: StandardForm  #: the form that the rows are taken from
    equal: BoolArray  #: (rows,) which of the form's rows are equalities
    E: sp.csr_array  #: coefficients of the equalities
    e: FloatArray  #: their constants
    G: sp.csr_array  #: coefficients of the inequalities
    h: FloatArray  #: their constants

    @classmethod
    def of(cls, form: StandardForm) -> LinearRows:
        """Return the rows of a form that has linear cones only."""
        rows, g = form.csr_rows()
        equal = form.rows_mask(Zero)
        return cls(form, equal, rows.take_rows(equal).csr, g[equal], rows.take_rows(~equal).csr, g[~equal])

    def multipliers(self, equalities: FloatArray, inequalities: FloatArray) -> dict[str, FloatArray]:
        """Return z by label from the multipliers of E x + e = 0 and of G x + h ≥ 0, both in the form's sign."""
        z = np.empty(self.equal.size)
        z[self.equal] = equalities
        z[~self.equal] = inequalities
        return multipliers_by_label(self.form, z)
