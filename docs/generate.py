"""Write the pages that are made from the objects: formulations, solvers, signs of multipliers, reference of every public name."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
from algorithm_page import algorithm_page
from formulation_page import formulation_page
from reference import reference, table, to_markdown, toctree

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.models.formulations import all_formulations
from marginopt.solvers.registry import all_solvers, is_installed

__all__ = ["write"]

#: Solvers whose multipliers are compared on the page of signs.
_SIGNS = ("clarabel", "scs", "osqp", "piqp", "highs", "gurobi")


#: Duals as the solvers give them; their backends' docstrings say the same.
_NATIVE = [
    ["`clarabel`", "`z`", "$Ax + s = b$, $s \\in K$", "$z$; bounds are rows"],
    ["`scs`", "`y`", "$Ax + s = b$, $s \\in K$", "$z = y$ in our order of rows; bounds are rows"],
    ["`osqp`", "`y`", "$Px + q + A^\\top y = 0$, $l \\le Ax \\le u$", "$z = -y$, $\\zeta = -y$ of the bounds' rows"],
    [
        "`piqp`",
        "`y`, `z_l`, `z_u`, `z_bl`, `z_bu`",
        "$Px + c + A^\\top y + G^\\top(z_u - z_l) + z_{bu} - z_{bl} = 0$",
        "$z = -y$ on equalities, $z_l$ on rows, $\\zeta = z_{bl} - z_{bu}$",
    ],
    ["`highs`", "`row_dual`, `col_dual`", "$l \\le Ax \\le u$, derivative of the optimum", "the same"],
    [
        "`gurobi`",
        "`Pi`, `QCPi`, `RC`",
        "$Px + q = A^\\top \\mathrm{Pi} + \\mathrm{RC} + \\dots$",
        "$z = \\mathrm{Pi}$, $\\zeta = \\mathrm{RC}$; cones from $-\\mathrm{QCPi}$",
    ],
    [
        "`mosek`",
        "`y`, `doty`, `slx`, `sux`",
        "derivative of the optimum",
        "$z = y$ or $\\mathrm{doty}$, $\\zeta = \\mathrm{slx} - \\mathrm{sux}$",
    ],
    ["`cvxpy:*`", "`dual_value`", "of a constraint, in the constraint's cone", "by label of the constraint"],
    ["`pyomo:*`", "`dual`, `rc`", "derivative of the optimum in the right side", "the same"],
    [
        "qpsolvers",
        "`z`, `y`, `z_box`",
        "$Px + q + G^\\top z + A^\\top y + z_{box} = 0$, $Gx \\le h$",
        "$z$, $-y$, $\\zeta = -z_{box}$",
    ],
    ["`scip`", "none", "mixed-integer", "none: its bound is claimed"],
]


def write(folder: Path) -> None:
    """Write all generated pages into the folder of the reference, whose other pages are written by hand."""
    for kind in ("formulations", "algorithms", "names"):
        shutil.rmtree(folder / kind, ignore_errors=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pages = {**_formulations(folder), **_solvers(folder), "signs.md": _signs(), **reference()}
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


# -- formulations -----------------------------------------------------------------------------------------------


def _formulations(folder: Path) -> dict[str, str]:
    names = all_formulations()
    rows = [[f"[`{info.key}`]({name}.md)", f"`{name}`", to_markdown(info.summary)] for name, info in names.items()]
    index = [
        "# Formulations",
        "Every formulation has a page, made from the object: mathematics, code to copy, a picture, multipliers, solvers by size, "
        "related formulations.",
        table(["class", "at the prompt", "what it is"], rows),
        toctree(names),
    ]
    pictures = folder / "formulations"
    pictures.mkdir()
    pages = {f"formulations/{name}.md": formulation_page(pictures, name, info) for name, info in names.items()}
    return {"formulations/index.md": "\n\n".join(index), **pages}


# -- solvers ----------------------------------------------------------------------------------------------------


def _solvers(folder: Path) -> dict[str, str]:
    names = {name: s for name, s in all_solvers().items() if s.info.views}
    others = {name: s for name, s in all_solvers().items() if name not in names}
    index = [
        "# Algorithms and solvers",
        "Our own algorithms each have a page: what they read, their step as implemented, and how they converge.",
        table(["algorithm", "what it is"], [[f"[`{n}`]({n}.md)", to_markdown(s.info.summary)] for n, s in names.items()]),
        "## Off-the-shelf solvers",
        table(
            ["solver", "reads", "what it is"],
            [[f"`{n}`", ", ".join(sorted(f.value for f in s.info.reads)) or "linear", to_markdown(s.info.summary)]
             for n, s in others.items()],
        ),
        toctree(names),
    ]  # fmt: skip
    pages = {f"algorithms/{name}.md": algorithm_page(folder, name, solver) for name, solver in names.items()}
    return {"algorithms/index.md": "\n\n".join(index), **pages}


def _signs() -> str:
    """Return the page with the multipliers of one problem by every solver: they have the same signs."""
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    model = mo.HingeSVM(X, y, lam=1.0)
    rows = []
    for name in _SIGNS:
        solver = all_solvers()[name]
        if not is_installed(solver):
            continue
        try:
            result = mo.solve(model, name, tol=1e-8)
        except MarginoptError as error:
            rows.append([f"`{name}`", to_markdown(str(error)), "", ""])
            continue
        z = result.multipliers
        shown = "none" if z is None else ", ".join(f"{v + 0.0:.3f}" for v in np.ravel(z["margin"]))
        rows.append([f"`{name}`", shown, f"{result.objective:.6f}", result.bound_kind])
    return "\n\n".join(
        [
            "# Duals and signs by solver",
            "One convention holds for all solvers: the Lagrangian is "
            "$f(x) - \\sum_k\\langle z_k, F_kx+g_k\\rangle - \\langle\\zeta, x\\rangle$ with $z_k$ in the dual cone, so the "
            "multiplier of a row $F_kx + g_k \\ge 0$ is never negative, and each backend translates from its solver's own signs "
            "([conventions](conventions.md)). So that nobody has to believe it: the rows `margin` of a hinge SVM on four "
            "points, solved when this page was built.",
            table(["solver", "multipliers of `margin`", "objective", "bound"], rows),
            "What each solver calls them, and what becomes of its sign:",
            table(["solver", "native name", "native stationarity, or form of a row", "ours"], _NATIVE),
            "`result.check_duals(model)` perturbs rows and bounds and compares the slopes of the optimum with the multipliers. "
            "`result.into(problem)` gives them back in CVXPY's, Pyomo's or gurobipy's own signs "
            "([your own constraint](../how-to/own-constraint.md)).",
        ]
    )
