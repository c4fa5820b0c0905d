"""A part of the attack on readers of data: mutated files are read as the peers read them, or refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "cases"))

import attack_data as data


@pytest.mark.parametrize("kind", range(len(data.KINDS)))
def test_mutated_files_are_what_the_peers_read(kind: int) -> None:
    faults = [fault for number in range(kind, 240, len(data.KINDS)) if (fault := data.attack(number)[1])]
    assert faults == []


def test_the_attack_sees_other_data() -> None:
    """A file is not its own with one number, row or label changed."""
    import tempfile

    from marginopt.instances import read

    text = "u,v,y\n1,2,a\n3,4,b\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text(text, encoding="utf-8")
        instance = read(path)
    assert any(data.agree(instance, reading) for reading in data._by_pandas(text))
    for other in (text.replace("3", "5"), text + "3,4,b\n", text.replace("4,b", "4,c")):
        assert not any(data.agree(instance, reading) for reading in data._by_pandas(other))
