"""Malformed files for every reader: seeds that read, and what makes them malformed.

A case is (kind, number): the number seeds the generator, so that every case can be run again by itself. The law: a reader
returns something of its type, or raises one of our errors, whose message names the file.

Program files that are changed a little (`program`) have a second law: a reader never returns another problem than two of HiGHS,
SCIP and Gurobi agree on. It refuses, or its program has the outcome that the two have.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import marginopt as mo
from marginopt.errors import MarginoptError
from marginopt.instances import read as read_data
from marginopt.models import Block, Constraint, Nonnegative, Quadratic, SecondOrder, StandardForm
from marginopt.models.export.file_formats import read_form, write_form
from marginopt.relaxations.report.runner import CellStore

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks" / "others"))
from peer_files import PEERS, READERS, Outcome, Reader, judgement

FORMS = (".lp", ".mps", ".cbf", ".nl", ".qplib", ".ptf", ".mof.json", ".npz")
DATA = (".libsvm", ".csv", ".arff", ".parquet", ".data.npz", ".csv.gz", ".libsvm.bz2", ".arff.xz")
SOLUTIONS = ("gurobi.sol", "scip.sol", "highs.sol", "mosek.sol", "ampl.sol")
OTHERS = (".result.npz", ".store.db", ".names.json")
KINDS = (*FORMS, *DATA, *SOLUTIONS, *OTHERS)
#: Words put in the place of a number or a name.
WORDS = (
    b"nan", b"inf", b"-inf", b"1e400", b"-1", b"0", b"99999999999999999999999", b"2000000000", b"-7", b"1.5", b"x", b"",
    b"1e-400", b"0x10", b"1_000", b"\xff\xfe", "é".encode(), b"'", b'"', b"[", b"]]", b"true", b"null", b"w[0]", b"1" * 5000,
)  # fmt: skip


def points() -> tuple[np.ndarray, np.ndarray]:
    """Nine points with a constant column."""
    rng = np.random.default_rng(3)
    return np.column_stack([np.ones(9), rng.normal(size=(9, 2))]), np.array([1.0, -1, 1, -1, 1, -1, 1, 1, -1])


def conic_form() -> StandardForm:
    """A second-order cone, bounds, an integer."""
    F = np.array([[0.0, 1, 0], [1, 0, 0.1], [0, 0, 1.0]])
    return StandardForm(
        name="cone",
        blocks=(Block("x", (3,)),),
        q=np.array([1.0, 1, 0]),
        constraints=(
            Constraint("rows", np.array([[1.0, 1, 1]]), np.array([1.0]), Nonnegative(1)),
            Constraint("cone", F, np.array([1.0, 0, 0]), SecondOrder(3)),
        ),
        lower=np.array([-1.0, -np.inf, 0]),
        upper=np.array([3.0, 4.0, 1.0]),
        integer=np.array([False, False, True]),
    )


def flat_form() -> StandardForm:
    """A quadratic objective, rows, bounds, an integer."""
    return StandardForm(
        name="flat",
        blocks=(Block("w", (2,)), Block("v", ())),
        q=np.array([0.5, -1, 2]),
        constraints=(Constraint("margin", np.array([[1.0, 2, 3], [0, 1, -1]]), np.array([-1.0, 0.5]), Nonnegative(2)),),
        lower=np.array([-np.inf, 0, 0]),
        upper=np.array([np.inf, 5, 1]),
        integer=np.array([False, False, True]),
        quadratic=Quadratic(matrix=np.diag([2.0, 1.0, 0.0])),
        r=0.25,
    )


def hinge() -> mo.HingeSVM:
    """The model whose results and solutions are read."""
    return mo.HingeSVM(*points(), lam=0.7)


def seeds(folder: Path) -> dict[str, Path]:
    """One good file of each kind, made in ``folder``."""
    values = {}
    for suffix in FORMS:
        form = conic_form() if suffix in (".cbf", ".ptf") else flat_form()
        values[suffix] = write_form(form, folder / f"good{suffix}")
    values[".names.json"] = folder / "good.lp.names.json"
    for kind, content in _data_files().items():
        values[kind] = folder / f"good{kind}"
        values[kind].write_bytes(content)
    for kind, text in _solutions().items():
        values[kind] = folder / f"good.{kind}"
        values[kind].write_text(text)
    hinge().write(folder / "good.ampl.nl")
    values[".result.npz"] = mo.solve(hinge(), "highs").save(folder / "good.result.npz")
    store = CellStore(folder / "good.store.db")
    store.put("key", "kind", {"a": 1.0, "b": [1, 2]})
    values[".store.db"] = store.path
    return values


def _data_files() -> dict[str, bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = points()
    rows = list(zip(X, y, strict=True))
    libsvm = "\n".join(f"{label:g} " + " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(row)) for row, label in rows)
    csv = "a,b,c,label\n" + "\n".join(",".join(f"{v:.6g}" for v in row) + f",{label:g}" for row, label in rows)
    arff = "@relation r\n@attribute a numeric\n@attribute 'b c' real\n@attribute class {p,q}\n@data\n1,2,p\n{0 3, 2 q}\n-1,.5,q\n"
    table = pa.table({"a": X[:, 1], "b": X[:, 2], "label": y.astype(int)})
    parquet, npz = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    np.savez_compressed(npz, X=X, y=y, feature_names=np.array(["a", "b", "c"]))
    return {
        ".libsvm": libsvm.encode(), ".csv": csv.encode(), ".arff": arff.encode(), ".parquet": parquet.getvalue(),
        ".data.npz": npz.getvalue(), ".csv.gz": gzip.compress(csv.encode()), ".libsvm.bz2": bz2.compress(libsvm.encode()),
        ".arff.xz": lzma.compress(arff.encode()),
    }  # fmt: skip


def _solutions() -> dict[str, str]:
    form = hinge().form
    result = mo.solve(hinge(), "highs")
    x, names = form.join(result.values), form.names()
    rows = [name for c in form.constraints for name in c.names()]
    pairs = "\n".join(f"{name} {value:.12g}" for name, value in zip(names, x, strict=True))
    zeros = "\n".join(f"{name} 0.1" for name in rows)
    mosek = "\n".join(f"{j} {name} BS {value:.12g} NONE NONE 0 0" for j, (name, value) in enumerate(zip(names, x, strict=True)))
    mosek_rows = "\n".join(f"{i} {name} LL 0 0 NONE 0.1 0" for i, name in enumerate(rows))
    counts = f"{len(rows)}\n{len(rows)}\n{len(x)}\n{len(x)}\n"
    return {
        "gurobi.sol": f"# Solution for model x\n# Objective value = 1.5\n{pairs}\n",
        "scip.sol": f"solution status: optimal solution found\nobjective value: 1.5\n{pairs}\n",
        "highs.sol": (
            f"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 1.5\n# Columns {len(x)}\n{pairs}\n"
            f"# Rows {len(rows)}\n{zeros}\n\n# Dual solution values\nFeasible\n# Columns {len(x)}\n{pairs}\n# Rows {len(rows)}\n"
            f"{zeros}\n\n# Basis\n"
        ),
        "mosek.sol": (
            "NAME : x\nPROBLEM STATUS : PRIMAL_AND_DUAL_FEASIBLE\nSOLUTION STATUS : OPTIMAL\nPRIMAL OBJECTIVE : 1.5\n"
            f"DUAL OBJECTIVE : 1.4\n\nCONSTRAINTS\nINDEX NAME AT ACTIVITY LOWER UPPER DUALL DUALU\n{mosek_rows}\n\nVARIABLES\n"
            f"INDEX NAME AT ACTIVITY LOWER UPPER DUALL DUALU\n{mosek}\n"
        ),
        "ampl.sol": "solver: done\n\nOptions\n3\n1\n1\n0\n" + counts + "0.1\n" * len(rows) + "0.2\n" * len(x) + "objno 0 0\n",
    }  # fmt: skip


def reader(kind: str) -> Callable[[Path], Any]:
    """Return what reads this kind of file."""
    if kind in FORMS or kind == ".names.json":
        return read_form
    if kind in DATA:
        return read_data
    if kind in SOLUTIONS:
        return lambda path: mo.io.read_solution(hinge(), path)
    if kind == ".result.npz":
        return lambda path: mo.io.load_result(path)
    return lambda path: CellStore(path).records("kind")


# -- what makes a file malformed ------------------------------------------------------------------------------------


def mutated(raw: bytes, rng: np.random.Generator) -> bytes:
    """The file with one to three faults."""
    for _ in range(int(rng.integers(1, 4))):
        raw = _FAULTS[int(rng.integers(len(_FAULTS)))](raw, rng)
    return raw


def _cut(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[: int(rng.integers(len(raw) + 1))]


def _flip(raw: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(raw)
    for _ in range(int(rng.integers(1, 9))):
        if data:
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
    return bytes(data)


def _splice(raw: bytes, rng: np.random.Generator) -> bytes:
    a, b, c = np.sort(rng.integers(len(raw) + 1, size=3)).tolist()
    return raw[:b] + raw[a:c] + raw[c:] if rng.random() < 0.5 else raw[:a] + raw[b:]


def _word(raw: bytes, rng: np.random.Generator) -> bytes:
    lines = raw.split(b"\n")
    i = int(rng.integers(len(lines)))
    words = lines[i].split(b" ")
    words[int(rng.integers(len(words)))] = WORDS[int(rng.integers(len(WORDS)))]
    lines[i] = b" ".join(words)
    return b"\n".join(lines)


def _number(raw: bytes, rng: np.random.Generator) -> bytes:
    """One run of digits replaced, wherever it stands."""
    starts = [k for k, byte in enumerate(raw) if 48 <= byte < 58]
    if not starts:
        return raw
    k = starts[int(rng.integers(len(starts)))]
    stop = k
    while stop < len(raw) and 48 <= raw[stop] < 58:
        stop += 1
    return raw[:k] + WORDS[int(rng.integers(len(WORDS)))] + raw[stop:]


def _lines(raw: bytes, rng: np.random.Generator) -> bytes:
    lines = raw.split(b"\n")
    i, j = rng.integers(len(lines), size=2).tolist()
    if rng.random() < 0.5:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(i, lines[j])
    return b"\n".join(lines)


def _deep(raw: bytes, rng: np.random.Generator) -> bytes:
    """Brackets, or operators of an NL expression, a hundred thousand deep."""
    lines = raw.split(b"\n")
    i = int(rng.integers(len(lines)))
    nest = (b"[" * 100_000, b'{"a":' * 100_000, b"o16\n" * 100_000, b"\n" * 20_000, b" " * 50_000)
    lines[i] = nest[int(rng.integers(len(nest)))] + lines[i]
    return b"\n".join(lines)


def _empty(raw: bytes, rng: np.random.Generator) -> bytes:
    return (b"", b"\n\n\n", b"\x00" * 64, bytes(rng.integers(256, size=200, dtype=np.uint8)))[int(rng.integers(4))]


_FAULTS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    _cut, _flip, _splice, _word, _word, _number, _number, _lines, _deep, _empty,
)  # fmt: skip


def mutated_arrays(raw: bytes, rng: np.random.Generator) -> bytes:
    """An npz archive with one array of another type, shape or content, away, or twice."""
    with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = sorted(arrays)[int(rng.integers(len(arrays)))]
    array = arrays[name]
    whole = array.dtype.kind in "iu"
    choice = int(rng.integers(9))
    if array.dtype == np.uint8 and choice < 6:
        arrays[name] = np.frombuffer(_json_fault(bytes(array), rng), dtype=np.uint8)
    elif choice == 0:
        del arrays[name]
    elif choice == 1:
        kind = ("<c16", "<U8", "?", "<i8", "<f4")[int(rng.integers(5))]
        arrays[name] = np.zeros(array.shape, dtype=kind)
    elif choice == 2:
        arrays[name] = array[..., None]
    elif choice == 3:
        arrays[name] = array.reshape(-1)[:-1] if array.size else np.zeros(3)
    elif choice == 4:
        arrays[name] = np.full_like(array, -1) if whole and array.dtype.kind == "i" else np.full(array.shape, np.nan)
    elif choice == 5:
        arrays[name] = np.full_like(array, np.iinfo(array.dtype).max) if whole else np.full(array.shape, np.inf)
    elif choice == 6:
        arrays[name] = np.array(0.0)
    elif choice == 7:
        arrays["stranger"] = np.arange(3)
    else:
        arrays[name] = np.concatenate([array.reshape(-1)] * 2)
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue() if choice != 7 else _twice(out.getvalue(), name)


def _json_fault(text: bytes, rng: np.random.Generator) -> bytes:
    """A JSON document with one value of another kind, or broken."""
    if rng.random() < 0.3:
        return mutated(text, rng)
    document = json.loads(text)
    at = document
    while isinstance(at, dict | list) and len(at):
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        key = keys[int(rng.integers(len(keys)))]
        if not isinstance(at[key], dict | list) or rng.random() < 0.4:
            wild: tuple[Any, ...] = (None, -1, 1e308, "x", [], {}, float("nan"), [[1]], True, 10**30)
            at[key] = wild[int(rng.integers(len(wild)))]
            break
        at = at[key]
    return json.dumps(document).encode()


def _twice(raw: bytes, name: str) -> bytes:
    """The archive with a second member of one name."""
    out = io.BytesIO(raw)
    with zipfile.ZipFile(out, "a") as archive:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00")
    return out.getvalue()


def _store_fault(raw: bytes, rng: np.random.Generator, path: Path) -> None:
    """A store whose record was written by somebody else."""
    path.write_bytes(raw)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE cells SET record = ?", (mutated(b'{"a": [1, 2, {"b": null}]}', rng).decode("latin-1"),))
    connection.close()


def attack(kind: str, number: int, good: Path, folder: Path) -> str:
    """Read one malformed file: "read", "refused", or what escaped."""
    rng = np.random.default_rng([number, *kind.encode()])
    raw = good.read_bytes()
    path = folder / f"bad{kind}" if kind.startswith(".") else folder / f"bad.{kind}"
    if kind == ".store.db" and rng.random() < 0.5:
        _store_fault(raw, rng, path)
    elif kind == ".names.json":
        (folder / "bad.lp").write_bytes((good.parent / "good.lp").read_bytes())
        path = folder / "bad.lp"
        (folder / "bad.lp.names.json").write_bytes(_json_fault(raw, rng) if rng.random() < 0.6 else mutated(raw, rng))
    else:
        structured = kind.endswith(".npz") and rng.random() < 0.7
        json_file = kind == ".mof.json" and rng.random() < 0.7
        path.write_bytes(
            mutated_arrays(raw, rng) if structured else _json_fault(raw, rng) if json_file else _packed(kind, raw, rng)
        )
    if kind in FORMS:  # beside the file its own sidecar, as a good file has it
        path.with_name(path.name + ".names.json").unlink(missing_ok=True)
        names_file = good.with_name(good.name + ".names.json")
        if names_file.exists() and rng.random() < 0.7:
            path.with_name(path.name + ".names.json").write_bytes(names_file.read_bytes())
    if kind == "ampl.sol":
        for suffix in (".nl", ".nl.names.json"):
            (folder / f"bad.ampl{suffix}").write_bytes((good.parent / f"good.ampl{suffix}").read_bytes())
    try:
        reader(kind)(path)
    except MarginoptError as error:
        return "refused" if path.name in str(error) or "bad" in str(error) else f"does not name the file: {error}"
    except Exception as error:  # noqa: BLE001 - this is what is counted
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "read"


def _packed(kind: str, raw: bytes, rng: np.random.Generator) -> bytes:
    """A fault of the compressed file, or of the text inside it."""
    codec = {".gz": gzip, ".bz2": bz2, ".xz": lzma}.get("." + kind.rsplit(".", 1)[-1])
    if codec is None or rng.random() < 0.5:
        return mutated(raw, rng)
    return bytes(codec.compress(mutated(codec.decompress(raw), rng)))


# -- programs that other readers judge ------------------------------------------------------------------------------

#: Small bounded programs with every section that two of the peers read.
PROGRAMS = {
    ".mps": [
        """NAME plain
OBJSENSE
    MAX
ROWS
 N cost
 L c1
 G c2
 E c3
COLUMNS
    x cost 2 c1 1
    x c2 1
    m1 'MARKER' 'INTORG'
    y cost 3 c1 2
    y c3 1
    m2 'MARKER' 'INTEND'
    z cost -1 c2 -1
    z c3 1
RHS
    rhs c1 9 c2 -2
    rhs c3 3 cost 5
RANGES
    rng c1 4 c3 2
BOUNDS
 UP bnd x 4
 LO bnd y 1
 UP bnd y 6
 MI bnd z
 UP bnd z 8
ENDATA
""",
        """NAME square
ROWS
 N cost
 G c1
 L c2
COLUMNS
    x cost -3 c1 1
    x c2 1
    y cost 1 c1 1
    y c2 -1
RHS
    rhs c1 1 c2 4
BOUNDS
 UP bnd x 5
 UP bnd y 5
QUADOBJ
    x x 2
    x y -1
    y y 3
ENDATA
""",
        """NAME whole
ROWS
 N cost
 L c1
 G c2
COLUMNS
    m1 'MARKER' 'INTORG'
    x cost -3 c1 1
    y cost -2 c1 1
    u cost 1 c2 1
    m2 'MARKER' 'INTEND'
    v cost 2 c2 1
RHS
    rhs c1 1 c2 1.5
BOUNDS
 BV bnd x
 LI bnd u 1
 UI bnd u 3
 FX bnd v 0.5
ENDATA
""",
        """NAME switched
ROWS
 N cost
 L c1
 G c2
COLUMNS
    x cost -3 c1 1
    x c2 1
    y cost 1 c2 1
    m1 'MARKER' 'INTORG'
    a cost -4
    b cost -4
    m2 'MARKER' 'INTEND'
RHS
    rhs c1 2 c2 6
BOUNDS
 UP bnd x 5
 UP bnd y 5
INDICATORS
 IF c1 a 1
 IF c2 b 0
ENDATA
""",
    ],
    ".lp": [
        """maximize
 obj: 2 x + 3 y - z + 5
subject to
 c1: x + 2 y + z <= 9
 c2: x - z >= -2
 c3: y + z = 3
bounds
 0 <= x <= 4
 1 <= y <= 6
 -5 <= z <= 8
general
 y
end
""",
        """minimize
 obj: - 3 x + y + [ 2 x ^2 - 2 x * y + 3 y ^2 ] / 2
subject to
 c1: x + y >= 1
 c2: x - y <= 4
bounds
 x <= 5
 y <= 5
end
""",
        """minimize
 obj: - 3 x - 2 y + u + 2 v
subject to
 c1: x + y <= 1
 c2: u + v >= 1.5
 c3: x + u + v >= 2
bounds
 u <= 3
 v = 0.5
general
 u
binary
 x y
end
""",
        """maximize
 obj: 3 x - y + 4 a + 4 b
subject to
 c1: a = 1 -> x <= 2
 c2: b = 0 -> x + y >= 6
 c3: x + [ x ^2 + y ^2 ] <= 30
bounds
 x <= 5
 y <= 5
binary
 a b
end
""",
    ],
}
#: Words that stand elsewhere in such files.
_SPELLINGS = (
    "0", "1", "-1", "2", "-3", "4.5", "1e30", "-1e30", "inf", "-inf", "1e1", "+2", ".5", "x", "y", "z", "c1", "c2", "cost", "rhs",
    "bnd", "UP", "LO", "FX", "FR", "MI", "PL", "BV", "LI", "UI", "N", "L", "G", "E", "'INTORG'", "'INTEND'", "<=", ">=", "=", "+",
    "-", "free", "*", "/", "^2", "[", "]", "binary", "general", "bounds", "RHS", "RANGES", "BOUNDS", "ROWS", "COLUMNS", ":",
    "obj:", "$", "nan",
)  # fmt: skip


def changed(text: str, rng: np.random.Generator) -> str:
    """The text of a program with one or two small changes of lines or words."""
    for _ in range(int(rng.integers(1, 3))):
        lines = text.rstrip("\n").split("\n")
        i, j = rng.integers(len(lines), size=2).tolist()
        choice = int(rng.integers(8))
        words = lines[i].split()
        k = int(rng.integers(len(words))) if words else 0
        indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
        if choice == 0:
            del lines[i]
        elif choice == 1:
            lines.insert(j, lines[i])
        elif choice == 2:
            lines[i], lines[j] = lines[j], lines[i]
        elif not words:
            continue
        else:
            word = _SPELLINGS[int(rng.integers(len(_SPELLINGS)))]
            if choice == 3:
                del words[k]
            elif choice == 4:
                words.insert(k, word)
            else:
                words[k] = word if choice < 7 else words[k] + words[int(rng.integers(len(words)))]
            lines[i] = indent + " ".join(words)
        text = "\n".join(lines) + "\n"
    return text


class Judges:
    """Our reader and the three peers, each in a process of its own."""

    def __init__(self) -> None:
        self._readers = {name: Reader(name) for name in READERS}

    def outcomes(self, path: Path, limit: float = 5.0) -> tuple[Outcome, list[Outcome]]:
        """Return our outcome and the peers'."""
        return self._readers["ours"].outcome(path, limit), [self._readers[peer].outcome(path, limit) for peer in PEERS]

    def close(self) -> None:
        """End the processes."""
        for one in self._readers.values():
            one.close()


def program(number: int, folder: Path, judges: Judges) -> str:
    """Read one changed program: "" where the law holds, else what came."""
    rng = np.random.default_rng([number, 77])
    suffix = (".mps", ".lp")[number % 2]
    texts = PROGRAMS[suffix]
    path = folder / f"changed{suffix}"
    path.write_text(changed(texts[int(rng.integers(len(texts)))], rng))
    return compared(*judges.outcomes(path))


def compared(ours: Outcome, peers: list[Outcome]) -> str:
    """Return "" unless two peers agree on a problem and ours is another one, or ours failed."""
    if ours.kind in ("raised", "crashed"):
        return f"{ours.kind}: {ours.reason}"
    shared = judgement(peers)
    if shared is None or shared.kind == "refused" or not ours.judged or ours.kind == "refused" or ours.same(shared):
        return ""
    return f"another problem: {ours}, the peers {shared}"
