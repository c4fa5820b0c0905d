"""Program files by four readers: HiGHS, SCIP and Gurobi beside ours; a table of what each finds, and where ours stands alone.

    python benchmarks/others/peer_files.py FOLDER [--limit 20] [--back] [NAME ...]

Every reader works in a process of its own, which is ended at the limit. The outcome that two of the three peers share is the
judgement: the same optimum to 1e-6, infeasible, unbounded, or refused. Gurobi's free licence ends at 2,000 variables and rows.
With ``--back`` each file that we read is written as LP and as MPS too, and the peers judge those against our optimum.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

PEERS = ("highs", "scip", "gurobi")
#: Two optima are the same within this share.
AGREES = 1e-6
SUFFIXES = (".mps", ".lp", ".nl", ".cbf", ".dat-s", ".sdpa", ".mof.json", ".qplib", ".ptf", ".ems")
COMPRESSED = ("", ".gz", ".bz2", ".xz")
#: Formats that each peer reads.
FORMATS = {"highs": (".mps", ".lp", ".ems"), "scip": (".mps", ".lp", ".nl"), "gurobi": (".mps", ".lp")}


@dataclass(frozen=True)
class Outcome:
    """How a reader's program ended: optimal with a value, infeasible, unbounded, refused, or not judged (limit, crash)."""

    kind: str
    value: float = math.nan
    reason: str = ""

    @property
    def judged(self) -> bool:
        """Return whether the outcome says anything of the file."""
        return self.kind in ("optimal", "infeasible", "unbounded", "refused")

    def same(self, other: Outcome) -> bool:
        """Return whether two readers hold the same problem, as far as their outcomes tell."""
        if self.kind != other.kind or not self.judged:
            return False
        return self.kind != "optimal" or abs(self.value - other.value) <= AGREES * max(1.0, abs(self.value), abs(other.value))

    def __str__(self) -> str:
        return f"{self.value:.8g}" if self.kind == "optimal" else self.kind


# -- the readers ----------------------------------------------------------------------------------------------------


def by_highs(path: str, limit: float) -> Outcome:
    """Return the outcome of HiGHS; presolve is off in a second run where the first leaves infeasible or unbounded open."""
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", limit)
    highs.setOptionValue("threads", 1)
    if highs.readModel(path) == highspy.HighsStatus.kError:
        return Outcome("refused")
    status = highspy.HighsModelStatus
    if highs.run() == highspy.HighsStatus.kError:
        return Outcome("not solved", reason=str(highs.getModelStatus()))
    if highs.getModelStatus() == status.kUnboundedOrInfeasible:
        highs.setOptionValue("presolve", "off")
        highs.run()
    kinds = {status.kInfeasible: "infeasible", status.kUnbounded: "unbounded", status.kTimeLimit: "limit"}
    ended = highs.getModelStatus()
    if ended in (status.kOptimal, status.kModelEmpty):
        return Outcome("optimal", float(highs.getInfo().objective_function_value))
    return Outcome(kinds.get(ended, "not solved"), reason=str(ended))


def by_scip(path: str, limit: float) -> Outcome:
    """Return the outcome of SCIP."""
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    try:
        model.readProblem(path)
    except Exception as error:  # noqa: BLE001 - PyScipOpt has no error of its own
        return Outcome("refused", reason=str(error))
    model.setParams({"limits/time": limit, "limits/gap": 0.0, "limits/memory": 2000})
    model.optimize()
    ended = model.getStatus()
    if ended == "inforunbd":
        model.freeTransform()
        model.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
        model.setObjective(0.0)
        model.optimize()
        return Outcome("infeasible" if model.getStatus() == "infeasible" else "unbounded")
    if ended == "optimal":
        return Outcome("optimal", float(model.getObjVal()))
    return Outcome({"timelimit": "limit"}.get(ended, ended))


def by_gurobi(path: str, limit: float) -> Outcome:
    """Return the outcome of Gurobi within its free licence."""
    import gurobipy

    parameters = {"OutputFlag": 0, "TimeLimit": limit, "Threads": 1, "MIPGap": 0.0, "MIPGapAbs": 0.0, "DualReductions": 0}
    with gurobipy.Env(params=parameters) as environment:
        try:
            model = gurobipy.read(path, environment)
        except gurobipy.GurobiError as error:
            return Outcome("refused", reason=str(error))
        with model:
            try:
                model.optimize()
            except gurobipy.GurobiError as error:
                return Outcome("not solved", reason=str(error))
            codes = gurobipy.GRB
            if model.Status == codes.OPTIMAL:
                return Outcome("optimal", float(model.ObjVal))
            kinds = {codes.INFEASIBLE: "infeasible", codes.UNBOUNDED: "unbounded", codes.TIME_LIMIT: "limit"}
            return Outcome(kinds.get(model.Status, "not solved"), reason=str(model.Status))


def by_us(path: str, limit: float, *, written: str | None = None) -> Outcome:
    """Return our outcome; with ``written`` the program is written there as well.

    The program goes to HiGHS where HiGHS takes it, else to Clarabel or SCIP. Only the status of the solver counts. The
    written file has the program's own sense, so its value is the program's.
    """
    import marginopt as mo
    from marginopt.errors import MarginoptError
    from marginopt.models import Feature, StandardForm

    try:
        form = mo.read(path)
    except MarginoptError as error:
        return Outcome("refused", reason=str(error))
    if not isinstance(form, StandardForm):
        return Outcome("other format")
    if written is not None:
        try:
            form.write(written)
        except MarginoptError as error:
            return Outcome("not written", reason=str(error))
    mixed = Feature.INTEGER in form.features
    solver = "highs" if form.features <= {Feature.INTEGER} or form.features <= {Feature.QUADRATIC} else "scip"
    if not mixed and solver == "scip":
        solver = "clarabel"
    last = Outcome("not solved")
    for name in dict.fromkeys((solver, "scip")):
        try:
            result = mo.solve(form, name, time_limit=limit)
        except MarginoptError as error:
            last = Outcome("not solved", reason=str(error))
            continue
        if result.status.name in ("OPTIMAL", "INFEASIBLE", "UNBOUNDED"):
            value = float(result.objective) if result.status.name == "OPTIMAL" else math.nan
            return Outcome(result.status.name.lower(), value)
        last = Outcome("not solved", reason=result.status.name)
    return last


READERS: dict[str, Callable[..., Outcome]] = {"ours": by_us, "highs": by_highs, "scip": by_scip, "gurobi": by_gurobi}


# -- processes ------------------------------------------------------------------------------------------------------


def _serve(reader: str, pipe: Connection) -> None:
    """Answer requests one after the other; the readers' own output is dropped."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    warnings.simplefilter("ignore")
    while (request := pipe.recv()) is not None:
        path, limit, options = request
        try:
            pipe.send(READERS[reader](path, limit, **options))
        except Exception as error:  # noqa: BLE001 - a fault of a reader is an outcome of this table
            pipe.send(Outcome("raised", reason=f"{type(error).__name__}: {error}"))


class Reader:
    """One reader in a process of its own, which is started again after a crash or at the limit."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def outcome(self, path: Path, limit: float, **options: str) -> Outcome:
        """Return the outcome for a file within the limit and ten seconds."""
        if self._process is None or self._pipe is None or not self._process.is_alive():
            self.close()
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(self.name, theirs), daemon=True)
            self._process.start()
            theirs.close()
        try:
            self._pipe.send((str(path), limit, options))
            if self._pipe.poll(limit + 30.0):
                answer = self._pipe.recv()
                assert isinstance(answer, Outcome)
                return answer
            self.close()
            return Outcome("limit", reason="ended at the limit")
        except (EOFError, OSError):
            self.close()
            return Outcome("crashed")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None


# -- the table ------------------------------------------------------------------------------------------------------


def judgement(peers: list[Outcome]) -> Outcome | None:
    """Return the outcome that two peers share; None where there is no such outcome."""
    for k, first in enumerate(peers):
        if any(first.same(other) for other in peers[k + 1 :]):
            return first
    return None


def verdict(ours: Outcome, peers: list[Outcome]) -> str:
    """Compare our outcome with the peers' judgement, or with the one peer that has an outcome."""
    if all(peer.kind == "other format" for peer in peers):
        return "no peer"
    judged = [peer for peer in peers if peer.judged]
    shared = judgement(peers) or (judged[0] if len(judged) == 1 else None)
    if shared is None:
        return "no judgement" if ours.kind != "raised" else "RAISED"
    if ours.same(shared):
        return "agrees"
    if not ours.judged:
        return ours.kind.upper()
    return "refused" if ours.kind == "refused" else "READ" if shared.kind == "refused" else "DIFFERS"


@dataclass
class Table:
    """Rows of the table, printed as they come."""

    readers: dict[str, Reader] = field(default_factory=lambda: {name: Reader(name) for name in READERS})
    counts: Counter[str] = field(default_factory=Counter)

    def row(self, name: str, path: Path, limit: float, ours: Outcome | None = None) -> Outcome:
        """Print the row of one file and return our outcome."""
        mine = self.readers["ours"].outcome(path, limit) if ours is None else ours
        kind = path.name.lower().removesuffix(".gz")
        able = [peer for peer in PEERS if kind.endswith(FORMATS[peer])]
        peers = [self.readers[peer].outcome(path, limit) if peer in able else Outcome("other format") for peer in PEERS]
        word = verdict(mine, peers)
        self.counts[word] += 1
        reason = f" ({mine.reason})".replace(str(path.parent) + os.sep, "").replace("|", "/") if mine.reason else ""
        print(f"| {name} | {mine}{reason} | {' | '.join(map(str, peers))} | {word} |", flush=True)
        return mine

    def back(self, name: str, path: Path, limit: float) -> None:
        """Print the rows of what we write of a file."""
        with tempfile.TemporaryDirectory() as folder:
            for suffix in (".lp", ".mps"):
                target = Path(folder) / f"back{suffix}"
                ours = self.readers["ours"].outcome(path, limit, written=str(target))
                if ours.kind in ("refused", "not written"):
                    continue
                self.row(f"{name} as {suffix[1:]}", target, limit, ours)

    def close(self) -> None:
        """End every reader."""
        for reader in self.readers.values():
            reader.close()


def files_in(folder: Path, names: list[str]) -> Iterator[Path]:
    """Files of program formats below a folder; with names those whose path holds one of them."""
    for path in sorted(folder.rglob("*")):
        known = path.is_file() and path.name.lower().endswith(tuple(s + c for s in SUFFIXES for c in COMPRESSED))
        if known and (not names or any(name in str(path) for name in names)):
            yield path


def main() -> None:
    """Print a row for each file, and how many there are of each verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each reader and file")
    parser.add_argument("--back", action="store_true", help="write each program as LP and MPS, for the peers to read")
    arguments = parser.parse_args()
    print(f"| file | ours | {' | '.join(PEERS)} | |\n|---|---|---|---|---|---|")
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        for path in files_in(arguments.folder, arguments.names):
            copy = Path(folder) / path.name  # readers leave files beside the one that they read
            shutil.copyfile(path, copy)
            for beside in (".col", ".row"):
                if path.with_suffix(beside).exists():
                    shutil.copyfile(path.with_suffix(beside), copy.with_suffix(beside))
            name = str(path.relative_to(arguments.folder))
            if arguments.back:
                table.back(name, copy, arguments.limit)
            else:
                table.row(name, copy, arguments.limit)
            copy.unlink()
    table.close()
    print(f"\n{sum(table.counts.values())} files: " + ", ".join(f"{count} {word}" for word, count in table.counts.most_common()))


if __name__ == "__main__":
    main()
