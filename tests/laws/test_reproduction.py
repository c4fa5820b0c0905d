"""The papers' protocols stand on the public interface, and nothing of the package stands on them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from sources import PARTS, ROOT, imports_of, module_files, reproduction_files

from marginopt.cli.runs import EFFORTS
from marginopt.reproduction import record

#: Groups of public names; what the reproduction takes from one is in its ``__all__``.
GROUPS = (
    "marginopt",
    *(f"marginopt.{g}" for g in ("models", "solvers", "relaxations", "instances", "estimators", "selection", "deep")),
)
#: Modules that are public as a whole.
WHOLE = ("marginopt.errors", "marginopt.files", "marginopt.drawing", "marginopt.solvers.conic", "marginopt.solvers.parallel")
#: Private modules that it uses, eight at most.
PRIVATE = {
    "marginopt.estimators.training_set",  # one-versus-one training, shared with the estimators
    "marginopt.relaxations.reduction",  # without_warnings
    "marginopt.relaxations.report.formats",  # markdown_escaped
    "marginopt.relaxations.report.runner",  # describe_blas, describe_machine
    "marginopt.relaxations.losses",  # the picture of the losses
    "marginopt.solvers.box.descent",  # the joint problem of both hyperplanes, without a form
    "marginopt.pictures",  # pictures of a training
    "marginopt.deep.pictures",
}


def test_it_imports_public_names_and_a_few_private_modules() -> None:
    wrong, used = [], set()
    for path in reproduction_files().values():
        for statement in imports_of(path):
            base = statement.base or ""
            if statement.level or not base.startswith("marginopt"):
                continue
            if base in PRIVATE:
                used.add(base)
            elif base in GROUPS:
                public = import_module(base).__all__ if base != "marginopt.deep" else dir(import_module(base))
                wrong += [f"{path.name}:{statement.line}: {base}.{name}" for name in statement.names if name not in public]
            elif base not in WHOLE:
                wrong.append(f"{path.name}:{statement.line}: {base}")
    assert not wrong, "\n".join(wrong)
    assert used == PRIVATE


def test_nothing_but_the_command_imports_it() -> None:
    importing = {
        (path.relative_to(ROOT).as_posix(), statement.top)
        for name, path in module_files().items()
        for statement in imports_of(path)
        if "reproduction" in statement.absolute(name.split(".")[:-1])
    }
    assert importing == {("src/marginopt/cli/runs.py", False)}


def test_the_command_knows_the_efforts() -> None:
    assert tuple(record.EFFORTS) == EFFORTS


#: What the command ends with, asked for its help and for its work.
TOLD = """
def told(words):
    try:
        return main(words)
    except SystemExit as end:
        return end.code
from marginopt.cli.main import main
print([told(["reproduce", "--help"]), told(["reproduce"])])
"""


def test_without_a_clone_the_command_says_what_it_needs(tmp_path: Path) -> None:
    """The package as a wheel installs it: its folders, and no ``reproduction`` beside them."""
    home = tmp_path / "site" / "marginopt"
    unfinished = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")  # what another process is writing; what is compiled comes along
    for package, folder in PARTS.items():
        target = home.joinpath(*package.split(".")[1:])
        shutil.copytree(folder, target, ignore=unfinished, dirs_exist_ok=True)
    code = f"import sys; sys.path.insert(0, {str(home.parent)!r})"
    code += "; sys.meta_path[:] = [f for f in sys.meta_path if 'ditable' not in repr(f)]"
    code += TOLD
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.splitlines()[-1] == "[0, 2]", done.stderr
    assert "Traceback" not in done.stderr
    assert "clone" in done.stderr
