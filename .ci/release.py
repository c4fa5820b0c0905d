"""Prepare a release (`make release`): one version everywhere, the changelog's section, checked sdist and wheel.

    python .ci/release.py [--out dist] [--date 2026-11-28] [--check]

It prints what is left to a person: nothing is tagged, pushed or uploaded. With ``--check`` the changelog stays as it is.
"""

from __future__ import annotations

import argparse
import datetime
import email
import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from wheels import ROOT, build_packages

#: Files that state the version, with the pattern of the line that does.
VERSION_PATTERNS = {"CITATION.cff": r"^version: (\S+)$", "conda/recipe.yaml": r'^  version: "(\S+)"$'}
#: Paths of a developer's machine, which no released file may name.
_MACHINE = re.compile(rb"/(home|Users|root)/\w")
#: Steps left to a person, in their order.
REMAINING_STEPS = """\
What is left to a person, for version {version}:
  0. Once: name the repository under [project.urls], and its address in the README's picture and links (PyPI shows no relative
     ones).
  1. Read the changelog's section, commit, and wait until the workflow `tests` passes on Linux, macOS and Windows.
  2. make wheels   (sdist and wheel in a fresh environment of every Python)
  3. git tag -s v{version} && git push origin v{version}   (the workflow `release` builds again and uploads by trusted publishing,
     once the project has been registered on PyPI for this repository)
  4. Put the digest of the uploaded sdist into conda/recipe.yaml and open a pull request with it at conda-forge/staged-recipes.
  5. Import the repository at Read the Docs, once; it reads .readthedocs.yaml.
  6. Set the next version in pyproject.toml, CITATION.cff and conda/recipe.yaml."""


def stated_version(root: Path) -> str:
    """Return the version of pyproject.toml; exit where another file states another one."""
    version = str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    for name, pattern in VERSION_PATTERNS.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        if match is None or match[1] != version:
            sys.exit(f"{name} states version {match and match[1]}; pyproject.toml has {version}")
    return version


def recipe_differences(root: Path) -> list[str]:
    """Return a sentence on each requirement that pyproject.toml or the conda recipe alone has; matplotlib-base is matplotlib."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = {*project["dependencies"], f"python{project['requires-python']}"}
    run = (root / "conda" / "recipe.yaml").read_text(encoding="utf-8").partition("  run:\n")[2].partition("\n\n")[0]
    recipe = {line.strip(" -").replace("-base", "").replace(" ", "") for line in run.splitlines()}
    return [f"only one of pyproject.toml and conda/recipe.yaml requires {requirement}" for requirement in sorted(stated ^ recipe)]


def with_section(changelog: str, version: str, date: str) -> str:
    """Return the changelog with the entries of [Unreleased] under a heading of this version and date.

    Raises
    ------
    ValueError
        There is no [Unreleased] section, it is empty, or the version has a section.
    """
    if re.search(rf"^## \[{re.escape(version)}\]", changelog, flags=re.MULTILINE):
        raise ValueError(f"the changelog has a section for {version}")
    match = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## \[|\Z)", changelog, flags=re.MULTILINE | re.DOTALL)
    if match is None or not match[1].strip():
        raise ValueError("the changelog has nothing under [Unreleased]")
    heading = f"## [Unreleased]\n\n## [{version}] - {date}\n"
    return changelog[: match.start()] + heading + changelog[match.start() + len("## [Unreleased]\n") :]


def package_faults(sdist: Path, wheel: Path, version: str) -> list[str]:
    """Return the faults of a sdist and a wheel: metadata, missing files, files that do not belong there, paths of a machine."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        files = {name: archive.read(name) for name in names if not name.endswith("/")}
    with tarfile.open(sdist) as archive:
        source = [name.partition("/")[2] for name in archive.getnames()]
    metadata = email.message_from_bytes(next(data for name, data in files.items() if name.endswith(".dist-info/METADATA")))
    text = [
        f"the metadata's {field} is {metadata[field]!r}, not {value!r}"
        for field, value in {"Name": "marginopt", "Version": version, "License-Expression": "BSD-3-Clause"}.items()
        if metadata[field] != value
    ]
    if not str(metadata.get_payload()).strip() or metadata["Description-Content-Type"] != "text/markdown":
        text.append("the metadata has no description in Markdown")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        text.append("the wheel has no licence")
    if "marginopt/py.typed" not in names:
        text.append("the wheel has no py.typed")
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    text += [f"the wheel installs {top} beside marginopt" for top in sorted(tops - {"marginopt"})]
    text += [f"the wheel has {name}" for name in _strangers(names)] + [f"the sdist has {name}" for name in _strangers(source)]
    text += [f"{name} names a path of a machine" for name, data in files.items() if _MACHINE.search(data)]
    missing = {"pyproject.toml", "README.md", "LICENSE"} - set(source)
    return text + [f"the sdist lacks {name}" for name in sorted(missing)]


def _strangers(names: Iterable[str]) -> list[str]:
    return [n for n in names if re.search(r"(^|/)(__pycache__|\.git|\.venv|tests|node_modules)(/|$)|\.(pyc|so|orig|rej)$", n)]


def check_description(sdist: Path, wheel: Path) -> str:
    """Check the description by twine, if it is installed, and return a sentence on the outcome; exit if the check fails."""
    if importlib.util.find_spec("twine") is None:
        return "twine is not installed (pip install twine): the description's rendering was not checked"
    done = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel], check=False)
    if done.returncode:
        sys.exit("twine check failed")
    return "twine check passed"


def main() -> None:
    """Check versions, build and check the packages, write the changelog; exit with a message at the first fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--date", default=datetime.datetime.now(datetime.UTC).date().isoformat())
    parser.add_argument("--check", action="store_true", help="leave the changelog as it is")
    a = parser.parse_args()
    version = stated_version(ROOT)
    if differences := recipe_differences(ROOT):
        sys.exit("\n".join(differences))
    changelog = ROOT / "CHANGELOG.md"
    try:
        text = with_section(changelog.read_text(encoding="utf-8"), version, a.date)
    except ValueError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory() as scratch:
        sdist, wheel = build_packages(Path(scratch))
        problems = package_faults(sdist, wheel, version)
        if problems:
            sys.exit("\n".join(problems))
        a.out.mkdir(parents=True, exist_ok=True)
        sdist, wheel = (Path(shutil.copy(path, a.out)) for path in (sdist, wheel))
    print(f"{sdist.name} and {wheel.name} are in {a.out}; their contents were checked. {check_description(sdist, wheel)}.")
    if not a.check:
        changelog.write_text(text, encoding="utf-8")
        print(f"CHANGELOG.md has a section [{version}] - {a.date}.")
    print(REMAINING_STEPS.format(version=version))


if __name__ == "__main__":
    main()
