"""The house: folders hold few modules (`test_circles` sees to the imports between them)."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("models", "solvers", "relaxations", "instances", "marginopt")
MOST_MODULES = 16


@pytest.mark.parametrize("top", [*FOLDERS, "tests", "benchmarks"])
def test_folders_fit_in_the_head(top: str) -> None:
    crowded = {
        str(folder.relative_to(ROOT)): count
        for folder in [ROOT / top, *(p for p in (ROOT / top).rglob("*") if p.is_dir())]
        if (count := sum(p.name != "__init__.py" for p in folder.glob("*.py"))) > MOST_MODULES
    }
    assert not crowded
