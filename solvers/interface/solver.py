"""`Solver`, the base class: a record of the problems that it reads (`SolverInfo`), and a method that returns its answer.

Two kinds: a `Backend` hands a standard form to an off-the-shelf solver, an `Algorithm` (`solvers.interface.algorithm`) is
hand-written, reads a structural view of the model and runs on the shared driver. The certificate of its answer is recomputed
elsewhere (`solvers.certification.certificate`). The module also has the parts of records and
runs: version, licence, the class of problems in which ``auto`` ranks the solver, and the native model (the solver's own object)
that it keeps on a path, a sequence of solves for values of one parameter (`KeptModel`). A `DeferredSolver` stands for a solver
whose module is not imported yet.
"""

from __future__ import annotations

import enum
import functools
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError, count_text, short_text
from ...models.deadline import loading
from ...models.model import Model
from ...models.program.cones import Feature, Nonnegative, Zero
from ...models.program.form import StandardForm
from ..certification.result import Result
from ..records import Answer, Options, Update, UpdateKind
from .parameter_types import annotations_of, check_plain

# Versions of installed packages, each read from the disk once a process: a small model takes less time than that.


@functools.cache
def version_of(package: str) -> str:
    """Return the version of an installed package.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        It is not installed.
    """
    return metadata.version(package)


def installed_version(package: str) -> str | None:
    """Return the installed version of a package; None if it is not installed."""
    try:
        return version_of(package)
    except metadata.PackageNotFoundError:
        return None


# Licences of commercial solvers: probed apart from any model, before it is built.


class LicenceState(enum.Enum):
    """State of a solver's licence."""

    OPEN = "none needed"
    FULL = "full licence"
    RESTRICTED = "restricted size"
    EXPIRED = "expired"
    MISSING = "no licence"


@dataclass(frozen=True)
class Licence:
    """The permissions of a licence.

    Parameters
    ----------
    state : LicenceState
        The state of the licence.
    detail : str
        The solver's own words, or what to do.
    limit, quadratic_limit : int, optional
        Largest number of variables and of linear rows; largest number of variables of a form with quadratic or conic parts.
    size : callable, optional
        Function of a form that returns variables and linear rows of the solver's own model, if these are more than the form's.
    """

    state: LicenceState
    detail: str = ""
    limit: int | None = None
    quadratic_limit: int | None = None
    size: Callable[[StandardForm], tuple[int, int]] | None = None

    @property
    def usable(self) -> bool:
        """Return whether anything at all can be solved."""
        return self.state in (LicenceState.OPEN, LicenceState.FULL, LicenceState.RESTRICTED)

    def refusal(self, form: StandardForm) -> str | None:
        """Return the reason why the licence does not cover this form; None where it does."""
        if not self.usable:
            return f"{self.state.value}: {self.detail}"
        quadratic = bool(form.features - {Feature.INTEGER, Feature.INDICATOR, Feature.PSD})
        limit = self.quadratic_limit if quadratic else self.limit
        variables, rows = (form.n, form.rows) if self.size is None else self.size(form)
        if limit is None or (variables <= limit and (self.limit is None or rows <= self.limit)):
            return None
        scope = " where anything is quadratic" if quadratic else ""
        allowed = f"{limit} variables{scope}" + ("" if self.limit is None else f" and {count_text(self.limit, 'row')}")
        return f"the model has {variables} variables and {rows} linear rows; the {self.state.value} licence allows {allowed}"


#: The licence of solvers that need none.
OPEN_LICENCE = Licence(LicenceState.OPEN)


# Classes of problems in which ``auto`` ranks solvers, by their records alone.


#: Features of nonconvex quadratic problems.
NONCONVEX_FEATURES = frozenset({Feature.NONCONVEX, Feature.BILINEAR})


class Purpose(enum.Enum):
    """A class of problems in which solvers are ranked."""

    STRUCTURE = "models whose structure it reads"
    MIXED_INTEGER = "mixed-integer programs"
    CONIC = "conic programs"
    QUADRATIC = "quadratic programs"
    LINEAR = "linear programs"
    NO_FORM = "models whose form is not built: too large, or their rows are on disk"

    __hash__ = object.__hash__  # faster than Enum's, which hashes the name at every look-up

    @classmethod
    def of(cls, form: StandardForm) -> Purpose:
        """Return the class that a form belongs to."""
        features = form.features
        if features & (NONCONVEX_FEATURES | {Feature.INTEGER}):
            return cls.MIXED_INTEGER
        if features & {Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.EXPONENTIAL, Feature.POWER}:
            return cls.CONIC
        return cls.QUADRATIC if Feature.QUADRATIC in features else cls.LINEAR


# The model that a solver keeps between related forms, so that a new parameter updates it.

#: The update of a solve for which no model was kept.
FIRST_BUILD = Update(UpdateKind.BUILT)


@dataclass
class KeptModel:
    """A solver's own model of the last form, between two solves of one path; mutable.

    Parameters
    ----------
    form : StandardForm, optional
        The form that ``native`` holds, reformulated (bridged) for the solver.
    native : object, optional
        The solver's own object.
    update : Update, optional
        How the last solve got its model: built, updated in place (which parts), or rebuilt (why); None before the first solve.
    release : callable, optional
        Function that frees ``native``; None if Python does.
    options : Options, optional
        The options that ``native`` was built under, without start and callback.
    """

    form: StandardForm | None = None
    native: Any = None
    update: Update | None = None
    release: Callable[[Any], None] | None = None
    options: Options | None = None

    def drop_if_options_changed(self, options: Options) -> bool:
        """Free the kept model if it was built under other options; return whether it was. Start and callback are not compared."""
        plain = replace(options, start=None, callback=None)
        other = self.native is not None and plain != self.options
        if other:
            self.close()
        self.options = plain
        return other

    def native_for(
        self,
        form: StandardForm,
        updatable: frozenset[str],
        build: Callable[[], Any],
        change: Callable[[Any, StandardForm, frozenset[str]], Any],
        *,
        any_bounds: bool = False,
        release: Callable[[Any], None] | None = None,
    ) -> Any:
        """Return the native model of a form: the kept one if it can be changed in place, else a new one from ``build``.

        ``change`` takes the kept model, the form that it holds and the parts that differ, and returns the changed model. It is
        called if all these parts are ``updatable`` (a subset of `ALL_PARTS`). ``any_bounds`` says that variables without bounds
        may get some, and ``release`` frees a native model if Python does not.
        """
        old, parts = self.form, self._updates(form, updatable, any_bounds=any_bounds)
        if old is None or parts is None:
            native = build()
            self.close()
            self.release = release
        else:
            native = change(self.native, old, parts)
        self.form, self.native = form, native
        return native

    def _updates(self, form: StandardForm, updatable: frozenset[str], *, any_bounds: bool) -> frozenset[str] | None:
        """Return the parts that differ; None if the model must be built anew, for the reason in ``update``."""
        if self.form is None or self.native is None:
            self.update = FIRST_BUILD
            return None
        parts, reason = changed_parts(self.form, form, any_bounds=any_bounds)
        not_updatable = sorted(parts - updatable)
        if reason or not_updatable:
            self.update = Update(UpdateKind.REBUILT, reason or "the solver does not update " + ", ".join(not_updatable))
            return None
        self.update = Update(UpdateKind.UPDATED, ", ".join(sorted(parts)) or "nothing")
        return parts

    def close(self) -> None:
        """Free the native model."""
        if self.release is not None:
            self.release(self.native)
        self.form = self.native = self.release = None


#: The names of all parts of a form but integrality, for solvers that can change them all in place. The form minimises
#: ½x'Px + q'x + r; its rows F x + g lie in cones, where "F" and "g" are those of linear rows (equations and inequalities).
ALL_PARTS = frozenset({"P", "q", "r", "F", "g", "F of cones", "g of cones", "bounds"})


def changed_parts(old: StandardForm, new: StandardForm, *, any_bounds: bool = False) -> tuple[frozenset[str], str]:
    """Return the parts that differ (of `ALL_PARTS`, or "integer") and an empty text; no parts and a reason if the structures or
    the places of non-zeros differ. With ``any_bounds`` variables without bounds may get some.

    "F of cones" and "g of cones" are those of all constraints but the linear rows. If variables lose or
    get a lower bound ≥ 0 in a form with cones, the structures count as different: solvers may write a cone in its variables.
    """
    delta = old.diff(new)
    if delta.structure:
        return frozenset(), "; ".join(delta.structure)
    for a, b in zip(old.constraints, new.constraints, strict=True):
        if a.label in delta.F and not _same_places(a.F, b.F):
            return frozenset(), f"non-zeros of {a.label} in other places"
    if delta.quadratic and (
        old.quadratic is None or new.quadratic is None or not _same_places(old.quadratic.csc, new.quadratic.csc)
    ):
        return frozenset(), "non-zeros of P in other places"
    bounds = delta.lower.size or delta.upper.size
    linear = {c.label for c in old.constraints if isinstance(c.cone, (Zero, Nonnegative))}
    if bounds and len(linear) < len(old.constraints) and not np.array_equal(old.lower >= 0, new.lower >= 0):
        return frozenset(), "signs of variables of cones"
    if bounds and not any_bounds and not (_same_finite(old.lower, new.lower) and _same_finite(old.upper, new.upper)):
        return frozenset(), "bounds on other variables"
    present = {
        "P": delta.quadratic,
        "q": delta.q.size,
        "r": delta.r,
        "F": linear.intersection(delta.F),
        "g": linear.intersection(delta.g),
        "F of cones": set(delta.F) - linear,
        "g of cones": set(delta.g) - linear,
        "bounds": bounds,
        "integer": delta.integer.size,
    }
    return frozenset(name for name, changed in present.items() if changed), ""


def _same_places(a: Any, b: Any) -> bool:
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def _same_finite(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(np.isfinite(a), np.isfinite(b))


class Gives(enum.Enum):
    """An ability of a solver, or an output beyond a primal point."""

    DUALS = "multipliers"
    BOUND = "bound"
    TRACE = "trace"
    WARM_START = "warm start"
    UPDATES = "in-place updates"
    INTERRUPT = "incumbent when interrupted"


@dataclass(frozen=True)
class SolverInfo:
    """The record of one solver.

    Parameters
    ----------
    name : str
        The name by which users choose the solver.
    summary : str
        Its method, in one line.
    package : str
        Distribution that contains it (``pip install`` name); empty for solvers of this package.
    module : str
        Module whose presence means that it is installed; empty for solvers of this package.
    reads : frozenset of Feature
        Features of a standard form that it reads natively (backends).
    forbids : tuple of frozenset of Feature
        Sets of features that it does not take together (integers and a quadratic objective for HiGHS).
    views : tuple of type
        Structural views that it reads (algorithms); the first that the model has is taken.
    bounds : bool
        Whether it takes bounds on variables; else they become rows.
    gives : frozenset of Gives
        Abilities, and outputs beyond a primal point.
    tolerance : float
        Relative gap that is requested by default.
    first_order : bool
        Whether the accuracy to expect is that of a first-order method.
    achievable_gap : float, optional
        Relative gap that the solver achieves on small problems; by default the usual one, 1e-4 for a first-order method, else
        1e-6.
    rank : mapping of Purpose to int
        The classes of problems for which ``auto`` may choose it, the smallest rank first; none by default.
    takes_over : callable, optional
        Function of a view that returns whether ``auto`` chooses the solver before solvers of the standard form, which would take
        long (algorithms ranked for models without a form).
    extra : str
        Extra of marginopt that installs it; empty where the base install does.
    time_limit_caveat : str
        The phase during which the solver does not check the time limit, if it can take long; empty without one.
    uninterruptible_seconds : callable, optional
        Function of a form that estimates the seconds for which a call holds Python's lock and does not check the time limit
        (backends). A call that would exceed the limit runs in a separate process, which can be ended. None if the time is never
        long.
    threads_of : str
        Module of a library that may wait for its threads in a forked process, which does not have them: there the call runs in a
        process of its own. Empty for a library that does not wait (backends).
    integrality : tuple of str and float
        The native option of the tolerance on integers, empty if there is none, and its value here (backends that read integers).
    reference : str
        Publication that describes the method; a test requires one where there is no ``package``.
    implementation : str
        "package.module:Class" of the solver that a `DeferredSolver` imports; empty if the class itself holds the record.

    Raises
    ------
    InputError
        ``reads``, ``views`` or ``gives`` hold something of another type, such as names.
    """

    name: str
    summary: str
    package: str = ""
    module: str = ""
    reads: frozenset[Feature] = frozenset()
    forbids: tuple[frozenset[Feature], ...] = ()
    views: tuple[type, ...] = ()
    bounds: bool = True
    gives: frozenset[Gives] = frozenset()
    tolerance: float = 1e-6
    first_order: bool = False
    achievable_gap: float | None = None
    rank: Mapping[Purpose, int] = field(default_factory=dict, hash=False)
    takes_over: Callable[[Any], bool] | None = None
    extra: str = ""
    time_limit_caveat: str = ""
    uninterruptible_seconds: Callable[[StandardForm], float] | None = None
    threads_of: str = ""
    integrality: tuple[str, float] = ("", 1e-6)
    reference: str = ""
    implementation: str = ""

    def __post_init__(self) -> None:
        features, kinds = (f"{kind.__name__}: {', '.join(kind.__members__)}" for kind in (Feature, Gives))
        checks: tuple[tuple[str, type[Any], str, type[Any]], ...] = (
            ("reads", Feature, features, frozenset), ("gives", Gives, kinds, frozenset), ("views", type, "types", tuple),
        )  # fmt: skip
        for name, kind, noun, container in checks:
            values = getattr(self, name)
            listed = isinstance(values, Iterable) and not isinstance(values, str)
            wrong = [one for one in values if not isinstance(one, kind)] if listed else [values]
            if wrong:
                raise InputError(
                    f"{name} of the solver {short_text(self.name)} must be a set of {noun}; it has {short_text(wrong[0])}",
                    name=name,
                )
            object.__setattr__(self, name, container(values))

    def missing_view_reason(self, model: Model) -> str | None:
        """Return the reason why an algorithm with this record cannot read the model (no common view); None if it can."""
        if any(model.view(kind) is not None for kind in self.views):
            return None
        needed = " or ".join(view.__name__ for view in self.views)
        reason = model.no_view_reason
        return f"it reads the structural view {needed}, which {model.name} does not have" + (f" ({reason})" if reason else "")


class Solver(ABC):
    """The base class of solvers: a record (``info``) and the method `run`."""

    info: ClassVar[SolverInfo]
    #: True for a solver that reads the standard form, False for one that reads a structural view of the model.
    reads_form: ClassVar[bool] = False
    #: The checker of the proof logs that it writes (`solvers.exact.check.checker.ProofChecker`).
    checker: ClassVar[object | None] = None

    def __post_init__(self) -> None:
        """Check the plain types of the parameters, for solvers that are data classes; a subclass with checks calls this first.

        Raises
        ------
        InputError
            A parameter has a value of another type than its annotation has.
        """
        for name, annotation in annotations_of(self).items():
            check_plain(name, getattr(self, name), annotation)

    def licence(self) -> Licence:
        """Return the licence, found without a model; open solvers need none."""
        return OPEN_LICENCE

    def licence_under(self, options: Options) -> Licence:
        """Return the licence under options that may bring one, such as an environment of the user's own."""
        return self.licence()

    def takes_over(self, model: Model) -> bool:
        """Return whether ``auto`` chooses it before solvers of the standard form, by its record's rule on the view."""
        rule = self.info.takes_over
        for kind in self.info.views if rule is not None else ():
            view: object = model.view(kind)
            if view is not None and rule is not None and rule(view):
                return True
        return False

    @abstractmethod
    def obstacle(self, model: Model) -> str | None:
        """Return the reason why this solver cannot read the model, in a sentence without its name; None where it can."""

    @abstractmethod
    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Solve and return the answer.

        ``kept_model`` holds what a solver keeps between the calls of one path, for those that update their own model.

        Raises
        ------
        InputError
            The solver does not know a native option, or rejects its value.
        """

    @property
    def for_start_search(self) -> Solver:
        """Return the solver that searches a first point: this one, without size limits that only a full search needs."""
        return self

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """Return the order in which a path solves its values: as given, unless the solver gains by another one."""
        return range(len(values))

    def reuse_options(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """Return native options by which the next problem of a path reuses those solved before; none by default."""
        return {}


# Solvers by their records: the module of the implementation, with its compiled loops, is imported when the solver is called.


class DeferredSolver(Solver):
    """A solver known by its record: its module is imported at the first call, or when a model has a view that it reads."""

    @property
    def solver(self) -> Solver:
        """The solver itself; its module is imported now."""
        return _solver(self.info.implementation)

    def obstacle(self, model: Model) -> str | None:
        """Return the record's reason if the model has no view that the solver reads; else the obstacle of the implementation."""
        return self.info.missing_view_reason(model) or self.solver.obstacle(model)

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Run the solver, imported now."""
        return self.solver.run(model, options, kept_model)

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """Return the order of a path by the implementation."""
        return self.solver.path_order(parameter, values)

    def reuse_options(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """Return native options by which the implementation reuses the solved problems."""
        return self.solver.reuse_options(solved)


def records_by_name(*records: SolverInfo) -> dict[str, SolverInfo]:
    """Return the records of a package's solvers by name, in the given order."""
    return {record.name: record for record in records}


def deferred_solvers(records: Mapping[str, SolverInfo]) -> tuple[Solver, ...]:
    """Return the solvers of records that name their implementations, ``"package.module:Class"``."""
    kinds: list[type[Solver]] = [
        type("DeferredSolver", (DeferredSolver,), {"info": info, "__module__": __name__}) for info in records.values()
    ]
    return tuple(kind() for kind in kinds)


def resolve_deferred(solver: Solver) -> Solver:
    """Return the implementation behind a `DeferredSolver`; any other solver unchanged."""
    return solver.solver if isinstance(solver, DeferredSolver) else solver


@functools.cache
def _solver(implementation: str) -> Solver:
    with loading():
        solver: Solver = pkgutil.resolve_name(implementation)()
    return solver
