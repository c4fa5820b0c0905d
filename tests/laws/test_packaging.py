"""The installed package: every folder is named, the wheel carries code, data and types, no file has two names."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile

import pytest
from sources import PARTS, ROOT, module_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def test_every_package_is_named_and_mapped() -> None:
    assert set(SETUPTOOLS["packages"]) == {name for name, path in module_files().items() if path.name == "__init__.py"}
    mapped = {package: folder.relative_to(ROOT).as_posix() for package, folder in PARTS.items()}
    assert SETUPTOOLS["package-dir"] == mapped  # subfolders inherit


def test_no_folder_of_the_root_shadows_the_package() -> None:
    assert not (ROOT / "marginopt").exists()


def test_every_folder_with_code_is_a_package() -> None:
    bare = sorted(
        {str(path.parent.relative_to(ROOT)) for path in module_files().values() if not (path.parent / "__init__.py").exists()}
    )
    assert bare == [], "folders without __init__.py are missing from the wheel"


@pytest.mark.parametrize("folder", [".", "tests", "benchmarks", "docs"])
def test_these_are_no_packages(folder: str) -> None:
    assert not (ROOT / folder / "__init__.py").exists()


def test_every_top_level_package_is_typed() -> None:
    for folder in PARTS.values():
        assert (folder / "py.typed").exists(), folder


def test_no_file_is_imported_under_two_names() -> None:
    code = """
import importlib, json, pkgutil, sys
import marginopt
for part in ("models", "solvers", "relaxations", "instances"):
    package = importlib.import_module(f"marginopt.{part}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
files = {}
for name, module in list(sys.modules.items()):
    path = getattr(module, "__file__", None)
    if path and module.__name__ == name:
        files.setdefault(path, set()).add(name)
print(json.dumps({path: sorted(names) for path, names in files.items() if len(names) > 1 and "marginopt" in str(names)}))
"""
    # in the root, where `import models` would work by accident, and with the root on the path
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, '.')\n{code}"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The built wheel; the build works on a copy so that the tree stays as it is."""
    import shutil

    work = tmp_path_factory.mktemp("build")
    for folder in PARTS.values():
        shutil.copytree(folder, work / folder.relative_to(ROOT), ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, work / name)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(work / "dist"), str(work)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (path,) = (work / "dist").glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_carries_every_module_under_its_installed_name(wheel: zipfile.ZipFile) -> None:
    inside = set(wheel.namelist())
    expected = {
        f"{name.replace('.', '/')}/__init__.py" if path.name == "__init__.py" else f"{name.replace('.', '/')}.py"
        for name, path in module_files().items()
    }
    assert expected == {name for name in inside if name.endswith(".py")}
    tops = {name.split("/")[0] for name in inside if ".dist-info/" not in name}
    assert tops == {"marginopt"}, "a folder is installed under its bare name"


def test_the_wheel_carries_data_and_types(wheel: zipfile.ZipFile) -> None:
    inside = set(wheel.namelist())
    tables = sorted((ROOT / "instances" / "tiny").glob("*"))
    assert tables
    for path in tables:
        if path.suffix not in (".py", "") and path.name != "__pycache__":
            assert f"marginopt/instances/tiny/{path.name}" in inside
    assert not [name for name in inside if name.startswith(("reproduction/", "marginopt/reproduction/"))]
    for package in PARTS:
        assert f"{package.replace('.', '/')}/py.typed" in inside


def test_the_wheel_s_metadata(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    (entry,) = [n for n in names if n.endswith("entry_points.txt")]
    assert "marginopt = marginopt.cli.main:main" in wheel.read(entry).decode()
    (metadata,) = [n for n in names if n.endswith("/METADATA")]
    text = wheel.read(metadata).decode()
    assert "Name: marginopt" in text
    assert "License-Expression: BSD-3-Clause" in text
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert "Requires-Dist: gurobipy" in text
    required = [line for line in text.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert not any("gurobi" in line or "mosek" in line or "torch" in line for line in required)
    assert "marginopt/cli/main.py" in names
