"""`gradlab data`: what there is, and fetching it."""

import functools
import hashlib
import http.server
import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import TIMEOUT, Finished, ForkServer, check_refused, environment, gradlab
from rich.console import Console

CLOSED = "http://127.0.0.1:9"  # the port of the discard service, where nobody listens


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Finished]:
    """`run(*arguments)`: a command with a cache of its own, and no way to the world."""
    env = environment(GRADLAB_CACHE=str(tmp_path / "cache"), http_proxy=CLOSED, https_proxy=CLOSED, no_proxy="")
    return lambda *arguments: gradlab("data", *arguments, cwd=tmp_path, env=env)


@pytest.mark.parametrize("command", [[], ["list"], ["fetch"]])
def test_help_teaches_by_example(quick: ForkServer, tmp_path: Path, command: list[str]) -> None:
    ended = quick("data", *command, "--help", cwd=tmp_path)
    assert ended.code == 0
    assert " ".join(["gradlab data", *command]) in ended.out.partition("Example")[2]


def test_help_imports_no_torch(tmp_path: Path) -> None:
    probe = (
        "import sys\nfrom gradlab.cli import main\n"
        "try: main(['data', 'fetch', '--help'])\nexcept SystemExit as e: print('torch' in sys.modules, e.code)"
    )
    ended = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert ended.stdout.splitlines()[-1] == "False 0"


def test_the_list_says_of_every_source_what_and_where_it_is(run: Callable[..., Finished], tmp_path: Path) -> None:
    from gradlab.data import sources

    ended = run("list")
    assert ended.code == 0, ended.err
    assert "\x1b" not in ended.out
    for name in (name for name in sources if not sources.owner(name)):
        assert re.search(rf"^ *{name} +\S", ended.out, re.MULTILINE), name
    for name, where in {
        "digits": "ships with scikit-learn",
        "moons": "generated",
        "npz": "your own file",
        "text": "your own file",
        "pydoc": "ships with Python",
        "docstrings": "ships with Python",
        "mnist": "fetch it",
    }.items():
        assert re.search(rf"^ *{name} .* {where} *$", ended.out, re.MULTILINE), name
    assert "$" not in ended.out, "equations are for people here"
    assert "\\" not in ended.out
    assert "y = 2x³ − x² − x + ε" in ended.out
    assert str(tmp_path / "cache") in ended.out
    assert not (tmp_path / "cache").exists()


def test_the_list_as_json_is_one_object(run: Callable[..., Finished]) -> None:
    from gradlab.data import sources

    listed = run("list", "--json").json
    assert set(listed) == {name for name in sources if not sources.owner(name)}
    for source in listed.values():
        assert set(source) == {"what", "where", "path", "bytes"}
        assert source["what"]
    assert listed["iris"]["where"] == "scikit-learn"
    assert listed["cifar10"] | {"what": ""} == {"what": "", "where": "web", "path": None, "bytes": 170052171}


def test_when_nothing_can_be_reached_every_address_is_named(run: Callable[..., Finished], tmp_path: Path) -> None:
    ended = run("fetch", "cifar10")
    folder = tmp_path / "cache" / "datasets" / "cifar10"
    check_refused(ended, "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "Connection refused", str(folder))
    assert ended.out == ""
    check_refused(run("fetch", "fashion-mnist", "--to", "here", "--json"), "eu-central-1", "into here by hand")


@pytest.mark.parametrize(
    ("name", "words"),
    [("mnits", "Did you mean 'mnist'"), ("digits", "ships with scikit-learn"), ("npz", "your own file")],
)
def test_what_cannot_be_fetched_is_told(run: Callable[..., Finished], tmp_path: Path, name: str, words: str) -> None:
    check_refused(run("fetch", name), name, words)
    assert list(tmp_path.iterdir()) == []


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


FILES = {"train.gz": bytes(700_000), "labels.gz": b"labels"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a folder with the files."""
    folder = tmp_path / "served"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as serving:
        threading.Thread(target=serving.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()


@pytest.fixture
def local(server: str, tmp_path: Path) -> Callable[..., Finished]:
    """`local(*arguments)`: a command for which MNIST is the two small files of the server."""
    table = [(n, len(c), hashlib.sha256(c).hexdigest(), (server + n,)) for n, c in FILES.items()]
    code = (
        "from gradlab.data.public import fetching; from gradlab.cli import main; import sys\n"
        f"fetching.DOWNLOADS['mnist'] = tuple(fetching.Download(*file) for file in {table!r})\n"
        "main(['data', *sys.argv[1:]])"
    )
    env = environment(GRADLAB_CACHE=str(tmp_path / "cache"), no_proxy="*")

    def run(*arguments: str) -> Finished:
        command = [sys.executable, "-c", code, *arguments]
        ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=TIMEOUT)
        return Finished(ended.returncode, ended.stdout, ended.stderr)

    return run


def test_what_was_fetched_is_listed_with_its_place_and_size(local: Callable[..., Finished], tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "datasets" / "mnist"
    ended = local("fetch", "mnist")
    assert ended.code == 0, ended.err
    assert ended.err == ""
    assert "\x1b" not in ended.out
    assert "\r" not in ended.out
    assert "train.gz: 0.7 MB of 0.7 MB" in ended.out
    assert f"{folder / 'train.gz'}, 0.7 MB" in ended.out
    assert "gradlab train mnist-" in ended.out
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    shown = local("list").out
    assert re.search(r"^ *mnist .* in the cache *$", shown, re.MULTILINE)
    assert f"in the cache: {folder}, 0.7 MB" in shown
    listed = local("list", "--json").json["mnist"]
    assert listed | {"what": ""} == {"what": "", "where": "cache", "path": str(folder), "bytes": 700_006}
    assert "was there" in local("fetch", "mnist").out


def test_fetching_as_json_prints_one_object_and_nothing_else(local: Callable[..., Finished], tmp_path: Path) -> None:
    expected = [{"file": f"here/{name}", "bytes": len(content), "fetched": True} for name, content in FILES.items()]
    ended = local("fetch", "mnist", "--to", "here", "--json")
    assert ended.json == {"data": "mnist", "folder": "here", "files": expected}
    (tmp_path / "here" / "labels.gz").unlink()
    again = json.loads(local("fetch", "mnist", "--to", "here", "--json").out)
    assert [file["fetched"] for file in again["files"]] == [False, True]


def test_a_file_that_is_not_the_published_one_is_told(local: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "served" / "labels.gz").write_bytes(b"slebal")
    check_refused(local("fetch", "mnist", "--to", "here"), "labels.gz", hashlib.sha256(b"slebal").hexdigest())
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["train.gz"]


@pytest.mark.parametrize("recipe", ["mnist-mlp", "fashion-mnist-lenet", "cifar10-lenet", "cifar100-lenet"])
def test_training_without_the_data_says_how_to_get_them(tmp_path: Path, recipe: str) -> None:
    env = environment(GRADLAB_CACHE=str(tmp_path / "cache"))
    name = recipe.rpartition("-")[0]
    check_refused(gradlab("train", recipe, cwd=tmp_path, env=env), f"gradlab data fetch {name}`", "--data FOLDER")
    assert list(tmp_path.iterdir()) == []


def write_mnist(folder: Path) -> None:
    for part, count in (("train", 40), ("t10k", 10)):
        labels = np.arange(count) % 10
        images = np.random.default_rng(count).integers(0, 256, (count, 28, 28))
        for name, values in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
            header = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
            (folder / name).write_bytes(header + values.astype(np.uint8).tobytes())


def write_cifar10(folder: Path) -> None:
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        records = np.random.default_rng(0).integers(0, 256, (10, 3073)).astype(np.uint8)
        records[:, 0] = np.arange(10)
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    (folder / "batches.meta.txt").write_text(
        "airplane automobile bird cat deer dog frog horse ship truck".replace(" ", "\n")
    )


@pytest.mark.parametrize(("recipe", "write"), [("mnist-lenet", write_mnist), ("cifar10-lenet", write_cifar10)])
def test_a_run_finds_its_data_in_the_cache(tmp_path: Path, recipe: str, write: Callable[[Path], None]) -> None:
    folder = tmp_path / "cache" / "datasets" / recipe.removesuffix("-lenet")
    folder.mkdir(parents=True)
    write(folder)
    env = environment(GRADLAB_CACHE=str(tmp_path / "cache"))
    trained = gradlab("train", recipe, "train.steps=2", "--out", "run", "--json", cwd=tmp_path, env=env)
    assert trained.code == 0, trained.err
    assert "path" not in (tmp_path / "run" / "recipe.toml").read_text()
    figures = gradlab("evaluate", "run", "--json", cwd=tmp_path, env=env).json
    assert figures["loss"] == trained.json["test"]["loss"]


def test_a_terminal_shows_a_bar_for_each_file() -> None:
    from gradlab.cli.datasets import _shown

    screen = Console(file=io.StringIO(), force_terminal=True, width=80)
    with _shown(screen) as progress:
        for name in ("train-images-idx3-ubyte.gz", "labels.gz"):
            for done in (0, 500_000, 1_000_000):
                progress(name, done, 1_000_000)
    assert isinstance(screen.file, io.StringIO)
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.file.getvalue()).splitlines()[-2:]
    for name, line in zip(("train-images-idx3-ubyte.gz", "labels.gz"), last, strict=True):
        assert line.startswith(name)
        assert "━" in line
        assert "1.0/1.0 MB" in line
        assert len(line) <= 80


def test_a_pipe_shows_a_line_for_each_tenth_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    from gradlab.cli.datasets import _shown

    with _shown(Console(file=io.StringIO())) as progress:
        for done in range(1, 1001):
            progress("file.gz", done * 100_000, 100_000_000)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [f"file.gz: {tenth * 10}.0 MB of 100.0 MB" for tenth in range(1, 11)]
