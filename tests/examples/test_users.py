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
    output = script("fair_classifier").main(tmp_path)
    assert output["status"] == 1.0 and output["difference"] <= 0.05 + 1e-9 and output["conic"] <= 1e-6
    assert output["problems"] == 10.0 and output["counted"] >= 5.0 and output["printed"] == 1.0
    assert 0.0 < output["conic gap"] < output["big-m gap"] <= 1.0
    assert all((tmp_path / f"fair.{suffix}").stat().st_size > 400 for suffix in ("lp", "mps", "tex"))


def test_a_backend_of_ones_own(tmp_path: Path) -> None:
    output = script("own_backend").main(tmp_path)
    assert output["proved"] == 1.0 and output["solved"] == 1.0 and output["within"] == 1.0 and output["spread"] <= 1e-3
    assert output["trace"] > 1.0 and output["log"] > 100.0


def test_a_program_from_elsewhere(tmp_path: Path) -> None:
    output = script("foreign_program").main(tmp_path)
    assert output["objective"] == pytest.approx(11.0) and output["dual"] == pytest.approx(11.0)
    assert output["exported"] == pytest.approx(11.0) and output["value"] == 11.0 and output["conflict"] > 0.0
    assert output["wrong"] == 0.0 and output["right"] == 1.0 and output["worst"] == 9.0


def test_text_in_several_classes() -> None:
    output = script("text_classifier").main()
    assert output["gap"] <= 1e-6 and 0.0 <= output["audited"] <= 0.1
    assert output["topic words"] == 1.0 and output["weighted"] == 1.0
    assert output["accuracy"] >= 0.75 and output["joint"] >= 0.75
