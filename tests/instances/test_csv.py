"""CSV files: separators, headers, quotes, missing values, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from data_files import FUZZ, PACKERS, random_matrix, same
from facts import about, at
from hypothesis import given, strategies as st

from marginopt.errors import DataError, InputError
from marginopt.instances import read, read_csv


class TestCsv:
    @pytest.mark.parametrize("ending", list(PACKERS))
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    @pytest.mark.parametrize("header", [False, True])
    def test_round_trip(self, put, ending, delimiter, header):
        X, y = random_matrix()
        lines = [delimiter.join(["a", "b", "c", "result"])] if header else []
        lines += [delimiter.join([*(repr(float(v)) for v in row), str(label)]) for row, label in zip(X, y, strict=True)]
        data = read(put(f"a.csv{ending}", PACKERS[ending]("\n".join(lines).encode())))
        same(data, X, y)
        assert data.feature_names == (("a", "b", "c") if header else None)

    def test_tsv_spaces_quotes_and_marks(self, put):
        same(read(put("a.tsv", "1\t2\tx y\n3\t4\tz\n")), [[1, 2], [3, 4]], [-1, 1])
        same(read(put("a.csv", " 1  2 u\n3 4  v\n")), [[1, 2], [3, 4]], [-1, 1])
        data = read(put("b.csv", '\ufeff"a, b",c\r\n1,"yes"\r\n\r\n2,"no"\r\n'))
        assert data.feature_names == ("a, b",)
        assert data.labels == ("no", "yes")

    @pytest.mark.parametrize(
        ("head", "names"),
        [
            ("# taken from there\n", None),
            ("#\n\n# x; y; z; and, more, commas\na,b,class\n", ("a", "b")),
            ("\ufeff# written in 2020\r\n# a,b,class\r\n", ("a", "b")),  # as NumPy writes names
            ("#a,b,class\n", ("#a", "b")),
        ],
    )
    def test_comments_above_the_first_row(self, put, head, names):
        data = read(put("a.csv", head + "1,2,x\n3,4,y\n"))
        same(data, [[1, 2], [3, 4]], [-1, 1])
        assert data.feature_names == names
        same(read(put("b.csv", "# a b; with commas, here\n1 2 x\n3 4 y\n")), [[1, 2], [3, 4]], [-1, 1])

    @pytest.mark.parametrize(("text", "line"), [("# 1,2,x\n3,4,y\n5,6,x\n", 1), ("1,2,x\n# c\n3,4,y\n", 2), ("% c\n1,2,x\n", 2)])
    def test_rows_that_may_be_comments_are_refused(self, put, text, line):
        with pytest.raises(DataError, check=at("a.csv", line)):
            read(put("a.csv", text))

    def test_decimal_commas_between_other_delimiters(self, put):
        data = read(put("a.csv", "Größe;Urteil\n-1,5;gut\n2;schlecht\n,25;gut\n"))
        same(data, [[-1.5], [2.0], [0.25]], [-1, 1, -1])
        assert data.feature_names == ("Größe",)
        same(read(put("d.csv", "size [mm]|a, b|class\n-1,5|1|no\n2|3|yes\n")), [[-1.5, 1.0], [2.0, 3.0]], [-1, 1])
        # beside a point a comma may group thousands: nothing is guessed
        with pytest.raises(DataError, check=at("b.csv", 3)):
            read(put("b.csv", "a;class\n2.5;u\n1,250;v\n"))
        with pytest.raises(DataError, check=at("c.csv")):
            read(put("c.csv", "Größe;y\n1;1\n2;-1\n".encode("latin-1")))

    def test_label_by_name_index_or_rule(self, put):
        path = put("a.csv", "Class,b,c\n1,2,3\n4,5,7\n6,8,7\n")
        assert read(path).labels == (1, 4, 6)
        assert read(path, label="c").labels == (3, 7)
        assert read(path, label=1).feature_names == ("Class", "c")
        assert read(path, label=-1).labels == (3, 7)
        assert read(path, label="2").labels == (3, 7)
        assert read(put("b.csv", "1,a\n2,b\n")).labels == ("a", "b")

    @pytest.mark.parametrize(
        ("label", "name"),
        [
            ("nope", "label"),
            (2, "label"),
            (-3, "label"),
            ("7", "label"),
            (True, "label"),
            (1.5j, "label"),
        ],
    )
    def test_bad_label(self, put, label, name):
        with pytest.raises(InputError, check=about(name)):
            read(put("a.csv", "a,b\n1,2\n3,4\n"), label=label)

    def test_label_name_without_header_or_twice(self, put):
        with pytest.raises(DataError, check=about("label")):
            read(put("a.csv", "1,2\n3,4\n"), label="y")
        with pytest.raises(DataError, check=about("label")):
            read(put("b.csv", "a,a\n1,2\n3,4\n"), label="a")

    def test_header_can_be_said(self, put):
        path = put("a.csv", "1,2,3\n4,5,6\n7,8,9\n")
        assert read_csv(path).n == 3
        assert read_csv(path, header=True).feature_names == ("1", "2")
        with pytest.raises(InputError, check=about("delimiter")):
            read_csv(path, delimiter="::")

    @FUZZ
    @given(st.binary(max_size=60) | st.text('0123.-,;\t "\nabnif', max_size=80).map(str.encode))
    def test_any_text_is_data_or_a_data_error(self, put, content):
        try:
            assert read(put("a.csv", content)).n >= 2
        except DataError as error:
            assert at("a.csv", error.line)(error)

    @FUZZ
    @given(st.lists(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2), min_size=2, max_size=8))
    def test_every_float_survives(self, put, rows):
        text = "\n".join(f"{a!r},{b!r},{'uv'[k % 2]}" for k, (a, b) in enumerate(rows))
        assert np.array_equal(read(put("a.csv", text)).X, np.array(rows))
