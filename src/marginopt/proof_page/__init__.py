"""Proof pages: an HTML file with a proof log and a checker, which verifies the log in a reader's browser.

The checker, ``solvers/zero_one/check/checker.js``, verifies logs of ``zero-one-bb``, the branch and bound for SVMs of the 0-1
loss. It shares no code with the solver, nor with the checker in Python that `check_proof` runs.
``docs/explanation/zero-one-bb.md`` proves its rules. ``marginopt proof-page`` calls `write_proof_page`.
"""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from importlib import resources
from pathlib import Path

from ..errors import DataError, InputError, TooLargeError, short_text
from ..files import READ_ERRORS, check_target, describe_read_error, read_bytes, write_text
from ..models.model import Model
from ..solvers.exact.check.arithmetic import InvalidProofError
from ..solvers.zero_one.check.checker import LoggedZeroOneProblem, ZeroOneChecker, checker_script

__all__ = ["write_proof_page"]

#: Bytes of a packed log that a page may hold: browsers hold a page, its text and its records at the same time.
_LARGEST = 2**26


def write_proof_page(log: str | Path, path: str | Path, model: Model | None = None, *, title: str | None = None) -> Path:
    """Write a page on which a reader's browser verifies a proof log of ``zero-one-bb``.

    The page shows the tree node by node with the bound proved so far, and in the end the sentence that the log proves. The reader
    may change labels and multipliers and see the log refused. The log is not checked here: the page refuses a wrong one.

    Parameters
    ----------
    log : str or Path
        The file that ``solve(model, "zero-one-bb", proof=log)`` wrote.
    path : str or Path
        The HTML file to write.
    model : ZeroOneSVM, optional
        The problem that the log should be about. The page refuses a log of other data, other costs or another intercept; without
        a model it refuses changes of the log's own data.
    title : str, optional
        The page's heading; the log's file name if not given.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        The model is no `ZeroOneSVM`; without a model, the log is not one of ``zero-one-bb``.
    DataError
        The log cannot be read; without a model, its first line states no problem.
    TooLargeError
        The packed log has more than 64 MB.
    WriteError
        The page cannot be written.
    """
    target = check_target(path, "the page")
    content = read_bytes(log)
    problem = _stated_problem(content, log) if model is None else LoggedZeroOneProblem.of_model(model)
    packed = gzip.compress(content, mtime=0)
    if len(packed) > _LARGEST:
        raise TooLargeError(f"the packed log has {len(packed) >> 20} MB; a page holds up to {_LARGEST >> 20} MB: use check_proof")
    embedded = json.dumps({"log": base64.b64encode(packed).decode(), "digest": problem.digest})
    parts = {
        "title": escape(title or f"Proof log {Path(log).name}"),
        "checker": checker_script(),
        "page": _resource("page.js"),
        "embedded": embedded,
    }
    text = _resource("page.html")
    for name, part in parts.items():
        before, *after = text.split(f"{{{{ {name} }}}}")
        text = before + "".join(part + piece for piece in after)
    return write_text(target, text)


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _stated_problem(content: bytes, log: str | Path) -> LoggedZeroOneProblem:
    """Return the problem that a log's first line states."""
    try:
        # exempt (text): the first line of a proof log, a file format
        header = json.loads(content.partition(b"\n")[0])
        log_format = header["format"]
    except READ_ERRORS as error:
        raise InputError(f"{log} is no proof log: its first line is no JSON object that states a format") from error
    if log_format != ZeroOneChecker.format:
        raise InputError(f"a proof page verifies logs of zero-one-bb; {log} has the format {short_text(str(log_format)[:80])}")
    try:
        return LoggedZeroOneProblem.of_log(header)
    except InvalidProofError as error:
        raise DataError(f"{log} states no problem: {error}", file=log) from error
    except READ_ERRORS as error:
        raise DataError(f"{log} states no problem: {describe_read_error(error)}", file=log) from error
