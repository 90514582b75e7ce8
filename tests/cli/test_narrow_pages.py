"""Pages in a browser window as narrow as a telephone: none may be wider than it."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from cli_helpers import TIMEOUT, ForkServer

sys.path.append(str(Path(__file__).parents[1] / "data"))

from churn import write_churn

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

WIDTH = 420  # pixels
COMMANDS = {
    "report": [],
    "compare": ["compare", "a", "b", "--html", "compare.html"],
    "pictures": [],
    "picture-probe": ["probe", "digits", "--html", "picture-probe.html"],
    "probe": ["probe", "a", "--html", "probe.html"],
    "data": ["data", "show", "csv", "--data", "churn.csv", "target=churn", "--out", "data.html"],
    "text": ["data", "show", "text", "--data", "book.txt", "--out", "text.html"],
    "autodiff": ["explain", "autodiff", "--html", "autodiff.html"],
    "cnn": ["explain", "cnn", "--html", "cnn.html"],
    "block": ["explain", "attention.multihead", "--html", "block.html"],
    "schedule": ["explain", "schedule.one-cycle", "--html", "schedule.html"],
    "metric": ["explain", "metric.auroc", "--html", "metric.html"],
}
# Pages in frames, each of which has the width of its own window; their sizes are written down when all are loaded.
FRAMES = """<!doctype html>{frames}<pre></pre><script>onload = () => {{
  const sizes = [...document.querySelectorAll("iframe")].map((frame) => {{
    const page = frame.contentDocument.documentElement;
    const cut = [...page.querySelectorAll("figure")].filter((figure) => figure.scrollWidth > figure.clientWidth + 1);
    return [frame.id, {{ window: page.clientWidth, page: page.scrollWidth, cut: cut.length }}];
  }});
  document.querySelector("pre").textContent = JSON.stringify(Object.fromEntries(sizes));
}};</script>"""


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory, quick: ForkServer) -> dict[str, dict[str, int]]:
    """Of each page: how wide the window and the page are, and how many figures do not show all they hold."""
    folder = tmp_path_factory.mktemp("pages")
    write_churn(folder / "churn.csv", 1000, leak=True, rare=0.2)
    (folder / "book.txt").write_text("A word that is " + "very" * 60 + " long, and others that are not.\n" * 40)
    for name, rate in (("a", "0.01"), ("b", "0.001")):
        train = ["train", "csv", "--data", "churn.csv", "data.target=churn", "--out", name]
        assert quick(*train, "train.epochs=2", f"train.lr={rate}", cwd=folder).code == 0
    pictures = ["digits-mlp", "data.augment.rotate=9", "data.augment.translate=1", "train.epochs=1", "--out", "digits"]
    assert quick("train", *pictures, cwd=folder).code == 0
    for command in filter(None, COMMANDS.values()):
        assert quick(*command, cwd=folder).code == 0, command
    for run, page in (("a", "report"), ("digits", "pictures")):
        shutil.copy(folder / run / "report.html", folder / f"{page}.html")
    frames = "".join(f'<iframe id="{n}" src="{n}.html" style="width: {WIDTH}px; border: 0"></iframe>' for n in COMMANDS)
    (folder / "frames.html").write_text(FRAMES.format(frames=frames))
    return _measured(folder)


def _measured(folder: Path) -> dict[str, dict[str, int]]:
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]
    profile, address = f"--user-data-dir={folder / 'profile'}", (folder / "frames.html").as_uri()
    command = [str(CHROMIUM), *options, profile, "--dump-dom", address]
    dumped = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout
    written = re.search("<pre>(.+)</pre>", dumped)
    assert written is not None, dumped[-2000:]
    measured: dict[str, dict[str, int]] = json.loads(unescape(written[1]))
    return measured


@pytest.mark.parametrize("name", COMMANDS)
def test_a_narrow_window_shows_the_whole_width_of_a_page(sizes: dict[str, dict[str, int]], name: str) -> None:
    assert sizes[name] == {"window": WIDTH, "page": WIDTH, "cut": 0}
