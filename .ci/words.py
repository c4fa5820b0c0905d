"""Check names, docstrings and messages (`make lint`): banned names, empty beginnings, stale references, long messages.

``.ci/names.csv`` lists names that the project no longer uses, with the field's standard term. Its column ``banned`` holds
alternatives separated by bars: a regular expression that an identifier must not match, or ``path:`` and one that the name of a
module or folder must not match. Docstrings must not document a parameter or a type that does not exist. Pages must not show
banned identifiers as code, nor name a file that does not exist.
"""

from __future__ import annotations

import ast
import builtins
import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("models", "solvers", "relaxations", "instances", "reproduction", "src/marginopt")
QUESTION = re.compile(r"(What|Whether|Whose|That|As|Where|Which|Who|How|When)\b")
#: Files of the repository, as pages name them.
FILE = re.compile(r"(models|solvers|relaxations|instances|src|benchmarks|tests|reproduction)/[\w/.-]+\.(py|js|csv|md)")
#: Folders beside the packages, whose docstrings do not begin with a relative word either; a gallery's title may be a question.
BESIDE = ("tests", "benchmarks", "docs", "examples/plugin", "examples/users")
RELATIVE = re.compile(r'^ *r?"""((?:What|Whether|Whose|That|As)\b.{,40})', re.MULTILINE)
#: Participles, pronouns and adverbs that say nothing of what a variable or parameter holds.
PRIVATE_LOCALS = frozenset((
    "able", "about", "again", "against", "ahead", "alone", "anew", "apart", "ask", "asked", "because", "begun", "behind",
    "believed", "beside", "beyond", "both", "brought", "doubt", "doubted", "drawn", "each", "ended", "even", "every", "far",
    "few", "found", "given", "gone", "good", "got", "have", "held", "here", "holding", "holds", "how", "instead", "judged",
    "kept", "known", "lack", "lacking", "learned", "least", "less", "look", "looked", "lost", "made", "many", "may", "meant",
    "mended", "met", "mine", "more", "moved", "much", "must", "near", "none", "noted", "nothing", "now", "off", "ours",
    "owed", "own", "pulled", "refused", "rest", "room", "said", "same", "say", "says", "seen", "sent", "settled", "several",
    "shelf", "some", "standing", "stated", "still", "sure", "take", "theirs", "then", "there", "thing", "this", "those",
    "through", "together", "told", "tried", "turned", "twice", "unsure", "wanted", "watched", "way", "ways", "what", "where",
    "which", "whole", "why",
))  # fmt: skip
#: Prepositions, which name nothing as variables; fields of published proof logs have them as keys.
PREPOSITIONS = frozenset({"at", "back", "into", "late", "of", "on", "to"})
#: Packages whose names docstrings refer to by a full path.
FOREIGN = frozenset({"contextlib", "sklearn"})
#: Names of what is called with a message; ends of sentences and of clauses within a message.
MESSAGE = re.compile(r"(Error|Warning|^warn)$")
SENTENCE_END, CLAUSE_END = re.compile(r"(?<!\.\.)\.\s+(?=\S)"), re.compile(r"(?:;|(?<!\.\.)\.)\s+(?=\S)")
#: Beginnings of public docstrings that name nothing.
FRAGMENT = re.compile(r"(Of|With|Without|From|By|For|In|Its|It|Those|Such|Nothing|Also|Again)\b")
#: Sections of a docstring that name parameters and types; names of classes.
SECTION = re.compile(r"^(Parameters|Returns|Raises)\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}\n|\Z)", re.MULTILINE | re.DOTALL)
CLASS_NAME = re.compile(r"\b[A-Z][a-z]+[A-Za-z]+\b")


def banned_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of banned identifiers and of banned names of modules and folders."""
    words, paths = [], []
    with (ROOT / ".ci" / "names.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            for part in re.split(r"\|(?![^(]*\))", row["banned"]):
                if part:
                    (paths if part.startswith("path:") else words).append(part.removeprefix("path:"))
    return re.compile("|".join(words)), re.compile("|".join(paths))


def identifiers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every class, function, parameter and class-level field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.lineno, node.name.lstrip("_")
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    yield line.lineno, line.target.id


def fields_of(tree: ast.Module) -> Iterator[str]:
    """Yield the name of every annotated field of every class."""
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        yield from (
            line.target.id for line in owner.body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        )


def locals_of(tree: ast.Module) -> set[tuple[int, str]]:
    """Return the lines and the names of all parameters and of all variables that functions bind."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [node for owner in (tree, *classes) for node in owner.body if isinstance(node, ast.FunctionDef)]
    names = set()
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.arg):
            names.add((node.lineno, node.arg))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add((node.lineno, node.id))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add((node.lineno, node.name))
    return names


def empty_openings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the beginning of every docstring that begins with a question word, or, if public, with a fragment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            public = not isinstance(node, ast.Module) and not node.name.startswith("_")
            if text and (QUESTION.match(text) or (public and FRAGMENT.match(text))):
                yield node.body[0].lineno, text[:40]


def long_messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the beginning of every message that has more than two sentences or three clauses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and MESSAGE.search(getattr(node.func, "id", getattr(node.func, "attr", ""))):
            pieces = [v for v in ast.walk(node.args[0]) if isinstance(v, ast.Constant) and isinstance(v.value, str)]
            text = "".join(v.value for v in sorted(pieces, key=lambda v: (v.lineno, v.col_offset)))
            if len(SENTENCE_END.findall(text)) > 1 or len(CLAUSE_END.findall(text)) > 2:
                yield node.lineno, text[:60]


def known_names(trees: dict[str, ast.Module]) -> set[str]:
    """Return every identifier that the modules bind or use, with the names of modules and of what strings name."""
    names = set(dir(builtins)) | {part for file in trees for part in Path(file).with_suffix("").parts}
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        for field in ("id", "attr", "name", "arg", "asname"):
            names.update((getattr(node, field, None) or "").split("."))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w.-]+", node.value):
            names.update(node.value.split("."))
    return names


def stale_references(file: str, tree: ast.Module, names: set[str]) -> Iterator[str]:
    """Yield the references of docstrings and comments, in single backticks, to names that no module has."""
    lines = enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1)
    texts = [(number, line[line.index("#") :]) for number, line in lines if line.lstrip().startswith("#") or "  #" in line]
    documented = (node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef))
    texts += [(node.body[0].lineno, ast.get_docstring(node, clean=False) or "") for node in documented]
    for line, text in texts:
        for reference in re.findall(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)", text):
            parts = reference.split(".")
            if parts[0] not in FOREIGN and not names.issuperset(parts):
                yield f"{file}:{line}: there is no {reference}"


def documented_names(doc: str) -> Iterator[tuple[str, str]]:
    """Yield the names and the types of the section Parameters, and no name with the types of Returns and Raises."""
    for title, body in SECTION.findall(doc):
        for line in (line for line in body.splitlines() if line and not line.startswith(" ")):
            names, _, kind = line.partition(" : ") if title == "Parameters" else ("", "", line)
            yield from ((name.strip().lstrip("*"), kind) for name in names.split(","))


def member_names(owner: ast.ClassDef, classes: dict[str, list[ast.ClassDef]], seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the fields of a class and of its bases, and the arguments of their constructors."""
    names = {line.target.id for line in owner.body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)}
    makers = [
        node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name in ("__init__", "__new__", "__call__")
    ]
    names.update(node.arg for maker in makers for node in ast.walk(maker.args) if isinstance(node, ast.arg))
    bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in owner.bases} - seen
    return names.union(*(member_names(base, classes, seen | {name}) for name in bases for base in classes.get(name, ())))


def stale_parameters(tree: ast.Module, classes: dict[str, list[ast.ClassDef]], names: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the word of every documented parameter that is none, and of every class as a type that no module has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            is_class = isinstance(node, ast.ClassDef)
            known = member_names(node, classes) if is_class else {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
            for name, kind in documented_names(ast.get_docstring(node) or ""):
                if re.fullmatch(r"[A-Za-z_]\w*", name) and name not in known:
                    yield node.lineno, name
                yield from ((node.lineno, word) for word in CLASS_NAME.findall(kind) if word not in names)


def pages() -> Iterator[Path]:
    """Yield the pages that are written by hand, without the papers' tables and the lab notes."""
    yield from (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "index.md")
    for folder in ("tutorials", "how-to", "explanation"):
        yield from sorted((ROOT / "docs" / folder).rglob("*.md"))


def page_faults(page: Path, words: re.Pattern[str]) -> Iterator[str]:
    """Yield the banned identifiers and the missing files that a page shows as code."""
    name = page.relative_to(ROOT).as_posix()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for code in re.findall(r"`([^`]+)`", line):
            yield from (
                f"{name}:{number}: the name {word} is banned" for word in re.findall(r"\w+", code) if words.fullmatch(word)
            )
            if FILE.fullmatch(code) and not (ROOT / code).exists():
                yield f"{name}:{number}: there is no file {code}"


def main() -> int:
    """Print every fault with its place; return 1 if there is one."""
    words, paths = banned_patterns()
    faults = []
    files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    trees = {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    names = known_names(trees)
    for name, tree in trees.items():
        faults += [
            f"{name}: the path has a banned name, {part}" for part in Path(name).with_suffix("").parts if paths.fullmatch(part)
        ]
        faults += [f"{name}:{line}: the name {word} is banned" for line, word in identifiers(tree) if words.fullmatch(word)]
        faults += [
            f"{name}:{line}: the name {word} says nothing of what it holds"
            for line, word in sorted(locals_of(tree))
            if word in PRIVATE_LOCALS | PREPOSITIONS and not name.startswith("reproduction/")
        ]
        faults += [f"{name}:{line}: the message is longer than two sentences: {text}" for line, text in long_messages(tree)]
        faults += [f"{name}:{line}: the docstring names nothing at its beginning: {text}" for line, text in empty_openings(tree)]
    fields = [(name, field) for name, tree in trees.items() for field in fields_of(tree) if not name.startswith("reproduction/")]
    faults += [f"{name}: the field {field} says nothing of what it holds" for name, field in fields if field in PRIVATE_LOCALS]
    classes: dict[str, list[ast.ClassDef]] = {}
    for node in (node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        classes.setdefault(node.name, []).append(node)
    shared = {name: len(nodes) for name, nodes in classes.items() if len(nodes) > 2 and name[0] != "_"}
    faults += [f"{count} classes are called {name}" for name, count in shared.items()]
    faults += [
        f"{name}:{line}: the docstring documents {word}, which is not there"
        for name, tree in trees.items()
        for line, word in stale_parameters(tree, classes, names)
    ]
    beside = sorted(path for folder in BESIDE for path in (ROOT / folder).rglob("*.py"))
    faults += [
        f"{file.relative_to(ROOT)}: the docstring begins with a relative word: {text}"
        for file in beside
        for text in RELATIVE.findall(file.read_text(encoding="utf-8"))
    ]
    faults += [fault for name, tree in trees.items() for fault in stale_references(name, tree, names)]
    faults += [fault for page in pages() for fault in page_faults(page, words)]
    print("\n".join(faults) or "names and docstrings: no fault")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
