"""The command ``marginopt report``: write a relaxation-gap report on data sets or formulations, in every format.

The report compares, for each data set, the optimum of the 0-1-loss SVM (or of other formulations) with the bounds of relaxations.
"""

from __future__ import annotations

import argparse
import datetime
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from ..errors import InputError, short_text
from ..instances import Instance
from ..models import DataKind as ModelData, FormulationInfo, Model
from ..models.formulations import get_formulation
from ..relaxations import CellStore, GapReport, default_report_instances, gap_report, get_relaxation, relaxations
from ..relaxations.report.problems import ModelOfLam, ModelProblem
from ..relaxations.report.runner import digest
from ..relaxations.report.tables import means_text
from . import NOT_SOLVED, SOLVED
from .data_options import load_instance, prepare_instance, require_two_classes
from .parsing import Command, comma_separated, print_message
from .screen import output_folder, print_answer_by, print_text

#: Options of a continued report that are those of the continuing command, not the stored ones.
_NOT_STORED = ("store", "resume", "out", "quiet", "json", "jobs", "backend", "run", "command", "options_given")


def add_options(command: Command) -> None:
    """Add the arguments of ``marginopt report``, apart from those of `data_options.add_data_options`."""
    command.add_argument("data", nargs="*", help="catalogue names or files; without any, the built-in real and generated sets")
    command.add_argument("--out", default="out", help="folder to write to (default out)")
    command.add_argument("--quiet", action="store_true", help="no progress lines")
    group = command.add_argument_group("dimensions (values separated by commas)")
    group.add_argument("--sizes", metavar="N,..", help="sub-sample the sets (or generate points) at each of these n")
    group.add_argument(
        "--generate",
        nargs=3,
        metavar=("P,..", "SIGMA,..", "OUTLIERS,.."),
        help="Gaussian classes at --sizes, one set for each combination; outliers none|clustered|spread",
    )
    group.add_argument("--subsample-seeds", metavar="A-B", help="replicates: a sub-sample for each of these seeds, such as 0-9")
    group.add_argument("--held-out", type=float, metavar="PART", help="count errors on this part of each set, such as 0.3")
    group.add_argument("--lam", default="1", help="λ (default 1), or auto: between the two ends where the problem is trivial")
    group.add_argument("--formulations", metavar="NAME,..", help="stated on the data: ramp, ... (default zero-one)")
    group.add_argument("--relaxations", help=_relaxations_help())
    group.add_argument("--exact", default="auto", help="exact solvers, or none (default auto)")
    group.add_argument("--encodings", default="bigm", help="of bigm, indicator, strengthened (default bigm)")
    group.add_argument("--big-m", help='incumbent, zero, "100x zero" or numbers: M of the encodings, and big-M relaxations')
    group.add_argument("--kappa", help="values of κ: sweep the conic relaxation's κ form")
    group.add_argument("--kappas", type=int, metavar="COUNT", help="the same at COUNT evenly spaced values in (0, 0.5]")
    group.add_argument("--seeds", help="seeds of the exact solvers (default --seed)")
    group.add_argument("--proofs", action="store_true", help="keep proof logs of zero-one-bb, which the page verifies")
    group = command.add_argument_group("limits of each solve")
    group.add_argument("--time-limit", type=float, default=30.0, help="seconds (default 30)")
    group.add_argument("--node-limit", type=int, help="nodes of an exact solve")
    group.add_argument("--memory-limit", type=float, metavar="GIB", help="for solvers that have such a limit")
    group.add_argument("--threads", type=int, help="of each solver (default: all, shared by the jobs)")
    group = command.add_argument_group("running")
    group.add_argument("--store", metavar="FILE", help="keep every finished cell in FILE, and take those that it has")
    group.add_argument(
        "--continue", dest="resume", action="store_true", help="with --store alone: the last report that was begun on FILE"
    )
    group.add_argument("--jobs", type=int, help="cells at a time, -1 for all cores (default 1)")
    group.add_argument("--backend", help="joblib's backend: loky, threading, multiprocessing, or dask, ray where registered")
    group.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler (tcp://host:8786): its workers compute the cells")


def report(args: argparse.Namespace) -> int:
    """Write a gap report as HTML, Markdown, LaTeX, CSV and JSON: 0, or 1 if it was interrupted and holds what was done."""
    if args.resume:
        _load_request(args)
    folder = output_folder(args.out, "--out")
    gap_report = _run(args, _instances(args))
    gap_report = replace(gap_report, meta={**gap_report.meta, "command": shlex.join(["marginopt", *sys.argv[1:]])})
    written = [str(path) for path in gap_report.write_all(folder)]
    print_answer_by(args, {"written": written}, partial(_print_findings, gap_report, written))
    interruption = gap_report.meta.get("interrupted")
    if interruption:
        print_message(f"marginopt: {interruption}")
    return NOT_SOLVED if interruption else SOLVED


def _print_findings(gap_report: GapReport, written: list[str]) -> None:
    means = means_text(gap_report, gap_report.document.tables)
    if means:
        print_text(f"{means}\n")
    for k, finding in enumerate(gap_report.document.findings, 1):
        print_message(f"{k}. {finding.text}", sys.stdout)
    print_message(f"wrote {_listed(written)}", sys.stdout)


def _listed(written: list[str]) -> str:
    """Return the written paths in one sentence; pictures are named by their folder."""
    places = {str(Path(path).parent): path for path in written if path.endswith(".svg")}
    return ", ".join([*(path for path in written if not path.endswith(".svg")), *places])


def _run(args: argparse.Namespace, instances: list[Instance]) -> GapReport:
    exact = comma_separated(args.exact, str, "--exact")
    kappa = None if args.kappa is None else comma_separated(args.kappa, float, "--kappa")
    if args.kappas is not None:
        if kappa is not None or args.kappas < 1:
            raise InputError("give --kappa VALUES or --kappas COUNT, a number of values of at least 1")
        kappa = [0.5 * (k + 1) / args.kappas for k in range(args.kappas)]
    relaxed = None if args.relaxations is None else comma_separated(args.relaxations, str, "--relaxations")
    dimensions: dict[str, Any] = {
        "relaxations": None if relaxed is None else [get_relaxation(name).reduction for name in relaxed],
        "exact": None if exact == ["none"] else "auto" if exact == ["auto"] else exact,
        "lam": "auto" if args.lam == "auto" else comma_separated(args.lam, float, "--lam"),
        "encodings": comma_separated(args.encodings, str, "--encodings"),
        "big_m": None if args.big_m is None else comma_separated(args.big_m, str, "--big-m"),
        "kappa": kappa,
        "seeds": None if args.seeds is None else comma_separated(args.seeds, int, "--seeds"),
        "held_out": args.held_out,
    }
    if args.store is not None and not args.resume:
        _save_request(args)
    with _backend(args.backend):
        return gap_report(
            instances if args.formulations is None else _models_on(args, instances),
            **dimensions,
            time_limit=args.time_limit,
            seed=args.seed,
            proofs=args.proofs,
            progress=not args.quiet,
            threads=args.threads,
            store=args.store,
            node_limit=args.node_limit,
            memory_limit=None if args.memory_limit is None else args.memory_limit * 2**30,
            jobs=args.jobs,
            cluster=args.cluster,
        )


def _backend(name: str | None) -> AbstractContextManager[Any]:
    if name is None:
        return nullcontext()
    import joblib

    try:
        return joblib.parallel_config(backend=name)
    except (ValueError, ImportError) as error:
        raise InputError(f"--backend: joblib has no {name}: {error}") from error


def _sized(name: str, n: int | None, args: argparse.Namespace) -> Sequence[Instance]:
    """Return the data set with n of its points, if n is given, for each seed of ``--subsample-seeds``."""
    if args.subsample_seeds is None:
        instance = load_instance(name, args)
        return [instance if n is None else instance.subsample(n, seed=args.seed)]
    size = args.n if n is None else n
    first, _, last = args.subsample_seeds.partition("-")
    if size is None or not first.isdigit() or not (last or first).isdigit():
        raise InputError(
            f"--subsample-seeds takes A-B, such as 0-9, beside --n or --sizes; it is {short_text(args.subsample_seeds)}"
        )
    full_instance = load_instance(name, argparse.Namespace(**{**vars(args), "n": None}))
    return full_instance.subsamples(size, range(int(first), int(last or first) + 1))


def _instances(args: argparse.Namespace) -> list[Instance]:
    """Return the named data sets, subsampled at every size, and generated ones; the built-in ones if none is named."""
    sizes = None if args.sizes is None else comma_separated(args.sizes, int, "--sizes")
    if sizes is not None and args.n is not None:
        raise InputError("--n is one size, --sizes several: give one of them")
    size_list: list[int | None] = [None] if sizes is None else [*sizes]
    parts = [part for name in args.data for n in size_list for part in _sized(name, n, args)]
    instances = [prepare_instance(require_two_classes(part, "a gap report"), args, intercept=True) for part in parts]
    if args.generate is not None:
        from ..instances import gaussian_clusters

        if sizes is None:
            raise InputError("--generate needs --sizes: how many points to draw")
        try:
            p, sigma = (
                comma_separated(args.generate[0], int, "--generate"),
                comma_separated(args.generate[1], float, "--generate"),
            )
        except InputError as error:
            raise InputError(
                "--generate takes P SIGMA OUTLIERS, such as 3 0.5 clustered or 3,5 0.2,0.5 clustered; "
                f"it is {' '.join(args.generate)}"
            ) from error
        instances += [
            gaussian_clusters(n, features, deviation, outliers=kind, seed=args.seed)
            for features, deviation, kind in product(p, sigma, comma_separated(args.generate[2], str, "--generate"))
            for n in sizes
        ]
    if not instances and sizes is not None:
        raise InputError("--sizes needs data: catalogue names, files, or --generate")
    return instances or default_report_instances(args.seed)


def _models_on(args: argparse.Namespace, instances: list[Instance]) -> list[ModelProblem | ModelOfLam]:
    """Return the formulations on every instance, as functions of λ if they have one."""
    models: list[ModelProblem | ModelOfLam] = []
    for instance, name in product(instances, comma_separated(args.formulations, str, "--formulations")):
        info = get_formulation(name)
        if info.data is not ModelData.TWO_CLASSES:
            raise InputError(f"--formulations takes formulations of two classes; {name} is stated on {info.data.value}")
        state = partial(_model_at, info, instance)
        naming = instance.naming.of_kind(name, {})
        if "lam" in {parameter.name for parameter in info.parameters}:
            models.append(ModelOfLam(naming, state))
        else:
            models.append(ModelProblem.of(naming.name, state(None), naming.family, naming.parameters))
    return models


def _model_at(info: FormulationInfo, instance: Instance, lam: float | None) -> Model:
    return info.make_model({"X": instance.X, "y": instance.y}, {} if lam is None else {"lam": lam})


def _relaxations_help() -> str:
    default = [record.name for record in relaxations().values() if record.default]
    return f"of {', '.join(relaxations())} (default: {', '.join(default)})"


def _save_request(args: argparse.Namespace) -> None:
    """Save the arguments in the store, for `--continue`."""
    request = {name: value for name, value in vars(args).items() if name not in _NOT_STORED}
    created = datetime.datetime.now(datetime.UTC).isoformat()
    CellStore(args.store).put(digest({"request": request, "created": created}), "request", {"created": created, "asked": request})


def _load_request(args: argparse.Namespace) -> None:
    """Replace the arguments by those of the newest report in the store, all but `_NOT_STORED`.

    Raises
    ------
    InputError
        No such report, data, or an option with another value than the report was begun with.
    """
    if args.store is None or not Path(args.store).is_file():
        raise InputError(f"--continue needs --store FILE with a report that was begun; FILE is {args.store}")
    if args.data:
        raise InputError("--continue takes the data of the report that was begun; leave them out")
    requests = CellStore(args.store).records("request")
    if not requests:
        raise InputError(
            f"{args.store} holds cells but no request of the command line: repeat the command with --store {args.store}"
        )
    stored = max(requests, key=lambda r: str(r["created"]))["asked"]
    for name, option in args.options_given.items():
        if name in stored and stored[name] != getattr(args, name):
            raise InputError(
                f"--continue takes the options of the report that was begun, {_option_text(option, stored[name])}; given is "
                f"{_option_text(option, getattr(args, name))}. Leave it out, or begin another report without --continue",
                name=name,
            )
    for name, value in stored.items():
        setattr(args, name, value)


def _option_text(option: str, value: Any) -> str:
    """Return an option as it is given with this value."""
    if value is None or value is False:
        return f"without {option}"
    return option if value is True else f"{option} {' '.join(map(str, value)) if isinstance(value, list) else value}"
