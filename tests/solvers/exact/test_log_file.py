"""Equal proof logs are equal files."""

from __future__ import annotations

from pathlib import Path

import pytest

from marginopt.solvers.exact.log_file import LogFile


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_equal_logs_are_equal_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences cite the digest of the file, so that it must not hold the time or the name of the file."""
    contents = []
    for day in (1.0, 2.0):
        monkeypatch.setattr("time.time", lambda day=day: 86400.0 * day)
        path = tmp_path / f"{day:g}-{name}"
        log = LogFile(str(path))
        log.write([{"bound": 1.5}])
        log.seal()
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
