"""The commands that prove: certificates of solutions found elsewhere, proof logs, VIPR files."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path

from ..errors import ExportError, InputError
from ..models import StandardForm
from ..reading import read_form
from ..solvers import Result, Status, load_result, read_solution
from ..solvers.checks.feasibility import PointCheck, check_point
from ..solvers.checks.verify import certified_anew
from .commands import NOT_SOLVED, SOLVED, answer, result_record
from .data_options import stated

__all__ = ["certify", "check_proof", "proof_page", "prove"]

#: The relative gap at which `prove` has proved an optimum.
_CLOSED = 1e-6


def certify(a: argparse.Namespace) -> int:
    """Say whether a stored result or a solution file is feasible, and certify its claims anew from a program's file.

    Returns 0 where the point is feasible and no claim is contradicted, 1 otherwise. An integer program's file claims an optimum
    and has nothing to support it: that is said, and no contradiction.
    """
    program = _program(a.file, "certify")
    if a.solution.endswith(".npz"):  # its digest is that of the model, which a file of its program has not
        result = certified_anew(replace(load_result(a.solution), digest="", unverified=""), program, a.solution)
    else:
        result = read_solution(program, a.solution)
    verification = result.verify(program, exact=a.exact)
    check = check_point(program, result.values) if result.values else None
    record = result_record(result)
    if check is not None:
        misses = [asdict(miss) for miss in check.misses]
        record |= {"feasible": check.feasible, "misses": misses, "stated_objective": result.answer.objective}
    parts = [] if check is None else [f"{check}{_stated(result, check)}"]
    if check is None or _claims_more(result):
        parts += [str(result), str(verification)]
    answer(a, record, "\n\n".join(parts))
    integers = result.certificate is not None and result.certificate.integrality is not None
    silent = not _claims_more(result) or (integers and result.answer.bound is None)
    supported = result.solved or (check is not None and silent)
    feasible = check is None or check.feasible
    return SOLVED if feasible and supported and verification.stands else NOT_SOLVED


def _claims_more(result: Result) -> bool:
    """Return whether a file claims more than a point: how the solve ended, or a bound."""
    return result.claim.status is not Status.INTERRUPTED or result.answer.bound is not None


def _stated(result: Result, check: PointCheck) -> str:
    """Return the objective and the bound that the file states, beside the point's."""
    sign = -1.0 if check.sense == "maximise" else 1.0
    claim, bound = result.answer.objective, result.answer.bound
    lines = []
    if claim is not None and abs(sign * claim - check.objective) > 1e-9 * (1.0 + abs(check.objective)):
        lines.append(f"\n  the file states the objective {sign * claim:.12g}")
    lines.append("\n  no bound is stated" if bound is None else f"\n  the file states the bound {sign * bound:.12g}")
    return "".join(lines)


def prove(a: argparse.Namespace) -> int:
    """Write a VIPR certificate of a program's file: 0 where bound and value meet, or no point is proved to be there."""
    from ..solvers.vipr.certificate import write_vipr

    program = _program(a.file, "prove")
    start = None if a.start is None else read_solution(program, a.start).values
    certificate = write_vipr(program, a.certificate, start=start, time_limit=a.time_limit)
    answer(a, {**asdict(certificate), "gap": certificate.gap}, certificate)
    return SOLVED if certificate.gap <= _CLOSED else NOT_SOLVED


def _program(path: str, command: str) -> StandardForm:
    """The program in a file.

    Raises
    ------
    InputError
        The file's suffix is that of no program.
    """
    try:
        return read_form(path)
    except ExportError as error:
        raise InputError(f"{command} needs the file of a program, as model.write makes it: {error}") from error


def check_proof(a: argparse.Namespace) -> int:
    """Verify a proof log: 0 where it proves its bound, 1 where it does not."""
    from ..solvers.proofs import check_proof as verify

    if not Path(a.file).is_file():
        raise InputError(f"there is no file {a.file}; `marginopt solve {a.model} DATA --proof FILE` writes one")
    report = verify(a.file, None if a.data is None else stated(a), jobs=a.jobs, cluster=a.cluster)
    answer(a, {**asdict(report), "gap": report.gap}, report)
    return SOLVED if report.valid else NOT_SOLVED


def proof_page(a: argparse.Namespace) -> int:
    """Write the page of a proof log: 0 once it is written, whatever the page says of the log."""
    from ..proof_page import write_proof_page

    out = f"{a.log.removesuffix('.gz').removesuffix('.jsonl')}.html" if a.out is None else a.out
    path = write_proof_page(a.log, out, title=a.title)
    answer(a, {"page": str(path)}, f"{path} verifies {a.log} in a browser, without a network")
    return SOLVED
