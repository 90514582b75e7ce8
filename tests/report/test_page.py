"""The report as a file: self-contained, safe, whole."""

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradlab.errors import GradlabError
from gradlab.files import FolderSums
from gradlab.markup import Html, tag
from gradlab.registry import Part
from gradlab.report import write_report
from gradlab.report.charts import chart, thinned
from gradlab.run import Run


def test_nothing_is_fetched(digits_page):
    assert digits_page.loaded, "the pictures of the mistakes"
    assert all(address.startswith("data:image/png;base64,") for address in digits_page.loaded)
    assert not {"link", "iframe", "object", "embed"} & set(digits_page.tags)
    assert "default-src 'none'" in digits_page.policy
    assert "http" not in digits_page.policy


def test_only_the_two_scripts_of_the_page_may_run(digits_page):
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in digits_page.scripts]
    assert len(hashes) == 2
    allowed = digits_page.policy.partition("script-src ")[2]
    assert allowed == " ".join(f"'sha256-{h}'" for h in hashes)


@pytest.fixture(scope="module")
def hostile(train, tmp_path_factory) -> Run:
    """A run whose class names are HTML."""
    path = tmp_path_factory.mktemp("data") / "hostile.npz"
    x = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(np.arange(60) % 2, "<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>")
    np.savez(path, x=x, y=y)
    return train(Part("npz", {"path": str(path)}), "softmax", name="<i>name</i>")


def test_users_text_is_escaped(hostile, read):
    page = read(hostile)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.path.read_text()
    assert "<script>alert(1)" not in page.path.read_text()
    assert "<script>alert(1)</script>" in page.text, "a reader sees the name as it is"
    assert "Run · hostile.npz · <i>name</i>" in page.text
    assert "img" not in page.tags
    assert len(page.scripts) == 2
    ticks = page.figures["Confusion matrix"]["layout"]["xaxis"]["ticktext"]
    assert "&lt;script&gt;alert(1)&lt;/scrip…" in ticks, "plotly.js reads HTML in its labels"


def test_without_its_data_the_report_is_written_all_the_same(train, read, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(60, 3)), y=np.arange(60) % 2)
    run = train(Part("npz", {"path": str(path)}), "softmax")
    assert "Confusion matrix" in read(run).titles
    path.unlink()
    page = read(Run(run.path))
    assert "Confusion matrix" not in page.titles
    assert "Left out of this report" in page.text
    assert str(path) in page.text
    assert "Loss" in page.figures


def test_the_report_replaces_the_old_one_and_leaves_nothing_else(digits):
    (digits.path / "report.html").write_text("old")
    path = write_report(digits)
    assert path == digits.path / "report.html"
    assert path.read_text().startswith("<!doctype html>")
    files = {
        "recipe.toml",
        "environment.json",
        "data.json",
        "metrics.jsonl",
        "checkpoints",
        "result.json",
        "report.html",
        "SHA256SUMS",
    }
    assert {p.name for p in digits.path.iterdir()} - {".lock"} == files


def test_a_full_disk_leaves_the_old_report(digits, monkeypatch):
    write_report(digits)
    before = {p.name: p.stat().st_mtime_ns for p in digits.path.iterdir()}

    def fill(path: Path, content: bytes) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fill)
    with pytest.raises(GradlabError, match=r"report\.html cannot be written: .*No space left"):
        write_report(digits)
    assert {p.name: p.stat().st_mtime_ns for p in digits.path.iterdir()} == before


def test_an_unfinished_run_has_no_report(digits, tmp_path):
    for name in ("recipe.toml", "environment.json", "data.json"):
        (tmp_path / name).write_text((digits.path / name).read_text())
    FolderSums(tmp_path).create(["recipe.toml", "environment.json", "data.json"])
    with pytest.raises(GradlabError, match="is not finished"):
        write_report(Run(tmp_path))
    assert not (tmp_path / "report.html").exists()


def test_importing_the_room_is_quick():
    code = "import sys, gradlab.report; print([m for m in ('torch', 'plotly', 'sklearn', 'PIL') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_writing_does_not_import_plotly(digits):
    code = (
        "import sys; from gradlab.run import open_run; from gradlab.report import write_report; "
        f"write_report(open_run({str(digits.path)!r})); print('plotly' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_markup_that_went_through_python_is_text_again():
    assert tag("p", f"{Html('<b>')}") == "<p>&lt;b&gt;</p>"
    assert tag("a", title='"x" & y') == '<a title="&quot;x&quot; &amp; y"></a>'


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_thinning_keeps_the_last_and_the_limit(count):
    kept = thinned(range(count), 8)
    assert len(kept) <= 8
    assert kept[-1:] == list(range(count))[-1:]
    assert count > 8 or kept == list(range(count))


def test_nothing_in_a_figure_ends_its_script():
    written = chart("title", [{"name": "</script><script>alert(1)</script>"}])
    assert written.count("<script") == written.count("</script") == 1
    assert json.loads(between(written))["data"][0]["name"] == "</script><script>alert(1)</script>"


def test_numbers_that_json_does_not_know_are_gaps():
    written = chart("title", [{"y": [1.0, float("nan"), -float("inf")]}])
    assert json.loads(between(written))["data"][0]["y"] == [1.0, None, None]


def between(written: str) -> str:
    return written.partition('json">')[2].partition("</script>")[0]
