"""Reader of solution files of Gurobi, SCIP, HiGHS, CPLEX, CBC, MOSEK, AMPL and MIPLIB, which are recognised by their content.

Values are returned by the form's labels. A file has the form's names unchanged (for models of `to_gurobi` and `to_mosek`, .ptf
and .nl files) or in the plain spelling of .lp and .mps files (`models.export.lp.plain_names`). Other names, of auxiliary
variables of the solver's translation, are counted and left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ...errors import DataError, near_names, short_text
from ...files import READ_ERRORS, describe_read_error, read_bytes, read_text, split_lines
from ..arrays import FloatArray
from ..program.cones import PSD, Nonnegative, Zero
from ..program.form import Constraint, StandardForm
from .cone_rows import cone_names
from .file_formats import is_number
from .layout import Layout
from .lp import plain_names
from .mosek_task import MatrixVariables, mosek_svec_order

#: The beginning of the first line of the files of `solvers.result_file.write_solution`, whose points may be of any source.
WRITTEN_BY = "# Written by marginopt"
#: Endings of the name of the upper side of a two-sided row, which is a row of its own in the form: of files, and of packages.
_OTHER_SIDES = (" (other side)", " upper")


@dataclass(frozen=True, eq=False)
class FilePoint:
    """The content of a solution file, in the order, labels and signs of a form.

    Parameters
    ----------
    solver, status_text : str
        Solver that wrote the file, and its text for how the solve ended; empty where the file has none.
    x : ndarray (n,), optional
        The point; None where the file has none.
    multipliers : mapping of label to array, optional
        Multipliers z_k of the constraints F_k x + g_k in cones K_k, each in the dual cone of K_k.
    reduced : ndarray (n,), optional
        Reduced costs ζ: multipliers of the lower bounds less those of the upper ones, all for the form's minimisation.
    objective, bound : float, optional
        Objective and bound that the file states, turned into the sense of the form's minimisation.
    unknown_variables : int
        Variables of the file that the form does not have.
    """

    solver: str
    status_text: str
    x: FloatArray | None
    multipliers: Mapping[str, FloatArray] | None = None
    reduced: FloatArray | None = None
    objective: float | None = None
    bound: float | None = None
    unknown_variables: int = 0


@dataclass
class _Tables:
    """The tables of a file by the file's names; with ``zeros`` variables that it leaves out are zero."""

    solver: str
    status_text: str = ""
    values: dict[str, float] = field(default_factory=dict)
    reduced: dict[str, float] | None = None
    rows: dict[str, float] | None = None
    cones: dict[str, list[float]] = field(default_factory=dict)
    matrices: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  #: value and multiplier of each entry
    multipliers: dict[str, FloatArray] = field(default_factory=dict)  #: of matrix variables' cones, by label, in the form's order
    objective: float | None = None
    bound: float | None = None
    zeros: bool = False


def read_point(form: StandardForm, path: str | Path) -> FilePoint:
    """Return the content of a solution file; the solver that wrote it is recognised by the file's first lines.

    Raises
    ------
    DataError
        A file of no known kind, or one that does not fit the form.
    """
    source = Path(path)
    lines = split_lines(read_bytes(source).decode("utf-8", "replace"))
    try:
        if (tables := _tables(lines)) is not None:
            return _in_order(form, _with_matrices(form, tables) if tables.matrices else tables)
        if any(line.strip() == "Options" for line in lines):
            return _ampl(form, source, lines)
    except READ_ERRORS as error:
        raise DataError(
            f"{source} cannot be read as a solution of {form.name}: {describe_read_error(error)}", file=source
        ) from error
    raise DataError(
        f"{source} is no solution file that is known: Gurobi .sol, SCIP .sol, HiGHS (solution style 0), CPLEX .sol, CBC's, "
        "MOSEK .sol .bas .int, AMPL .sol, MIPLIB's (=obj=), or a name and a number a line (0.5 or 1/2)",
        file=source,
    )


def names_in_file(form: StandardForm, program: Path) -> list[str]:
    """Return the names of the form's variables in a program's file: their own, or the plain ones that LP and MPS files have.

    Names with blanks, which no line of a solution file can hold, are plain.
    """
    names = form.names()
    plain = any(len(name.split()) != 1 for name in names)
    if not plain and Layout.load(program) is not None:
        plain = not set(names) <= set(read_text(program).split())
    return plain_names(names) if plain else names


def _with_matrices(form: StandardForm, tables: _Tables) -> _Tables:
    """Return the tables with MOSEK's matrix variables as the columns and cones of the form that they stand for."""
    matrices = MatrixVariables(form)
    unknown = [name for name in matrices.names if name not in tables.matrices]
    if unknown:
        raise ValueError(f"the matrix variable {short_text(unknown[0])} is missing")
    content = [np.array(tables.matrices[name]).T for name in matrices.names]
    x = matrices.join(np.zeros(matrices.scalars.size), [primal for primal, _ in content])
    names = _spelling(form.names(), tables.values)
    values = {names[k]: float(x[k]) for k in np.flatnonzero(matrices.place < 0)}
    z = matrices.multipliers([dual for _, dual in content])
    return replace(tables, values={**tables.values, **values}, multipliers=z)


def _missing_variables(missing: list[str], unknown: list[str]) -> str:
    """Return what a file lacks, with the nearest of its names that the form does not have: a misspelt one."""
    first = missing[0]
    others = f" and {len(missing) - 1} more variables are missing" if len(missing) > 1 else " is missing"
    if not unknown:
        return f"{first!r}{others}"
    strange = (near_names(first, unknown, 1) or unknown)[0]
    return f"{first!r}{others}; the file has {strange!r}, which is no variable of the form"


def _in_order(form: StandardForm, tables: _Tables) -> FilePoint:
    """Return the tables in the order of the form, whichever spelling of its names the file has.

    MOSEK writes X1, X2, ... for all variables where the name of one has blanks.
    """
    names = _spelling(form.names(), tables.values)
    numbered = [f"X{k + 1}" for k in range(form.n)]
    if tables.solver == "mosek" and [*tables.values] == numbered and any(len(name.split()) > 1 for name in form.names()):
        names = numbered
    missing = [name for name in names if name not in tables.values]
    if missing and not tables.zeros and tables.values:
        raise ValueError(_missing_variables(missing, [name for name in tables.values if name not in set(names)]))
    if tables.values and not set(names) & tables.values.keys():
        raise ValueError(f"no variable of the file, such as {short_text(next(iter(tables.values)))}, is one of the form's")
    if strange := [name for name, value in tables.values.items() if not math.isfinite(value)]:
        raise ValueError(f"the variable {short_text(strange[0])} is {tables.values[strange[0]]}")
    x = np.array([tables.values.get(name, 0.0) for name in names]) if tables.values else None
    sign = _sense(form, x, tables.objective)
    reduced = None if tables.reduced is None else sign * np.array([tables.reduced.get(name, 0.0) for name in names])
    return FilePoint(
        tables.solver,
        tables.status_text,
        x,
        None if tables.rows is None else _multipliers(form, tables, sign),
        reduced,
        None if tables.objective is None else sign * tables.objective,
        None if tables.bound is None else sign * tables.bound,
        len(tables.values.keys() - set(names)),
    )


def _sense(form: StandardForm, x: FloatArray | None, objective: float | None) -> float:
    """Return -1 if the file states the objective of a maximised model, 1 if it states the form's, a minimisation.

    A solver may have read a file that maximises or a model that minimises (`to_gurobi`): the objective at the point tells which.
    """
    if not form.maximise or x is None or objective is None:
        return 1.0
    value = form.objective(x)
    return -1.0 if abs(-objective - value) < abs(objective - value) else 1.0


def _spelling(names: list[str], form_names: Mapping[str, object]) -> list[str]:
    plain = plain_names(names)
    return plain if sum(name in form_names for name in plain) > sum(name in form_names for name in names) else names


def _multipliers(form: StandardForm, tables: _Tables, sign: float) -> dict[str, FloatArray] | None:
    """Return z by label; None where some constraint has none in the file (cones written as quadratic constraints).

    An inequality of the form is ≥ 0, also where the file's row is ≤, so its multiplier is the absolute value of the file's. A row
    with two sides has one number in the file: in a minimisation positive where the lower side is active, negative where the upper
    side is. A maximisation has the negatives of a minimisation's multipliers, those of cones too.
    """
    rows = {name: sign * value for name, value in (tables.rows or {}).items()}
    linear = [c for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
    row_names = [name for c in linear for name in c.names()]
    sides = {name: name.removesuffix(suffix) for name in row_names for suffix in _OTHER_SIDES if name.endswith(suffix)}
    if sides and rows.keys() >= set(sides.values()) and not rows.keys() & sides.keys():
        rows |= {name: min(rows[first], 0.0) for name, first in sides.items()}
        rows |= {first: max(rows[first], 0.0) for first in sides.values()}
    spelt = dict(zip(row_names, _spelling(row_names, rows), strict=True))
    if any(name not in rows for name in spelt.values()):
        return None
    z: dict[str, FloatArray] = {}
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            values = np.array([rows[spelt[name]] for name in c.names()])
            z[c.label] = np.abs(values) if isinstance(c.cone, Nonnegative) else values
        elif c.label in tables.multipliers:
            z[c.label] = sign * tables.multipliers[c.label]
        elif (multipliers := _cone_multipliers(c, tables.cones)) is not None:
            z[c.label] = sign * multipliers
        else:
            return None
    return z


def _cone_multipliers(c: Constraint, cones: Mapping[str, list[float]]) -> FloatArray | None:
    pieces = []
    for name in cone_names(c):
        piece = np.array(cones.get(name, []))
        if piece.size != c.cone.dim:
            return None
        if isinstance(c.cone, PSD):
            piece = piece[np.argsort(mosek_svec_order(c.cone.order))]
        pieces.append(piece)
    return np.concatenate([np.zeros(0), *pieces])


# -- one reader for each kind -------------------------------------------------------------------------------------


def _gurobi(lines: list[str]) -> _Tables:
    tables = _Tables("gurobi")
    for line in lines:
        words = line.split()
        if line.startswith("# Objective value"):
            tables.objective = float(words[-1])
        elif words and not line.startswith("#"):
            _state(tables.values, words)
    return tables


def _state(values: dict[str, float], words: Sequence[str]) -> None:
    """Keep the value of a variable that a line states: a name, which may have blanks, and a number."""
    name, value = " ".join(words[:-1]), _value(words[-1])
    if values.setdefault(name, value) != value:
        raise ValueError(f"the variable {short_text(name)} is stated twice: {values[name]:g} and {value:g}")


def _value(word: str) -> float:
    """Return a number or a fraction p/q of whole numbers, rounded to the nearest number of double precision."""
    return float(Fraction(word)) if _FRACTION.fullmatch(word) else float(word)


#: A fraction of whole numbers, as exact solvers and people write values.
_FRACTION = re.compile(r"[+-]?\d+/0*[1-9]\d*", re.ASCII)


def _without_solver(lines: list[str]) -> _Tables:
    """Read names and numbers in the format of Gurobi, of a file that names no solver."""
    return replace(_gurobi(lines), solver="unknown")


def _miplib(lines: list[str]) -> _Tables:
    """Read MIPLIB's files: a name and a number a line, zeros left out, and the objective as ``=obj=``."""
    tables = replace(_without_solver(lines), zeros=True)
    tables.objective = tables.values.pop("=obj=")
    return tables


def _names_and_numbers(lines: list[str]) -> bool:
    """Return whether every line but comments is a name and a number or fraction, as in a point written by hand."""
    pairs = [line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return bool(pairs) and all(len(pair) == 2 and (is_number(pair[1]) or _FRACTION.fullmatch(pair[1])) for pair in pairs)


def _scip(lines: list[str]) -> _Tables:
    tables = _Tables("scip", zeros=True)
    for line in lines:
        words = line.split()
        if line.startswith("solution status:"):
            tables.status_text = " ".join(words[2:])
        elif line.startswith("objective value:"):
            tables.objective = float(words[2])
        elif words and words[0] != "no":  # "no solution available"
            _state(tables.values, words[:-1] if words[-1].startswith("(obj:") else words)
    return tables


def _highs(lines: list[str]) -> _Tables:
    tables = _Tables("highs")
    remaining_lines = iter([line.strip() for line in lines if line.strip()])
    part = ""
    for line in remaining_lines:
        if line == "Model status":
            tables.status_text = next(remaining_lines)
        elif line.startswith(("# Primal solution", "# Dual solution")):
            part = line.split()[1] if next(remaining_lines) != "None" else ""
        elif line.startswith("# Basis"):
            break
        elif line.startswith("Objective"):
            tables.objective = float(line.split()[1])
        elif line.startswith(("# Columns", "# Rows")) and part:
            pairs = [next(remaining_lines).rsplit(maxsplit=1) for _ in range(int(line.split()[2]))]
            content = {name: float(value) for name, value in pairs}
            if line.startswith("# Columns"):
                tables.values, tables.reduced = (content, None) if part == "Primal" else (tables.values, content)
            elif part == "Dual":
                tables.rows = content
    return tables


def _cplex(lines: list[str]) -> _Tables:
    """Read CPLEX's XML; of a pool of solutions the first one, which is the incumbent."""
    root = _xml_tree("\n".join(lines))
    solution = next(root.iter("CPLEXSolution"), None)
    if solution is None:
        raise ValueError("it holds no solution")
    header = solution.find("header")
    facts = {} if header is None else header.attrib
    variables = list(solution.iterfind("variables/variable"))
    rows = list(solution.iterfind("linearConstraints/constraint"))
    tables = _Tables("cplex", facts.get("solutionStatusString", ""), zeros=facts.get("writeLevel") == "4")  # non-zeros alone
    tables.objective = float(facts["objectiveValue"]) if "objectiveValue" in facts else None
    for variable in variables:
        _state(tables.values, (variable.attrib["name"], variable.attrib["value"]))
    if all("dual" in row.attrib for row in rows) and all("reducedCost" in variable.attrib for variable in variables):
        tables.rows = {row.attrib["name"]: float(row.attrib["dual"]) for row in rows}
        tables.reduced = {variable.attrib["name"]: float(variable.attrib["reducedCost"]) for variable in variables}
    return tables


def _xml_tree(text: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"its XML cannot be read: {error}") from error


def _cbc(lines: list[str]) -> _Tables:
    """Read CBC's files: index, name, value and reduced cost a line, zeros left out.

    With its option ``printingOptions all`` the rows come first, with their activities and multipliers, and the index begins again
    at the variables.
    """
    head = _CBC_HEAD.match(lines[0])
    assert head is not None
    tables = _Tables("cbc", head[1], objective=float(head[2]), zeros=True)
    parts: list[dict[str, tuple[float, float]]] = [{}]
    last = -1
    for line in lines[1:]:
        words = line.removeprefix("**").split()  # CBC marks entries that violate their bounds
        if not words:
            continue
        if len(words) < 4:
            raise ValueError(f"a line of CBC has index, name, value and reduced cost, not {short_text(line.strip()[:60])}")
        index, *names, value, dual = words
        name = " ".join(names)
        if int(index) <= last:
            parts.append({})
        last = int(index)
        if name in parts[-1]:
            raise ValueError(f"{short_text(name)} is stated twice")
        parts[-1][name] = float(value), float(dual)
    if len(parts) > 2:
        raise ValueError("it has more than two tables, of rows and of variables")
    tables.values = {name: value for name, (value, _) in parts[-1].items()}
    if len(parts) == 2:
        tables.rows = {name: dual for name, (_, dual) in parts[0].items()}
        tables.reduced = {name: dual for name, (_, dual) in parts[1].items()}
    return tables


def _mosek(lines: list[str]) -> _Tables:
    tables = _Tables("mosek")
    status = []
    rows: dict[str, float] = {}
    section, columns = "", 0
    for line in lines:
        key, _, value = line.partition(":")
        words = line.split()
        if section and words[:2] == ["INDEX", "NAME"]:
            columns = len(_MOSEK_COLUMN.findall(line.partition("NAME")[2]))
        elif section and columns and len(words) > columns + 2:  # blanks in the name
            words = _words_around_name(line, columns)
        if not section and key.strip() in ("PROBLEM STATUS", "SOLUTION STATUS"):
            status.append(value.strip())
        elif not section and key.strip() in ("PRIMAL OBJECTIVE", "DUAL OBJECTIVE") and value.strip():
            name = "objective" if key.startswith("PRIMAL") else "bound"
            setattr(tables, name, float(value))
        elif line.strip() in ("CONSTRAINTS", "AFFINE CONIC CONSTRAINTS", "VARIABLES", "SYMMETRIC MATRIX VARIABLES"):
            section = line.strip()
        elif words and section and words[0] != "INDEX":
            if section.startswith("AFFINE"):
                tables.cones.setdefault(words[1], []).append(_number(words[-1]) if len(words) > 4 else 0.0)
                continue
            if section.startswith("SYMMETRIC"):  # INDEX NAME I J PRIMAL [DUAL], the lower triangle by columns
                tables.matrices.setdefault(words[1], []).append((float(words[4]), _number(words[5]) if len(words) > 5 else 0.0))
                continue
            # INDEX NAME AT ACTIVITY LOWER UPPER [DUAL LOWER, DUAL UPPER]; an integer solution has no duals
            dual = _number(words[6]) - _number(words[7]) if len(words) > 7 else None
            if section == "VARIABLES":
                tables.values[words[1]] = float(words[3])
            if dual is not None:
                if section == "VARIABLES":
                    tables.reduced = {} if tables.reduced is None else tables.reduced
                    tables.reduced[words[1]] = dual
                else:
                    rows[words[1]] = dual
    tables.status_text = ", ".join(status)
    if tables.reduced is not None:
        tables.rows = rows
    else:
        tables.bound = None
    return tables


#: A column of MOSEK's tables behind the name.
_MOSEK_COLUMN = re.compile(r"(?:LOWER|UPPER) LIMIT|DUAL (?:LOWER|UPPER)|CONIC DUAL|\S+")


def _words_around_name(line: str, columns: int) -> list[str]:
    """Return the index, the name with its blanks, and the words of so many columns behind it."""
    index, _, fields = line.strip().partition(" ")
    name, *words = fields.strip().rsplit(maxsplit=columns)
    return [index, name, *words]


def _number(word: str) -> float:
    return 0.0 if word == "NONE" else float(word)


#: Meaning of AMPL's codes of a solve, by hundreds.
_AMPL_STATUS = {0: "solved", 1: "solved?", 2: "infeasible", 3: "unbounded", 4: "limit", 5: "failure"}


def _ampl(form: StandardForm, path: Path, lines: list[str]) -> FilePoint:
    """Read AMPL's .sol: numbers in the order of the .nl file, which its sidecar records.

    Its dual values are derivatives of the objective with respect to the rows' right-hand sides.
    """
    start = next(k for k, line in enumerate(lines) if line.strip() == "Options")
    message = " ".join(line.strip() for line in lines[:start] if line.strip())
    options = int(lines[start + 1])
    counts = [int(line) for line in lines[start + 2 + options : start + 6 + options]]
    m, duals, n, primals = counts
    first = start + 6 + options
    if m != form.rows or n != form.n or primals not in (0, n) or duals not in (0, m):
        raise ValueError(f"it has {n} variables and {m} rows, the form {form.n} and {form.rows}")
    y = np.array([float(line) for line in lines[first : first + duals]])
    values = np.array([float(line) for line in lines[first + duals : first + duals + primals]])
    tail = [line.split() for line in lines[first + duals + primals :] if line.startswith("objno")]
    code = int(tail[0][2]) if tail and len(tail[0]) > 2 else None
    status_text = "" if code is None else _AMPL_STATUS.get(code // 100, str(code))
    order = _nl_order(form, path)
    x = np.empty(form.n)
    if primals:
        x[order] = values
    stops = np.cumsum([c.rows for c in form.constraints])[:-1]
    y = -y if form.maximise and _maximises(path.with_suffix(".nl")) else y
    z = dict(zip((c.label for c in form.constraints), np.split(y, stops), strict=True)) if duals else None
    solver = (message.split() or [""])[0].rstrip(":,").lower()
    return FilePoint(solver, f"{message} ({status_text})" if status_text else message, x if primals else None, z)


def _maximises(program: Path) -> bool:
    """Return whether the .nl file of a maximised form maximises, as files of `write_form` do; True if the file is missing."""
    return not program.exists() or any(line.startswith("O0 1") for line in split_lines(read_text(program)))


def _nl_order(form: StandardForm, path: Path) -> np.ndarray:
    program = path.with_suffix(".nl")
    layout = Layout.load(program)
    if layout is not None and program.exists() and not layout.describes(read_text(program)):
        raise ValueError(f"{program.name} beside it was saved by another program since its .names.json was written")
    if layout is None or layout.order is None:
        raise ValueError(f"its numbers are in the order of {program.name}, whose .names.json is not beside it")
    if layout.blocks != form.blocks:
        raise ValueError(f"{program.name} was written from a form with other blocks")
    return np.array(layout.order)


#: The reader of a file, by the beginning of one of its first eight lines.
_READERS: dict[str, Callable[[list[str]], _Tables]] = {
    "PROBLEM STATUS": _mosek, "Model status": _highs, "# Solution for model": _gurobi, "solution status:": _scip,
    "objective value:": _scip, "no solution available": _scip, "=obj=": _miplib, "<CPLEXSolution": _cplex,
    WRITTEN_BY: _without_solver,
}  # fmt: skip
#: The first line of CBC's files: how the solve ended, and the objective.
_CBC_HEAD = re.compile(r"(\S.*) - objective value\s+(\S+)")


def _tables(lines: list[str]) -> _Tables | None:
    """Return the tables of a file of one of these kinds, or of names and numbers; None for another one."""
    if lines and _CBC_HEAD.match(lines[0]):
        return _cbc(lines)
    for line in lines[:8]:
        for beginning, read in _READERS.items():
            if line.startswith(beginning):
                return read(lines)
    return _without_solver(lines) if _names_and_numbers(lines) else None
