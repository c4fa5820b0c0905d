"""Every block of Python in the documentation runs, a page at a time; links lead somewhere; the gallery's examples run."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from marginopt.models import Model
from marginopt.models.formulations import all_formulations
from marginopt.models.statement import latex_numbers
from marginopt.solvers.registry import all_solvers

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: The site's own pages that are made when it is built.
_MADE = ("_build/", "gallery/", "lab-notes/", *(f"reference/{x}" for x in ("algorithms/", "formulations/", "names/", "signs.md")))
_BLOCK = re.compile(r"(<!-- not run: [^>]+-->\n)?```python\n(.*?)```", flags=re.DOTALL)


def named(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


PAGES = [p for p in sorted(DOCS.rglob("*.md")) if not named(p).startswith(_MADE)]
NOTES = sorted((ROOT / "benchmarks" / "results").glob("*.md"))


@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in p.read_text(encoding="utf-8")], ids=named)
def test_every_block_runs(page: Path, tmp_path: Path) -> None:
    """In a process and a folder of its own; a block that does not run says why in a comment above it."""
    blocks = [code for skipped, code in _BLOCK.findall(page.read_text(encoding="utf-8")) if not skipped]
    if not blocks:
        pytest.skip("its blocks say why they are not run")
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("page", PAGES + NOTES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        place = (page.parent / target).resolve()
        made = place.is_relative_to(DOCS) and place.relative_to(DOCS).as_posix().startswith(_MADE)
        assert "://" in target or made or place.exists(), target


@pytest.mark.parametrize("example", sorted((ROOT / "examples" / "gallery").glob("plot_*.py")), ids=lambda p: p.stem)
def test_the_gallery_runs(example: Path, tmp_path: Path) -> None:
    script = f"import matplotlib; matplotlib.use('Agg'); import runpy; runpy.run_path({str(example)!r})"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_page_is_in_the_site() -> None:
    """In one of the trees of contents."""
    listed = set()
    for page in PAGES:
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            listed |= {named((page.parent / line).with_suffix("")) for line in tree.split() if not line.startswith(":")}
    pages = {named(page.with_suffix("")) for page in PAGES} - {"index", "README"}
    assert pages <= listed, pages - listed


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules that make the site's pages."""
    monkeypatch.syspath_prepend(str(DOCS))


def _site_packages(*names: str) -> None:
    """What builds the site is an extra of its own: `make docs` brings it, `make test` alone does not."""
    for name in names:
        pytest.importorskip(name, reason='the site needs pip install "marginopt[docs]"')


@pytest.mark.usefixtures("site")
def test_formulas_are_drawn_without_a_script() -> None:
    """Every formulation's displays are MathML that is well formed, with nothing of LaTeX left, a row for each line."""
    _site_packages("latex2mathml", "docutils")
    mathml = importlib.import_module("mathml").mathml
    for info in all_formulations().values():
        model: Model = info.example(np.random.default_rng(0))
        displays = re.findall(r"\\\[\n(.*?)\n\\\]", latex_numbers(model.latex()), flags=re.DOTALL)
        assert displays
        for latex in displays:
            drawn = ET.fromstring(mathml(latex, "block"))
            assert "\\" not in "".join(drawn.itertext()) and "&" not in "".join(drawn.itertext())
            rows = drawn.findall(".//{*}mtr")
            assert ("aligned" not in latex) or len(rows) >= 1
    with pytest.raises(ValueError, match="not read"):
        mathml(r"\nosuchcommand x", "inline")


@pytest.mark.usefixtures("site")
def test_every_algorithm_of_ours_has_pseudocode() -> None:
    own = {name for name, solver in all_solvers().items() if solver.info.views and not solver.info.package}
    assert own <= set(importlib.import_module("pseudocode").PSEUDOCODE)


def test_pages_of_formulations_have_the_errata_of_their_sources() -> None:
    """From the docstrings; what solvers ask a model for is no part of a user's page; italics stay italics."""
    _site_packages("numpydoc")
    script = (
        "import marginopt as mo\nfrom reference import documented, errata\nfrom words import escaped\n"
        "for model, word in ((mo.L2SVMDual, 'root'), (mo.MEBDual, '(16)'), (mo.ConicSVM, '(14)'), (mo.ParetoQP, 'Theorem 2')):\n"
        "    assert any(word in text for text in errata(model)), model\n"
        "assert errata(mo.HingeSVM) == []\n"
        "page = documented(mo.ZeroOneSVM, 'ZeroOneSVM')\n"
        "assert '`with_constraint`' in page and '`form_bytes`' not in page and '*Valid M.*' in page\n"
        "assert escaped('p* and q*, *every* a*b') == r'p\\* and q\\*, *every* a\\*b'\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=DOCS, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
