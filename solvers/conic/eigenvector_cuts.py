"""`EigenvectorCuts`: semidefinite programs by a solver without semidefinite cones, an outer approximation by linear cuts.

The program is a form with rows F x + g in cones, some of them svecs of semidefinite matrices (svec stacks the triangle of a
symmetric matrix, so that inner products stay). S is positive semidefinite if and only if v'Sv ≥ 0 for all v. The *master* problem
has these inequalities for finitely many v, beginning with e_i and e_i ± e_j (S is then bounded by its diagonal). Where its
optimum has a matrix with negative eigenvalues, their eigenvectors give violated inequalities, which are added.

Each master is a relaxation, so its optimum bounds that of the program: there is a bound at any time, and it does not fall. If
u ≥ 0 are the multipliers of the inequalities, Σ u_k v_k v_k' is a multiplier of the cone, semidefinite whatever the rounding, so
the bound is proved from the data as any other one. Points of the master are feasible but for the cone, which they approach.

Integers may stand beside semidefinite cones, which MOSEK, Clarabel and SCS do not take.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, count_text, short_text
from ...models.arrays import FloatArray
from ...models.model import BareForm, Model
from ...models.program.cones import PSD, Feature, Nonnegative, smat, svec
from ...models.program.form import Constraint, StandardForm
from ..backends.gurobi import Gurobi
from ..interface.backend import Backend
from ..interface.recorder import Recorder
from ..interface.solver import Gives, Licence, LicenceState, SolverInfo, installed_version
from ..records import Answer, Options, Status

#: Negative eigenvalue, relative to the largest absolute one (and at least to 1), that counts as rounding.
_ROUNDING = 1e-8
#: Label of a semidefinite constraint, number of a cone of its stack, and the v of a cut of that cone.
Vector: TypeAlias = tuple[str, int, FloatArray]


@dataclass(frozen=True)
class EigenvectorCuts(Backend):
    """Outer approximation of semidefinite cones by the eigenvectors of negative eigenvalues.

    Parameters
    ----------
    master : Backend or str
        Solver of the relaxations, an object or a name, which gets the native options. If its multipliers are less accurate than
        the tolerance, the proved bound is weaker and the result INACCURATE. ``iteration_limit`` is the number of relaxations.
    """

    master: Backend | str = field(default_factory=Gurobi)

    info: ClassVar[SolverInfo] = SolverInfo(
        name="eigenvector-cuts",
        summary="semidefinite programs by Gurobi or another solver without such cones: outer approximation, a bound at any time",
        reads=frozenset({Feature.QUADRATIC, Feature.SECOND_ORDER, Feature.ROTATED, Feature.PSD, Feature.INTEGER}),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE}),
        tolerance=1e-4,
        first_order=True,
        reference="Sherali, Fraticelli: Enhancing RLT relaxations via a new class of semidefinite cuts, 2002",
    )

    @cached_property
    def backend(self) -> Backend:
        """The master as an object.

        Raises
        ------
        InputError
            No solver of forms has the name.
        """
        from ..registry import get_solver  # which imports all solvers

        solver = get_solver(self.master) if isinstance(self.master, str) else self.master
        if not isinstance(solver, Backend):
            raise InputError(
                f"master must be a solver of forms, or the name of one; it is {short_text(self.master)}", name="master"
            )
        return solver

    def obstacle(self, model: Model) -> str | None:
        """Return the reason why the master cannot read the relaxations, or that the form has no semidefinite cones."""
        reason = super().obstacle(model)
        if reason is None and Feature.PSD not in model.form.features:
            return "it reads forms with positive semidefinite cones, and this one has none"
        return reason or self.backend.obstacle(BareForm(Cuts.first(model.form).relaxation))

    def licence(self) -> Licence:
        """Return the licence of the master."""
        package = self.backend.info.package
        if installed_version(package) is None:
            return Licence(LicenceState.MISSING, f"the package {package} is not installed")
        return replace(self.backend.licence(), size=self._size)

    def version(self) -> str:
        """Return the version of the master."""
        return self.backend.version()

    def _size(self, form: StandardForm) -> tuple[int, int]:
        """Return variables and rows of the first relaxation."""
        relaxation, size = Cuts.first(form).relaxation, self.backend.licence().size
        return (relaxation.n, relaxation.rows) if size is None else size(relaxation)

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of the last relaxation; if no limit, interruption or failure ended the run, it solves the program.

        Its matrices are then semidefinite up to rounding.
        """
        begin, tol = time.perf_counter(), 0.01 * options.tolerance(self.info.tolerance)
        end = np.inf if options.time_limit is None else begin + options.time_limit
        master_options = replace(options, tol=tol, iteration_limit=None, callback=None)
        recorder, cuts = Recorder(self.info.name, options), Cuts.first(form)
        recorder.start()
        last: tuple[Cuts, Answer] | None = None
        count, bound, status = 0, None, Status.ITERATION_LIMIT
        for count in range(1, 1 + (options.iteration_limit or sys.maxsize)):
            answer = self.backend.run(BareForm(cuts.relaxation), master_options.with_time_spent(time.perf_counter() - begin))
            if answer.values is None or answer.status not in (Status.OPTIMAL, Status.STALLED):
                # an unbounded relaxation says nothing of the program
                status = Status.FAILED if answer.status is Status.UNBOUNDED else answer.status
                last = (cuts, answer) if last is None or status is Status.INFEASIBLE else last
                break
            last, vectors = (cuts, answer), cuts.violated_vectors(form.join(answer.values))
            bound = answer.objective if answer.bound is None else answer.bound
            recorder.record_values(count, np.nan, np.nan if bound is None else bound, step="relaxation")
            if not vectors or recorder.stopped or time.perf_counter() >= end:
                status = Status.OPTIMAL if not vectors else Status.INTERRUPTED if recorder.stopped else Status.TIME_LIMIT
                break
            cuts = cuts.with_vectors(vectors)
        assert last is not None
        return replace(self._brought_back(*last), status=status, iterations=count, trace=recorder.final_trace(count, None, bound))

    def _brought_back(self, cuts: Cuts, answer: Answer) -> Answer:
        """Return the program's answer from that of a relaxation."""
        return replace(
            answer,
            native_status=f"{count_text(len(cuts), 'cut')}, {self.backend.info.name}: {answer.native_status}",
            multipliers=None if answer.multipliers is None else cuts.multipliers(answer.multipliers),
            farkas=None if answer.farkas is None else cuts.multipliers(answer.farkas),
            ray=None,
            details={"cuts": len(cuts)},
            build_seconds=0.0,
            solve_seconds=0.0,
            bridges=(),
        )


@dataclass(frozen=True, eq=False)
class Cuts:
    """Inequalities W (F x + g) ≥ 0 of every semidefinite constraint, each row of W an svec(vv') of one cone of the stack."""

    form: StandardForm  #: with the semidefinite constraints
    rows: Mapping[str, sp.csr_array]  #: W by label of the constraint

    def __len__(self) -> int:
        return sum(W.shape[0] for W in self.rows.values())

    @classmethod
    def first(cls, form: StandardForm) -> Cuts:
        """Return the cuts of e_i and e_i ± e_j."""
        cuts = cls(form, {c.label: sp.csr_array((0, c.rows)) for c in form.constraints if isinstance(c.cone, PSD)})
        vectors = []
        for label in cuts.rows:
            cone = form.constraint(label).cone
            assert isinstance(cone, PSD)
            unit = np.eye(cone.order)
            pairs = [unit[i] + sign * unit[j] for i, j in itertools.combinations(range(cone.order), 2) for sign in (1.0, -1.0)]
            vectors += [(label, k, v) for k in range(cone.count) for v in (*unit, *pairs)]
        return cuts.with_vectors(vectors)

    def with_vectors(self, vectors: list[Vector]) -> Cuts:
        """Return these cuts and those of further vectors."""
        rows = dict(self.rows)
        for label, group in itertools.groupby(vectors, key=itemgetter(0)):
            cone, chosen = self.form.constraint(label).cone, list(group)
            squares = svec(np.array([np.outer(v, v) for _, _, v in chosen]))
            places = np.array([k for _, k, _ in chosen])[:, None] * cone.dim + np.arange(cone.dim)
            starts = np.arange(len(chosen) + 1) * cone.dim
            new = sp.csr_array((squares.ravel(), places.ravel(), starts), shape=(len(chosen), cone.dim * cone.count))
            new.eliminate_zeros()
            rows[label] = sp.csr_array(sp.vstack([rows[label], new], format="csr"))
        return Cuts(self.form, rows)

    @property
    def relaxation(self) -> StandardForm:
        """The master problem: the form with these inequalities in place of its semidefinite cones."""
        constraints = []
        for c in self.form.constraints:
            W = self.rows.get(c.label)
            constraints.append(c if W is None else Constraint(c.label, sp.csr_array(W @ c.F), W @ c.g, Nonnegative(W.shape[0])))
        return self.form.replace(constraints=tuple(constraints))

    def violated_vectors(self, x: FloatArray) -> list[Vector]:
        """Return the eigenvectors, at x, of the eigenvalues that are negative beyond rounding."""
        vectors: list[Vector] = []
        for label in self.rows:
            c = self.form.constraint(label)
            values, bases = np.linalg.eigh(smat(c.cone.by_cone(c.value(x))))
            negative = values < -_ROUNDING * np.maximum(np.abs(values).max(axis=1, keepdims=True), 1.0)
            vectors += [(label, k, bases[k, :, j]) for k, j in np.argwhere(negative).tolist()]
        return vectors

    def multipliers(self, z: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return multipliers of the form from those of the relaxation: W'u for the cones."""
        return {label: self.rows[label].T @ u if label in self.rows else u for label, u in z.items()}
