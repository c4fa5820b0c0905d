"""The first hour of users who are not us: whole tasks, each asserted by what it finds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

USERS = Path(__file__).parents[2] / "examples" / "users"
pytestmark = pytest.mark.filterwarnings("ignore")


def script(name: str) -> Any:
    """Import a script of examples/users."""
    spec = importlib.util.spec_from_file_location(name, USERS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_fair_classifier_from_a_table_with_words_and_holes(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    found = script("fair_classifier").main(tmp_path)
    assert found["status"] == 1.0 and found["difference"] <= 0.05 + 1e-9 and found["conic"] <= 1e-6
    assert found["problems"] == 10.0 and found["counted"] >= 5.0 and found["printed"] == 1.0
    assert 0.0 < found["conic gap"] < found["big-m gap"] <= 1.0
    assert all((tmp_path / f"fair.{suffix}").stat().st_size > 400 for suffix in ("lp", "mps", "tex"))


def test_a_backend_of_ones_own(tmp_path: Path) -> None:
    found = script("own_backend").main(tmp_path)
    assert found["proved"] == 1.0 and found["solved"] == 1.0 and found["within"] == 1.0 and found["spread"] <= 1e-3
    assert found["trace"] > 1.0 and found["log"] > 100.0


def test_a_program_from_elsewhere(tmp_path: Path) -> None:
    found = script("foreign_program").main(tmp_path)
    assert found["objective"] == pytest.approx(11.0) and found["dual"] == pytest.approx(11.0)
    assert found["exported"] == pytest.approx(11.0) and found["value"] == 11.0 and found["conflict"] > 0.0
    assert found["wrong"] == 0.0 and found["right"] == 1.0 and found["worst"] == 9.0


def test_text_in_several_classes() -> None:
    found = script("text_classifier").main()
    assert found["gap"] <= 1e-6 and 0.0 <= found["audited"] <= 0.1
    assert found["topic words"] == 1.0 and found["weighted"] == 1.0
    assert found["accuracy"] >= 0.75 and found["joint"] >= 0.75
