"""Make the reference pages of every public name from its docstring, and convert docstrings to Markdown."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpydoc.docscrape import NumpyDocString

import marginopt as mo
from marginopt.models import Model
from marginopt.models.formulations import all_formulations
from marginopt.models.formulations.margin.parts_by_name import DOMAINS, LOSSES, REGULARISERS
from marginopt.models.statement import latex_numbers, typeset

__all__ = ["docstring_page", "errata", "reference"]

#: Code, bold and italics.
_KEPT = re.compile(r"(``[^`]+``|`[^`]+`|\*\*[^*\s][^*]*\*\*|(?<![\w*])\*[A-Za-z][^*`]*[\w.]\*(?![\w*]))")

#: A paragraph on what a source prints wrong.
_ERRATA = re.compile(r"(?s)\*\*Errat(?:um|a)\*\*.*?(?=\n\n|\Z)")
#: Characters of a signature on one line.
_WIDE = 80
#: What solvers, certificates and reports ask a model for; its page is for those who state and solve one.
_HOOKS = frozenset(
    {
        "appraise", "base", "big_m_argument", "bound", "changes", "compile", "complete", "composition", "zero_objective_point",
        "exact_cost", "exact_evaluation", "display", "form_bytes", "free", "has_margin_rows", "incumbent_source",
        "intercept_bound", "cutoff", "maximised", "meaning", "with_parameter", "has_nonnegative_objective", "squared_norm",
        "norm_line", "bounding_model", "parameters", "exact_point", "rows_to_separate", "at_solution", "replace",
        "loss_bounded_variables", "original_model",
        "no_view_reason", "view", "form_with_fixed_integers",
    }
)  # fmt: skip
#: What a file of one's own imports.
_EXTENDING = {
    "models": (
        "FormulationInfo", "Parameter", "DataKind", "Model", "Statement", "Line", "Block", "Constraint", "Quadratic", "Zero",
        "Nonnegative", "SecondOrder", "RotatedSecondOrder", "PSD", "Exponential", "Power", "Indicator", "Bilinear", "BoxQP",
        "SimplexQP", "StiefelProblem", "ConicProblem", "ZeroOneProblem",
    ),
    "margin": (
        "Loss", "Regulariser", "Domain", "Restriction", "AssemblyContext", "Assembly", "Affine", "FixedClassifier", "ConvexPiece",
        "Conjugate",
    ),
    "solvers": ("SolverInfo", "Backend", "Algorithm", "ProgressState", "Outcome", "Answer", "Gives", "TraceRow"),
    "relaxations": ("Relaxation", "Reduction", "Need", "Direction", "LiftedDual"),
    "instances": ("DataSet",),
}  # fmt: skip
#: Groups of public names with a page of their own.
_GROUPS = {
    "margin": "What a [composed problem](../../how-to/compose.md) is made of.",
    "questions": "[Questions about all classifiers](../../how-to/questions.md).",
    "relaxations": "[Relaxations](../../explanation/relaxations.md) and the [gap report](../../how-to/gap-report.md).",
    "instances": "Data sets, readers of files, and generators.",
}


def reference() -> dict[str, str]:
    """Return the reference pages, texts in Markdown by file name: one for each kind of public name and for each group."""
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Estimators": [], "Formulations": []}
    formulations = {info.key for info in all_formulations().values()}
    estimators = set(mo.estimators.table())
    groups = (mo, mo.estimators, mo.proofs, mo.io, mo.errors)
    public = {name: getattr(group, name, None) for group in groups for name in dir(group) if name in {*group.__all__, *dir(mo)}}
    for name, thing in sorted(public.items()):
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
        sections = [f"## {name}\n\n{docstring_page(public[name], name)}" for name in names]
        pages[f"names/{kind.lower()}.md"] = "\n\n".join([f"# {kind}", *sections]) + "\n"
    pages["names/extending.md"] = _extending()
    pages |= {f"names/{group}.md": _group(group) for group in _GROUPS}
    listed = "\n".join(
        f"- [{kind}]({kind.lower()}.md): {', '.join(f'[`{name}`]({kind.lower()}.md#{name.lower()})' for name in names)}"
        for kind, names in kinds.items()
    )
    listed += "".join(f"\n- [`mo.{group}`]({group}.md): {text}" for group, text in _GROUPS.items())
    index = ["# Names", "Every public name, from its docstring.", listed, "[For those who extend](extending.md)",
             toctree([*(kind.lower() for kind in kinds), *_GROUPS, "extending"])]  # fmt: skip
    return {"names/index.md": "\n\n".join(index), **pages}


def _group(group: str) -> str:
    """Return the page of a group: a table of names at the prompt, and every function and class."""
    module = getattr(mo, group)
    things = {name: getattr(module, name) for name in module.__all__}
    described = {name: thing for name, thing in things.items() if callable(thing) and inspect.getdoc(thing)}
    tables = {"margin": _named_parts, "relaxations": _named_relaxations}
    named = [tables[group]()] if group in tables else []
    sections = [f"## {name}\n\n{docstring_page(thing, name, methods=group != 'margin')}" for name, thing in described.items()]
    return "\n\n".join([f"# mo.{group}", _GROUPS[group], *named, *sections]) + "\n"


def _named_parts() -> str:
    kinds = {"loss": LOSSES, "regulariser": REGULARISERS, "domain": DOMAINS}
    rows = [
        [f'`{kind}="{name}"`', f"[`{part!r}`](#{type(part).__name__.lower()})", to_markdown(_summary(part))]
        for kind, parts in kinds.items()
        for name, part in parts.items()
    ]
    return table(["argument", "part", "function"], rows)


def _named_relaxations() -> str:
    rows = [[f"`{r.name}`", to_markdown(r.applicability), to_markdown(r.summary)] for r in mo.relaxations.table().values()]
    return table(["name", "reads", "what it is"], rows)


def _extending() -> str:
    parts = [
        "# For those who extend",
        "What a [formulation, a solver, a relaxation or a data set](../../how-to/extending.md) is made of.",
    ]
    for module, names in _EXTENDING.items():
        parts.append(f"## marginopt.{module}")
        for name in names:
            thing = getattr(getattr(mo, module), name)
            parts.append(f"### {name}\n\n{docstring_page(thing, name, hooks=True)}")
    return "\n\n".join(parts) + "\n"


def docstring_page(thing: Any, name: str, *, methods: bool = True, with_errata: bool = True, hooks: bool = False) -> str:
    """Return signature and docstring of a class or function in Markdown, numpydoc's sections as lists.

    ``methods`` lists methods and properties, ``hooks`` also those of a model that solvers alone call; ``with_errata`` keeps the
    paragraphs on errata, for which some pages have a section.
    """
    try:
        signature = str(inspect.signature(thing))
    except (TypeError, ValueError):
        signature = "(...)"
    signature = re.sub(r"""(: |-> )(['"])(.*?)\2""", r"\1\3", re.sub(r"<[^>]*>", "...", signature))  # words keep their quotes
    if len(name) + len(signature) > _WIDE:
        inner, _, after = signature[1:].rpartition(")")
        lines = "".join(f"    {part},\n" for part in split_arguments(inner))
        signature = f"(\n{lines}){after}"
    parts = [f"```python\n{name}{signature}\n```"]
    doc = inspect.getdoc(thing) or ""
    text = NumpyDocString(doc if with_errata else re.sub(_ERRATA, "", doc))
    parts += [to_markdown("\n".join([*text["Summary"], "", *text["Extended Summary"]]))]
    for section in ("Parameters", "Attributes", "Returns", "Raises"):
        if text[section]:
            parts += [f"**{section}**", "\n".join(list_item(p) for p in text[section])]
    if text["Notes"]:
        parts += [to_markdown("\n".join(text["Notes"]))]
    if text["Examples"]:
        parts += ["```pycon\n" + "\n".join(text["Examples"]) + "\n```"]
    if methods and inspect.isclass(thing):
        texts = [
            f"- `{key}`: {to_markdown(_summary(value))}"
            for key, value in inspect.getmembers(thing)
            if not key.startswith("_")
            and not (key in _HOOKS and issubclass(thing, Model) and not hooks)
            and (inspect.isfunction(value) or isinstance(value, property))
            and _ours(value)
        ]
        parts += ["**Methods and properties**", "\n".join(texts)] if texts else []
    return "\n\n".join(part for part in parts if part.strip())


def errata(thing: type) -> list[str]:
    """Return what the sources print wrong, each to its paragraph's end: docstrings of a class, its methods, functions."""
    module = sys.modules[thing.__module__]
    beside = [value for value in vars(module).values() if getattr(value, "__module__", "") == thing.__module__]
    members = [value for value in [*vars(thing).values(), *beside] if inspect.isfunction(value) or isinstance(value, property)]
    docs = [inspect.getdoc(value) or "" for value in (thing, *members)]
    texts = [text for doc in docs for text in re.findall(_ERRATA, doc)]
    message = [re.sub(r"^\*\*Errat(?:um|a)\*\*:? ?", "", " ".join(text.split())) for text in texts]
    return [text[:1].upper() + text[1:] for text in message]


def split_arguments(signature: str) -> list[str]:
    """Return the arguments of a signature, split at commas outside of brackets."""
    parts, depth = [""], 0
    for c in signature:
        depth += (c in "([{") - (c in ")]}")
        parts = [*parts, ""] if c == "," and depth == 0 else [*parts[:-1], parts[-1] + c]
    return [part.strip() for part in parts if part.strip()]


def _ours(value: Any) -> bool:
    made = value.fget if isinstance(value, property) else value
    return str(getattr(made, "__module__", "")).startswith("marginopt")


def list_item(parameter: Any) -> str:
    """Return a parameter, return value or error of numpydoc as an item of a list in Markdown."""
    what = " ".join(line.strip() for line in parameter.desc)
    label = f"`{parameter.name or parameter.type}`"  # what is returned or raised has a type alone
    kind = f" ({to_markdown(parameter.type)})" if parameter.type and parameter.name else ""
    return f"- {label}{kind}{': ' if what else ''}{to_markdown(what)}"


def _summary(thing: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def to_markdown(text: str) -> str:
    """Return a docstring's text as Markdown: code, bold and italics stay, mathematics is set, all else is escaped."""
    parts = re.split(_KEPT, inspect.cleandoc(text) if text else "")
    for k, part in enumerate(parts):
        if k % 2 == 0:
            parts[k] = re.sub(r"([\\*_$<>|{}\[\]#~])", r"\\\1", typeset(part))
    return re.sub(r"(?m)^( {0,3})(\d+)\.", r"\1\2\\.", re.sub(r"(?m)^ +", "", "".join(parts)))


def display_math(latex: str) -> str:
    r"""Return text with displays \[...\] as those of Markdown."""
    return re.sub(r"\\\[\n(.*?)\n\\\]", lambda at: f"\n$$\n{at[1]}\n$$\n", latex_numbers(latex), flags=re.DOTALL)


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell.replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def toctree(names: Iterable[str]) -> str:
    """Return Sphinx's hidden toctree of these pages, in Markdown."""
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```"


def source_file(thing: type) -> str:
    """Return the path of a class's file in the repository; the module's name if it is of another package."""
    path = Path(sys.modules[thing.__module__].__file__ or "").resolve()
    root = Path(__file__).resolve().parents[1]
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else thing.__module__
