"""The name of a program that is read: the file's own, or the file's without its suffixes; digests do not depend on it."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.models.digest import fingerprint
from marginopt.models.export.file_formats import file_formats, write_form
from marginopt.models.export.layout import sidecar_path

_MPS = "{name}\nROWS\n N cost\n G need\nCOLUMNS\n x cost 1 need 1\nRHS\n rhs need 2\nENDATA\n"
_LP = "{name}Minimize\n x\nSubject To\n x >= 2\nEnd\n"
_PTF = "{name}\nObjective\n    Minimize x\nConstraints\n    need [2;+inf] x\nVariables\n    x [0;+inf]\n"


def _form() -> StandardForm:
    rows = (Constraint("need", np.ones((1, 2)), np.array([-2.0]), Nonnegative(1)),)
    return StandardForm("diet", (Block("x", (2,)),), np.ones(2), rows, np.zeros(2), np.full(2, 9.0), np.zeros(2, dtype=bool))


@pytest.mark.parametrize(
    ("text", "suffix", "name"),
    [
        (_MPS.format(name="NAME          25FV47"), ".mps", "25FV47"),
        (_MPS.format(name="NAME ClpDefau FREE"), ".mps", "ClpDefau"),
        (_MPS.format(name="NAME"), ".mps", "plan"),
        (_MPS.format(name="NAME (null)"), ".mps", "plan"),
        (_LP.format(name="\\Problem name: stein27\n\n"), ".lp", "stein27"),
        (_LP.format(name="\\   Problem name:     stein27\n"), ".lp", "stein27"),
        (_LP.format(name="\\ Model stein27\n\\ LP format\n"), ".lp", "stein27"),
        (_LP.format(name="\\ a model of the plant\n"), ".lp", "plan"),
        (_LP.format(name=""), ".lp", "plan"),
        (_PTF.format(name="Task 'a diet'"), ".ptf", "a diet"),
        (_PTF.format(name="Task ''"), ".ptf", "plan"),
    ],
)
def test_a_program_has_the_name_in_its_file_or_the_file_s(text: str, suffix: str, name: str, tmp_path: Path) -> None:
    (tmp_path / f"plan{suffix}").write_text(text, encoding="utf-8")
    form = mo.read(tmp_path / f"plan{suffix}")
    assert form.name == name
    assert str(form).startswith(f"{name}: 1 variable,")
    assert mo.solve(form, "highs").objective == pytest.approx(2.0)


def test_every_format_that_states_a_name_gives_ours_back(tmp_path: Path) -> None:
    """CBF and SDPA files have no name: they are called by their file."""
    for suffix in file_formats():
        path = write_form(_form(), tmp_path / f"written{suffix}")
        assert mo.read(path).name == "diet"
        sidecar_path(path).unlink(missing_ok=True)
        assert mo.read(path).name == ("written" if suffix in (".cbf", ".dat-s") else "diet"), suffix


def test_a_compressed_file_is_called_by_its_stem(tmp_path: Path) -> None:
    (tmp_path / "plan.v2.lp.gz").write_bytes(gzip.compress(_LP.format(name="").encode()))
    assert mo.read(tmp_path / "plan.v2.lp.gz").name == "plan.v2"


def test_a_result_stays_valid_where_its_file_is_renamed(tmp_path: Path) -> None:
    """Earlier versions called every such program "program", which stored digests keep."""
    paths = [tmp_path / name for name in ("plan.lp", "copy.lp", "named.lp")]
    for path in paths:
        path.write_text(_LP.format(name="\\Problem name: stein27\n" if path.stem == "named" else ""), encoding="utf-8")
    plan, copy, named = map(mo.read, paths)
    assert (plan.name, copy.name, named.name) == ("plan", "copy", "stein27")
    plain = StandardForm(
        "program", plan.blocks, plan.q, plan.constraints, plan.lower, plan.upper, plan.integer, plan.quadratic, plan.r
    )
    assert len({fingerprint(form) for form in (plan, copy, named, plain)}) == 1
    assert fingerprint(plain.replace(name="another")) != fingerprint(plain)
