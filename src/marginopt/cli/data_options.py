"""The command-line options of data sets and formulations, and functions that make models from the parsed arguments."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from ..errors import DataError, InputError
from ..files import read_arrays, without_compression
from ..instances import Instance, load, read
from ..instances.tables import Categories, Missing
from ..models import DataKind, FormulationInfo, Model, StandardForm
from ..models.export.file_formats import read_form
from ..models.formulations import all_formulations, get_formulation
from ..reading import is_program
from ..relaxations import default_report_instances
from ..solvers.registry import all_solvers
from .parsing import Command, comma_separated

#: Prefix of the formulations' parameters in the namespace, which also holds ``--n`` and ``--seed`` of the data.
_GIVEN = "given_"
#: Formulations whose solves write proof logs.
_PROVED = ("zero-one", "ramp", "scoring-system", "margin")


def add_data_options(command: Command) -> None:
    """Add the options that select a part of a data set and prepare it."""
    group = command.add_argument_group("data")
    group.add_argument("--label", help="name or number of the label's column in a CSV or Parquet file")
    group.add_argument("--pair", nargs=2, metavar=("A", "B"), help="two classes of a multi-class set, relabelled -1 and +1")
    group.add_argument("--part", choices=("train", "test", "all"), help="part of a set that is published in two")
    group.add_argument("--n", type=int, help="sub-sample this many points, stratified")
    group.add_argument("--seed", type=int, default=0, help="seed of the sub-sample and of the solver (default 0)")
    group.add_argument("--missing", choices=get_args(Missing), default="refuse", help="treatment of empty cells of a CSV")
    group.add_argument(
        "--categories", choices=get_args(Categories), default="refuse", help="treatment of columns of words in a CSV"
    )
    group.add_argument("--leave-out", metavar="NAME,..", help="columns of a CSV that are no features, such as an identifier")
    group.add_argument("--raw", action="store_true", help="take X literally: no standardising, no intercept column")


def add_model_options(command: Command) -> None:
    """Add the options of a problem: a formulation on data with its parameters, or the file of a program."""
    table = all_formulations()
    file_help = "; or a program's file alone (.lp .mps .cbf .nl .mof.json ..., also packed)"
    command.add_argument("model", metavar="FORMULATION", help=f"one of {', '.join(table)} (marginopt formulations){file_help}")
    command.add_argument(
        "data",
        metavar="DATA",
        nargs="?",
        help="catalogue name (marginopt data) or a LIBSVM, CSV, ARFF, Parquet or npz file; "
        "for a formulation that is stated on arrays, an npz file that holds them by name",
    )
    add_data_options(command)
    _add_parameters(command, table)


def add_proof_options(command: Command) -> None:
    """Add the options of the problem that a proof log should be about, as ``solve`` takes them."""
    table = {name: get_formulation(name) for name in _PROVED}
    command.add_argument("--data", metavar="DATA", help="the data that was solved: a log about other data is refused")
    command.add_argument("--formulation", dest="model", choices=_PROVED, default=_PROVED[0], help="what was solved on it")
    add_data_options(command)
    _add_parameters(command, table)


def add_parameters(command: Command) -> None:
    """Add the parameters of all formulations, for commands in which an option names the formulations."""
    _add_parameters(command, all_formulations(), "--formulations NAME --help")


def _add_parameters(command: Command, table: Mapping[str, FormulationInfo], lists: str = "") -> None:
    """Add every parameter; the help describes those of the named formulations, or refers to ``lists``."""
    named = {part for word in command.words for part in word.split(",")}
    shown = table if len(table) == 1 else {name: info for name, info in table.items() if name in named}
    help_text = None if shown else f"{lists or command.prog + ' FORMULATION --help'} lists them: --lam, --C, --kernel, ..."
    group = command.add_argument_group("parameters of the formulation", help_text)
    help_texts: dict[str, dict[str, list[str]]] = {}
    options: dict[str, str] = {}
    for info in table.values():
        for p in info.parameters:
            options[p.name] = p.option
            help_texts.setdefault(p.name, {})
            if info.name in shown:
                help_texts[p.name].setdefault(p.help_text, []).append(info.name)
    for name, meanings in help_texts.items():
        text = "; ".join(meaning if len(shown) == 1 else f"{meaning}: {', '.join(names)}" for meaning, names in meanings.items())
        group.add_argument(
            options[name], dest=_GIVEN + name, metavar="VALUE", help=text.replace("%", "%%") if text else argparse.SUPPRESS
        )


def model_from_arguments(args: argparse.Namespace) -> Model:
    """Return the model that the arguments describe, on its data.

    Raises
    ------
    InputError
        An unknown formulation or parameter, a missing file, or data that the model rejects.
    """
    return _model_on_data(args.model, args.data, args)


def _model_on_data(name: str, data: str | Instance, args: argparse.Namespace) -> Model:
    """Return the model of a named formulation on a data set, with the parameters that the arguments give."""
    info = _formulation(name, data)
    parameters = {name.removeprefix(_GIVEN): v for name, v in vars(args).items() if name.startswith(_GIVEN) and v is not None}
    chosen = info.parameter_values(parameters)
    if info.data is DataKind.ARRAYS:
        if not isinstance(data, str):
            raise InputError(f"{info.name} is stated on an npz file that holds {', '.join(info.arrays)}, not on {data.name}")
        return info.make_model(_arrays(info, data), parameters)
    instance = (
        data
        if isinstance(data, Instance)
        else prepare_instance(load_instance(data, args), args, intercept=info.intercept(chosen), standardise=info.standardised)
    )
    if info.data is DataKind.TWO_CLASSES:
        require_two_classes(instance, info.name)
    return info.make_model({"X": instance.X, "y": instance.y}, parameters).with_data_names(instance.data_names)


def refuse_options_of_data(args: argparse.Namespace) -> None:
    """Raise InputError if a command on a program's file has an option of data or of a formulation, since it takes none."""
    defaults: dict[str, object] = {"label": None, "pair": None, "part": None, "n": None, "leave_out": None, "raw": False}
    defaults |= dict.fromkeys(("missing", "categories"), "refuse")
    unread = [name for name, value in defaults.items() if getattr(args, name) != value]
    unread += [name.removeprefix(_GIVEN) for name, value in vars(args).items() if name.startswith(_GIVEN) and value is not None]
    if unread:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in unread)
        raise InputError(f"{args.model} is a program's file, which is taken as it is: leave {options} out", name=unread[0])


def _formulation(name: str, data: str | Instance) -> FormulationInfo:
    """Return the formulation of this name.

    Raises
    ------
    InputError
        There is none. A program's file, a solver or a data set in its place is named as what it is.
    """
    try:
        return get_formulation(name)
    except InputError as error:
        data_name = data if isinstance(data, str) else data.name
        if is_program(Path(name)):
            raise InputError(f"{name} names a program's file, which takes no data: leave {data_name} out", name=name) from error
        if name in all_solvers():
            message = f"{name} is a solver: give --solver {name}, and a formulation and data, or a program's file, before it"
            raise InputError(message, name=name) from error
        if data_name in all_formulations():
            raise InputError(
                f"{data_name} is a formulation, which stands before the data: {data_name} {name}", name=name
            ) from error
        raise


def models_from_arguments(args: argparse.Namespace) -> Iterator[tuple[str, str, Model | StandardForm]]:
    """Yield name of the formulation, name of the data set, and model, for every combination in the arguments.

    A program's file is yielded once, with "program" as the formulation and its form as the model.
    """
    names, sets = comma_separated(args.formulations), comma_separated(args.set)
    if not names or not sets:
        raise InputError("a set is catalogue names or files separated by commas, and so are --formulations")
    for name in sets:
        instances: list[str | Instance] = [*default_report_instances(args.seed)] if name == "built-in" else [name]
        if name != "built-in" and is_program(Path(name)):
            yield "program", Path(without_compression(Path(name).name)).stem, read_form(name)
            continue
        for data in instances:
            data_name = data.name if isinstance(data, Instance) else Path(name).stem
            yield from ((formulation, data_name, _model_on_data(formulation, data, args)) for formulation in names)


def _arrays(info: FormulationInfo, name: str) -> dict[str, Any]:
    """Return the named arrays of an npz file."""
    path = Path(name)
    needed = ", ".join(info.arrays)
    if path.suffix != ".npz" or not path.is_file():
        raise InputError(f"{info.name} is stated on an npz file that holds {needed}; {name} is not one")
    try:
        return read_arrays(path, f"an npz file with {needed}")
    except DataError as error:
        raise InputError(f"{name} cannot be read as an npz file with {needed}: {error}", name=name) from error


def require_two_classes(instance: Instance, noun: str) -> Instance:
    """Return the instance; raise InputError if it has more than two classes. The message says that ``noun`` needs two."""
    if len(instance.classes) > 2:
        names = ", ".join(map(str, list(instance.sizes())[:6])) + (", ..." if len(instance.classes) > 6 else "")
        raise InputError(
            f"{noun} separates two classes and {instance.name} has {len(instance.classes)} ({names}): choose two with --pair A B"
        )
    return instance


def load_instance(name: str, args: argparse.Namespace) -> Instance:
    """Return a data set from the catalogue or a file, with the classes and the points that the arguments select."""
    path = Path(name)
    label = int(args.label) if args.label is not None and args.label.lstrip("-").isdigit() else args.label
    if path.suffix or path.exists() or path.name != name:
        leave_out = tuple(comma_separated(args.leave_out or ""))
        instance = read(path, label, missing=args.missing, categories=args.categories, leave_out=leave_out)
    elif args.leave_out or (args.missing, args.categories) != ("refuse", "refuse"):
        raise InputError(f"--missing, --categories and --leave-out are for CSV and ARFF files; {name} is a set of the catalogue")
    else:
        instance = load(name) if args.part is None else load(name, part=args.part)
    if args.pair is not None:
        instance = instance.pair(*(_class_of(instance, text) for text in args.pair))
    return instance if args.n is None else instance.subsample(args.n, seed=args.seed)


def _class_of(instance: Instance, text: str) -> Any:
    """Return the class label that a word of the command line names."""
    for value in instance.sizes():
        if str(value) == text or (_is_number(text) and _is_number(str(value)) and float(value) == float(text)):
            return value
    raise InputError(f"--pair: {instance.name} has no class {text}; it has {', '.join(map(str, instance.sizes()))}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def prepare_instance(instance: Instance, args: argparse.Namespace, *, intercept: bool, standardise: bool = True) -> Instance:
    """Return the instance standardised if ``standardise``, with a column of ones if ``intercept``; unchanged with ``--raw``."""
    return instance if args.raw else instance.prepared(standardise=standardise, intercept=intercept)
