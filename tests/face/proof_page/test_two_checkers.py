"""Two checkers in two languages: the same verdicts, bounds and values on genuine and forged logs."""

import base64
import gzip
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from chromium import PROGRAM, browser
from data import clouds
from effort import trials
from proof_logs import damage, damage_conflicts, problem_of, read, sealed, write, write_part

import marginopt as mo
from marginopt.solvers.zero_one.check import checker

CHECKER = Path(checker.__file__).parent
NODE = shutil.which("node")


def genuine(folder):
    """Paths of logs, 34 at full effort: boxes, conflicts, their passes that end early, and budgets."""
    paths = []
    for seed in range(trials(6, 12)):
        for engine in ("boxes", "conflicts"):
            path = folder / f"genuine-{engine}-{seed}.jsonl"
            write(problem_of(seed, 14 + 2 * seed, 1 + seed % 3, bool(seed % 2), 10.0 ** (seed % 3 - 1)), path, engine=engine)
            paths.append(path)
    for seed in range(6, trials(9, 12)):
        path, problem = folder / f"genuine-part-{seed}.jsonl", problem_of(seed, 14 + 2 * seed, 2, bool(seed % 2), 1.0)
        write_part(problem, path, 0.9 * problem.objective(write(problem, path)[1].values["w"]), 1 + seed % 3)
        paths.append(path)
    for seed in range(4):
        path = folder / f"genuine-budget-{seed}.jsonl"
        X, y = clouds(seed, 14, 2, 0.4)
        X[1:3], y[1:3] = X[0], y[0]
        mo.solve(mo.ZeroOneSVM(X, y, kappa=3 / 14, intercept="free" if seed % 2 else "penalised"), "zero-one-bb", proof=str(path))
        paths.append(path)
    return paths


def malformed(log):
    """Texts that are wrong in form: each is to be refused."""
    text = sealed(log)
    lines = text.splitlines(keepends=True)
    yield text.replace(lines[1], lines[1].replace("0", "1", 1), 1)  # changed and not sealed anew
    yield "".join(lines[:-1])
    yield text[: len(text) // 2]
    yield ""
    yield "[]\n" + text
    for key, value in (
        ("weights", ["one"] * len(log[0]["weights"])),
        ("A", []),
        ("penalised", [1.5]),
        ("kind", "hinge"),
        ("version", 9),
    ):
        yield sealed([log[0] | {key: value}, *log[1:]])
    for claim in ({"bound": float("nan")}, {"bound": float("inf")}, {"w": [float("nan")] * len(log[0]["A"][0])}, {"w": []}):
        yield sealed([*log[:-1], log[-1] | claim])


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A folder of logs, most of them forged; the names say how."""
    folder = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(2026)
    for path in genuine(folder):
        log = read(path)
        changed = damage if "boxes" in path.name else damage_conflicts
        for k in range(6):
            kind, bad = changed(rng, log)
            (folder / f"forged-{path.stem}-{k}-{kind}.jsonl").write_text(sealed(bad))
        if path.stem.endswith("3"):
            for k, text in enumerate(malformed(log)):
                (folder / f"malformed-{path.stem}-{k}.jsonl").write_text(text)
            (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    (folder / "malformed-bomb.jsonl.gz").write_bytes(gzip.compress(b" " * 2**24))
    return folder


def by_node(logs, _):
    command = [NODE, str(Path(__file__).with_name("verdicts.js")), str(CHECKER), str(logs)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


def by_chromium(logs, folder):
    """Verdicts of a page that is opened from a file: it holds checker.js and all logs."""
    texts = {path.name: base64.b64encode(path.read_bytes()).decode() for path in logs.iterdir()}
    page = folder / "logs.html"
    code = (CHECKER / "checker.js").read_text(encoding="utf-8")
    data = f"const LOGS = {json.dumps(texts)};"
    page.write_text(f"<script>{code}</script><script>{data}{_IN_PAGE}</script>", encoding="utf-8")
    with browser(folder) as chromium:
        chromium.open(page)
        return json.loads(chromium.evaluate("verdicts()"))


_IN_PAGE = """
async function verdicts() {
  const reports = {};
  for (const [name, text] of Object.entries(LOGS)) {
    try {
      reports[name] = new ProofCheck(await unpack(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)))).run();
    } catch (error) {
      reports[name] = { valid: false, bound: NaN, value: NaN, nodes: 0, digest: "", message: error.message };
    }
  }
  return JSON.stringify(reports, (_, x) => (x === Infinity ? "Infinity" : x));
}
"""


@pytest.fixture(scope="module")
def reports(logs):
    """Reports of the checker in Python."""
    return {path.name: mo.check_proof(path) for path in sorted(logs.iterdir())}


@pytest.fixture(scope="module", params=["node", "chromium"])
def verdicts(request, logs, reports, tmp_path_factory):
    """Reports of both checkers by the name of the log."""
    run, program = {"node": (by_node, NODE), "chromium": (by_chromium, PROGRAM)}[request.param]
    if program is None:
        pytest.skip(f"needs {request.param}, which runs checker.js")
    theirs = run(logs, tmp_path_factory.mktemp("browser"))
    return {name: (report, theirs[name]) for name, report in reports.items()}


def test_verdicts_bounds_and_values_agree(verdicts):
    assert len(verdicts) >= trials(120, 200)
    for name, (python, javascript) in verdicts.items():
        assert python.valid == javascript["valid"], (name, python.message, javascript["message"])
        if python.valid:
            assert (python.bound, python.nodes, python.digest) == (
                javascript["bound"],
                javascript["nodes"],
                javascript["digest"],
            ), name
            assert python.value == float(
                javascript["value"].replace("Infinity", "inf") if isinstance(javascript["value"], str) else javascript["value"]
            )
            assert javascript["floor"] == python.bound or python.bound <= 0.0


def test_genuine_logs_are_accepted_and_many_forgeries_by_neither(verdicts):
    for name, (python, theirs) in verdicts.items():
        assert not name.startswith("genuine") or (python.valid and theirs["valid"]), (name, python.message, theirs["message"])
    refused = [name for name, (python, theirs) in verdicts.items() if not python.valid and not theirs["valid"]]
    assert sum(name.startswith("forged") for name in refused) >= trials(50, 100)
    assert all(name in refused for name in verdicts if name.startswith("malformed"))


@pytest.mark.skipif(NODE is None, reason="needs node (apt-get install nodejs), which runs checker.js")
def test_arithmetic_is_that_of_the_standard(tmp_path):
    """Neighbours, exact sums, roundings of rationals and SHA-256, against Python's own."""
    import hashlib
    import math
    from fractions import Fraction

    rng = np.random.default_rng(3)
    values = [*(rng.standard_normal(60) * 10.0 ** rng.integers(-300, 300, 60)), 0.0, -0.0, 5e-324, -5e-324, 1.0, 2.0**-1022]
    sums = [[float(x) for x in rng.standard_normal(9) * 10.0 ** rng.integers(-8, 8, 9)] for _ in range(60)] + [[1e16, 1.0, 1e-16]]
    texts = ["", "abc", "a" * 55, "a" * 56, "a" * 64, "ü" * 100]
    script = tmp_path / "arithmetic.js"
    script.write_text(
        f"const c = require({json.dumps(str(CHECKER / 'checker.js'))});"
        f"const values = {json.dumps([float(x) for x in values])}, sums = {json.dumps(sums)}, texts = {json.dumps(texts)};"
        "const times3 = (x) => { const a = c.dyadic(x); return { m: 3n * a.m, e: a.e - 1 }; };"
        "console.log(JSON.stringify({ up: values.map(c.up), down: values.map(c.down), sums: sums.map(c.exactSum),"
        " floor: values.map((x) => c.floorDouble(times3(x))), ceil: values.map((x) => c.ceilDouble(times3(x))),"
        " hashes: texts.map((text) => c.sha256([new TextEncoder().encode(text)])) }));"
    )
    done = json.loads(
        subprocess.run([NODE, str(script)], capture_output=True, text=True, check=True, timeout=60).stdout, parse_int=float
    )
    assert done["up"] == [math.nextafter(x, math.inf) for x in values]
    assert done["down"] == [math.nextafter(x, -math.inf) for x in values]
    assert done["sums"] == [math.fsum(row) for row in sums]
    for x, floor, ceil in zip(values, done["floor"], done["ceil"], strict=True):
        exact = Fraction(float(x)) * 3 / 2
        assert Fraction(floor) <= exact <= Fraction(ceil) and ceil in (floor, math.nextafter(floor, math.inf))
    assert done["hashes"] == [hashlib.sha256(text.encode()).hexdigest() for text in texts]
