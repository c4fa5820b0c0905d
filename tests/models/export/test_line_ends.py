"""Lines of text files end at LF, CRLF and CR alone: a comment goes on behind the further characters of `str.splitlines`."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt.files import split_lines

SOURCES = Path(__file__).parents[3]
#: Characters at which `str.splitlines` ends a line and no format does: tabulators, separators, NEL, U+2028 and U+2029.
SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
#: Programs of min x over x ≥ 1 with a comment, %s, that ends in what would be a part of the program on a line of its own.
PROGRAMS = {
    ".lp": "Minimize\n obj: x \\ note%s + 5 x\nSubject To\n c: x >= 1\nEnd\n",
    ".mps": "* note%sROWS\nNAME t\nROWS\n N obj\n G c\nCOLUMNS\n x obj 1 c 1\nRHS\n rhs c 1\n* note%s rhs obj 7\nENDATA\n",
    ".ptf": "Task\nObjective\n    Minimize + x # note%s    + 5 x\nConstraints\n    c [1;+inf] + x\nVariables\n    x [0;+inf]\n",
}


@pytest.mark.parametrize("suffix", PROGRAMS)
def test_a_comment_ends_with_its_line(suffix: str, tmp_path: Path) -> None:
    for separator in SEPARATORS:
        path = tmp_path / f"program{suffix}"
        path.write_text(PROGRAMS[suffix].replace("%s", separator), encoding="utf-8", newline="")
        form = mo.read(path)
        assert form.q.tolist() == [1.0]
        assert form.r == 0.0


def test_lines_end_at_three_marks() -> None:
    assert split_lines("a\nb\r\nc\rd\n\n") == ["a", "b", "c", "d", ""]
    assert split_lines("") == []
    assert split_lines(f"a{SEPARATORS}b") == [f"a{SEPARATORS}b"]


def test_a_solution_keeps_names_with_separators(tmp_path: Path) -> None:
    form = mo.from_scipy([1.0, 2.0], A_ub=-np.ones((1, 2)), b_ub=[-1.0])
    names = form.names()
    path = tmp_path / "point.sol"
    path.write_text(f"# note\u2028{names[0]} 7\n{names[0]} 1\n{names[1]} 0\n", encoding="utf-8")
    assert mo.io.read_solution(form, path).objective == pytest.approx(1.0)


def test_readers_of_files_split_lines_by_one_function() -> None:
    readers = [*(SOURCES / "models" / "export").rglob("*.py"), *(SOURCES / "instances").rglob("*.py")]
    readers += [
        SOURCES / "src" / "marginopt" / "book" / "entries.py",
        SOURCES / "src" / "marginopt" / "auditing" / "conversion.py",
    ]
    calls = [
        f"{path.name}:{node.lineno}"
        for path in readers
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    ]
    assert calls == []
