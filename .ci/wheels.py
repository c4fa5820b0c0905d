"""Build sdist and wheel, install each into a fresh environment of every Python named, and use it (`make wheels`).

    python .ci/wheels.py [--keep FOLDER] python3.11 python3.12 python3.13 python3.14

Pythons that are not installed are named and left out; without a single one the command fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Files and folders that the packages are built from.
SOURCES = ("src", "models", "solvers", "relaxations", "instances", "pyproject.toml", "README.md", "LICENSE")

#: Folders of version managers and installers, with the pattern of an interpreter of a version in them.
PYTHON_FOLDERS = (
    ("~/.pyenv/versions", "{}.*/bin/python"),
    ("~/.local/share/uv/python", "cpython-{}.*/bin/python3"),
    ("~/.local/share/mise/installs/python", "{}.*/bin/python"),
    ("~/.asdf/installs/python", "{}.*/bin/python"),
    ("/opt/hostedtoolcache/Python", "{}.*/*/bin/python"),
    ("/Library/Frameworks/Python.framework/Versions", "{}/bin/python3"),
    ("/usr/local/bin", "python{}"),
    ("/opt/homebrew/bin", "python{}"),
)

#: A user's first minute: a convex problem, a mixed-integer one by two solvers, compiled loops, the prompt.
SMOKE_TEST = """
import subprocess, sys
from importlib.metadata import version
from pathlib import Path
import marginopt as mo
assert "site-packages" in mo.__file__, mo.__file__
assert mo.__version__ == version("marginopt")
X, y = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0], [1.0, 4.0]], [-1, 1, -1, 1, 1]
convex = mo.solve(mo.HingeSVM(X, y), "clarabel")
assert convex.status.name == "OPTIMAL" and convex.certificate.gap < 1e-6, convex
exact = mo.solve(mo.ZeroOneSVM(X, y, lam=2.0), "zero-one-bb", threads=1)
other = mo.solve(mo.ZeroOneSVM(X, y, lam=2.0), "scip")
assert exact.status.name == other.status.name == "OPTIMAL", (exact, other)
assert abs(exact.objective - other.objective) < 1e-5, (exact, other)
assert mo.solve(mo.L2SVMDual(X, y), "mfw").status.name == "OPTIMAL"
tool = Path(sys.executable).with_name("marginopt")
assert mo.__version__ in subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
print(f"marginopt {mo.__version__} on Python {sys.version.split()[0]}: installed and used")
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Return the output of a command run in ``cwd``, without PYTHONPATH and virtual environment; exit if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(str(part)[:200] for part in command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def build_packages(folder: Path) -> tuple[Path, Path]:
    """Build sdist and wheel in a copy of the sources, so that the checkout stays as it is; return their paths."""
    source, dist = folder / "source", folder / "dist"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--outdir", dist, source, cwd=folder)
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    return sdist, wheel


def install_and_use(python: str, sdist: Path, wheel: Path, folder: Path) -> None:
    """Install and use both in a fresh environment of a Python; the sdist comes second and finds the dependencies there."""
    environment = folder / "environment"
    folder.mkdir()
    run(python, "-m", "venv", environment, cwd=folder)
    inside = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(inside, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel, cwd=folder)
    print("wheel:", run(inside, "-c", SMOKE_TEST, cwd=folder).strip(), flush=True)
    run(inside, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", sdist, cwd=folder)
    print("sdist:", run(inside, "-c", SMOKE_TEST, cwd=folder).strip(), flush=True)


def find_python(python: str) -> str | None:
    """Return the path of an interpreter of this name that runs, on the path or in `PYTHON_FOLDERS`; None without one."""
    version = python.removeprefix("python")
    rows = [
        path
        for place, name in PYTHON_FOLDERS
        for path in sorted(Path(place).expanduser().glob(name.format(version)), reverse=True)
    ]
    for path in (shutil.which(python), *map(str, rows)):
        if path is not None and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return path
    return None


def main() -> None:
    """Build the packages, and install and use them on every Python that is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="copy the sdist and the wheel there")
    parser.add_argument("pythons", nargs="+")
    a = parser.parse_args()
    there = {name: path for name in a.pythons if (path := find_python(name)) is not None}
    print("not there:", ", ".join(name for name in a.pythons if name not in there) or "none", flush=True)
    if not there:
        sys.exit("none of these Pythons is there")
    with tempfile.TemporaryDirectory() as scratch:
        sdist, wheel = build_packages(Path(scratch))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB", flush=True)
        for name, python in there.items():
            install_and_use(python, sdist, wheel, Path(scratch, name))
        if a.keep:
            a.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(sdist, a.keep)
            shutil.copy(wheel, a.keep)


if __name__ == "__main__":
    main()
