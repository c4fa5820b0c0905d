"""Forged entries of the book, of many kinds: `book verify --entries` refuses each in a sentence, without an exception."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marginopt import book
from marginopt.cli.main import main

Record = dict[str, Any]

_LINES = Path(book.__file__).with_name("entries.jsonl").read_text(encoding="utf-8").splitlines()
_BY_NAME: dict[str, Record] = {record["name"]: record for record in map(json.loads, _LINES)}
ZERO_ONE = _BY_NAME["zero-one/flipped-n16-p1-s0-lam1"]
OTHER = _BY_NAME["zero-one/flipped-n16-p1-s1-lam1"]
HINGE = _BY_NAME["hinge/flipped-n16-p1-s0-lam1"]
RAMP = _BY_NAME["ramp/flipped-n16-p1-s0-lam1"]
CONIC = _BY_NAME["conic/flipped-n16-p1-s0-lam1"]


def _changed(record: Record, **changes: Any) -> list[Record]:
    return [record | changes]


def _data(**changes: Any) -> list[Record]:
    return _changed(ZERO_ONE, data=ZERO_ONE["data"] | changes)


def _parameters(record: Record = ZERO_ONE, **changes: Any) -> list[Record]:
    return _changed(record, parameters=record["parameters"] | changes)


def _without(record: Record, *names: str) -> list[Record]:
    return [{key: value for key, value in record.items() if key not in names}]


def _named(name: str) -> list[Record]:
    return _changed(ZERO_ONE, name=name)


def _kind(**data: Any) -> list[Record]:
    return _changed(ZERO_ONE, data=data)


_PATH = {"kind": "table", "label": 0, "header": 1}
_BITS = {"kind": "audit", "path": "t.csv", "target": "late", "protected": ["fee"]}
_W, _ALPHA = ZERO_ONE["point"]["w"], HINGE["multipliers"]

#: Entries by what is forged. Each is one entry or several.
FORGED: dict[str, list[Record]] = {
    # what the point is worth
    "value a part in 1e9 too low": _changed(ZERO_ONE, value=ZERO_ONE["value"] * (1 - 1e-9)),
    "value too low by its last digit": _changed(ZERO_ONE, value=math.nextafter(ZERO_ONE["value"], 0.0)),
    "value half": _changed(HINGE, value=0.5 * HINGE["value"], bound=0.0),
    "value zero": _changed(RAMP, value=0.0, bound=0.0),
    "value negative": _changed(RAMP, value=-1.0, bound=-2.0),
    "value too high": _changed(CONIC, value=2.0 * CONIC["value"]),
    "value NaN": _changed(ZERO_ONE, value=math.nan),
    "value infinite": _changed(ZERO_ONE, value=math.inf),
    "value of 400 digits": _changed(ZERO_ONE, value=10**400),
    "value as text": _changed(ZERO_ONE, value="17"),
    "value true": _changed(ZERO_ONE, value=True),
    "value and bound NaN": _changed(ZERO_ONE, value=math.nan, bound=math.nan),
    # the point
    "point of another instance": _changed(ZERO_ONE, point={"w": [0.0, 0.0]}, value=ZERO_ONE["value"]),
    "no point": _changed(ZERO_ONE, point={}),
    "point too short": _changed(ZERO_ONE, point={"w": _W[:1]}),
    "point too long": _changed(ZERO_ONE, point={"w": [*_W, 0.0]}),
    "point NaN": _changed(ZERO_ONE, point={"w": [math.nan, _W[1]]}),
    "point infinite": _changed(ZERO_ONE, point={"w": [math.inf, _W[1]]}),
    "point of 400 digits": _changed(ZERO_ONE, point={"w": [10**400, 1]}),
    "point of texts": _changed(ZERO_ONE, point={"w": [str(x) for x in _W]}),
    "point of truths": _changed(ZERO_ONE, point={"w": [True, False]}),
    "point nested": _changed(ZERO_ONE, point={"w": [_W]}),
    "point with a part that the model lacks": _changed(ZERO_ONE, point=ZERO_ONE["point"] | {"xi": [0.0] * 16}),
    "W too small for w": _changed(CONIC, point=CONIC["point"] | {"W": [0.5 * x for x in CONIC["point"]["W"]]}),
    "W negative": _changed(CONIC, point=CONIC["point"] | {"W": [-x for x in CONIC["point"]["W"]]}),
    # the bound
    "bound above the value": _changed(ZERO_ONE, bound=ZERO_ONE["value"] * (1 + 1e-9)),
    "bound NaN": _changed(ZERO_ONE, bound=math.nan),
    "bound infinite": _changed(ZERO_ONE, bound=math.inf),
    "bound minus infinite": _changed(ZERO_ONE, bound=-math.inf),
    "bound above what the multipliers prove": _changed(HINGE, bound=HINGE["value"]),
    "multipliers above λ": _changed(HINGE, multipliers=[2.0 * a for a in _ALPHA]),
    "multiplier negative": _changed(HINGE, multipliers=[-1.0, *_ALPHA[1:]]),
    "multiplier NaN": _changed(HINGE, multipliers=[math.nan, *_ALPHA[1:]]),
    "multiplier too many": _changed(HINGE, multipliers=[*_ALPHA, 0.0]),
    "multipliers a number": _changed(HINGE, multipliers=1.0),
    "multipliers missing": _without(HINGE, "multipliers"),
    "multipliers of another model": _changed(ZERO_ONE, evidence="multipliers", multipliers=_ALPHA),
    # the evidence
    "digest of another entry's log": [*_changed(ZERO_ONE, log=OTHER["log"]), OTHER],
    "no digest": _without(ZERO_ONE, "log"),
    "digest too short": _changed(ZERO_ONE, log=ZERO_ONE["log"][:63]),
    "digest no hexadecimal number": _changed(ZERO_ONE, log="z" * 64),
    "a certificate for the 0-1 loss": _changed(ZERO_ONE, evidence="certificate", bound=ZERO_ONE["value"]),
    "a log for the conic relaxation": _changed(CONIC, evidence="log", log="0" * 64),
    "a certificate for the ramp loss": _changed(RAMP, evidence="certificate"),
    "evidence on trust": _changed(ZERO_ONE, evidence="my word"),
    # the data
    "digest of other data": _changed(ZERO_ONE, sha256=OTHER["sha256"]),
    "another seed": _data(seed=77),
    "fewer points": _data(n=8),
    "unknown kind": _kind(kind="guess"),
    "no kind": _kind(n=16),
    "kind a list": _kind(kind=["flipped"]),
    "an argument missing": _kind(kind="flipped", n=16),
    "an argument too many": _data(scale=2.0),
    "n of twelve digits": _data(n=10**12),
    "p of twelve digits": _data(p=10**12),
    "n negative": _data(n=-5),
    "n a text": _data(n="16"),
    "n infinite": _data(n=math.inf),
    "seed negative": _data(seed=-1),
    "τ above 1": _data(tau=5.0),
    "a packaged set of no name": _kind(kind="packaged", name="no-such-set", rows=10, columns=2, seed=0),
    "a packaged set of another path": _kind(kind="packaged", name="../../etc/passwd", rows=10, columns=2, seed=0),
    "a Brooks set of another path": _kind(kind="brooks", name="../n60d2ATj0"),
    "rows negative": _kind(kind="packaged", name="wdbc", rows=-10, columns=2, seed=0),
    "a path above the data": _kind(path="../secret.csv", **_PATH),
    "an absolute path": _kind(path="/etc/passwd", **_PATH),
    "a path that climbs inside": _kind(path="s3vm/../../secret.csv", **_PATH),
    "a path of another system": _kind(path="..\\secret.csv", **_PATH),
    "a path with a null": _kind(path="a\0.csv", **_PATH),
    "a path that is no text": _kind(path=7, **_PATH),
    "a column that the table lacks": _kind(kind="table", path="t.csv", label=99, header=1),
    "a header of twelve digits": _kind(kind="table", path="t.csv", label=0, header=10**12),
    "no share": _kind(kind="partly-labelled", path="t.csv", label=0, header=1, share=0),
    "a share below none": _kind(kind="partly-labelled", path="t.csv", label=0, header=1, share=-3),
    "predictions that are no number": _kind(predicted="wrong", **_BITS),
    "predictions negative": _kind(predicted="-f", **_BITS),
    "a column of another name": _kind(predicted="1", **_BITS | {"protected": ["height"]}),
    # model and parameters
    "unknown model": _changed(ZERO_ONE, model="pareto"),
    "another model": _changed(ZERO_ONE, model="hinge"),
    "no parameters": _changed(ZERO_ONE, parameters={}),
    "λ missing": _changed(ZERO_ONE, parameters={"intercept": "penalised"}),
    "λ NaN": _parameters(lam=math.nan),
    "λ infinite": _parameters(lam=math.inf),
    "λ negative": _parameters(lam=-1.0),
    "λ zero": _parameters(lam=0.0),
    "λ a text": _parameters(lam="1"),
    "λ of 400 digits": _parameters(lam=10**400),
    "another λ": _parameters(lam=0.5),
    "M too small": _parameters(M=1e-3),
    "a budget beside λ": _parameters(kappa=3.0),
    "an intercept of another kind": _parameters(intercept="none"),
    "an intercept of the hinge loss": _parameters(HINGE, intercept="free"),
    "other weights": _parameters(sample_weight=[0.0] * 16),
    # the name and the rest
    "name of a path": _named("../../zero-one"),
    "name with a climb": _named("zero-one/../x"),
    "name absolute": _named("/etc/passwd"),
    "name of another system's path": _named("zero-one\\x"),
    "name of two lines": _named("zero-one/x\ny"),
    "name with a null": _named("zero-one/x\0"),
    "name of markup": _named("zero-one/<script>alert(1)</script>"),
    "name of another model": _named("hinge/flipped-n16-p1-s0-lam1"),
    "name empty": _named(""),
    "name of a thousand letters": _named("zero-one/" + "x" * 1000),
    "two entries of one name": [ZERO_ONE, ZERO_ONE],
    "one instance under two names": [ZERO_ONE, *_named("zero-one/mine")],
    "seconds negative": _changed(ZERO_ONE, seconds=-1.0),
    "seconds NaN": _changed(ZERO_ONE, seconds=math.nan),
    "date no date": _changed(ZERO_ONE, date="yesterday"),
    "date of next century": _changed(ZERO_ONE, date="2126-02-30"),
    "who nobody": _changed(ZERO_ONE, who=""),
    "who of two lines": _changed(ZERO_ONE, who="a\nb"),
    "solver none": _changed(ZERO_ONE, solver=""),
    "a field too many": _changed(ZERO_ONE, proved=True),
    "a field missing": _without(ZERO_ONE, "sha256"),
    "no object": [["a", "list"]],  # type: ignore[list-item]
}

#: Lines of text that no record makes.
TEXTS: dict[str, str] = {
    "no JSON": "{",
    "a name twice in one object": '{"value": 0.0, ' + json.dumps(ZERO_ONE)[1:],
    "brackets by the ten thousands": "[" * 50000,
    "half a file": json.dumps(ZERO_ONE)[:200],
    "bytes of no text": "\udcff\udcfe",
}

Writer = Callable[[Path], None]


def _refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with 1 or 2 and a sentence of ours."""
    status = main(["book", "verify", "--entries", str(path)])
    words = "".join(capsys.readouterr())
    assert status in (1, 2), words
    assert words.strip() and "Traceback" not in words and "Error" not in words


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data directory with a small table, and a table outside of it."""
    (tmp_path / "data" / "s3vm").mkdir(parents=True)
    rows = "late,age,fee\n0,3,7\n1,4,8\n0,5,9\n"
    (tmp_path / "data" / "t.csv").write_text(rows)
    (tmp_path / "secret.csv").write_text(rows)
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path / "data"))


def test_the_genuine_ones_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "entries.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in (ZERO_ONE, OTHER, HINGE, RAMP, CONIC)))
    assert main(["book", "verify", "--entries", str(path)]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("kind", FORGED)
def test_forged_entries_are_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "entries.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in FORGED[kind]), encoding="utf-8")
    _refused(path, capsys)


@pytest.mark.parametrize("kind", TEXTS)
def test_files_that_no_record_makes_are_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "entries.jsonl"
    path.write_bytes(TEXTS[kind].encode("utf-8", "surrogateescape"))
    _refused(path, capsys)
