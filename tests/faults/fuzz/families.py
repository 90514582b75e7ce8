"""Families of malformed inputs. Each draws one from a seed, in a folder of its own, and says how it is tried."""

import json
import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from attempt import SHORT, Attempt, Family, argv, copy_damaged
from code_families import modules, scripts
from damage import TEXTS, broken_bytes, number, text, value
from dataset_families import captions, graphs, pairs, series
from environment_families import environments
from fit_families import fit
from model_families import foreign_models, generation
from PIL import Image
from sound import CACHED, training
from study_families import studies

from gradlab.files import FolderSums

COMMANDS = [
    "train", "resume", "sweep", "evaluate", "predict", "generate", "probe", "recipes", "runs", "compare", "explain",
    "data",
]  # fmt: skip
OPTIONS = [
    "--out", "--data", "--json", "--help", "--plain", "--folds", "--seeds", "--curve", "--vary", "--split", "--csv",
    "--max-tokens", "--prompt", "--temperature", "--top-k", "--device", "--code", "--jobs", "--trials", "--storage",
    "--set", "--report", "--layers", "--version", "-h",
]  # fmt: skip
WORDS = ["digits-mlp", "iris-softmax", "csv", "images", "text-gpt", "mlp", "attention", "norm.rms", "list", "show"]
KNOBS = [
    "train.lr", "train.steps", "train.epochs", "train.batch_size", "train.seed", "train.threads", "train.l1",
    "train.clip", "train.ema", "train.optimizer", "train.optimizer.momentum", "train.schedule",
    "train.schedule.warmup", "train.precision", "train.patience", "train.accumulate", "train.max_norm",
    "train.weight_decay", "train.log_every", "train.checkpoint_every", "train.keep", "model.hidden",
    "model.activation", "model.dropout", "model", "data.test", "data.validation", "data.folds", "data.fold", "task",
    "task.weights",
]  # fmt: skip


def commands(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Command lines of words that exist and words that do not. None of them trains for long."""
    words = [rng.choice(COMMANDS)] if rng.random() < 0.9 else []
    for _ in range(rng.randrange(5)):
        kind = rng.random()
        if kind < 0.4:
            words.append(rng.choice(OPTIONS))
        elif kind < 0.6:
            words.append(f"{rng.choice(KNOBS)}={value(rng)}")
        elif kind < 0.8:
            words.append(value(rng))
        else:
            words.append(rng.choice([*WORDS, str(home / "run"), str(home / "table.csv"), "missing"]))
    return Attempt("command line", argv([*words, *(SHORT if "train" in words[:1] else ())]))


def knobs(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A recipe with values that its knobs cannot have."""
    asked = [f"{rng.choice(KNOBS)}={value(rng)}" for _ in range(rng.choice([1, 1, 2]))]
    if rng.random() < 0.1:
        asked.append(f"{'.'.join(['train'] * rng.choice([3, 1000]))}=1")
    printed = ["--json"] if rng.random() < 0.3 else []
    return Attempt(
        "recipe", argv(["train", "iris-softmax", *SHORT, "train.optimizer=adam", *asked, "--out=r", *printed])
    )


def recipes(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A recipe in a file that is damaged."""
    content = (home / "run" / "recipe.toml").read_bytes()
    if rng.random() < 0.5:
        lines = content.decode().splitlines()
        at = rng.randrange(len(lines))
        key = lines[at].split("=")[0]
        lines[at] = rng.choice(
            [f"{key}= {number(rng)}", f'{key}= "{text(rng)}"', f"{key}= {'[' * 3000}", f"{text(rng)} = 1"]
        )
        content = "\n".join(lines).encode(errors="surrogatepass")
    else:
        content = broken_bytes(rng, content)
    (here / "recipe.toml").write_bytes(content)
    return Attempt("recipe.toml", ("train", "recipe.toml", *SHORT, "--out=r"))


def tables(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A CSV file that is damaged, to train on or to predict from."""
    rows = [line.split(",") for line in (home / "table.csv").read_text().splitlines()]
    kind = rng.randrange(6)
    if kind == 0:
        content = broken_bytes(rng, (home / "table.csv").read_bytes())
    else:
        for _ in range(rng.choice([1, 1, 5])):
            row = rows[rng.choice([0, rng.randrange(len(rows))])]
            row[rng.randrange(len(row))] = rng.choice([value(rng), f'"{text(rng)}"', "'"])
        if kind == 1:
            rows[rng.randrange(len(rows))] += ["1"] * rng.choice([1, 5000])
        if kind == 2:
            rows = rows[: rng.randrange(3)]
        lines = rng.choice(["\n", "\r\n", "\r"]).join(rng.choice([",", ",", ",", ";", "\t"]).join(row) for row in rows)
        content = lines.encode(rng.choice(["utf-8", "utf-8", "utf-16", "latin-1"]), errors="replace")
    path = here / rng.choice(["t.csv", "t.csv", "t\x1b[31m.csv", "t"])
    path.write_bytes(content)
    if rng.random() < 0.3:
        return Attempt("table to predict from", ("predict", str(home / "table-run"), str(path), "--csv"))
    return Attempt("table", ("train", "csv", f"--data={path}", "data.target=y", *SHORT, "--out=r"))


def arrays(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Arrays of any kind and shape, and archives that are damaged."""
    kinds = ["f2", "f4", "f8", "g", "i1", "i8", "u8", "c8", "b", "U3", "S3", "O", "M8[s]", ">f4"]
    shapes = [(), (0,), (12,), (12, 1), (12, 3), (12, 0), (0, 3), (12, 2, 2), (12, 1, 5, 5), (1, 3), (12, 1, 1, 1, 1)]

    def drawn(kind: str, shape: tuple[int, ...]) -> Any:
        numbers = np.array([rng.choice([0, 1, 2, 5]) for _ in range(int(np.prod(shape)))]).reshape(shape)
        array = numbers.astype(kind)
        if kind in ("f4", "f8", "g") and array.size and rng.random() < 0.4:
            array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 3e38, 1e-45])
        return array

    x = drawn(rng.choice(["f4", *kinds]), rng.choice([(12, 3), *shapes]))
    y = drawn(rng.choice(["i8", *kinds]), rng.choice([(12,), *shapes]))
    named = {"x": x, "y": y} if rng.random() < 0.9 else {rng.choice(["x", "y", "z", "a b"]): x}
    path = here / "a.npz"
    np.savez(path, allow_pickle=True, **named)
    if rng.random() < 0.3:
        path.write_bytes(broken_bytes(rng, path.read_bytes()))
    return Attempt(
        f"arrays {x.dtype} {x.shape}, {y.dtype} {y.shape}", ("train", "npz", f"--data={path}", *SHORT, "--out=r")
    )


def pictures(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Pictures of other sizes and modes, files that are none, and names that nobody expects."""
    shutil.copytree(home / "pictures", here / "p")
    files = sorted((here / "p").rglob("*.png"))
    for _ in range(rng.choice([1, 3])):
        file = rng.choice(files)
        kind = rng.randrange(5)
        if kind == 0:
            file.write_bytes(broken_bytes(rng, (home / "pictures").rglob("*.png").__next__().read_bytes()))
        elif kind == 1:
            mode = rng.choice(["1", "L", "P", "RGB", "RGBA", "CMYK", "I", "F"])
            Image.new(mode, rng.choice([(1, 1), (1, 300), (5, 5), (3000, 1)])).save(file, "TIFF")
        elif kind == 2 and file.exists():
            file.rename(file.with_name(rng.choice(["x\x1b[2J.png", "é.png", "x", ".png", "a" * 200 + ".png"])))
            files = sorted((here / "p").rglob("*.png")) or [file]
        elif kind == 3:
            (here / "p" / rng.choice(["empty", "nul\x0bl", "b\x9b"])).mkdir(exist_ok=True)
        else:
            file.unlink(missing_ok=True)
            file.symlink_to("nowhere")
    size = [f"data.size={number(rng)}"] if rng.random() < 0.3 else []
    return Attempt("pictures", argv(["train", "images", "--data=p", *SHORT, *size, "--out=r"]))


def texts(rng: random.Random, home: Path, here: Path) -> Attempt:
    """Texts that are short, empty, of other encodings, or none."""
    kind = rng.randrange(4)
    if kind == 0:
        content = broken_bytes(rng, b"The quick brown fox jumps over the lazy dog.\n" * 40)
    elif kind == 1:
        content = "".join(rng.choice(TEXTS) for _ in range(rng.choice([1, 60]))).encode(errors="surrogatepass")
    else:
        content = ("words and words\n" * rng.choice([0, 1, 60])).encode(rng.choice(["utf-8", "utf-16", "utf-32"]))
    (here / "t.txt").write_bytes(content)
    small = ("model.layers=1", "model.dim=8", "model.heads=1", f"data.context={rng.choice(['8', '1', number(rng)])}")
    tokens = (f"data.tokens={rng.choice(['bytes', 'chars', 'words', 'bpe', text(rng)])}",)
    return Attempt(
        "text",
        argv(["train", "text-gpt", "--data=t.txt", *small, *tokens, *SHORT, "train.schedule.warmup=0", "--out=r"]),
    )


def runs(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A run of which one file is damaged."""
    file = copy_damaged(rng, home / "run", here / "run")
    listed = file.parent == here / "run" and file.name not in ("SHA256SUMS", "metrics.jsonl") and file.is_file()
    if listed and not file.is_symlink() and rng.random() < 0.7:  # else it is refused unread
        FolderSums(file.parent).add([file.name])
    command = rng.choice(
        [["resume", "run"], ["evaluate", "run"], ["predict", "run", "1,2,3,4"], ["compare", "run", str(home / "run")],
         ["runs", "."], ["probe", "run", "--out=p.html"]]
    )  # fmt: skip
    if command[0] == "resume" and file.name != "result.json":
        (here / "run" / "result.json").unlink(missing_ok=True)
    printed = ["--json"] if command[0] in ("evaluate", "predict", "compare", "runs") and rng.random() < 0.5 else []
    return Attempt(f"{file.relative_to(here)} of a run", argv([*command, *printed]))


def caches(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A cache of which one file is damaged: the same result, or a message."""
    file = copy_damaged(rng, home / "cache", here / "cache")
    name = file.relative_to(here / "cache").parts[0]
    kind = rng.choice(CACHED)
    return Attempt(f"{name}/{file.name} of the cache", (*training(kind, home), "--out=r"), test=_sound(home, kind))


def estimators(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A saved estimator of which one file is damaged, or that is given strange arrays."""
    from gradlab.estimators import load_estimator

    file = copy_damaged(rng, home / "estimator", here / "estimator")
    return Attempt(f"{file.name} of an estimator", call=lambda: load_estimator(here / "estimator"))


def pretrained(rng: random.Random, home: Path, here: Path) -> Attempt:
    """A folder of Hugging Face of which one file is damaged."""
    file = copy_damaged(rng, home / "pretrained", here / "pretrained")
    return Attempt(f"{file.name} of a pretrained model", ("generate", "pretrained", "--prompt=The", "--max-tokens=2"))


@cache
def _sound(home: Path, kind: str) -> dict[str, float]:
    result: dict[str, float] = json.loads((home / f"{kind}-run" / "result.json").read_text())["test"]
    return result


FAMILIES: dict[str, Family] = {
    family.__name__: family
    for family in (
        commands, knobs, recipes, tables, arrays, pictures, texts, runs, caches, estimators, pretrained, graphs, pairs,
        series, captions, environments, fit, foreign_models, generation, studies, scripts, modules,
    )
}  # fmt: skip
SHARES = {"modules": 0.1}
"""Of a family whose inputs take longer, as each starts a process: how many there are for one of the others."""


def count_inputs(family: str, inputs: int) -> int:
    """How many inputs of a family are tried where each of the others has so many."""
    return max(1, round(inputs * SHARES.get(family, 1.0)))
