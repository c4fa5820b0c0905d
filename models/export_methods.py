"""Methods that a formulation and a form from elsewhere share: files, other packages' objects, the dual, conflicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..late_method import LateMethod

if TYPE_CHECKING:
    from .inspection.conflict import Conflict
    from .program.form import StandardForm

__all__ = ["CONFLICT", "ExportMethods"]

#: `HandingOver.conflict`, which solves: a later room does it.
CONFLICT: LateMethod[[ExportMethods, Any, int], Conflict] = LateMethod("conflict")


class ExportMethods(ABC):
    """Something with a labelled standard form, which can be written and handed to other packages."""

    @property
    @abstractmethod
    def form(self) -> StandardForm:
        """The labelled standard form."""

    def write(self, path: str | Path) -> Path:
        """Write the form to a file, and return the path; ``marginopt.read`` reads it back.

        The suffix is one of ``.lp .mps .cbf .nl .qplib .ptf .mof.json .npz`` (`models.export.files`); a format that cannot carry
        the form says which can. Formats without blocks or labels get ``<file>.names.json`` beside them.
        """
        from .export.files.formats import write_form

        return write_form(self.form, path)

    def to_cvxpy(self) -> Any:
        """The form as a CVXPY problem, labels kept as names (`models.export.native.cvxpy`)."""
        from .export.native.cvxpy import to_cvxpy

        return to_cvxpy(self.form)

    def to_pyomo(self) -> Any:
        """The form as a Pyomo concrete model, labels kept as names (`models.export.native.pyomo`); PSD is refused."""
        from .export.native.pyomo import to_pyomo

        return to_pyomo(self.form)

    def to_gurobi(self) -> Any:
        """The form as a gurobipy model, labels kept as names (`models.export.native.gurobi`); PSD is refused."""
        from .export.native.gurobi import to_gurobi

        return to_gurobi(self.form)

    def to_mosek(self) -> Any:
        """The form as a MOSEK task, labels kept as names (`models.export.native.mosek`)."""
        from .export.native.mosek import to_mosek

        return to_mosek(self.form)

    def dual(self) -> StandardForm:
        """The Lagrangian dual of the form, with the same optimum, named by the primal's labels (`models.program.dual`).

        Raises
        ------
        UnsupportedModelError
            Integer variables or indicators; or a formulation without a standard form.
        """
        from .program.dual import dual_form

        return dual_form(self.form)

    def conflict(self, solver: Any = None, most: int = 400) -> Conflict:
        """Why there is no point: rows, cones and bounds that exclude each other, none of which can be left out.

        A deletion filter on certificates (`solvers.checks.conflict`), in rational arithmetic at the end where all rows are
        linear. Printable; where rows keep points at a margin it names those that cannot all be kept.

        Parameters
        ----------
        solver : str, Solver or pair, optional
            Which solves the feasibility problems; HiGHS for linear rows (integers included), Clarabel for cones, SCIP for both.
        most : int
            Solves at most; a set that is left larger than irreducible says so.

        Raises
        ------
        InputError
            There is a point; or neither a point nor a proof that there is none was found.
        UnsupportedModelError
            A formulation without a standard form.
        """
        return CONFLICT(self, solver, most)
