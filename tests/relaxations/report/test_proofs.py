"""Proof logs in a report: what the page holds, and what Node and Chromium say of genuine and of changed logs."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chromium import PROGRAM, browser
from data import Points, clouds

import marginopt as mo
from marginopt.proofs import check_proof
from marginopt.relaxations import Conic, GapReport, gap_report
from marginopt.solvers.zero_one.check import checker

NODE = shutil.which("node")
pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


@pytest.fixture(scope="module")
def report() -> GapReport:
    X, y = clouds(3, 20)
    problems: Any = {"clouds": Points(X, y), "stated": mo.ZeroOneSVM(X, y, lam=0.4)}
    return gap_report(problems, [Conic()], ["zero-one-bb", "scip"], proofs=True, progress=False, time_limit=60)


def changed(report: GapReport, digest: str | None = None) -> GapReport:
    """The report with a label flipped in the log of each run, not sealed anew, or with the digest of other data."""
    cells = []
    for cell in report.exacts:
        lines = unpacked(cell.log).splitlines(keepends=True) if cell.log else []
        if lines:
            header = json.loads(lines[0])
            header["A"][0] = [-value for value in header["A"][0]]
            forged = json.dumps(header) + "\n" + "".join(lines[1:])
            log = cell.log if digest is not None else base64.b64encode(gzip.compress(forged.encode())).decode()
            cell = replace(cell, log=log, log_digest=digest or cell.log_digest)
        cells.append(cell)
    return replace(report, exacts=tuple(cells))


def unpacked(log: str) -> str:
    return gzip.decompress(base64.b64decode(log)).decode()


def test_cells_keep_the_logs_of_zero_one_bb_which_prove_their_bounds(report: GapReport, tmp_path: Path) -> None:
    values = {(cell.instance, cell.solver) for cell in report.exacts if cell.log}
    assert values == {("clouds", "zero-one-bb"), ("stated", "zero-one-bb")}
    for cell in report.exacts:
        if cell.log:
            path = tmp_path / "log.jsonl"
            path.write_text(unpacked(cell.log))
            verdict = check_proof(path)
            assert verdict.valid and cell.bound is not None and verdict.bound == pytest.approx(cell.bound, rel=1e-5)
    read = GapReport.from_json(report.write(tmp_path / "report.json")[0])
    assert read.checksum == report.checksum and read.html() == report.html()


def test_the_page_holds_checker_and_logs_and_no_address(report: GapReport) -> None:
    page = report.html()
    assert page.count('class="prove"') == 2 and "class ProofCheck" in page
    assert not re.search(r'(src|href)="(https?:)?//', page) and "default-src 'none'" in page
    plain = replace(report, exacts=tuple(replace(cell, log="") for cell in report.exacts)).html()
    assert "ProofCheck" not in plain and 'class="prove"' not in plain


def test_reports_keep_no_logs_unless_asked() -> None:
    plain = gap_report([Points(*clouds(3, 20))], [Conic()], "zero-one-bb", progress=False, time_limit=60)
    assert [cell.log for cell in plain.exacts] == [""]


@pytest.mark.skipif(NODE is None, reason="needs node (apt-get install nodejs), which runs checker.js")
def test_node_gives_the_verdicts_of_python_on_the_pages_logs(report: GapReport, tmp_path: Path) -> None:
    script = Path(checker.__file__).with_name("checker.js")
    for source, valid in ((report, True), (changed(report), False)):
        logs = [cell.log for cell in source.exacts if cell.log]
        program = (
            f"const c = require({json.dumps(str(script))});"
            f"Promise.all({json.dumps(logs)}.map(log => c.unpack(Buffer.from(log, 'base64'))))"
            ".then(all => all.map(bytes => new c.ProofCheck(bytes).run()))"
            ".then(all => process.stdout.write(JSON.stringify(all)));"
        )
        assert NODE is not None
        process = subprocess.run([NODE, "-e", program], capture_output=True, text=True, check=True, timeout=120)
        verdicts = json.loads(process.stdout)
        assert [verdict["valid"] for verdict in verdicts] == [valid] * len(logs)
        if valid:
            assert [v["digest"] for v in verdicts] == [cell.log_digest for cell in source.exacts if cell.log]


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (apt-get install chromium)")
def test_chromium_proves_and_refuses_in_the_page(report: GapReport, tmp_path: Path) -> None:
    verdict = "document.querySelector('button.prove').nextElementSibling.dataset.verdict"
    cases = {"proved": report, "forged": changed(report), "other": changed(report, "0" * 64)}
    with browser(tmp_path) as chromium:
        for name, source in cases.items():
            chromium.open(source.write(tmp_path / f"{name}.html")[0])
            chromium.evaluate("document.querySelector('button.prove').click()")
            chromium.wait(f"!!{verdict}")
            assert chromium.evaluate(verdict) == ("proved" if name == "proved" else "refused"), name
