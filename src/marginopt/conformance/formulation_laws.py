"""Laws that a formulation must meet on its own: print, LaTeX, refusal of bad input, form, bound, and files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ExportError, InputError, MarginoptError
from ..models.export.files.formats import file_formats, read_form, write_form
from ..models.record import DataKind
from ..solvers import solve
from .laws import Case, Laws, Verdict, all_of, at_most, holds, not_applicable, violated

__all__ = ["FORMULATION_LAWS"]

FORMULATION_LAWS: Laws[Case] = Laws()


@FORMULATION_LAWS.law("printed", every_case=True)
def printed(case: Case) -> Verdict:
    """The printed model holds its title, objective, constraints, sizes and source."""
    s, text = case.model.statement, str(case.model)
    expected = {"title": s.title, "class": s.problem_class, "objective": s.objective.text, "sizes": s.sizes, "source": s.source}
    expected |= {f"constraint {k}": line.text for k, line in enumerate(s.constraints)}
    missing = [what for what, words in expected.items() if not words or words not in text]
    return violated(f"without {', '.join(missing)}") if missing else holds(f"{len(text.splitlines())} lines")


@FORMULATION_LAWS.law("LaTeX", every_case=True)
def latex(case: Case) -> Verdict:
    """The LaTeX has balanced braces, every environment ends where it should, and nothing but ASCII outside text."""
    body = case.model.latex(standalone=True)
    depth = 0
    # exempt (text): LaTeX, which a law looks into
    for character in re.sub(r"\\[{}]", "", body):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth < 0:
            return violated("a brace closes that was not opened")
    opened: list[str] = []
    # exempt (text): LaTeX, which a law looks into
    for kind, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", body):
        if kind == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            return violated(f"environment {name} ends where another is open")
    if depth or opened:
        return violated(f"{depth} braces and environments {opened} stay open")
    return holds(f"{len(body)} characters")


@FORMULATION_LAWS.law("constraints are stated")
def stated(case: Case) -> Verdict:
    """Check that the labels of the statement's lines are constraints of the form."""
    if case.form is None:
        return not_applicable("there is no standard form")
    labels = {line.label.split("[")[0] for line in case.model.statement.constraints} - {""}  # sum[0] is a row of sum
    found = {c.label for c in case.form.constraints}
    # exempt (text): labels, of which stem_0, stem_1, ... are one for each class l
    families = {re.sub(r"_\d+$", "_l", label) for label in found}
    unknown = labels - found - families
    if unknown:
        return violated(f"lines are labelled {', '.join(sorted(unknown))}, which the form does not have")
    return holds(f"{len(labels)} labelled lines")


@FORMULATION_LAWS.law("form against the statement", every_case=True)
def direct(case: Case) -> Verdict:
    """At a solution the form's objective is the stated one, computed from the data without the form."""
    evaluate = case.info.objective
    if evaluate is None:
        return not_applicable("the record gives no objective= to compare with")
    r = solve(case.model, tol=1e-8)
    if not r.values:
        return violated(f"auto finds no point: {r.status}")
    value = float(evaluate(case.model, r.values))
    return at_most("objectives differ by", abs(value - r.objective) / max(abs(value), 1.0), 1e-6)


@FORMULATION_LAWS.law("bound at any multipliers")
def any_multipliers(case: Case) -> Verdict:
    """Whatever the multipliers and the point, the model's bound does not exceed the optimum."""
    form = case.form
    if form is None:
        return not_applicable("there is no standard form")
    r = solve(case.model, tol=1e-8)
    if r.certificate is None:
        return violated(f"auto finds no point: {r.status}")
    best = r.certificate.objective if case.optimum is None else r.sign * case.optimum
    rng = np.random.default_rng(0)
    worst = -np.inf
    for scale in (1e-3, 1.0, 1e3):
        for _ in range(5):
            x = form.join({b.label: scale * rng.normal(size=b.shape) for b in form.blocks})
            z = {c.label: scale * rng.normal(size=c.rows) for c in form.constraints}
            worst = max(worst, case.model.bound(x, z).value)
    return at_most("above the optimum by", (worst - best) / max(abs(best), 1.0), 1e-6)


@FORMULATION_LAWS.law("written and read")
def files(case: Case) -> Verdict:
    """Every file format reads back the form that it wrote, or says that it cannot carry it."""
    if case.form is None:
        return not_applicable("there is no standard form")
    written = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix, kind in file_formats().items():
            path = Path(folder) / f"form{suffix}"
            if not case.form.features <= kind.carries:
                try:
                    write_form(case.form, path)
                except ExportError:
                    continue
                return violated(f"{suffix} wrote a form that it cannot carry")
            difference = case.form.diff(read_form(write_form(case.form, path)))
            if not difference.empty:
                return violated(f"{suffix}: {difference}")
            written.append(suffix)
    return holds(", ".join(written)) if written else violated("no format carries the form")


@FORMULATION_LAWS.law("inputs untouched", every_case=True)
def inputs(case: Case) -> Verdict:
    """Stating, compiling and printing a model changes none of the arrays that it was given."""
    _ = case.model, case.form, str(case.model)
    return holds("unchanged") if case.untouched else violated("an array of the data was changed")


@FORMULATION_LAWS.law("bad input")
def bad_input(case: Case) -> Verdict:
    """Arrays of wrong shape, values that are not finite, one class, unknown or impossible parameters: each is an InputError."""
    return all_of(_refused(case, what, arrays, given) for what, arrays, given in _spoilt(case))


def _refused(case: Case, what: str, arrays: Mapping[str, Any], given: Mapping[str, object]) -> Verdict:
    try:
        case.info.state(arrays, given)
    except InputError as error:
        return holds(what) if str(error) else violated(f"{what}: an error without words")
    except MarginoptError as error:
        return violated(f"{what}: {type(error).__name__} in place of InputError")
    except Exception as error:  # noqa: BLE001 - what is looked for is any error that is not ours
        return violated(f"{what}: {type(error).__name__}: {error}")
    return violated(f"{what} is taken")


def _spoilt(case: Case) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, object]]]:
    """Bad inputs: what is wrong, arrays, parameters."""
    arrays, parameters = case.arrays, case.parameters
    for name in case.info.needs:
        value = np.array(arrays[name], dtype=np.float64)
        spoilt = value.copy()
        spoilt[(0,) * spoilt.ndim] = np.nan
        if case.info.data is not DataKind.CLASSES or name != "y":  # labels of several classes are of any type
            yield f"NaN in {name}", {**arrays, name: spoilt}, parameters
        yield f"{name} of another shape", {**arrays, name: value[:-1] if len(case.info.needs) > 1 else value[0]}, parameters
        yield f"no {name}", {k: v for k, v in arrays.items() if k != name}, parameters
    if "y" in case.info.needs:
        yield "one class", {**arrays, "y": np.ones(len(arrays["y"]))}, parameters
    for p in case.info.parameters:
        wrong: dict[type, object] = {float: float("nan"), int: "many", str: "no such word"}
        if p.kind is not str or p.choices:
            yield f"{p.name} = {wrong[p.kind]}", arrays, {**parameters, p.name: wrong[p.kind]}
    yield "a parameter that there is not", arrays, {**parameters, "no_such_parameter": 1.0}
