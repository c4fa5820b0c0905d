"""Every block of Python in the documentation runs, a page at a time; links lead somewhere; the gallery's examples run.

By default some pages of each folder and some examples run.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import FULL, part
from scripts import script_runner

from marginopt.errors import MarginoptError
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
WITH_CODE = [p for p in PAGES if "```python" in p.read_text(encoding="utf-8")]
#: The page on clusters starts one, whose processes cost as much as all other pages: at full effort.
RUN = [p for p in WITH_CODE if FULL or named(p) != "how-to/cluster.md"]
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
NOTES = sorted((ROOT / "benchmarks" / "results").glob("*.md"))


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Path, Path], str]]:
    """Runs a script in a folder."""
    with script_runner() as runner:
        yield runner


@pytest.mark.parametrize("page", part(RUN, 2, kind=lambda page: page.parent), ids=named)
def test_every_block_runs(page: Path, run: Callable[[Path, Path], str], tmp_path: Path) -> None:
    """In a process and a folder of its own; a block that does not run says why in a comment above it."""
    blocks = [code for skipped, code in _BLOCK.findall(page.read_text(encoding="utf-8")) if not skipped]
    if not blocks:
        pytest.skip("its blocks say why they are not run")
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    assert not run(script, tmp_path)


@pytest.mark.parametrize("page", PAGES + NOTES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        place = (page.parent / target).resolve()
        made = place.is_relative_to(DOCS) and place.relative_to(DOCS).as_posix().startswith(_MADE)
        assert "://" in target or made or place.exists(), target


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_code_fits_the_column(page: Path) -> None:
    """The site's column holds 95 characters of code."""
    blocks = re.findall(r"^```(?:python|toml)?\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert not [line for block in blocks for line in block.splitlines() if len(line) > 95]


@pytest.mark.parametrize(
    "example", part(sorted((ROOT / "examples" / "gallery").glob("plot_*.py")), 2, turn=3), ids=lambda p: p.stem
)
def test_the_gallery_runs(example: Path, run: Callable[[Path, Path], str], tmp_path: Path) -> None:
    assert not run(example, tmp_path)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("page", sorted((DOCS / "tutorials" / "series").glob("[0-9]-*.md")), ids=lambda p: p.stem)
def test_a_lesson_is_a_notebook_of_the_same_code(page: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs pip install nbformat")
    text = page.read_text(encoding="utf-8")
    book = nbformat.from_dict(importlib.import_module("notebooks").notebook(text))
    nbformat.validate(book)
    assert [c.source for c in book.cells if c.cell_type == "code"] == [code.strip() for _, code in _BLOCK.findall(text)]
    assert not any("](../" in c.source or "{download}" in c.source for c in book.cells)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.parent != DOCS and p.stem != "index" and p.parts[-2] not in ("papers", "reference")], ids=named
)
def test_a_page_has_an_opening_an_example_and_a_picture(page: Path) -> None:
    """Two sentences at least, before anything else."""
    text = page.read_text(encoding="utf-8")
    opening = text.split("\n\n")[1]
    assert len(re.findall(r"[.?](?:\s|$)", opening)) >= 2, opening
    assert "```python" in text and re.search(r"!\[[^\]]+\]\(", text)


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
    """The packages that build the site are an extra of their own: `make docs` brings it, `make test` alone does not."""
    for name in names:
        pytest.importorskip(name, reason='the site needs pip install "marginopt[docs]"')


@pytest.mark.usefixtures("site")
def test_indices_stand_below_the_line() -> None:
    _site_packages("docutils")
    scripts = importlib.import_module("prose").set_scripts
    shown = "".join(str(node) for node in scripts("f_{λ^k} ≤ ‖w‖_1, Σ_+ a, 2^-15, sample_weight, n_jobs_, age_band"))
    below, above = "subscript>", "superscript>"
    assert shown == (
        f"f<{below}λ<{above}k</{above}</{below} ≤ ‖w‖<{below}1</{below}, Σ<{below}+</{below} a, "
        f"2<{above}−15</{above}, sample_weight, n_jobs_, age_band"
    )


@pytest.mark.usefixtures("site")
def test_formulas_are_drawn_without_a_script() -> None:
    """Every formulation's displays are MathML that is well formed, with nothing of LaTeX left, a row for each line."""
    _site_packages("latex2mathml", "docutils")
    mathml = importlib.import_module("formulas").mathml
    for info in all_formulations().values():
        model: Model = info.example(np.random.default_rng(0))
        displays = re.findall(r"\\\[\n(.*?)\n\\\]", latex_numbers(model.latex()), flags=re.DOTALL)
        assert displays
        for latex in displays:
            drawn = ET.fromstring(mathml(latex, True))
            assert "\\" not in "".join(drawn.itertext()) and "&" not in "".join(drawn.itertext())
            rows = drawn.findall(".//{*}mtr")
            assert ("aligned" not in latex) or len(rows) >= 1
    with pytest.raises(ValueError):
        mathml(r"\nosuchcommand x", False)


@pytest.mark.usefixtures("site")
def test_formulas_are_set_by_katex_where_it_is() -> None:
    """Every display is HTML with MathML for screen readers in it, and a formula that is none is named."""
    _site_packages("latex2mathml", "docutils")
    katex = importlib.import_module("formulas")
    if not katex.install_katex(fetch=False):
        pytest.skip("KaTeX is not there: `make docs` brings it where npm is")
    for info in all_formulations().values():
        for latex in re.findall(
            r"\\\[\n(.*?)\n\\\]", latex_numbers(info.example(np.random.default_rng(0)).latex()), flags=re.DOTALL
        ):
            html = katex.katex_html(latex, True)
            assert 'class="katex-display"' in html and "<math" in html and "katex-error" not in html
    with pytest.raises(ValueError):
        katex.katex_html(r"\nosuchcommand x", False)


@pytest.mark.usefixtures("site")
def test_the_glossary_s_words_are_distinct() -> None:
    """Each word has one entry; the words of one entry have one anchor."""
    _site_packages("docutils")
    links = importlib.import_module("prose")
    (page,) = (p for p in PAGES if p.name == "glossary.md")
    terms = links.glossary_anchors(page.read_text(encoding="utf-8"))
    assert terms["κ form"] == terms["κ"] and len(terms) >= 35
    assert len({word.lower() for word in terms}) == len(terms)


@pytest.mark.usefixtures("site")
def test_every_algorithm_of_ours_has_pseudocode() -> None:
    names = {name for name, solver in all_solvers().items() if solver.info.views and not solver.info.package}
    assert names <= set(importlib.import_module("pseudocode").PSEUDOCODE)


@pytest.mark.usefixtures("site")
def test_every_algorithm_of_ours_has_code_to_copy_and_every_formulation_a_reader() -> None:
    """Its formulation's example is a problem that the algorithm reads; some are solved."""
    snippets = importlib.import_module("snippets")
    assert set(snippets.SERVES) == set(snippets.STATE)
    names = {name for name, solver in all_solvers().items() if solver.info.views and not solver.info.package}
    assert names <= set(snippets.READ_BY)
    for name in part(sorted(names), 3):
        values: dict[str, Any] = {}
        exec(snippets.snippet(snippets.READ_BY[name][0], name).replace("print(result)", ""), values)
        assert np.isfinite(values["result"].objective) and values["result"].solver == name, name


@pytest.mark.usefixtures("site")
def test_every_formulation_has_code_to_copy() -> None:
    """Its example states a model of the class and solves it; what draws it gives a picture, or says that there is no form."""
    snippets = importlib.import_module("snippets")
    infos = all_formulations()
    assert set(snippets.STATE) == {name for name, info in infos.items() if info.model.__module__.startswith("marginopt.")}
    drawn = 0
    for name in snippets.STATE:
        values: dict[str, Any] = {}
        exec(snippets.snippet(name).replace("print(result)", ""), values)
        assert isinstance(values["model"], infos[name].model), name
        assert np.isfinite(values["result"].objective), name
        for line in snippets.PICTURE.values():
            with contextlib.suppress(MarginoptError):
                drawn += "<svg" in eval(line, values).svg
    assert drawn > len(snippets.STATE)


@pytest.mark.usefixtures("site")
def test_related_formulations_are_related_both_ways() -> None:
    _site_packages("numpydoc")
    related = importlib.import_module("formulation_page").related()
    assert {"conic", "hinge", "ramp"} <= set(related["zero-one"])
    for name, others in related.items():
        assert others and name not in others, name
        assert all(name in related[other] for other in others), name


def test_pages_of_formulations_have_the_errata_of_their_sources() -> None:
    """From the docstrings; what solvers ask a model for is no part of a user's page; italics stay italics."""
    _site_packages("numpydoc")
    script = (
        "import marginopt as mo\nfrom reference import docstring_page, errata, to_markdown\n"
        "for model, word in ((mo.L2SVMDual, 'root'), (mo.MEBDual, '(16)'), (mo.ConicSVM, '(14)'), (mo.ParetoQP, 'Theorem 2')):\n"
        "    assert any(word in text for text in errata(model)), model\n"
        "assert errata(mo.HingeSVM) == []\n"
        "page = docstring_page(mo.ZeroOneSVM, 'ZeroOneSVM')\n"
        "assert '`with_constraint`' in page and '`form_bytes`' not in page and '*Valid M.*' in page\n"
        "assert to_markdown('p* and q*, *every* a*b') == r'p\\* and q\\*, *every* a\\*b'\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=DOCS, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
