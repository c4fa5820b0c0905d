"""The conformance command, and a solver that breaks the laws."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from facts import about

import marginopt as mo
from marginopt.conformance import State, examine, tally
from marginopt.conformance.__main__ import main
from marginopt.conformance.laws import LawVerdict
from marginopt.errors import InputError
from marginopt.solvers import Solver, SolverInfo
from marginopt.solvers.registry import EXTENSIONS
from marginopt.solvers.simplex.smo import SMO


class Crooked(SMO):
    """A solver of ours that claims too much: what it answers is shifted."""

    info = SolverInfo("crooked", "SMO with a wrong answer", views=SMO.info.views, gives=SMO.info.gives, reference="none")

    def answer(self, state):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        right = super().answer(state)
        return replace(right, values={label: value + 0.01 for label, value in right.values.items()})


@pytest.fixture
def crooked() -> Iterator[Solver]:
    solver = Crooked()
    mo.register(solver)
    yield solver
    EXTENSIONS.remove("crooked")


def test_a_solver_that_claims_too_much_is_found_out(crooked: Solver) -> None:
    verdict = {c.law.name for c in examine("crooked", ["l2svm"]) if c.verdict.state is State.VIOLATED}
    assert "reaches the optimum" in verdict  # the certificate that is returned is of a better point than the claimed one


def test_the_command_prints_law_by_law(crooked: Solver, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crooked", "--on", "l2svm"]) == 1
    out = capsys.readouterr().out
    assert "crooked / l2svm on linear-c1" in out
    assert main(["smo", "--on", "hulls,hinge", "--all"]) == 0
    out = capsys.readouterr().out
    assert "smo / hulls" in out and "smo / hinge" in out
    assert main(["hinge", "--on", "clarabel", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {r["state"] for r in records} == {"holds", "not applicable"} and all(r["words"] for r in records)
    assert main(["conic", "--on", "clarabel"]) == 0  # a formulation and a relaxation


def test_wrong_use_has_its_own_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clarabell"]) == 2
    assert "clarabel" in capsys.readouterr().err
    with pytest.raises(InputError, check=about("nothing of the sort")):
        list(examine("nothing of the sort"))


def test_a_verdict_has_words() -> None:
    with pytest.raises(ValueError):
        LawVerdict(State.NOT_APPLICABLE, " ")
    assert tally([]) == dict.fromkeys(State, 0)
