"""The Frank-Wolfe paper's experiment: one-versus-one L2-SVMs trained by CVM, FW and MFW, with its samples and stopping rule.

§5.2: σ² and C as `selection` has it, ε = 1e-6, 20 random points to start, the best of 59 random candidates in each step, the
stop on a sample as in the paper. The budget is a number of steps for each binary problem, which a machine's load does not
change. Polynomial kernel: the homogeneous (γx'z)², whose diagonal is not constant: the stop is a relative gap of 2ε.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from marginopt.models import RBF, L2SVMDual
from marginopt.solvers import solve_raw

from ..record import Experiment, ProtocolSize, Run
from .data import SOURCES, TrainTestParts, replaces_other_test, train_test_parts
from .one_versus_one import ALGORITHMS, OneVersusOne, paper_options
from .selection import WIDTH, ChosenParameters, choose_parameters, is_cross_validated, kernel_of

#: Steps of each binary problem at most: the stop on a sample ends nearly all of them long before.
_STEPS = 200_000


def training_runs(
    effort: ProtocolSize, name: str, algorithm: str, kernel: str = "rbf", C: float | None = None
) -> tuple[Run, ...]:
    """Return the paper's five repetitions, or as many as the effort allows, of training on a set by an algorithm; without C,
    validation chooses it.
    """
    more = {"width": WIDTH} if kernel == "rbf" and not is_cross_validated(name) else {}  # a part of what a stored run is of
    if replaces_other_test(name):
        more["tested"] = "published part"  # pages keep no cell of other points
    return tuple(
        Run.of(
            TRAINING, dataset=name, algorithm=algorithm, kernel=kernel, seed=seed, C=C, thin=effort.thinned, steps=_STEPS, **more,
        )
        for seed in effort.seeds(5)
    )  # fmt: skip


def _training(run: Mapping[str, Any]) -> dict[str, Any]:
    """Choose σ² and C, train all binary problems, test by votes and by DDAG where there is a test part."""
    data_parts = train_test_parts(run["dataset"])
    picked = (
        ChosenParameters(None, run["C"])
        if run["C"] is not None
        else choose_parameters(run["dataset"], run["kernel"], run["thin"])
    )
    kernel = kernel_of(run["kernel"], data_parts.X, picked.gamma)
    solver = ALGORITHMS[run["algorithm"]][0]
    _compiled(run["algorithm"])
    trained = OneVersusOne(data_parts.X, data_parts.y, kernel, picked.C)
    trained.train(solver, paper_options(run["algorithm"], kernel, run["seed"], run["steps"]))
    return {
        **_tested(trained, data_parts),
        "seconds": trained.seconds,
        "iterations": trained.iterations,
        "cut": trained.limited,
        "problems": len(trained.pairs),
        "C": picked.C,
        "gamma": picked.gamma,
        "tested": len(data_parts.y_test),
        "how": data_parts.test_source,
    }


def _tested(trained: OneVersusOne, result: TrainTestParts) -> dict[str, float | None]:
    if not len(result.y_test):
        return {"accuracy": None, "ddag": None}
    scores = trained.scores(result.X_test)
    rules = {"accuracy": trained.predict_by_votes, "ddag": trained.predict_by_graph}
    return {name: float((rule(scores) == result.y_test).mean()) for name, rule in rules.items()}


@lru_cache(maxsize=8)
def _compiled(algorithm: str) -> None:
    """Import and compile what the algorithm needs, so that no run's time has it."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) % 2 == 0, 1.0, -1.0)
    options = paper_options(algorithm, RBF(1.0), 0, 50)
    solve_raw(ALGORITHMS[algorithm][0], L2SVMDual(rng.normal(size=(80, 2)) + y[:, None], y, 1.0, RBF(1.0)), options)


def _sets(run: Mapping[str, Any]) -> Sequence[str]:
    return [name for name in SOURCES[run["dataset"]] if name]


#: Test accuracy, seconds and steps of one training.
TRAINING = Experiment("frank-wolfe training", _training, _sets, layout=4)
