"""Methods that `Model` and `StandardForm` share: export to files and other packages, the dual, conflicts, and changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..late_method import LateMethod

if TYPE_CHECKING:
    from .model import Model
    from .program.form import StandardForm

#: The implementation of `ExportMethods.conflict`, which `solvers.conflict` sets: it calls solvers, and models import none.
CONFLICT: LateMethod[[ExportMethods, Any, int], Conflict] = LateMethod("conflict")


class ExportMethods(ABC):
    """Base class of `Model` and `StandardForm`: export, dual, conflict and changes of their labelled standard form."""

    @property
    @abstractmethod
    def form(self) -> StandardForm:
        """Return the labelled standard form: min ½x'Px + q'x + r over constraints F_k x + g_k in cones, bounds and integers."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of a formulation's fields; none of a form."""
        return ()

    def write(self, path: str | Path) -> Path:
        """Write the form to a file, and return the path; ``marginopt.read`` reads it back.

        The suffix is one of ``.lp .mps .cbf .dat-s .nl .qplib .ptf .mof.json .npz`` (`models.export.file_formats`); a format that
        cannot carry the form says which can. Formats without blocks or labels get ``<file>.names.json`` beside them.
        """
        from .export.file_formats import write_form

        return write_form(self.form, path)

    def to_cvxpy(self, parameters: Sequence[str] = ()) -> Any:
        """Return the form as a CVXPY problem, labels kept as names (`models.export.cvxpy_problem`).

        It is a plain ``cvxpy.Problem``, whose ``solve()`` takes MOSEK where that is installed, with a licence or without:
        ``solve(solver="CLARABEL")`` names another one, and the environment variable ``CVXPY_DEFAULT_TO_COMMERCIAL_SOLVERS=0``
        leaves commercial solvers to those who name them.

        Parameters
        ----------
        parameters : sequence of str
            Parameters of the formulation, ``("lam",)``, which become ``problem.param_dict["lam"]``: a sweep sets their values and
            recompiles nothing. The form must be affine in a scalar function of each parameter, as in 1/C; this is checked.
        """
        from .export.cvxpy_problem import to_cvxpy
        from .export.parameter_slopes import ParametrisedModel, slopes

        return to_cvxpy(self.form, slopes(cast("ParametrisedModel", self), parameters) if parameters else ())

    def to_pyomo(self) -> Any:
        """Return the form as a Pyomo concrete model, labels kept as names (`models.export.pyomo_model`); PSD is refused."""
        from .export.pyomo_model import to_pyomo

        return to_pyomo(self.form)

    def to_gurobi(self) -> Any:
        """Return the form as a gurobipy model, labels kept as names (`models.export.gurobi_model`); PSD is refused."""
        from .export.gurobi_model import to_gurobi

        return to_gurobi(self.form)

    def to_mosek(self) -> Any:
        """Return the form as a MOSEK task, labels kept as names (`models.export.mosek_task`)."""
        from .export.mosek_task import to_mosek

        return to_mosek(self.form)

    def dual(self) -> StandardForm:
        """Return the Lagrangian dual of the form, with the same optimum, named by the primal's labels (`models.program.dual`).

        Raises
        ------
        UnsupportedModelError
            Integer variables, indicators, or a program known not to be convex; or a formulation without a standard form.
        """
        from .program.dual import dual_form

        return dual_form(self.form)

    def conflict(self, solver: Any = None, max_solves: int = 400) -> Conflict:
        """Return an irreducible infeasible set: rows, cones and bounds that no point meets together, none of them superfluous.

        A deletion filter on certificates (`solvers.conflict`), in rational arithmetic at the end where all rows are
        linear. Printable; where rows keep points at a margin it names those that cannot all be kept.

        Parameters
        ----------
        solver : str, Solver or pair, optional
            The solver of the feasibility problems; by default HiGHS for linear rows (integers included), Clarabel for cones, SCIP
            for cones with integers.
        max_solves : int
            Limit of the solves; where it ends the search, the set's ``proven_irreducible`` is False.

        Raises
        ------
        InputError
            The form has a feasible point, or neither such a point nor a proof of infeasibility was found.
        UnsupportedModelError
            A formulation without a standard form.
        """
        return CONFLICT(self, solver, max_solves)

    def with_constraint(
        self,
        *constraints: Callable[[Any], Any] | Mapping[str, Callable[[Any], Any] | Sequence[Callable[[Any], Any]]],
    ) -> Model:
        """Return the model with further convex constraints, stated in CVXPY over its labelled blocks.

        >>> model.with_constraint(lambda v: [v.w[3] >= 0, cp.norm1(v.w[1:]) <= 2])  # doctest: +SKIP
        >>> model.with_constraint({"fair": lambda v: [c @ v.w <= 0.1, c @ v.w >= -0.1]})  # doctest: +SKIP

        Parameters
        ----------
        *constraints : callable, or mapping of str to callable or to a list of them
            From the blocks, ``v.w`` or ``v["alpha plus"]`` (`models.cvxpy_expressions.BlockVariables`), to a CVXPY constraint,
            a list of them, or a mapping of labels to constraints or lists; or such functions by label. They may hold CVXPY
            variables of their own, which become blocks.

        Returns
        -------
        Model
            A `models.changed_model.ChangedModel`: labels, scores, summary and explanations are the model's. Solvers that read
            a structural view of the model do not read it; those that read its form do. Rows of the coefficients in
            ``Margin(..., subject_to=LinearRows(...))`` keep the exact algorithms, and constants that are valid.

        Raises
        ------
        InputError
            A block that the form does not have, something that is no constraint, a label that is taken.
        UnsupportedModelError
            Not convex by CVXPY's rules (DCP), other cones than a form holds, or a model without a standard form.
        """
        from .changed_model import with_constraint
        from .model import as_model

        return with_constraint(as_model(self), constraints)

    def with_variables(self, *variables: Any, cost: Callable[[Any], Any] | None = None) -> Model:
        """Return the model with further variables, for constraints to come, and a convex cost of them and of its blocks.

        Parameters
        ----------
        *variables : cvxpy.Variable
            With names, which are the labels of the new blocks; attributes (nonneg, boolean, integer, bounds) count.
        cost : callable, optional
            From the blocks, the new ones included, to a scalar CVXPY expression: added to what the form minimises, so
            subtracted from the objective of a model that maximises.

        Raises
        ------
        InputError, UnsupportedModelError
            As `with_constraint`; neither variables nor a cost.
        """
        from .changed_model import with_variables
        from .model import as_model

        return with_variables(as_model(self), variables, cost)

    def with_fixed(self, values: Mapping[str, Any]) -> Model:
        """Return the model with some of its variables fixed: ``model.with_fixed({"w": {3: 0.0}})``, or ``{"w[age]": 0.0}``.

        Parameters
        ----------
        values : mapping of str to mapping, array or number
            By block: numbers by index or name, or an array of the block's shape whose NaN entries stay free. By variable: a
            number.

        Raises
        ------
        InputError
            No such block or entry; a value out of the variable's bounds, or no integer where it must be one.
        UnsupportedModelError
            The model has no standard form.
        """
        from .changed_model import with_fixed
        from .model import as_model

        return with_fixed(as_model(self), values)

    def relaxed(self) -> Model:
        """Return the continuous relaxation: integers between their bounds, no indicators. The model itself where it has neither.

        Raises
        ------
        UnsupportedModelError
            The model has no standard form.
        """
        from .changed_model import relaxed
        from .model import as_model

        return relaxed(as_model(self))


@dataclass(frozen=True)
class Conflict:
    """A set of rows and bounds that cannot hold together, as `ExportMethods.conflict` finds it.

    Parameters
    ----------
    name : str
        Name of the form.
    elements : tuple of str
        Names of the rows, cones and bounds that conflict.
    multipliers : mapping of str to float
        Farkas multipliers by element, where they are known: the rows added up with these weights say 0 > 0.
    proven : bool
        The set is infeasible by an exact proof in rational arithmetic.
    proven_irreducible : bool
        No element can be left out, by the same proof.
    argument : str
        Why both are proved, or are not.
    rows : mapping of str to tuple of int
        Row numbers of the elements, by label of the constraint.
    points : tuple of int
        Indices of the data points whose margins rows among the elements require to be at least 1 (kept points).
    point_names : tuple of str
        Names of these points; empty where the rows of the data have none.
    """

    name: str
    elements: tuple[str, ...]
    multipliers: Mapping[str, float]
    proven: bool
    proven_irreducible: bool
    argument: str
    rows: Mapping[str, tuple[int, ...]]
    points: tuple[int, ...] = ()
    point_names: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.name} is infeasible: {len(self.elements)} rows and bounds conflict ({self.argument})"]
        if self.points:
            listed = ", ".join(map(str, (self.point_names or self.points)[:40])) + (", ..." if len(self.points) > 40 else "")
            suffix = "" if len(self.points) == len(self.elements) else " beside the other rows"
            lines.append(f"  these {len(self.points)} points cannot all be kept{suffix}: {listed}")
        for element in self.elements[:40]:
            weight = self.multipliers.get(element)
            lines.append(f"  {element}" + ("" if weight is None else f"   weight {weight:.6g}"))
        if len(self.elements) > 40:
            lines.append(f"  and {len(self.elements) - 40} more")
        return "\n".join(lines)
