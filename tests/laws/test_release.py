"""The files of a release agree, its changelog section is exact, and a faulty archive is named."""

from __future__ import annotations

import importlib
import io
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("release")


def test_one_version_is_stated(release: ModuleType) -> None:
    assert release.stated_version(ROOT) == PROJECT["version"]


def test_another_version_is_refused(release: ModuleType, tmp_path: Path) -> None:
    for name in ("pyproject.toml", *release.VERSION_PATTERNS):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(PROJECT["version"], "9.9.9") if name == "CITATION.cff" else text)
    with pytest.raises(SystemExit):
        release.stated_version(tmp_path)


def test_the_recipe_requires_what_the_project_does(release: ModuleType, tmp_path: Path) -> None:
    assert release.recipe_differences(ROOT) == []
    (tmp_path / "conda").mkdir()
    for name in ("pyproject.toml", "conda/recipe.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8").replace("- scs >=3.2.4", "- scs >=3.3"))
    assert len(release.recipe_differences(tmp_path)) == 2


def test_the_changelog_s_section(release: ModuleType) -> None:
    """Entries move below the new heading, older sections stay, and a second release without entries is refused."""
    old = "# Changelog\n\n## [Unreleased]\n\n### Solving\n- One.\n\n## [0.0.1] - 2026-01-01\n\n- Zero.\n"
    new = release.with_section(old, "0.1.0", "2026-11-28")
    headings = re.findall(r"^## \[(.*?)\]", new, flags=re.MULTILINE)
    assert headings == ["Unreleased", "0.1.0", "0.0.1"]
    between = new.split("## [0.1.0] - 2026-11-28\n")[1].split("## [0.0.1]")[0]
    assert between.strip() == "### Solving\n- One."
    for version in ("0.1.0", "0.2.0"):
        with pytest.raises(ValueError):
            release.with_section(new, version, "2026-11-29")
    with pytest.raises(ValueError):
        release.with_section("# Changelog\n", "0.1.0", "2026-11-29")


def _archives(folder: Path, extra: dict[str, str], version: str = "1.0") -> tuple[Path, Path]:
    """A small sdist and wheel with the metadata of a release, and further files in the wheel."""
    metadata = (
        f"Metadata-Version: 2.4\nName: marginopt\nVersion: {version}\nLicense-Expression: BSD-3-Clause\n"
        "Description-Content-Type: text/markdown\n\n# marginopt\n"
    )
    info = f"marginopt-{version}.dist-info"
    files = {"marginopt/py.typed": "", f"{info}/METADATA": metadata, f"{info}/licenses/LICENSE": "BSD", **extra}
    sdist, wheel = folder / "s.tar.gz", folder / "w.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    with tarfile.open(sdist, "w:gz") as tar:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            tar.addfile(tarfile.TarInfo(f"marginopt-{version}/{name}"), io.BytesIO())
    return sdist, wheel


def test_archives_without_a_fault(release: ModuleType, tmp_path: Path) -> None:
    assert release.package_faults(*_archives(tmp_path, {}), "1.0") == []


@pytest.mark.parametrize(
    ("extra", "word"),
    [
        ({"tests/test_a.py": ""}, "tests"),
        ({"marginopt/__pycache__/a.pyc": ""}, "__pycache__"),
        ({"models/__init__.py": ""}, "models"),
        ({"marginopt/a.py": "DATA = '/home/somebody/data'"}, "marginopt/a.py"),
    ],
)
def test_strangers_are_named(release: ModuleType, tmp_path: Path, extra: dict[str, str], word: str) -> None:
    assert any(word in fault for fault in release.package_faults(*_archives(tmp_path, extra), "1.0"))


def test_another_version_inside_is_named(release: ModuleType, tmp_path: Path) -> None:
    assert any("2.0" in fault for fault in release.package_faults(*_archives(tmp_path, {}, "2.0"), "1.0"))


def test_the_conda_recipe_has_the_dependencies_of_the_package() -> None:
    """The same packages with the same bounds; matplotlib has another name there."""
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    stated = {line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()}
    expected = {text.replace("matplotlib>", "matplotlib-base>") for text in PROJECT["dependencies"]}
    assert stated == expected | {f"python{PROJECT['requires-python']}"}
    for name, target in PROJECT["scripts"].items():
        assert f"{name} = {target}" in recipe


def test_workflows_use_what_there_is() -> None:
    """The commands of `make` that the workflows call are targets, and their Pythons are the supported ones."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    pythons = {name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name}
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"run: make (\w+)", text)) <= targets
        assert set(re.findall(r"\b3\.1\d\b", text)) <= pythons
        assert "permissions:" in text
