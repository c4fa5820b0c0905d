"""The screen of a terminal: it fits, a log is plain, advice is in the terminal's words; exports and benchmarks."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from data_files import points_file

import marginopt as mo
from marginopt.cli.main import main
from marginopt.cli.parsing import show_warning, with_option_names
from marginopt.cli.screen import print_tables, print_text
from marginopt.solvers.interface.recorder import ProgressState, Recorder
from marginopt.solvers.records import Options
from marginopt.status_line import StatusLine


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return points_file(tmp_path)


def run(capsys: Any, *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("words", [["solvers"], ["formulations"], ["estimators"], ["data"], ["solvers", "smo"]])
@pytest.mark.parametrize("width", ["80", "120"])
def test_tables_fit(capsys: Any, monkeypatch: pytest.MonkeyPatch, words: list[str], width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    code, out, _ = run(capsys, *words)
    assert code == 0 and out
    assert max(len(line) for line in out.splitlines()) <= int(width)
    assert all(line == line.rstrip() for line in out.splitlines()) and "\x1b" not in out


def test_one_solver_has_its_options_and_one_formulation_its_mathematics(capsys: Any) -> None:
    _, out, _ = run(capsys, "solvers", "smo", "--json")
    assert "precision" in json.loads(out)["options"]
    _, out, _ = run(capsys, "formulations", "hinge", "--json")
    record = json.loads(out)
    assert "minimise" in record["statement"] and "clarabel" in record["solvers"] and "--lam" in record["options"]
    code, _, err = run(capsys, "solvers", "smoo")
    assert code == 2 and "smo" in err


@pytest.mark.parametrize("width", ["50", "80", "200"])
def test_no_column_is_lost_where_names_are_long(capsys: Any, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    """A long name is broken before a number is; where nothing fits, every cell has its own line."""
    monkeypatch.setenv("COLUMNS", width)
    name, numbers = "zero-one on gaussian-clustered[n=200, p=5, sigma=0.2]", ("55.6832302", "9.0e-07", "0.169")
    head = ("problem", "objective", "gap", "solve s")
    print_tables(head, {"a": [(name, *numbers)], "b": [("short", *numbers)]}, right=(1, 2, 3))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= int(width) and lines[0] == "a" and "b" in lines
    assert all(sum(number in line for line in lines) == 2 for number in numbers)
    starts = {line.index("55.68") for line in lines if "55.68" in line}
    assert len(starts) == 1  # one below the other
    print_tables(("name", *"abcdef"), {"": [("x" * 60, *("123456789012345",) * 6)]}, right=range(1, 7))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= int(width) and out.count("123456789012345") == 6


def test_a_text_is_broken_in_a_terminal_and_whole_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = "title\n  note: " + "word " * 20 + "\n" + "x " * 40
    looked_at, log = Terminal(), io.StringIO()
    for stream in (looked_at, log):
        monkeypatch.setattr("sys.stdout", stream)
        print_text(text)
    lines = looked_at.getvalue().splitlines()
    assert max(map(len, lines)) < 40 and lines[2].startswith(" " * 8 + "word") and log.getvalue() == text + "\n"


def test_help_tells_of_the_formulation_that_is_named(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    values = {}
    for words in (["solve"], ["solve", "zero-one"], ["export", "built-in", "--formulations", "hinge,ramp"]):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        values[words[-1]] = capsys.readouterr().out
    assert (
        "--kappa VALUE" not in values["solve"] and "--kappa VALUE" in values["zero-one"] and "--gamma" not in values["zero-one"]
    )
    assert "--big-m VALUE" in values["hinge,ramp"] and "ramp" in values["hinge,ramp"]
    assert "marginopt solve FORMULATION --help lists them" in values["solve"]
    assert values["solve"].startswith("usage: marginopt solve FORMULATION [DATA] [options]\n")
    assert all(len(line) <= 80 for text in values.values() for line in text.splitlines())


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("solve", "hinge", "wine", "--lambda", "1"), "--lambda"),
        (("report", "--generates", "3"), "--generate"),
        (("solve", "hinge", "wine", "more"), "more"),
    ],
)
def test_a_misspelt_option_is_told_the_nearest(capsys: Any, words: tuple[str, ...], answer: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    assert stop.value.code == 2 and answer in capsys.readouterr().err


def test_a_misspelt_command_is_told_the_nearest(capsys: Any) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["slove", "hinge", "wdbc"])
    assert stop.value.code == 2 and "solve" in capsys.readouterr().err


def test_options_of_the_solver_are_set(capsys: Any, data: Path) -> None:
    code, out, _ = run(capsys, "solve", "l2svm", data, "--solver", "smo", "--set", "precision=double", "--json", "--quiet")
    assert code == 0 and json.loads(out)["status"] == "OPTIMAL"
    code, _, err = run(capsys, "solve", "l2svm", data, "--solver", "smo", "--set", "precison=double")
    assert code == 2 and "precision" in err
    code, _, err = run(capsys, "solve", "l2svm", data, "--set", "precision")
    assert code == 2 and "--set" in err


@pytest.mark.parametrize(
    ("python", "name", "prompt"),
    [
        ("y must hold -1 and +1. Instance.pair(a, b) relabels two classes", "y", "--pair A B"),
        ("a first column of ones in X; Instance.prepared(intercept=True) puts it there", "X", "leave out --raw"),
        ("time_limit must be positive", "time_limit", "--time-limit must"),
        ("manifold_mu is below 0", "manifold_mu", "--manifold-mu is"),
        ("manifold_mu is below 0", "", "manifold_mu is"),
        ("lambda is not known", "lam", "lambda is"),
    ],
)
def test_advice_is_in_the_terminal_s_words(python: str, name: str, prompt: str) -> None:
    text = with_option_names(python, {"manifold_mu", "lam"}, name)
    assert text.startswith(prompt) or (prompt in text and "Instance." not in text)


def test_errors_of_the_parser_fit_and_name_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stderr", Terminal())
    for words in (["solv", "hinge"], ["report", "--generate", "3", "0.2"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    output = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert all(len(line) <= 60 for line in output.splitlines())
    output = " ".join(output.split())
    assert "solve" in output and "SIGMA" in output


@pytest.fixture(autouse=True)
def a_usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the suite was started from."""
    monkeypatch.setenv("TERM", "xterm")


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_a_status_line_fits_a_terminal_and_is_plain_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    looked_at, log = Terminal(), io.StringIO()
    for stream in (looked_at, log):
        line = StatusLine(stream)
        for k in range(50):
            line.show(f"{k} " + "x" * 100)
        line.write_line("the end")
    shown = re.sub(r"\x1b\[K", "", looked_at.getvalue()).split("\r")[1:]
    assert len(shown) == 51 and max(map(len, shown)) < 40
    assert "\r" not in log.getvalue() and "\x1b" not in log.getvalue()
    assert log.getvalue().splitlines() == ["0 " + "x" * 100, "the end"]  # at once, then every few seconds


def test_a_line_that_repeats_the_state_above_it_is_left_out_of_a_file() -> None:
    log = io.StringIO()
    line = StatusLine(log)
    line.show("4 rows, 2 s")
    line.write_line("4 rows, 2 s")
    line.write_line("4 rows, 2 s")  # of another run
    assert log.getvalue() == "4 rows, 2 s\n" * 2


def test_states_in_a_file_are_a_few_seconds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log = io.StringIO()
    line = StatusLine(log)
    for second in range(600):
        now[0] = 100.0 + second
        line.show(f"{second}")
    seconds = [int(text) for text in log.getvalue().splitlines()]
    gaps = [after - before for before, after in pairwise(seconds)]
    assert gaps[0] == 2 and max(gaps) <= 15 and len(gaps) < 60


def test_a_short_run_has_one_line_of_progress(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 100.0)
    recorder = Recorder("some", Options(progress=True))
    recorder.start()
    for objective in (2.0, 1.0):
        recorder.record_progress(ProgressState(0, objective))
    recorder.trace()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.split()[line.split().index("objective") + 1] == "1"


def test_a_slow_start_says_what_it_waits_for(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> Any:
        time.sleep(0.3)
        raise SystemExit(0)

    monkeypatch.setattr("marginopt.status_line._WAIT", 0.05)
    monkeypatch.setattr("marginopt.cli.main.parser", slow)
    for words, waits in ((["report"], True), (["report", "--quiet"], False), (["inspect"], False)):
        monkeypatch.setattr(sys, "argv", ["marginopt", *words])
        with pytest.raises(SystemExit):
            main()
        assert bool(capsys.readouterr().err) is waits
    assert not any(thread.name.endswith("(show)") for thread in threading.enumerate())


def test_a_dumb_terminal_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    looked_at = Terminal()
    line = StatusLine(looked_at)
    line.show("state")
    line.write_line("done")
    line.end()
    assert looked_at.getvalue() == "state\ndone\n"


def test_events_lose_their_middle_in_a_terminal_and_nothing_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    looked_at, log = Terminal(), io.StringIO()
    text = "[1/9, 2 s] " + "x" * 60 + " incumbent 12"
    for stream in (looked_at, log):
        StatusLine(stream).show_event(text)
        StatusLine(stream).end()
    shown = looked_at.getvalue().split("\r")[1].removesuffix("\x1b[K")
    assert len(shown) == 39 and shown.startswith("[1/9, 2 s] ") and shown.endswith("… incumbent 12"[1:]) and "…" in shown
    assert looked_at.getvalue().endswith("\r\x1b[K") and log.getvalue() == text + "\n"


def test_warnings_and_errors_are_ours_and_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    looked_at, log = Terminal(), io.StringIO()
    for stream in (looked_at, log):
        monkeypatch.setattr("sys.stderr", stream)
        show_warning(UserWarning("dropped constant feature column(s) 0 to 12; prepared(standardise=False) keeps them"))
    assert log.getvalue() == "marginopt: warning: dropped constant feature column(s) 0 to 12; --raw keeps them\n"
    assert max(map(len, looked_at.getvalue().splitlines())) < 60 and looked_at.getvalue().count("\n") == 2


def test_a_program_s_warning_shows_no_code(tmp_path: Path) -> None:
    path = tmp_path / "constant.csv"
    path.write_text("a,b,label\n" + "".join(f"{k},1,{k % 2}\n" for k in range(8)), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "marginopt", "inspect", "hinge", str(path)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.startswith("marginopt: warning: ") and "stating.py" not in done.stderr


def test_nothing_but_our_own_words_reaches_the_screen() -> None:
    """Compiled code writes past Python; here `os.write` stands for it."""
    script = (
        "import os, sys\nfrom marginopt.cli.main import silence_native_output\n"
        "with silence_native_output():\n"
        "    os.write(1, b'stray'); os.write(2, b'stray')\n    print('ours'); print('also', file=sys.stderr)\n"
        "os.write(1, b'after')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "ours\nafter" and done.stderr == "also\n"


@pytest.mark.parametrize("no_color", [True, False])
def test_colours_are_for_terminals_that_want_them(no_color: bool) -> None:
    """In a pseudo-terminal."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    ours, theirs = pty.openpty()
    script = "from marginopt.cli.screen import print_table; print_table(('a', 'b'), [('first', 'optimal')])"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=theirs, env=environment | ({"NO_COLOR": "1"} if no_color else {})) as process:
        os.close(theirs)
        assert process.wait() == 0
    text = os.read(ours, 65536)
    os.close(ours)
    assert b"first" in text and (b"\x1b[32m" in text) is not no_color


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(word: str) -> None:
    """They take 0.1 s of processor time so."""
    script = (
        "import sys\nfrom marginopt.cli.main import main\n"
        "try:\n    main([sys.argv[1]])\nexcept SystemExit:\n"
        "    print(*({'numpy', 'scipy', 'numba', 'rich', 'sklearn', 'jinja2'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, word], capture_output=True, text=True, check=True)
    assert "marginopt" in done.stdout and done.stderr.strip() == ""


def test_export_prints_the_value_of_each_problem(capsys: Any, data: Path, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "export", data, tmp_path / "programs", "--formulations", "hinge", "--quiet")
    assert code == 0
    (record,) = json.loads((tmp_path / "programs" / "manifest.json").read_text(encoding="utf-8"))["problems"]
    assert f"{record['value']:.9g}" in out


def test_export_writes_files_and_a_manifest_of_values(capsys: Any, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "programs"
    code, out, _ = run(
        capsys, "export", data, folder, "--formulations", "hinge,conic", "--format", "mps,cbf,npz", "--json", "--quiet"
    )
    assert code == 0
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest == json.loads(out)
    hinge, conic = manifest["problems"]
    assert list(hinge["files"]) == ["hinge-points.mps", "hinge-points.cbf", "hinge-points.npz"] and not hinge["not written"]
    assert list(hinge["rewritten"]) == ["hinge-points.cbf"] and not conic["rewritten"]  # the format has no quadratic objective
    assert list(conic["files"]) == ["conic-points.cbf", "conic-points.npz"] and ".mps" in conic["not written"]
    for record in (hinge, conic):
        for name, digest in record["files"].items():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
            again = mo.solve(mo.read(folder / name), "clarabel")
            assert again.objective == pytest.approx(record["value"], rel=1e-5)
    code, _, err = run(capsys, "export", data, folder, "--format", "xls")
    assert code == 2 and ".xls" in err


def test_benchmark_has_a_row_for_each_problem_and_solver(capsys: Any, data: Path, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "benchmark", "clarabel,piqp", data, "--formulations", "hinge,conic", "--quiet",
                       "--out", tmp_path / "runs")  # fmt: skip
    assert code == 0 and all(name in out for name in ("piqp", "conic", "points"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "runs" / "runs.csv").read_text(encoding="utf-8"))))
    assert [(row["problem"], row["solver"]) for row in rows] == [
        (f"{name} on points", solver) for name in ("hinge", "conic") for solver in ("clarabel", "piqp")
    ]
    assert (tmp_path / "runs" / "profile.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")
    code, _, err = run(capsys, "benchmark", "clarabel,clarabel", data)
    assert code == 2 and "clarabel" in err
    code, _, err = run(capsys, "benchmark", "clarabel,piq", data)
    assert code == 2 and "piqp" in err and "[1/" not in err  # before anything is done


def test_folders_are_checked_before_the_work(capsys: Any, data: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    for words in (("export", data, blocked), ("benchmark", "clarabel", data, "--out", blocked)):
        code, _, err = run(capsys, *words)
        assert code == 2 and str(blocked) in err
