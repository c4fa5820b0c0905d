"""Public names of formulations are what their records say."""

import pytest

import marginopt as mo
from marginopt.models.formulations import built_in

NAMES = [(info, name) for info in built_in() for name in info.public]


@pytest.mark.parametrize(("info", "name"), NAMES, ids=[name for _, name in NAMES])
def test_a_name_is_the_thing_itself(info: object, name: str) -> None:
    assert getattr(mo, name) is info.public[name]  # type: ignore[attr-defined]
