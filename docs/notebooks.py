"""Make notebooks of the lessons of the tutorial series: a cell of Markdown for words, a cell of code for each block."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["notebook", "write_notebooks"]

_CODE = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
#: Pictures and links of the site, which a notebook elsewhere does not reach: the words stay.
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n*")
_LINK = re.compile(r"\[([^\]]+)\]\([^):]*\)")
_ROLE = re.compile(r"\{download\}`[^`]*`\.?")


def notebook(text: str) -> dict[str, Any]:
    """Return the notebook (nbformat 4.5, as JSON) of the text of a page in Markdown."""
    cells = []
    for k, part in enumerate(re.split(_CODE, text)):
        kind = "code" if k % 2 else "markdown"
        words = part if k % 2 else re.sub(_LINK, r"\1", re.sub(_ROLE, "", re.sub(_PICTURE, "", part)))
        if words.strip():
            cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{k}", "metadata": {}, "source": words.strip()}
            cells.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def write_notebooks(pages: Path, folder: Path) -> None:
    """Write a notebook into ``folder`` for each numbered page of the folder ``pages``."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(pages.glob("[0-9]-*.md")):
        text = json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1, ensure_ascii=False)
        (folder / f"{page.stem}.ipynb").write_text(text + "\n", encoding="utf-8")
