"""The records of the formulations: found by a scan, complete, and what states each on data."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import DataKind, FormulationInfo, Parameter, formulations
from marginopt.models.formulations import all_formulations, get_formulation

ROOT = Path(__file__).parents[2] / "models" / "formulations"
RECORDS = list(all_formulations().values())


def _concrete(kind: type) -> set[type]:
    """Classes below ``kind`` that can be made, of the package itself, without those that are a formulation at a parameter."""
    below = {c for k in kind.__subclasses__() for c in {k, *_concrete(k)} if "name" in vars(c)}
    return {c for c in below if not c.__abstractmethods__ and c.__module__.startswith("marginopt.models.formulations")}


def test_every_model_has_one_record() -> None:
    assert {info.model for info in RECORDS} == _concrete(mo.Model)
    assert len({info.model for info in RECORDS}) == len({info.name for info in RECORDS}) == len(RECORDS)
    assert len(RECORDS) >= 15
    for info in RECORDS:
        assert info.model.name == info.key
        assert info.summary
        assert info.reference


def test_the_table_prints_and_is_the_package_called() -> None:
    table = formulations()  # type: ignore[operator]
    assert list(table) == sorted(table)
    assert "zero-one" in str(table)
    assert "<table>" in table._repr_html_() and len(table.to_frame()) == len(table)
    assert table["conic"].model is mo.ConicSVM


@pytest.mark.parametrize("info", RECORDS, ids=lambda info: info.name)
@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_the_small_example_is_stated_and_compiles_or_refuses(info: FormulationInfo) -> None:
    model = info.example(np.random.default_rng(0))
    again = info.example(np.random.default_rng(0))
    assert type(model) is info.model
    assert repr(model) == repr(again)
    assert str(model)
    assert model.latex()
    try:
        assert model.form.n > 0
    except mo.errors.UnsupportedModelError:
        assert info.name == "max-min"


@pytest.mark.parametrize("info", RECORDS, ids=lambda info: info.name)
def test_defaults_are_values_that_their_parameters_take(info: FormulationInfo) -> None:
    for p in info.parameters:
        assert p.default is None or p.read(p.default) == p.default
        assert p.summary
        assert p.option.startswith("--")


def test_a_misspelt_name_says_what_there_is() -> None:
    assert get_formulation("ConicSVM") is get_formulation("conic")
    with pytest.raises(InputError, check=about("conik")):
        get_formulation("conik")


@pytest.mark.parametrize(
    ("name", "arguments", "wrong"),
    [
        ("hinge", {"kappa": 0.1}, "kappa"),
        ("box", {"lam": 1.0}, "lam"),
        ("hinge", {"lam": "many"}, "--lam"),
        ("ramp", {"intercept": "none"}, "--intercept"),
        ("chebyshev", {"d": "two"}, "--d"),
    ],
)
def test_wrong_parameters_are_refused(name: str, arguments: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InputError, check=about(wrong)):
        get_formulation(name).parameter_values(arguments)


def test_missing_arrays_are_named() -> None:
    with pytest.raises(InputError, check=about("E")):
        get_formulation("stiefel").make_model({"H": np.eye(3)})


def test_a_record_is_registered_once() -> None:
    hinge = get_formulation("hinge")

    class Mine(mo.HingeSVM):
        pass

    mine = FormulationInfo(Mine, "mine", "mine", "me (1)", DataKind.TWO_CLASSES, hinge.build, hinge.parameters)
    mo.register(mine)
    try:
        assert get_formulation("mine") is get_formulation("Mine") is mine
        assert list(formulations())[-1] == "mine"  # type: ignore[operator]
        with pytest.raises(InputError, check=about("replace")):
            mo.register(FormulationInfo(Mine, "mine", "", "", DataKind.TWO_CLASSES, hinge.build))
    finally:
        formulations.EXTENSIONS.remove("mine")
    with pytest.raises(InputError, check=about("mine")):
        get_formulation("mine")


def test_what_is_no_new_record_is_refused() -> None:
    class HingeSVM(mo.HingeSVM):
        pass

    class Half(mo.Model):
        pass

    build = get_formulation("hinge").build
    for thing, name in (
        (mo.HingeSVM, "formulation"),
        (FormulationInfo(HingeSVM, "other", "", "", DataKind.TWO_CLASSES, build), "HingeSVM"),
        (FormulationInfo(mo.HingeSVM, "hinge", "", "", DataKind.TWO_CLASSES, build), "HingeSVM"),
        (FormulationInfo(Half, "half", "", "", DataKind.TWO_CLASSES, build), "Half"),
    ):
        with pytest.raises(InputError, check=about(name)):
            mo.register(thing)


def test_a_record_of_arrays_needs_an_example() -> None:
    with pytest.raises(InputError, check=about("arrays")):
        FormulationInfo(mo.HingeSVM, "h", "s", "r", DataKind.ARRAYS, get_formulation("hinge").build, arrays=("X",))
    assert Parameter("lower_end", "x").option == "--lower-end"


def test_no_file_lists_the_formulations() -> None:
    """A new file is found: the packages below know no formulation by name."""
    text = (ROOT / "__init__.py").read_text(encoding="utf-8")
    assert not [info.key for info in RECORDS if info.key in text]


def _for_checkers(package: Any) -> set[str]:
    """Names that a package imports for type checkers from the files of records."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    blocks = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {a.asname for b in blocks for n in b.body if isinstance(n, ast.ImportFrom) for a in n.names if a.asname}


def test_what_type_checkers_are_told_is_what_the_records_say() -> None:
    ours = {name for info in RECORDS for name in info.public}
    assert _for_checkers(mo.models) <= ours
    estimators = {info.name for info in mo.estimators.all_estimators().values()}
    assert _for_checkers(mo.estimators) <= estimators
    assert {info.key for info in RECORDS} < _for_checkers(mo) <= {"deep", *mo.__all__}
    for package, names in ((mo.models, ours), (mo.estimators, estimators)):
        assert names < set(package.__all__)
        assert names < set(dir(package))


def test_the_arguments_of_margin_for_type_checkers_are_its_fields() -> None:
    tree = ast.parse((Path(mo.models.__file__).parent / "formulations" / "margin" / "model.py").read_text(encoding="utf-8"))
    (declared,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    arguments = [a.arg for a in (*declared.args.args, *declared.args.kwonlyargs)]
    assert arguments[1:] == list(inspect.signature(mo.Margin).parameters)


def test_a_formulation_is_public_without_a_line_elsewhere() -> None:
    class UnheardOf(mo.HingeSVM):
        pass

    hinge = get_formulation("hinge")
    mo.register(FormulationInfo(UnheardOf, "unheard", "s", "r", DataKind.TWO_CLASSES, hinge.build, hinge.parameters))
    try:
        assert mo.UnheardOf is UnheardOf
        assert mo.models.UnheardOf is UnheardOf
        assert {"UnheardOf"} < set(mo.__all__)
    finally:
        formulations.EXTENSIONS.remove("unheard")


def _first_column(page: str, heading: str) -> set[str]:
    """Names in code in the first column of the table with this heading."""
    text = (ROOT.parents[1] / page).read_text(encoding="utf-8")
    rows = text[text.index(f"| {heading} |") :].partition("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_tables_of_the_docs_name_what_there_is() -> None:
    """A new formulation is in the printed table at once; the pages may follow later, and name nothing that is gone."""
    stated = _first_column("README.md", "formulation")
    assert len(stated) >= 15
    assert stated <= {info.key for info in RECORDS}
    fitted = _first_column("docs/how-to/estimators.md", "class")
    assert len(fitted) >= 10
    assert fitted <= set(mo.estimators.all_estimators())
