"""Counts in printed forms: the noun is singular for one."""

from __future__ import annotations

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import count_text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 classes"), (1, "1 class"), (2, "2 classes"), (np.int64(1), "1 class"), (1200, "1,200 classes")]
)
def test_a_count_has_its_noun(count: int, text: str) -> None:
    assert count_text(count, "class", "classes", ",") == text


def test_forms_of_one_row_and_one_variable_print_the_singular() -> None:
    form = mo.from_qp(np.eye(1), [1.0], G=np.ones((1, 1)), h=[2.0])
    assert "1 variable, 1 row" in str(form)
