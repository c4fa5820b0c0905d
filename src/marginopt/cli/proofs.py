"""The commands that prove: certificates of solutions found elsewhere, proof logs, VIPR files."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path

from ..errors import ExportError, InputError
from ..models import StandardForm
from ..reading import read_form
from ..solvers import load_result, read_solution
from ..solvers.checks.verify import certified_anew
from .commands import NOT_SOLVED, SOLVED, answer, result_record
from .data_options import stated

__all__ = ["certify", "check_proof", "prove"]

#: The relative gap at which `prove` has proved an optimum.
_CLOSED = 1e-6


def certify(a: argparse.Namespace) -> int:
    """Certify a stored result, or a solver's solution file, anew from a program's file."""
    program = _program(a.file, "certify")
    if a.solution.endswith(".npz"):  # its digest is that of the model, which a file of its program has not
        result = certified_anew(replace(load_result(a.solution), digest="", unverified=""), program, a.solution)
    else:
        result = read_solution(program, a.solution)
    verification = result.verify(program, exact=a.exact)
    answer(a, result_record(result), f"{result}\n\n{verification}")
    return SOLVED if result.solved and verification.stands else NOT_SOLVED


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
