"""Make the page of one formulation: mathematics, code, picture, multipliers, solvers by size, related ones, class."""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from reference import display_math, docstring_page, errata, source_file, table, to_markdown
from snippets import PICTURE, SERVES, STATE, snippet

import marginopt as mo
from marginopt.drawing import Picture
from marginopt.errors import MarginoptError
from marginopt.models import DataKind, FormulationInfo, Model
from marginopt.models.formulations import all_formulations
from marginopt.solvers.records import Options
from marginopt.solvers.registry import all_solvers, choose_solver, solvers_that_read

__all__ = ["errata_section", "formulation_page", "printed", "related"]

#: Seconds that one solve of a small example may take.
_LIMIT = 2.0
#: Points and columns of the random data for which `auto` is asked.
_SIZES = ((100, 5), (1_000, 20), (10_000, 50), (50_000, 50))
#: Titles of papers that records shorten.
_FULL = {
    "Robust SVMs via conic optimization": "Robust support vector machines via conic optimization",
    "NPSVC++": "NPSVC++: Nonparallel classifiers encounter representation learning",
    "MaxMin-L2-SVC-NCH": "MaxMin-L2-SVC-NCH: A novel approach for support vector classifier training and parameter selection",
}
#: A paper's title: between the authors and the year or the equation.
_TITLE = re.compile(r"[\w.]: (.+?)(?:, \d{4}|,? \([^)]*\)|$)")


def formulation_page(folder: Path, name: str, info: FormulationInfo) -> str:
    """Return the page of a formulation in Markdown, and write its picture into a folder."""
    model = info.example(np.random.default_rng(0))
    source = _full_source(info.reference)
    opening = [info.summary[:1].upper() + info.summary[1:], SERVES.get(name, ""), f"Source: {source}"]
    parts = [f"# {info.key}", " ".join(f"{to_markdown(sentence)}." for sentence in opening if sentence)]
    title = _TITLE.search(source)
    parts += [f"```{{index}} ! single: {title[1]}\n```"] if title else []
    parts += ["## Mathematics", *_mathematics(model), *errata_section(info.model)]
    parts += ["## Code to copy", *_code(folder, name)]
    parts += _multipliers(model)
    if info.parameters:
        rows = [[f"`{p.option}`", to_markdown(p.help_text)] for p in info.parameters]
        parts += ["## Parameters", table(["at the prompt", "what it is"], rows)]
    parts += ["## Solvers", *_by_size(info), *_times(model)]
    parts += _relatives(name)
    parts += ["## Class", docstring_page(info.model, info.key, with_errata=False)]
    module = inspect.getmodule(info.model)
    parts += [to_markdown(inspect.getdoc(module) or "") if module is not None else ""]
    parts += [f"The code is in `{source_file(info.model)}`."]
    return "\n\n".join(filter(None, parts)) + "\n"


def _full_source(reference: str) -> str:
    """Return a source with the whole title of its paper, as a reader searches for it."""
    for short, full in _FULL.items():
        if f": {short}" in reference:
            return reference.replace(short, full)
    return reference


def errata_section(thing: type) -> list[str]:
    """Return the parts of a section on the errors that a class's source prints; empty without errors."""
    lines = [f"- {to_markdown(text)}" for text in errata(thing)]
    return ["## Errata", "What the source prints otherwise.", "\n".join(lines)] if lines else []


def _mathematics(model: Model) -> list[str]:
    statement = model.statement
    title = f"{to_markdown(statement.title)}, a {to_markdown(statement.problem_class)}; {to_markdown(statement.sizes)}."
    notes = [*statement.notes, *(f"Equivalent: {text}" for text in statement.equivalences)]
    return [title, display_math(model.latex()), "\n".join(f"- {to_markdown(note)}" for note in notes)]


def _code(folder: Path, name: str) -> list[str]:
    """Return the parts with the example, its output without seconds, and the picture of its solution, or of its form."""
    if name not in STATE:  # of an installed extension
        return []
    code = snippet(name)
    values, text = printed(code)
    for kind, line in PICTURE.items():
        try:
            picture: Picture = eval(line, values)
        except MarginoptError:
            continue
        picture.save(folder / f"{name}.svg")
        shown = "The solution: data, classifier, support vectors." if kind == "points" else "The non-zeros of the form."
        drawn = f'{line}  # in a script: .save("{name}.svg")'
        return [f"```python\n{code}\n{drawn}\n```", text, f"![{name}: {shown}]({name}.svg)\n\n*{shown}*"]
    return [f"```python\n{code}\n```", text]


def printed(code: str) -> tuple[dict[str, Any], str]:
    """Run an example; return its variables, and its printed result as Markdown without lines of seconds."""
    values: dict[str, Any] = {}
    exec(code.replace("print(result)", ""), values)
    lines = [line for line in str(values["result"]).splitlines() if not re.search(r"\d s (building|solving)", line)]
    return values, "```text\n" + "\n".join(lines) + "\n```"


def _multipliers(model: Model) -> list[str]:
    """Return the parts with the form of a small example and the meaning of each multiplier."""
    try:
        form = model.form
    except MarginoptError as error:
        return ["## Form and multipliers", f"{to_markdown(str(error))}."]
    rows = [
        [f"`{c.label}`", str(c.rows), f"`{c.cone}`", to_markdown(model.meaning(c.label)) or "a point of the dual cone"]
        for c in form.constraints
        if c.rows
    ]
    parts = ["## Form and multipliers", f"A small example has this standard form:\n\n```text\n{form}\n```"]
    if rows:
        parts += [table(["rows", "number", "cone", "meaning of the multiplier"], rows)]
    if form.integer.any():
        return [*parts, "Integer variables have no dual with a gap of zero: `model.relaxed()` is the relaxation that has one."]
    return [
        *parts,
        "The multiplier of a row $F_kx+g_k\\ge 0$ is never negative: the optimum falls by it for each unit that $g_k$ grows "
        "([conventions](../conventions.md)); `model.dual()` is the dual as a program.",
    ]


def _by_size(info: FormulationInfo) -> list[str]:
    """Return the parts with the solver that ``auto`` chooses for random data of several sizes; nothing is solved."""
    if info.data is DataKind.ARRAYS:
        return []
    rows: list[list[str]] = []
    for n, p in _SIZES:
        try:
            name = choose_solver(info.make_model(_random(info, n, p)), Options(), only_open=True)[0]
        except MarginoptError as error:
            rows.append([f"{n:,} × {p}", "none", to_markdown(str(error))])
            break
        rows.append([f"{n:,} × {p}", _linked(name), to_markdown(all_solvers()[name].info.summary)])
    crossings = "[where solvers cross](/lab-notes/crossings.md)"
    result = f"`mo.solve(model)` chooses by class and size ({crossings}); among open solvers it takes:"
    return [result, table(["data", "solver", ""], rows)]


@cache
def _points(n: int, p: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=n) < 0.5, -1.0, 1.0)
    return np.column_stack([np.ones(n), rng.normal(size=(n, p - 1)) + 0.3 * y[:, None]]), y


def _random(info: FormulationInfo, n: int, p: int) -> dict[str, Any]:
    X, y = _points(n, p)
    return {"X": X, "y": y} if "y" in info.needs else {"X": X[:, 1:]}


def _linked(name: str) -> str:
    return f"[`{name}`](../algorithms/{name}.md)" if all_solvers()[name].info.views else f"`{name}`"


def _times(model: Model) -> list[str]:
    """Return the parts with status and seconds of every solver that reads the example; compiling is not counted."""
    rows = []
    for name in solvers_that_read(model):
        try:
            result = mo.solve(model, name, time_limit=_LIMIT)
        except MarginoptError as error:
            rows.append([f"`{name}`", "not run", to_markdown(str(error)), "", ""])
            continue
        gap = f"{result.gap:.1e}" if np.isfinite(result.gap) else ""
        rows.append([_linked(name), str(result.status), f"{result.objective:.8g}", gap, f"{result.solve_seconds:.2g}"])
    text = f"Every installed solver that reads it, on 12 points, {_LIMIT:g} s at most, when this page was built:"
    return [text, table(["solver", "status", "objective", "gap", "s"], rows)]


@cache
def related() -> dict[str, list[str]]:
    """Return the related formulations of each: one mentions the other, or they share a paper or an algorithm of ours."""
    infos = all_formulations()
    models = {name: info.example(np.random.default_rng(0)) for name, info in infos.items()}
    texts = {name: _text(info, models[name]) for name, info in infos.items()}
    choices = {name: _algorithm_of(model) for name, model in models.items()}
    papers = {name: info.reference.partition(":")[0] for name, info in infos.items()}
    pairs = {
        (a, b)
        for a in infos
        for b in infos
        if a != b
        and (re.search(rf"\b{infos[b].key}\b", texts[a]) or papers[a] == papers[b] or (choices[a] and choices[a] == choices[b]))
    }
    return {name: [b for b in infos if (name, b) in pairs or (b, name) in pairs] for name in infos}


def _algorithm_of(model: Model) -> str:
    """Return the algorithm of ours that ``auto`` takes; empty if it takes another solver, or none."""
    try:
        name = choose_solver(model, Options(), only_open=True)[0]
    except MarginoptError:
        return ""
    return name if all_solvers()[name].info.views else ""


def _text(info: FormulationInfo, model: Model) -> str:
    docs = [inspect.getdoc(info.model) or "", inspect.getdoc(sys.modules[info.model.__module__]) or ""]
    return " ".join([*docs, *model.statement.equivalences, *model.statement.notes])


def _relatives(name: str) -> list[str]:
    infos = all_formulations()
    lines = [f"- [`{infos[other].key}`]({other}.md): {to_markdown(infos[other].summary)}" for other in related().get(name, [])]
    return ["## Related formulations", "\n".join(lines)] if lines else []
