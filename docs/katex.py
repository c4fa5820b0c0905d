"""Mathematics set by KaTeX when the site is built: HTML with fonts of the site's own, no script and no network when it is read.

KaTeX comes by npm into docs/_build/katex, once. Formulas are MathML (`mathml`) without npm, or where npm reaches no registry.
"""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes

__all__ = ["FOLDER", "VERSION", "installed", "rendered", "setup"]

VERSION = "0.19.1"
#: Where npm puts it.
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


def installed(*, fetch: bool = True) -> bool:
    """Return whether KaTeX is there, after npm was asked for it where it was not."""
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
    """Kill the server, and close the streams to and from it."""
    process.kill()
    process.communicate()


@cache
def rendered(latex: str, display: bool) -> str:
    """Return the HTML of a formula, with MathML for screen readers in it.

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


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(rendered(node.astext(), False))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math" tabindex="0">{rendered(node.astext(), True)}</div>')
    raise nodes.SkipNode


def _style(app: Any, config: Any) -> None:
    if config.html_math_renderer == "katex":
        config.html_static_path = [*config.html_static_path, str(FOLDER / "static")]
        app.add_css_file("katex/katex.min.css")


def setup(app: Any) -> dict[str, Any]:
    """A renderer named ``katex``."""
    app.add_html_math_renderer("katex", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.connect("config-inited", _style)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
