"""Every block of Python in the documentation runs, a page at a time; links lead somewhere; the gallery's examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if not {"generated", "_build", "gallery"} & set(p.relative_to(DOCS).parts)]
_BLOCK = re.compile(r"(<!-- not run: [^>]+-->\n)?```python\n(.*?)```", flags=re.DOTALL)
#: Where the site's own pages are that are made when it is built.
_MADE = ("generated/", "gallery/")


def named(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


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


@pytest.mark.parametrize("page", PAGES, ids=named)
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
