"""A family of studies whose folders are damaged, hold what others wrote, or keep their trials in strange storage."""

import random
import shutil
from pathlib import Path

from attempt import Attempt, argv, copy_damaged
from damage import broken_bytes, text
from sound import STUDIES

_STORAGES = [
    "sqlite:///s.db", "sqlite:///no/where.db", "sqlite:///", "sqlite://", "sqlite:///.", "", "nothing", "nothing://x",
    "mysql://u:p@localhost/x", "postgresql://u:p@localhost:1/x", "redis://localhost:1", "journal.log", "sqlite:///\x1b[31m",
    "sqlite:///s.db?mode=ro", "://", "http://localhost:1", "sqlite+nothing:///s.db",
]  # fmt: skip
_MORE = {  # the same study, to be continued
    "sweep": ("sweep", "iris-softmax", "train.lr=0.01:1:log", "train.weight_decay=0,0.1", "--trials=3"),
    "seeds": ("train", "iris-softmax", "--seeds=2"),
    "folds": ("train", "iris-softmax", "--folds=2"),
    "vary": ("train", "iris-softmax", "--vary=train.weight_decay=0,0.1"),
}


def studies(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A study that goes on in a folder that is damaged or not its own, or a search in storage of any kind."""
    kind = rng.choice(list(STUDIES))
    if rng.random() < 0.15:
        (here / "s.db").write_bytes(rng.choice([b"", b"SQLite format 3\x00", rng.randbytes(5000), b"text"]))
        storage = rng.choice([*_STORAGES, text(rng)])
        return Attempt(f"storage {storage!r}", argv([*STUDIES["sweep"], f"--storage={storage}", "--out=s"]))
    sound = home / f"{kind}-study"
    file = copy_damaged(rng, sound, here / "s", rng.choice(["*", "study.*", "study.*", "*.json", "recipe.toml"]))
    words = f"{file.relative_to(here)} of a study by {kind}"
    foreign = rng.random()
    if foreign < 0.15:
        words += f", {_put_foreign(rng, here / 's' / 'study')}"
    command = STUDIES[kind] if foreign < 0.3 else (*_MORE[kind], *STUDIES[kind][-3:])
    if rng.random() < 0.2:
        command = rng.choice(
            [("runs", "s"), ("runs", "s/study"), ("compare", "s/study", str(home / "run")), ("report", "s/study")]
        )
        return Attempt(words, argv(list(command)))
    return Attempt(words, argv([*command, "--out=s/study"]))


def _put_foreign(rng: random.Random, folder: Path) -> str:
    """Put what no study writes into its folder, and say what."""
    name = rng.choice(
        ["study.json", "study.db", ".search.lock", "trials", "trials/trial-0", "trials/trial-x", "report.html", "x"]
    )
    path = folder / name
    kind = rng.choice(["a folder", "bytes", "a link to itself"])
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    if kind == "a folder":
        path.mkdir()
    elif kind == "bytes":
        path.write_bytes(broken_bytes(rng, b"{}"))
    else:
        path.symlink_to(path.name)
    return f"{kind} as {name}"
