"""The problems of examples/compose: stated, printed, and solved by two solvers."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import marginopt as mo

FILE = Path(__file__).parents[2] / "examples" / "compose" / "problems.py"
#: Two solvers for each that is solved in a moment; the others are tested beside their statements.
SOLVED = {
    "fair L1-SVM": ("clarabel", "highs"),
    "elastic-net squared hinge": ("clarabel", "piqp"),
    "conic loss": ("clarabel", "scs"),
    "kernel 0-1": ("scip", "auto"),
    "parity by counts": ("scip", "auto"),
    "SVDD": ("clarabel", "piqp"),
    "Crammer-Singer": ("clarabel", "piqp"),
    "a changed hinge SVM": ("clarabel", "piqp"),
}


def problems() -> ModuleType:
    found = importlib.util.spec_from_file_location("compose_problems", FILE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_every_problem_is_stated_printed_and_compiled() -> None:
    stated = problems().PROBLEMS
    assert len(stated) >= 16
    assert set(SOLVED) <= set(stated)
    for name, state in stated.items():
        model = state()
        assert model.statement.title in str(model), name
        assert r"\begin{aligned}" in model.latex()
        assert model.form.n > 0


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("name", SOLVED)
def test_two_solvers_agree(name: str) -> None:
    model = problems().PROBLEMS[name]()
    first, second = (mo.solve(model, solver, time_limit=60) for solver in SOLVED[name])
    assert first.solved
    assert second.objective == pytest.approx(first.objective, rel=1e-3)
