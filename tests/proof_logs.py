"""Proof logs of `zero-one-bb` for small problems, and damaged copies of them with a valid seal."""

import copy
import hashlib
import json

import numpy as np
from data import clouds

from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.records import Options
from marginopt.solvers.zero_one import ZeroOneBB
from marginopt.solvers.zero_one.conflict_log import ConflictLogWriter
from marginopt.solvers.zero_one.reduced import reduce_problem


def problem_of(seed, n, p, free, lam):
    """Return a 0-1 problem of two clouds with random weights around ``lam``; with ``free`` the intercept is not penalised."""
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, n, p, 0.4, order="turns", spread=0.6)
    penalised = np.ones(p + 1, dtype=bool)
    penalised[0] = not free
    return ZeroOneProblem(y[:, None] * X, lam * rng.uniform(0.5, 2.0, n), penalised)


def write(problem, path, seconds=30.0, **native):
    """Run `zero-one-bb` with a proof log at ``path`` for at most ``seconds``; return the outcome and the answer."""
    algorithm = ZeroOneBB(proof=str(path), **native)
    state = algorithm.init(problem, Options(), np.random.default_rng(0))
    outcome = algorithm.advance(state, 0.05)
    for _ in range(int(seconds / 0.05)):
        if outcome.name != "RUNNING":
            break
        outcome = algorithm.advance(state, 0.05)
    return outcome, algorithm.answer(state)


def write_part(problem, path, bound, nodes):
    """Write the log of a conflict search for the bound ``bound`` that ends after ``nodes`` nodes; return the claimed bound."""
    reduced = reduce_problem(problem)
    recorder = ConflictLogWriter(str(path), reduced, bound, np.ones(len(reduced.weights)))
    recorder.merge(recorder.prover.work(1e9, nodes))
    return recorder.finish(np.zeros(len(problem.penalised)))


def sealed(records):
    """Return the text of a log of these records with a valid seal."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    return text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n"


def read(path):
    """Return the records of a log without its seal."""
    return [json.loads(line) for line in path.read_text().splitlines()][:-1]


def damage(rng, log):
    """Return the kind of a random change, and a copy of a box search's log (its records) with that change."""
    log = copy.deepcopy(log)
    nodes = list(range(1, len(log) - 1))
    record = log[int(rng.choice(nodes))]
    kinds = ["bound", "drop", "clear", "alpha", "split", "weight", "row", "incumbent", "parent", "T", "cut", "pair", "price"]
    kind = str(rng.choice(kinds))
    if kind == "bound":
        log[-1]["bound"] *= 1 + 10 ** rng.uniform(-5.5, 1)
    elif kind == "drop":
        log.remove(record)
    elif kind == "clear":
        record["rounds"] = []
    elif kind == "alpha":
        for entry in record["rounds"]:
            entry[2] = [a * float(rng.choice([0.0, 0.1, 10.0, -1.0])) for a in entry[2]]
    elif kind in ("pair", "price"):
        for entry in (entry for record in log[1:-1] for entry in record["rounds"]):
            damage_pairs(rng, entry, kind, len(log[0]["weights"]))
    elif kind == "split" and "split" in record:
        record["split"][1] += float(rng.normal())
    elif kind == "weight":
        log[0]["weights"][int(rng.integers(len(log[0]["weights"])))] *= 0.3
    elif kind == "row":
        log[0]["A"][int(rng.integers(len(log[0]["A"])))][1] *= -2.0
    elif kind == "incumbent":
        log[-1]["w"] = [0.99 * x for x in log[-1]["w"]]
    elif kind == "parent":
        record["parent"] = int(rng.integers(len(nodes)))
    elif kind == "T":
        log[0]["T"][int(rng.integers(len(log[0]["T"])))][0] *= 1.5
    else:
        log = log[: int(rng.integers(1, len(log)))]
    return kind, log


def damage_pairs(rng, entry, kind, n):
    """Change the pairs of a round ``entry``: add pairs that the box does not exclude, repeat or reorder pairs, change prices."""
    if kind == "price":
        entry[4] = [price * float(rng.choice([0.5, 3.0])) for price in entry[4]]
        entry[3], entry[4] = entry[3] + entry[3], entry[4] + entry[4]
    else:
        extra = [[int(x) for x in rng.choice(n, 2, replace=False)] for _ in range(3)]
        order = rng.permutation(len(entry[3]))
        entry[3] = extra + [entry[3][k] for k in order]
        entry[4] = [10.0] * 3 + [entry[4][k] for k in order]


def damage_conflicts(rng, log):
    """Return what `damage` does for a log of the conflict search, of the penalised form or of one with a budget."""
    log = copy.deepcopy(log)
    header, n = log[0], len(log[0]["A"])
    conflicts = [record for record in log if "conflict" in record]
    nodes = [record for record in log if "steps" in record]
    conflict, node = conflicts[int(rng.integers(len(conflicts)))], nodes[int(rng.integers(len(nodes)))]
    at = int(rng.integers(len(conflict["conflict"])))
    kinds = ["bound", "drop", "clear", "alpha", "point", "pack", "split", "row", "member", "parent", "cut"]
    kinds += ["budget", "incumbent"] if "budget" in header else ["weight"]
    kind = str(rng.choice(kinds + ["target", "open", "opened"] * ("target" in log[-1])))
    if kind == "bound":
        log[-1]["bound"] *= 1 + 10 ** rng.uniform(-5.5, 1)
    elif kind == "drop":
        log.remove(node)
    elif kind == "clear":
        node["steps"] = []
    elif kind == "alpha":
        conflict["alpha"][at] *= float(rng.choice([0.0, 0.5, 2.0, -1.0]))
    elif kind == "point":
        conflict["conflict"][at] = int(rng.integers(n))
    elif kind == "pack":
        for step in node["steps"]:
            if step[0] == "pack":
                step[1] = [[number, y * float(rng.choice([0.5, 1.5, 2.0, -1.0]))] for number, y in step[1]]
            else:
                step[1] = int(rng.integers(-1, len(conflicts) + 1))
    elif kind == "split" and "split" in node:
        points = node["split"][1]
        node["split"][1] = [points[:-1], [*points, points[0]], [int(rng.integers(n))]][int(rng.integers(3))]
    elif kind == "weight":
        header["weights"][int(rng.integers(n))] *= 0.3
    elif kind == "budget":
        header["budget"] += int(rng.choice([-1, 1, 2]))
    elif kind == "incumbent" and log[-1]["w"] is not None:
        log[-1]["w"] = [0.99 * x for x in log[-1]["w"]]
    elif kind == "row":
        header["A"][int(rng.integers(n))][1] *= -2.0
    elif kind == "member":
        header["member"][int(rng.integers(len(header["member"])))] = int(rng.integers(-1, len(header["member"])))
    elif kind == "parent":
        node["parent"] = int(rng.integers(len(nodes)))
    elif kind == "target":
        log[-1]["target"] *= float(rng.choice([0.0, 0.9, 1.1, 4.0, -1.0]))
    elif kind == "open" and "open" in node:
        node["open"] = [int(x) for x in rng.integers(len(conflicts), size=int(rng.integers(3)))]
    elif kind == "opened":  # a proved node is called open, or an open one proved
        node["open"] = node.pop("open", None) or []
        log[-1]["bound"] *= float(rng.choice([1.0, 1.2, 1.5]))
    else:
        kind, log = "cut", log[: int(rng.integers(1, len(log)))]
    return kind, log
