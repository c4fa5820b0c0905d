"""Names are untrusted: in no format does one become mark-up, a link, a command or a formula."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from effort import part

from marginopt.display import sanitise
from marginopt.relaxations import ExactCell, GapReport, InstanceCell, KappaCell, RelaxationCell
from marginopt.relaxations.report.formats import latex_escaped, markdown_escaped

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style></script><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% include 'style.css' %}",
    "[click](javascript:alert(1)) ![x](http://evil.example/x.png)",
    "| a | b |\n| --- | --- |\n# head <http://evil.example>",
    "`code` **bold** $x$ www.evil.example me@evil.example ~~gone~~",
    "\\input{/etc/passwd} \\write18{rm} $\\catcode`\\%=12$ % # & _ ^^41",
    "$\\frac{1}{$",
    '=HYPERLINK("http://evil.example","x")',
    "+1+cmd|'/C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "name\x00\x07\x1b[31m\u202e",
]


def report_of(name: str) -> GapReport:
    """Every text that a user or a plug-in may choose is the hostile one."""
    instance = InstanceCell(name, 1.0, name, 20, 2, True, 10, 8.0, 5, 2, 0.1)
    trace = ((0.1, 8.0, 1.0), (0.2, 7.0, 7.0))
    exact = ExactCell(
        name, 1.0, name, name, name, name, "optimal", name, True, 7.0, 7.0, 7.0, name, solve_seconds=1.0, trace=trace
    )
    relaxed = (
        RelaxationCell(
            name, 1.0, name, name, name, "optimal", name, 5.0, "proved", name, "", name, 1.0, 2.0, 7.5, solve_seconds=0.1
        ),
        RelaxationCell(name, 1.0, f"{name} again", name, bound=3.0, kind="proved", caveat=name, solve_seconds=0.1),
        RelaxationCell(name, 1.0, f"{name} not run", name, reason=name),
    )
    kappa = KappaCell(name, 0.1, 2, name, reason=name)
    return GapReport((instance,), relaxed, (exact,), {name: name, "base": name}, (kappa,))


@pytest.fixture(scope="module", params=part(range(len(HOSTILE)), 8))
def hostile(request: pytest.FixtureRequest) -> tuple[str, GapReport]:
    return HOSTILE[request.param], report_of(HOSTILE[request.param])


class Tags(HTMLParser):
    """The tags of a page, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [str(value) for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def harmless_twin(name: str) -> GapReport:
    """The report of a harmless name of the same length: long texts have notes of their own."""
    return report_of("h" * len(name))


@pytest.fixture(scope="module")
def tags(hostile: tuple[str, GapReport]) -> tuple[Tags, Tags]:
    """The page of a harmless name, and its table in a notebook."""
    report = harmless_twin(hostile[0])
    return Tags(report.html()), Tags(report._repr_html_())


def test_html_has_the_tags_of_a_harmless_name(hostile: tuple[str, GapReport], tags: tuple[Tags, Tags]) -> None:
    (name, report), (harmless, table) = hostile, tags
    page = Tags(report.html())
    assert page.tags == harmless.tags and page.attributes == harmless.attributes
    assert all(link.startswith(("#", "data:image/svg+xml,")) for link in page.links)
    words = "".join(page.text)
    assert sanitise(name) in words and not any(c in words + str(report) for c in "\r\x00\x07\x1b\u202e")
    assert Tags(report._repr_html_()).tags == table.tags


def test_pictures_are_well_formed_without_scripts(hostile: tuple[str, GapReport]) -> None:
    _, report = hostile
    assert len(report.pictures) >= 3
    for picture in report.pictures:
        root = ET.fromstring(picture.svg.encode("utf-8"))  # not to be well-formed raises
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not tags & {"script", "foreignObject", "image", "a", "iframe"}
        assert not any(key.lower().startswith("on") for element in root.iter() for key in element.attrib)
        assert unquote(picture.uri.partition(",")[2]).replace("'", '"') == picture.svg.replace("'", '"')


def test_markdown_has_no_markup_from_names(hostile: tuple[str, GapReport]) -> None:
    name, report = hostile
    text = report.markdown()
    harmless = harmless_twin(name).markdown()
    assert len(text.splitlines()) == len(harmless.splitlines())
    assert text.isprintable() or all(line.isprintable() for line in text.split("\n"))
    bare = re.sub(r"\\[^\w\s]", "", text)  # what is escaped is text
    assert "<" not in bare and "://" not in bare and "www." not in bare and "@" not in bare
    for mark in "`[]!$~":
        assert bare.count(mark) == re.sub(r"\\[^\w\s]", "", harmless).count(mark), mark
    for line, model in zip(bare.splitlines(), re.sub(r"\\[^\w\s]", "", harmless).splitlines(), strict=True):
        assert line.count("|") == model.count("|")


def test_csv_has_no_formulas(hostile: tuple[str, GapReport]) -> None:
    _, report = hostile
    for table in ("rows", "exacts", "kappas"):
        for row in csv.reader(io.StringIO(report.csv(table), newline="")):  # type: ignore[arg-type]
            for cell in row:
                assert not re.match(r"[=+@\t\r\n-]", cell) or re.fullmatch(r"-?[0-9.eE+-]+", cell), cell


def test_latex_has_no_commands_from_names(hostile: tuple[str, GapReport]) -> None:
    name, report = hostile
    text = report.latex()
    assert text.isascii() and "\\input" not in text and "\\write" not in text and "\\catcode" not in text and "^^" not in text
    words = latex_escaped(name)
    assert set(re.findall(r"\\[a-zA-Z]+", words)) <= {"\\textbackslash", "\\textasciicircum", "\\textasciitilde"}
    for special in "#%&_":
        assert not re.search(rf"(?<!\\){special}", words)
    assert words.count("$") - words.count("\\$") == 2 * len(re.findall(r"[<>|]", name))
    assert all(c.isprintable() for c in words)


def test_numbers_stay_numbers_in_csv() -> None:
    report = report_of("-2+3")
    row = next(csv.DictReader(io.StringIO(report.csv())))
    assert row["instance"] == "'-2+3" and float(row["bound"]) == 5.0


def test_escapes_are_undone_by_a_reader() -> None:
    assert markdown_escaped("a_b*c") == r"a\_b\*c" and markdown_escaped("λ = 0.5") == "λ = 0.5"
    assert markdown_escaped("a\nb") == "a b"


def test_a_style_sheet_holds_no_name_that_ends_its_string(hostile: tuple[str, GapReport]) -> None:
    """On a phone the columns' names come from the style sheet: every name is one string of it."""
    sheets = re.findall(r"<style>(.*?)</style>", hostile[1].html(), flags=re.DOTALL)
    assert len(sheets) == 1
    strings = re.findall(r'nth-child\(\d+\)::before \{ content: "([^"\n]*)"; \}', sheets[0])
    assert len(strings) == 4 + 3 + 1 and not any(set(s) & set("<>'&{};") for s in strings)
    text = re.sub(r"\\([0-9a-f]+) ", lambda at: chr(int(at[1], 16)), strings[4])
    assert text == hostile[0]
