"""A run or a study from a stranger may have links in it: nothing is written through them, whatever the command."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, contents

from gradlab.errors import GradlabError
from gradlab.studies.folder import StudyFolder

TINY = ["train.steps=6", "train.checkpoint_every=3", "train.log_every=1"]
GENERATIVE = [
    "train", "ring-gan", "data.examples=200", "model.hidden=8", "model.discriminator=8", "train.batch_size=32",
    "train.steps=100", "train.checkpoint_every=20", "train.log_every=10", "train.log=tensorboard",
]  # fmt: skip
STUDY = ["train", "moons-mlp", "data.examples=100", *TINY, "--seeds", "2", "--out", "study"]
RESUME, REPORT, PROBE = ["resume", "run"], ["report", "run"], ["probe", "run"]


@pytest.fixture(scope="module")
def generative(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with every kind of file and folder: samples, features, and a log for TensorBoard."""
    folder = tmp_path_factory.mktemp("generative")
    ended = quick(*GENERATIVE, "--out", "run", cwd=folder)
    assert ended.code == 0, ended.err
    assert {"samples", "features", "tensorboard", "checkpoints"} <= {path.name for path in (folder / "run").iterdir()}
    return folder / "run"


@pytest.fixture(scope="module")
def study(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    ended = quick(*STUDY, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "study"


def replace_by_link(place: Path, victim: Path) -> None:
    """Put a link in the place of a file or a folder; the victim has the same content, so that the link can be read."""
    victim.parent.mkdir()
    if place.exists():
        place.rename(victim)
    place.symlink_to(victim)


OUTPUTS = [
    *((name, RESUME) for name in ("metrics.jsonl", "result.json", "SHA256SUMS", "report.html", ".lock")),
    *((name, RESUME) for name in ("checkpoints", "samples", "features", "tensorboard", "checkpoints/step-00000080")),
    ("samples/step-00000000.safetensors", RESUME),
    ("report.html", REPORT),
    ("live.html", [*REPORT, "--watch"]),
    ("probe.html", PROBE),
    ("samples.png", ["generate", "run", "-n", "2"]),
]


DANGLING = [("metrics.jsonl", RESUME), ("checkpoints", RESUME), (".lock", RESUME), ("report.html", REPORT)]


@pytest.mark.parametrize(
    ("name", "command", "exists"), [*((*each, True) for each in OUTPUTS), *((*each, False) for each in DANGLING)]
)
def test_no_command_writes_through_a_link_in_a_run(
    quick: ForkServer, generative: Path, tmp_path: Path, name: str, command: list[str], exists: bool
) -> None:
    run, victim = Path(shutil.copytree(generative, tmp_path / "run")), tmp_path / "home" / "victim"
    if command == RESUME:
        (run / "result.json").unlink()
        shutil.rmtree(sorted((run / "checkpoints").iterdir())[-1])
    if not exists and (run / name).exists():
        shutil.rmtree(run / name) if (run / name).is_dir() else (run / name).unlink()
    replace_by_link(run / name, victim)
    if exists and not victim.exists():
        victim.write_text("precious")
    before = contents(victim.parent)
    ended = quick(*command, cwd=tmp_path)
    if "--watch" in command:
        assert ended.code == 2, ended.err  # it is not being trained
    else:
        check_refused(ended, f"run/{name} is a link", "Delete it")
    assert contents(victim.parent) == before


@pytest.mark.parametrize("name", ["study.json", "report.html", "seed-0/report.html", "seed-0/result.json"])
def test_a_study_does_not_write_through_a_link(quick: ForkServer, study: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(study, tmp_path / "study"))
    if not (copy / name).exists():
        pytest.fail(f"{name} is no file of {sorted(path.name for path in copy.iterdir())}")
    victim = tmp_path / "home" / "victim"
    replace_by_link(copy / name, victim)
    before = contents(victim.parent)
    check_refused(quick(*STUDY, cwd=tmp_path), f"study/{name} is a link")
    assert contents(victim.parent) == before


def test_a_run_with_links_can_be_read(quick: ForkServer, generative: Path, tmp_path: Path) -> None:
    """As where its large files lie on another disk."""
    run = Path(shutil.copytree(generative, tmp_path / "run"))
    replace_by_link(run / "checkpoints", tmp_path / "disk" / "checkpoints")
    ended = quick("evaluate", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err


@pytest.mark.parametrize("make", [lambda folder: "link/page.html", lambda folder: "page"], ids=["folder", "file"])
def test_an_output_that_the_user_names_may_be_a_link(
    quick: ForkServer, generative: Path, tmp_path: Path, make: Callable[[Path], str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "page").symlink_to("elsewhere/page.html")
    shutil.copytree(generative, tmp_path / "run")
    ended = quick("probe", "run", "--html", make(tmp_path), cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert (tmp_path / "elsewhere" / "page.html").stat().st_size > 1000
    assert (tmp_path / "page").is_symlink()


def test_a_run_below_a_linked_folder_is_trained_and_resumed(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "runs").symlink_to("disk")
    ended = quick("train", "moons-mlp", "data.examples=100", *TINY, "--out", "runs/a", cwd=tmp_path)
    assert ended.code == 0, ended.err
    (tmp_path / "disk" / "a" / "result.json").unlink()
    (tmp_path / "b").symlink_to("disk/a")
    assert quick("resume", "b", cwd=tmp_path).code == 0
    assert quick("report", "b", cwd=tmp_path).code == 0


def test_a_study_with_a_link_is_not_opened(tmp_path: Path) -> None:
    """Whatever it would write first: study.json, the database of a sweep, or a page."""
    StudyFolder.open(tmp_path / "study", {"study": "sweep"})
    (tmp_path / "study" / "study.db").symlink_to(tmp_path / "victim")
    with pytest.raises(GradlabError, match=r"study\.db is a link"):
        StudyFolder.open(tmp_path / "study", {"study": "sweep"})
    assert not (tmp_path / "victim").exists()
