"""Agreement of conic-ipm with Clarabel and SCS on fifty random problems; every answer is certified from the data.

    python benchmarks/conic_agreement.py [--count 50] [--limit 60] [--first 0] [--kernels] [--verbose]
    python benchmarks/conic_agreement.py --tiny              (ten problems of at most 80 points, a few seconds)

σ in {0.2, 0.5, 1}; outliers none, spread, clustered; λ and κ ≥ 0.005; n from 20 to 2,000, p from 1 to 60; every sixth one has an
RBF kernel, n to 150. Peers are called directly with the reduced statement (`conic_peers`) in whitened coordinates, each in a
process of its own that ends after ``--limit`` processor seconds. A peer's answer is *certified* where the feasible point from
its (w, W) and the bound from its multipliers, both computed as ours are, lie within 1e-6 relative of each other. Only such
answers are compared, by the objective of the feasible point. The value that the peer itself reports belongs to a point that is
feasible to its tolerance only; its difference is told beside it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

import numpy as np
from conic_peers import PEERS, PeerAnswer

from marginopt import instances
from marginopt.models import ConicSVM
from marginopt.models.conic_bound import certified_bound, coordinates, primal_point
from marginopt.models.kernels.kernels import RBF
from marginopt.models.views import ConicProblem
from marginopt.solvers import Status, solve

#: Relative gap up to which a peer's answer counts as certified, and relative difference up to which it agrees.
CERTIFIED = 1e-6
#: Tolerance that each peer is given.
TOLERANCE = {"clarabel": 1e-8, "scs": 1e-7}


@dataclass(frozen=True)
class Case:
    """One random problem and its name."""

    name: str
    model: ConicSVM


def cases(count: int, tiny: bool) -> Iterator[Case]:
    """Yield the problems, each from its own seed; the extremes of the ranges are among them."""
    warnings.simplefilter("ignore")
    for k in range(count):
        rng = np.random.default_rng([6, k])
        kernel = k % 6 == 5
        sigma = (0.2, 0.5, 1.0)[k // 6 % 3 if kernel else k % 3]
        outliers = ("none", "spread", "clustered")[(k // 3) % 3]
        largest = 80 if tiny else 150 if kernel else 2000
        n = round(np.exp(rng.uniform(np.log(20), np.log(largest))))
        p = round(np.exp(rng.uniform(0.0, np.log(8 if kernel or tiny else 60))))
        if not tiny:
            n, p = {0: (2000, 60), 1: (2000, 1), 2: (20, 60), 5: (150, 3)}.get(k, (n, p))
        data = instances.gaussian_clusters(n, p, sigma, outliers=outliers, seed=rng)
        form = {"kappa": float(rng.uniform(0.005, 0.5))} if (k // 2) % 2 else {"lam": float(10.0 ** rng.uniform(-3, 2))}
        shown = ", ".join(f"{key} {value:.4g}" for key, value in form.items())
        name = f"{k:>2} n {n} p {p} σ {sigma} {outliers}, {shown}{', RBF kernel' if kernel else ''}"
        if kernel:
            yield Case(name, ConicSVM(data.X[:, 1:], data.y, kernel=RBF(float(1.0 / p)), **form))
        else:
            yield Case(name, ConicSVM(data.X, data.y, **form))


def run_peer(peer: str, A: np.ndarray, problem: ConicProblem, limit: int, pipe: Connection) -> None:
    """Send a peer's answer through the pipe from its own process, which ends after ``limit`` processor seconds."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    kappas = None if problem.kappa is None else np.array([problem.kappa])
    pipe.send(next(iter(PEERS[peer](A, kappas, problem.lam, TOLERANCE[peer]))))


def answer_within(peer: str, problem: ConicProblem, limit: int) -> PeerAnswer | None:
    """Return the peer's answer; None after ``limit`` processor seconds or if its process broke down."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=run_peer, args=(peer, problem.A, problem, limit, sending), daemon=True)
    child.start()
    sending.close()
    try:
        return receiving.recv()
    except EOFError:
        return None
    finally:
        child.kill()
        child.join()


def certified_values(problem: ConicProblem, answer: PeerAnswer) -> tuple[float, float]:
    """Return the objective of the feasible point from the peer's (w, W), and the bound that its multipliers prove."""
    if not all(np.isfinite(part).all() for part in (answer.w, answer.W, answer.gamma, answer.v)):
        return np.inf, -np.inf
    objective = primal_point(problem, answer.w, answer.W).objective
    mu = None if problem.kappa is None else answer.mu
    target = objective * (1.0 - 1e-8)
    return objective, certified_bound(problem, answer.gamma, w=answer.w, mu=mu, v=answer.v, target=target).value


def main() -> None:
    """Print our gaps, each peer's certified answers and their differences, and all failures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--limit", type=int, default=60, help="processor seconds for each peer and problem")
    parser.add_argument("--peers", nargs="*", default=sorted(PEERS), choices=sorted(PEERS))
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--kernels", action="store_true", help="only the problems with a kernel")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    tally = {peer: dict.fromkeys(("answered", "certified", "agree"), 0) for peer in arguments.peers}
    worst, reported = dict.fromkeys(arguments.peers, 0.0), dict.fromkeys(arguments.peers, 0.0)
    gaps, failures, asked = [], [], 0
    for k, case in enumerate(cases(10 if arguments.tiny else arguments.count, arguments.tiny)):
        if k < arguments.first or (arguments.kernels and case.model.kernel is None):
            continue
        asked += 1
        ours = solve(case.model, "conic-ipm")
        problem = case.model.view(ConicProblem)
        assert problem is not None
        gaps.append(ours.gap)
        text = [f"ours {ours.objective:.9g} gap {ours.gap:.1e} {ours.status.name} {ours.solve_seconds:.2f} s"]
        if not ours.gap <= 1e-7 or ours.status is not Status.OPTIMAL:
            failures.append(f"{case.name}: {ours.status.name}, gap {ours.gap:.1e}")
        reduced = replace(problem, A=coordinates(problem.A, problem.metric).rows, metric=None)
        for peer in arguments.peers:
            result = answer_within(peer, reduced, arguments.limit)
            if result is None:
                text.append(f"{peer}: no answer in {arguments.limit} s")
                continue
            tally[peer]["answered"] += 1
            objective, bound = certified_values(reduced, result)
            gap = (objective - bound) / max(abs(objective), abs(bound))
            text.append(f"{peer} {result.value:.9g} {result.status} gap {gap:.1e} {result.seconds:.2f} s")
            if gap <= CERTIFIED:
                difference = abs(objective / ours.objective - 1.0)
                reported[peer] = max(reported[peer], abs(result.value / ours.objective - 1.0))
                tally[peer]["certified"] += 1
                tally[peer]["agree"] += int(difference <= CERTIFIED)
                worst[peer] = max(worst[peer], difference)
                if difference > CERTIFIED:
                    failures.append(f"{case.name}: {peer} differs by {difference:.1e}")
            if bound > ours.objective * (1 + 1e-12) or objective < ours.bound * (1 - 1e-12):
                failures.append(f"{case.name}: {peer} contradicts us")
        if arguments.verbose:
            print(case.name, *text, sep="\n     ", flush=True)
    print(f"conic-ipm: {asked} problems, worst relative gap {max(gaps):.1e}")
    for peer, counts in tally.items():
        figures = ", ".join(f"{value} {name}" for name, value in counts.items())
        print(f"{peer}: {figures}; relative to ours largest difference {worst[peer]:.1e}, of its own value {reported[peer]:.1e}")
    print("\n".join(["FAILED", *failures]) if failures else "no disagreement")


if __name__ == "__main__":
    main()
