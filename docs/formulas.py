"""The Sphinx extension that sets the site's formulas when it is built, by KaTeX or as MathML: readers need no script.

KaTeX gives HTML with fonts of the site's own; npm brings it into docs/_build/katex, once. Without npm, or if npm reaches no
registry, formulas are MathML, which browsers draw by themselves.
"""

from __future__ import annotations

import atexit
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

__all__ = ["FOLDER", "install_katex", "katex_html", "mathml", "setup"]

#: KaTeX's release.
VERSION = "0.19.1"
#: The folder into which npm installs it.
FOLDER = Path(__file__).resolve().parent / "_build" / "katex"
_PACKAGE = FOLDER / "node_modules" / "katex"
#: Reads a formula a line as JSON, and writes its HTML, or its fault, as a line of JSON.
_SERVER = """
const katex = require(process.argv[1]);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { latex, display } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(latex, { displayMode: display, strict: "ignore" }) };
  } catch (error) {
    answer = { fault: String(error.message) };
  }
  process.stdout.write(JSON.stringify(answer) + "\\n");
});
"""
_ALIGNED = re.compile(r"\\begin\{(aligned|align\*?|split)\}(.*)\\end\{\1\}", flags=re.DOTALL)
#: Commands that the converter to MathML does not read, and commands that mean the same.
_WORDS = ((r"\\\\\[[^\]]*\]", r"\\\\"), (r"(\\[bB]igg?[lr]?\s*)?\\\|", r"\\Vert "))


def install_katex(*, fetch: bool = True) -> bool:
    """Install KaTeX by npm unless it is there, or not ``fetch``; copy its style and fonts; return whether it can be used."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if node is None or (not _PACKAGE.exists() and (npm is None or not fetch)):
        return False
    if not _PACKAGE.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = [
            str(npm),
            "install",
            "--prefix",
            str(FOLDER),
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            f"katex@{VERSION}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode:
            return False
    static = FOLDER / "static" / "katex"
    (static / "fonts").mkdir(parents=True, exist_ok=True)
    shutil.copy(_PACKAGE / "dist" / "katex.min.css", static)
    for font in (_PACKAGE / "dist" / "fonts").glob("*.woff2"):
        shutil.copy(font, static / "fonts")
    return True


@cache
def _server() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [str(shutil.which("node")), "-e", _SERVER, str(_PACKAGE)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@cache
def katex_html(latex: str, display: bool) -> str:
    """Return the HTML of a formula by KaTeX, with MathML for screen readers in it; ``display`` sets it on a line of its own.

    Raises
    ------
    ValueError
        KaTeX cannot read the formula.
    """
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps({"latex": latex, "display": display}) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    if "fault" in answer:
        raise ValueError(f"{answer['fault']} in {latex!r}")
    return str(answer["html"])


def mathml(latex: str, display: bool) -> str:
    """Return a formula as MathML; rows of an alignment are rows of a table, which the converter does not make.

    Raises
    ------
    ValueError
        A command that the converter leaves as it is.
    """
    for written, read in _WORDS:
        latex = re.sub(written, read, latex)
    match = _ALIGNED.fullmatch(latex.strip())
    if match is None:
        body = _cell(latex.strip())
    else:
        rows = [_columns(row) for row in _split(match[2], r"\\")]
        body = f"<mtable displaystyle='true'>{''.join(rows)}</mtable>"
    left = re.search(r"\\[a-zA-Z|]+|merror", body)
    if left is not None:
        raise ValueError(f"{left[0]} is not read in {latex!r}")
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="{"block" if display else "inline"}">{body}</math>'


def _columns(row: str) -> str:
    """Return one row of an alignment, its columns set right and left by turns."""
    cells = _split(row, "&")
    sides = ("right", "left")
    made = (f"<mtd style='text-align: {sides[k % 2]}; padding: .25em 0'>{_cell(c.strip())}</mtd>" for k, c in enumerate(cells))
    return f"<mtr>{''.join(made)}</mtr>"


def _cell(latex: str) -> str:
    return re.sub(r"^<math[^>]*>|</math>$", "", convert(latex or "{}", display="block"))


def _split(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks outside of braces and environments."""
    parts, depth, begin = [], 0, 0
    for at, step in _steps(text, mark):
        depth += step
        if step == 0 and depth == 0:
            parts.append(text[begin:at])
            begin = at + len(mark)
    return [*parts, text[begin:]]


def _steps(text: str, mark: str) -> Iterator[tuple[int, int]]:
    """Yield the places where a brace or environment opens (1), closes (-1), or the mark stands (0)."""
    pattern = rf"(?P<open>\\begin\b|(?<!\\)\{{)|(?P<close>\\end\b|(?<!\\)\}})|(?P<mark>{re.escape(mark)})"
    for match in re.finditer(pattern, text):
        yield match.start(), {"open": 1, "close": -1, "mark": 0}[match.lastgroup or "mark"]


def _inline(drawn: Callable[[str, bool], str]) -> Callable[[Any, nodes.math], None]:
    """Return Sphinx's visitor of formulas within sentences."""

    def visit(translator: Any, node: nodes.math) -> None:
        translator.body.append(drawn(node.astext(), False))
        raise nodes.SkipNode

    return visit


def _block(drawn: Callable[[str, bool], str]) -> Callable[[Any, nodes.math_block], None]:
    """Return Sphinx's visitor of displays."""

    def visit(translator: Any, node: nodes.math_block) -> None:
        translator.body.append(f'<div class="math" tabindex="0">{drawn(node.astext(), True)}</div>')
        raise nodes.SkipNode

    return visit


def _style(app: Any, config: Any) -> None:
    if config.html_math_renderer == "katex":
        config.html_static_path = [*config.html_static_path, str(FOLDER / "static")]
        app.add_css_file("katex/katex.min.css")


def setup(app: Any) -> dict[str, Any]:
    """Register the renderers ``katex`` and ``mathml``."""
    for name, drawn in {"katex": katex_html, "mathml": mathml}.items():
        app.add_html_math_renderer(name, inline_renderers=(_inline(drawn), None), block_renderers=(_block(drawn), None))
    app.connect("config-inited", _style)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
