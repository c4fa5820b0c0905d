"""Suggestions of names: the misspelt name is found, and a word that is like no name suggests none."""

from __future__ import annotations

from hypothesis import given, strategies as st

from marginopt.errors import near_names
from marginopt.models import formulations
from marginopt.relaxations import relaxations
from marginopt.solvers import all_solvers

NAMES = sorted({*all_solvers(), *relaxations(), *formulations()})


@given(st.sampled_from([name for name in NAMES if len(name) >= 4]), st.data())
def test_a_name_with_one_slip_is_suggested(name: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(name) - 1))
    slip = data.draw(st.sampled_from(["drop", "double", "capital"]))
    letter = {"drop": "", "double": 2 * name[place], "capital": name[place].swapcase()}[slip]
    assert name in near_names(name[:place] + letter + name[place + 1 :], NAMES, len(NAMES))


def test_a_word_that_is_like_no_name_suggests_none() -> None:
    for word in ("nope", "xyz", "q", "", "something else"):
        assert near_names(word, NAMES) == []


def test_a_part_of_a_long_name_stands_for_it() -> None:
    names = [f"zero-one/flipped-n16-p{k}-s0" for k in range(5)]
    assert near_names("Flipped-n16-P3", names) == [names[3]] and near_names("flipped", names) == names[:3]
    assert near_names("s0", names) == []
