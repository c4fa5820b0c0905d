"""The laws of formulations (print, LaTeX, bad input, form, bound, files) and of relaxations, which `examine` tests.

A law is a function of a `Case` (a formulation on a tiny instance) or a `RelaxationCase` (a relaxation of one) that returns a
`LawVerdict`; its docstring states the law. *The form* is the model's standard form, a program with cones.
"""

from __future__ import annotations

import pickle
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ExportError, InputError, MarginoptError, UnsupportedModelError, count_text
from ..models.export.file_formats import file_formats, read_form, takes_cones_as_rows, write_form
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.importing.quadratic_rows import with_plain_products
from ..models.record import DataKind
from ..relaxations import Direction, Relaxation, RelaxationResult, relax
from ..solvers import Options, certify, solve
from .laws import Case, Laws, LawVerdict, all_of, at_most, holds, not_applicable, violated

#: The laws of formulations, each tested on tiny instances (`Case`).
FORMULATION_LAWS: Laws[Case] = Laws()


@FORMULATION_LAWS.law("printed", every_case=True)
def _printed_model(case: Case) -> LawVerdict:
    """The printed model holds its title, objective, constraints, sizes and source."""
    s, text = case.model.statement, str(case.model)
    expected = {"title": s.title, "class": s.problem_class, "objective": s.objective.text, "sizes": s.sizes, "source": s.source}
    expected |= {f"constraint {k}": line.text for k, line in enumerate(s.constraints)}
    missing = [part for part, words in expected.items() if not words or words not in text]
    return violated(f"without {', '.join(missing)}") if missing else holds(count_text(len(text.splitlines()), "line"))


@FORMULATION_LAWS.law("LaTeX", every_case=True)
def _latex_syntax(case: Case) -> LawVerdict:
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
    return holds(count_text(len(body), "character"))


@FORMULATION_LAWS.law("stated labels are constraints")
def _stated_labels(case: Case) -> LawVerdict:
    """The labels of the statement's lines are constraints of the form."""
    if case.form is None:
        return not_applicable("there is no standard form")
    labels = {line.label.split("[")[0] for line in case.model.statement.constraints} - {""}  # sum[0] is a row of sum
    form_labels = {c.label for c in case.form.constraints}
    # exempt (text): labels, of which stem_0, stem_1, ... are one for each class l
    families = {re.sub(r"_\d+$", "_l", label) for label in form_labels}
    unknown = labels - form_labels - families
    if unknown:
        return violated(f"lines are labelled {', '.join(sorted(unknown))}, which the form does not have")
    return holds(f"{len(labels)} labelled lines")


@FORMULATION_LAWS.law("form against the statement", every_case=True)
def _form_objective(case: Case) -> LawVerdict:
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
def _any_multipliers(case: Case) -> LawVerdict:
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
def _formats_round_trip(case: Case) -> LawVerdict:
    """Every file format reads back the form that it wrote, with cones as quadratic rows where it has no others, or refuses it."""
    if case.form is None:
        return not_applicable("there is no standard form")
    written = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix, kind in file_formats().items():
            path = Path(folder) / f"form{suffix}"
            if takes_cones_as_rows(case.form, kind):
                if read_form(write_form(case.form, path)).n < case.form.n:
                    return violated(f"{suffix} lost variables")
                continue
            if not case.form.features <= kind.carries:
                try:
                    write_form(case.form, path)
                except ExportError:
                    continue
                return violated(f"{suffix} wrote a form that it cannot carry")
            difference = with_plain_products(case.form).diff(with_plain_products(read_form(write_form(case.form, path))))
            if not difference.empty:
                return violated(f"{suffix}: {difference}")
            written.append(suffix)
    return holds(", ".join(written)) if written else violated("no format carries the form")


@FORMULATION_LAWS.law("inputs untouched", every_case=True)
def _inputs_unchanged(case: Case) -> LawVerdict:
    """Stating, compiling and printing a model changes none of the arrays that it was given."""
    _ = case.model, case.form, str(case.model)
    return holds("unchanged") if case.arrays_unchanged else violated("an array of the data was changed")


@FORMULATION_LAWS.law("bad input")
def _bad_input(case: Case) -> LawVerdict:
    """Arrays of wrong shape, values that are not finite, one class, unknown or impossible parameters: each is an InputError."""
    return all_of(_refused(case, description, arrays, parameters) for description, arrays, parameters in _spoilt(case))


def _refused(case: Case, noun: str, arrays: Mapping[str, Any], parameters: Mapping[str, object]) -> LawVerdict:
    try:
        case.info.make_model(arrays, parameters)
    except InputError as error:
        return holds(noun) if str(error) else violated(f"{noun}: an error without words")
    except MarginoptError as error:
        return violated(f"{noun}: {type(error).__name__} in place of InputError")
    except Exception as error:  # noqa: BLE001 - any error that is not ours violates the law
        return violated(f"{noun}: {type(error).__name__}: {error}")
    return violated(f"{noun} is taken")


def _spoilt(case: Case) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, object]]]:
    """Yield bad inputs, each as (what is wrong, arrays, parameters)."""
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


#: The laws of relaxations, each tested on 0-1 problems with a known optimum.
RELAXATION_LAWS: Laws[RelaxationCase] = Laws()
#: Relative tolerance of these laws.
_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class RelaxationCase:
    """A relaxation applied to a case of the 0-1 loss with known optimum: the subject of the relaxation laws.

    Parameters
    ----------
    relaxation : Relaxation
        The relaxation under test.
    case : Case
        A case of `ZeroOneSVM` with a known optimum.
    """

    relaxation: Relaxation
    case: Case

    @property
    def name(self) -> str:
        """The names of relaxation and case."""
        return f"{self.relaxation.name} / {self.case.name}"

    @property
    def original(self) -> ZeroOneSVM:
        """The 0-1 model, with its optimum as the incumbent value that tightens big-M constants."""
        model = self.case.model
        assert isinstance(model, ZeroOneSVM) and self.case.optimum is not None
        return replace(model, upper_bound=self.case.optimum * (1.0 + 1e-9))

    @property
    def obstacle(self) -> str:
        """The reason why the relaxation cannot be applied to the case; empty if it can."""
        return self.relaxation.reduction.obstacle(self.original)

    @property
    def caveat(self) -> str:
        """The reason why the relaxed optimum need not bound the 0-1 optimum; empty if it does."""
        return self.relaxation.reduction.caveat(self.original)

    @property
    def optimum(self) -> float:
        """The known 0-1 optimum."""
        assert self.case.optimum is not None
        return self.case.optimum

    @cached_property
    def relaxed(self) -> RelaxationResult:
        """The result of solving the relaxed model, with the maps of points and multipliers back to the 0-1 model."""
        return relax(self.original, self.relaxation.reduction, options=Options(tol=_TOL, threads=1, time_limit=60))


def _above(noun: str, value: float, optimum: float) -> LawVerdict:
    return at_most(f"{noun} above the 0-1 optimum by", (value - optimum) / max(abs(optimum), 1.0), _TOL)


@RELAXATION_LAWS.law("refuses what it does not take")
def _refuses_unreadable_models(r: RelaxationCase) -> LawVerdict:
    """A model that the relaxation does not take is refused, with the reason, before any work."""
    if not r.obstacle:
        return not_applicable("it takes the model")
    try:
        r.relaxation.reduction.apply(r.original)
    except UnsupportedModelError as error:
        return holds("it says why") if str(error) else violated("an error without words")
    return violated(f"applied in spite of: {r.obstacle}")


@RELAXATION_LAWS.law("bounds the optimum")
def _bound_is_on_its_side(r: RelaxationCase) -> LawVerdict:
    """The target's optimum and its proved bound lie on the stated side of the known 0-1 optimum."""
    if r.caveat:
        return not_applicable(r.caveat)
    if not r.relaxed.result.solved:
        return violated(f"the target is not solved: {r.relaxed.result.status}")
    if r.relaxation.direction is Direction.INNER:
        return at_most("below the 0-1 optimum by", (r.optimum - r.relaxed.result.objective) / max(r.optimum, 1.0), _TOL)
    return _above("bound", r.relaxed.bound, r.optimum)


@RELAXATION_LAWS.law("lifts its dual")
def _lifted_multipliers(r: RelaxationCase) -> LawVerdict:
    """The target's multipliers prove a bound of the 0-1 optimum that is as tight as the target's optimum."""
    if r.caveat:
        return not_applicable(r.caveat)
    bound = r.relaxed.lifted
    if bound is None:
        return violated("the target's solver gives no multipliers to lift")
    if not bound.argument:
        return violated("the lifted bound has no argument")
    value = r.relaxed.result.objective
    loss = at_most("lost on the way", (value - bound.value) / max(abs(value), 1.0), 10 * _TOL)
    return all_of([_above("lifted bound", bound.value, r.optimum), loss])


@RELAXATION_LAWS.law("lifts any multipliers")
def _any_lifted_multipliers(r: RelaxationCase) -> LawVerdict:
    """Whatever the multipliers, what they prove does not exceed the 0-1 optimum."""
    if r.caveat:
        return not_applicable(r.caveat)
    reduction, target = r.relaxation.reduction, r.relaxed.target
    rng, worst = np.random.default_rng(0), -np.inf
    for scale in (1e-2, 1.0, 1e2):
        multipliers: dict[str, Any] = {c.label: scale * rng.normal(size=c.rows) for c in r.relaxed.form.constraints}
        worst = max(worst, reduction.lift_dual(r.original, multipliers, target).value)
    worst = max(worst, reduction.lift_dual(r.original, multipliers).value)  # from a target that is built anew
    return _above("lifted bound", worst, r.optimum)


@RELAXATION_LAWS.law("recovers a point")
def _recovered_point(r: RelaxationCase) -> LawVerdict:
    """The point brought back is feasible for the 0-1 problem, and no better than its optimum."""
    if r.relaxed.values is None:
        return violated("no point comes back")
    feasible = at_most("violation", certify(r.original.form, r.relaxed.values).primal_residual, _TOL)
    better = (r.optimum - r.relaxed.objective) / max(abs(r.optimum), 1.0)
    return all_of([feasible, at_most("better than the optimum by", better, _TOL)])


@RELAXATION_LAWS.law("can be stored")
def _can_be_stored(r: RelaxationCase) -> LawVerdict:
    """Reports keep it by its name and hand it to other processes: it can be pickled, hashed and compared."""
    reduction = r.relaxation.reduction
    restored = pickle.loads(pickle.dumps(reduction))
    if restored != reduction or hash(restored) != hash(reduction) or restored.name != reduction.name:
        return violated("it is another one after pickling")
    return holds(f"'{reduction.name}'")
