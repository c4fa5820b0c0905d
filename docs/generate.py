"""Pages made from the objects themselves: formulations, solvers, signs, estimators, and the reference of every public name."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpydoc.docscrape import NumpyDocString

import marginopt as mo
from marginopt.drawing import figure_of, svg_of
from marginopt.errors import MarginoptError
from marginopt.models import FormulationInfo, Model
from marginopt.models.formulations import all_formulations
from marginopt.models.statement import latex_numbers
from marginopt.solvers.interface.deferred import loaded
from marginopt.solvers.interface.solver import Solver
from marginopt.solvers.registry import all_solvers, installed, readers

__all__ = ["write"]

#: Seconds that one solve of a small example may take.
_LIMIT = 2.0
#: Solvers whose multipliers are compared on the page of signs.
_SIGNS = ("clarabel", "scs", "osqp", "piqp", "highs", "gurobi")


def write(folder: Path) -> None:
    """Write all pages anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pages = {**_formulations(folder), **_solvers(folder), "signs.md": _signs(), **_reference()}
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


# -- formulations -----------------------------------------------------------------------------------------------


def _formulations(folder: Path) -> dict[str, str]:
    table = all_formulations()
    rows = [[f"[`{info.key}`]({name}.md)", f"`{name}`", _escaped(info.summary)] for name, info in table.items()]
    index = [
        "# Formulations",
        "Every formulation has a page, made from the object: its mathematics, dual, form, equivalences, and who solves it.",
        _table(["class", "at the prompt", "what it is"], rows),
        _toctree(table),
    ]
    pages = {f"formulations/{name}.md": _formulation(info) for name, info in table.items()}
    return {"formulations/index.md": "\n\n".join(index), **pages}


def _formulation(info: FormulationInfo) -> str:
    model = info.example(np.random.default_rng(0))
    statement = model.statement
    parts = [f"# {info.key}", f"{_escaped(info.summary[:1].upper() + info.summary[1:])}. Source: {_escaped(info.reference)}."]
    said = f"{_escaped(statement.title)}, a {_escaped(statement.problem_class)}; {_escaped(statement.sizes)}."
    parts += ["## Mathematics", said]
    parts += [_displays(model.latex())]
    notes = [*statement.notes, *(f"Equivalent: {text}" for text in statement.equivalences)]
    parts += ["\n".join(f"- {_escaped(note)}" for note in notes)] if notes else []
    try:
        form = str(model.form)
    except MarginoptError as error:
        form = str(error)
    parts += ["## Standard form of a small example", f"```text\n{form}\n```"]
    if info.parameters:
        rows = [[f"`{p.option}`", _escaped(p.what)] for p in info.parameters]
        parts += ["## Parameters", _table(["at the prompt", "what it is"], rows)]
    parts += ["## Who solves it", _times(model)]
    parts += ["## Class", _documented(info.model, info.key)]
    module = inspect.getmodule(info.model)
    parts += [_escaped(inspect.getdoc(module) or "") if module is not None else ""]
    parts += [f"The code is in `{_place(info.model)}`."]
    return "\n\n".join(filter(None, parts)) + "\n"


def _times(model: Model) -> str:
    """Status and seconds of every solver that reads the example; compiling is not counted."""
    rows = []
    for name in readers(model):
        try:
            result = mo.solve(model, name, time_limit=_LIMIT)
        except MarginoptError as error:
            rows.append([f"`{name}`", "not run", _escaped(str(error)), "", ""])
            continue
        gap = f"{result.gap:.1e}" if np.isfinite(result.gap) else ""
        rows.append([f"`{name}`", str(result.status), f"{result.objective:.8g}", gap, f"{result.solve_seconds:.2g}"])
    said = f"The example above, solved when this page was built, {_LIMIT:g} s at most."
    return f"{said}\n\n{_table(['solver', 'status', 'objective', 'gap', 's'], rows)}"


# -- solvers ----------------------------------------------------------------------------------------------------


def _solvers(folder: Path) -> dict[str, str]:
    own = {name: s for name, s in all_solvers().items() if s.info.views}
    others = {name: s for name, s in all_solvers().items() if name not in own}
    index = [
        "# Algorithms and solvers",
        "Our own algorithms each have a page: what they read, their step as implemented, and how they converge.",
        _table(["algorithm", "what it is"], [[f"[`{n}`]({n}.md)", _escaped(s.info.summary)] for n, s in own.items()]),
        "## Off-the-shelf solvers",
        _table(
            ["solver", "reads", "what it is"],
            [[f"`{n}`", ", ".join(sorted(f.name.lower() for f in s.info.reads)) or "linear", _escaped(s.info.summary)]
             for n, s in others.items()],
        ),
        _toctree(own),
    ]  # fmt: skip
    pages = {f"algorithms/{name}.md": _algorithm(folder, name, solver) for name, solver in own.items()}
    return {"algorithms/index.md": "\n\n".join(index), **pages}


def _algorithm(folder: Path, name: str, solver: Solver) -> str:
    solver = loaded(solver)
    info = solver.info
    views = ", ".join(f"`{view.__name__}`" for view in info.views)
    source = _escaped(info.reference) or "ours"
    parts = [f"# {name}", f"{_escaped(info.summary[:1].upper() + info.summary[1:])}. Source: {source}."]
    gives = _escaped(", ".join(sorted(g.value for g in info.gives)))
    parts += [f"It reads the structural view {views} and gives: {gives}."]
    parts += [_documented(type(solver), type(solver).__name__, methods=False)]
    picture = _convergence(folder, name, solver)
    if picture:
        parts += ["## Convergence", picture]
    step = getattr(type(solver), "advance", None)
    if step is not None:
        parts += ["## One step, as implemented", f"```python\n{inspect.cleandoc(inspect.getsource(step))}\n```"]
    parts += [f"The code is in `{_place(type(solver))}`."]
    return "\n\n".join(filter(None, parts)) + "\n"


def _convergence(folder: Path, name: str, solver: Solver) -> str:
    """The gap over the iterations on the first formulation that it reads, as a picture."""
    for info in all_formulations().values():
        model = info.example(np.random.default_rng(0))
        if name not in readers(model):
            continue
        try:
            trace = mo.solve(model, name, time_limit=_LIMIT).trace
        except MarginoptError:
            continue
        gap, iteration = trace.column("gap"), trace.column("iteration")
        shown = np.isfinite(gap) & (gap > 0)
        if shown.sum() < 2:
            continue
        figure = figure_of(6.0, 3.2)
        axes = figure.subplots()
        axes.semilogy(iteration[shown], gap[shown], "o-", ms=3)
        axes.set_xlabel("iterations")
        axes.set_ylabel("relative gap")
        axes.grid(alpha=0.3)
        target = folder / "algorithms" / f"{name}.svg"
        target.parent.mkdir(exist_ok=True)
        target.write_text(svg_of(figure), encoding="utf-8")
        return f"![Relative gap of {name} over its iterations]({name}.svg)\n\nOn the small example of `{info.key}`."
    return ""


def _signs() -> str:
    """Multipliers of one problem by every solver: the same signs, whatever the solver's own are."""
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    model = mo.HingeSVM(X, y, lam=1.0)
    rows = []
    for name in _SIGNS:
        solver = all_solvers()[name]
        if not installed(solver):
            continue
        try:
            result = mo.solve(model, name, tol=1e-8)
        except MarginoptError as error:
            rows.append([f"`{name}`", _escaped(str(error)), "", ""])
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
            "([conventions](../conventions.md)). So that nobody has to believe it: the rows `margin` of a hinge SVM on four "
            "points, solved when this page was built.",
            _table(["solver", "multipliers of `margin`", "objective", "bound"], rows),
            "`result.check_duals(model)` perturbs rows and bounds and compares the slopes of the optimum with the multipliers. "
            "`result.into(problem)` gives them back in CVXPY's, Pyomo's or gurobipy's own signs "
            "([your own constraint](../tutorials/own-constraint.md)).",
        ]
    )


# -- reference --------------------------------------------------------------------------------------------------


def _reference() -> dict[str, str]:
    """A page for each kind of public name."""
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Estimators": [], "Formulations": []}
    formulations = {info.key for info in all_formulations().values()}
    estimators = set(mo.estimators())
    for name in sorted(dir(mo)):
        thing = getattr(mo, name, None)
        if name.startswith("_") or thing is None or inspect.ismodule(thing):
            continue
        if name in estimators:
            kinds["Estimators"].append(name)
        elif name in formulations:
            kinds["Formulations"].append(name)
        elif inspect.isclass(thing):
            kinds["Classes"].append(name)
        elif callable(thing):
            kinds["Functions"].append(name)
    pages = {}
    for kind, names in kinds.items():
        sections = [f"## {name}\n\n{_documented(getattr(mo, name), name)}" for name in names]
        pages[f"reference/{kind.lower()}.md"] = "\n\n".join([f"# {kind}", *sections]) + "\n"
    index = ["# Reference", "Every public name, from its docstring.", _toctree(kind.lower() for kind in kinds)]
    return {"reference/index.md": "\n\n".join(index), **pages}


def _documented(thing: Any, name: str, *, methods: bool = True) -> str:
    """Signature and docstring, numpydoc's sections as lists."""
    try:
        signature = str(inspect.signature(thing))
    except (TypeError, ValueError):
        signature = "(...)"
    signature = re.sub(r"<[^>]*>", "...", signature).replace("'", "")
    parts = [f"```python\n{name}{signature}\n```"]
    said = NumpyDocString(inspect.getdoc(thing) or "")
    parts += [_escaped("\n".join([*said["Summary"], "", *said["Extended Summary"]]))]
    for section in ("Parameters", "Attributes", "Returns", "Raises"):
        if said[section]:
            parts += [f"**{section}**", "\n".join(_item(p) for p in said[section])]
    if said["Notes"]:
        parts += [_escaped("\n".join(said["Notes"]))]
    if said["Examples"]:
        parts += ["```pycon\n" + "\n".join(said["Examples"]) + "\n```"]
    if methods and inspect.isclass(thing):
        found = [
            f"- `{key}`: {_escaped(_first(inspect.getdoc(value) or ''))}"
            for key, value in inspect.getmembers(thing)
            if not key.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)) and _ours(value)
        ]
        parts += ["**Methods and properties**", "\n".join(found)] if found else []
    return "\n\n".join(part for part in parts if part.strip())


def _ours(value: Any) -> bool:
    made = value.fget if isinstance(value, property) else value
    return str(getattr(made, "__module__", "")).startswith("marginopt")


def _item(parameter: Any) -> str:
    what = " ".join(line.strip() for line in parameter.desc)
    label = f"`{parameter.name or parameter.type}`"  # what is returned or raised has a type alone
    kind = f" ({_escaped(parameter.type)})" if parameter.type and parameter.name else ""
    return f"- {label}{kind}{': ' if what else ''}{_escaped(what)}"


def _first(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


# -- words ------------------------------------------------------------------------------------------------------


def _escaped(text: str) -> str:
    """A docstring's text as Markdown: code stays code, bold stays bold, all else is as it stands."""
    parts = re.split(r"(``[^`]+``|`[^`]+`|\*\*[^*\s][^*]*\*\*)", inspect.cleandoc(text) if text else "")
    for k, part in enumerate(parts):
        if k % 2 == 0:
            parts[k] = re.sub(r"([\\*_$<>|{}\[\]#~])", r"\\\1", part)
    return re.sub(r"(?m)^( {0,3})(\d+)\.", r"\1\2\\.", re.sub(r"(?m)^ +", "", "".join(parts)))


def _displays(latex: str) -> str:
    r"""Displays \[...\] as Markdown's, words between them as they are."""
    return re.sub(r"\\\[\n(.*?)\n\\\]", lambda at: f"\n$$\n{at[1]}\n$$\n", latex_numbers(latex), flags=re.DOTALL)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell.replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _toctree(names: Iterable[str]) -> str:
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```"


def _place(thing: type) -> str:
    """The file of a class in the repository."""
    path = Path(sys.modules[thing.__module__].__file__ or "").resolve()
    root = Path(__file__).resolve().parents[1]
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else thing.__module__
