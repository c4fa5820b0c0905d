"""The page of a proof log: one file that verifies itself in a browser, and refuses what a reader changes."""

import base64
import gzip
import json
import re

import numpy as np
import pytest
from chromium import PROGRAM, browser
from proof_logs import problem_of, write

import marginopt as mo
from marginopt.cli.main import main
from marginopt.errors import DataError, InputError
from marginopt.models.formulations.hinge import HingeSVM

in_browser = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (apt-get install chromium)")
DONE = "document.body.dataset.finished !== undefined"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    write(problem_of(4, 24, 2, True, 1.0), path, engine="conflicts")
    return path


def embedded(page):
    return json.loads(re.search(r'id="embedded">(.*?)</script>', page.read_text(), re.S)[1])


def test_the_page_holds_the_log_and_asks_for_nothing_else(tmp_path, log):
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    for source in (log, packed):
        page = mo.proofs.write_proof_page(source, tmp_path / "page.html", title="a < b & c")
        text = page.read_text()
        assert gzip.decompress(base64.b64decode(embedded(page)["log"])) == log.read_bytes()
        assert embedded(page)["digest"] == mo.check_proof(log).digest
        assert "<h1>a &lt; b &amp; c</h1>" in text
        assert not re.search(r"https?://|\bsrc=|\bimport\b\s*[({\"']|fetch\(|XMLHttpRequest", text)
        assert "{{" not in text.replace("${{", "")


def test_a_model_says_what_the_log_should_be_about(tmp_path, log):
    rng = np.random.default_rng(0)
    model = mo.ZeroOneSVM(np.c_[np.ones(8), rng.standard_normal((8, 2))], np.resize([1.0, -1.0], 8), lam=1.0)
    page = mo.proofs.write_proof_page(log, tmp_path / "page.html", model)
    assert embedded(page)["digest"] != mo.check_proof(log).digest
    with pytest.raises(InputError):
        mo.proofs.write_proof_page(log, tmp_path / "page.html", HingeSVM(model.X, model.y, lam=1.0))


def test_what_is_no_log_of_the_zero_one_loss_is_refused(tmp_path, log):
    other = tmp_path / "other"
    for text, error in (("no json\n", InputError), ('{"format": "marginopt-margin-proof"}\n', InputError), ("[1]\n", InputError)):
        other.write_text(text)
        with pytest.raises(error):
            mo.proofs.write_proof_page(other, tmp_path / "page.html")
    header = json.loads(log.read_text().splitlines()[0])
    for change in ({"A": [[1.0], [1.0, 2.0]]}, {"weights": []}, {"A": "words"}):
        other.write_text(json.dumps(header | change) + "\n")
        with pytest.raises(DataError):
            mo.proofs.write_proof_page(other, tmp_path / "page.html")
    with pytest.raises(DataError):
        mo.proofs.write_proof_page(tmp_path / "missing", tmp_path / "page.html")
    with pytest.raises(InputError):
        mo.proofs.write_proof_page(log, tmp_path / "folder" / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_the_command_writes_it(tmp_path, log, capsys):
    assert main(["proof-page", str(log), "-o", str(tmp_path / "a.html")]) == 0
    assert main(["proof-page", str(log), "--title", "T", "--json"]) == 0
    assert "<h1>T</h1>" in log.with_name("log.html").read_text()
    assert main(["proof-page", str(tmp_path / "missing")]) == 2
    assert json.loads(capsys.readouterr().out.splitlines()[-2].join(["{", "}"])) == {"page": str(log.with_name("log.html"))}


@in_browser
def test_chromium_verifies_and_refuses(tmp_path, log):
    """The sentence is proved; a flipped label and a multiplier are refused, sealed anew or not; undone, all is proved again."""
    page = mo.proofs.write_proof_page(log, tmp_path / "page.html")
    report = mo.check_proof(log)
    with browser(tmp_path) as chromium:
        chromium.open(page)
        chromium.wait(DONE)

        def after(action):
            run = chromium.evaluate("document.body.dataset.finished")
            chromium.evaluate(action)
            chromium.wait(f"document.body.dataset.finished !== '{run}'")
            return chromium.evaluate("document.getElementById('sentence').dataset.verdict")

        text = chromium.evaluate("document.getElementById('sentence').textContent")
        assert chromium.evaluate("document.getElementById('sentence').dataset.verdict") == "proved"
        assert f"{report.bound:.10g}" in text
        assert f"{report.nodes} of {report.nodes} nodes" in chromium.evaluate("document.getElementById('progress').textContent")
        assert after("document.getElementById('flip-label').click()") == "refused"
        assert after("document.getElementById('reseal').click()") == "refused"
        assert chromium.evaluate("document.getElementById('step-seal').dataset.verdict") == "refused"
        assert after("document.getElementById('undo').click()") == "proved"
        assert after("document.getElementById('reseal').click()") == "proved"
        assert after("document.getElementById('flip-multiplier').click()") == "refused"
        assert chromium.evaluate("document.getElementById('step-seal').dataset.verdict") == "proved"
        assert chromium.evaluate("document.getElementById('step-tree').dataset.verdict") == "refused"


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_fits_its_window(tmp_path, log, width, scheme):
    page = mo.proofs.write_proof_page(log, tmp_path / "page.html", title="A title of many words " * 4)
    with browser(tmp_path) as chromium:
        chromium.open(page, width, 900, scheme)
        chromium.wait(DONE)
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        paper = chromium.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
