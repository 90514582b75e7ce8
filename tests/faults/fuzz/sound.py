"""Sound things that the families damage: files, a run of each kind of data, their cache, saved models, studies."""

import csv
import json
import random
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from attempt import SHORT, Attempt
from PIL import Image
from running import isolated, run_attempt

_TINY_GPT = ("model.layers=1", "model.dim=8", "model.heads=1", "data.context=8", "train.schedule.warmup=0")
_TINY_PAIRS = ("model.dim=8", "model.heads=2", "model.layers=1", "model.hidden=8", "data.tokenizer=word")
_TINY_CAPTIONS = ("model=caption-rnn", "model.trunk.widths=4,4", "model.trunk.convolutions=1", "model.dim=8",
                  "model.hidden=8", "train.schedule=constant")  # fmt: skip
_SALES = ("data.time=day", "data.target=sold", "data.horizon=3", "data.series=store", "model.hidden=4")
TRAININGS: dict[str, tuple[str, ...]] = {  # recipe, file or folder of its data, knobs
    "table": ("csv", "table.csv", "data.target=y"),
    "pictures": ("images", "pictures"),
    "text": ("text-gpt", "text.txt", *_TINY_GPT),
    "graph": ("graph", "graph/nodes.csv", "data.edges=graph/edges.csv", "data.target=group", "model.hidden=4"),
    "pairs": ("translate", "pairs.tsv", *_TINY_PAIRS),
    "series": ("forecast", "sales.csv", *_SALES),
    "captions": ("captions", "captions/captions.csv", *_TINY_CAPTIONS),
}
CACHED = ["table", "pictures", "text"]
"""Trainings whose data are converted into the cache."""
STUDIES = {
    "sweep": ("sweep", "iris-softmax", "train.lr=0.01:1:log", "train.weight_decay=0,0.1", "--trials=2", *SHORT),
    "seeds": ("train", "iris-softmax", "--seeds=2", *SHORT),
    "folds": ("train", "iris-softmax", "--folds=2", *SHORT),
    "vary": ("train", "iris-softmax", "--vary=train.weight_decay=0,0.1", *SHORT),
}
GENERATORS = {
    "vae": ("digits-vae", "model.hidden=8", "model.latent=2", "data.limit=50"),
    "mixture": ("moons-mixture", "data.examples=60"),
    "flow": ("moons-flow", "data.examples=60", "model.dim=8", "model.layers=1"),
}


def training(kind: str, home: Path) -> tuple[str, ...]:
    """Arguments of a short training on sound data."""
    recipe, data, *knobs = TRAININGS[kind]
    return ("train", recipe, f"--data={home / data}", *(knob.replace("=graph/", f"={home}/graph/") for knob in knobs),
            *SHORT)  # fmt: skip


def prepare(home: Path, families: Iterable[str]) -> None:
    """Make what these families need, once."""
    for name in ["files", *(name for family in families for name in NEEDS.get(family, ()))]:
        _make(home, name)


@cache
def _make(home: Path, name: str) -> None:
    with isolated(home, home / "cache"):
        if name in TRAININGS:
            _run(*training(name, home), f"--out={home / f'{name}-run'}")
        elif name in GENERATORS:
            _run("train", *GENERATORS[name], *SHORT, f"--out={home / f'{name}-run'}")
        elif name in STUDIES:
            _run(*STUDIES[name], f"--out={home / f'{name}-study' / 'study'}")
        else:
            _MAKERS[name](home)


def _run(*arguments: str) -> None:
    code, _, errors = run_attempt(Attempt("sound", arguments))
    assert code == 0, (arguments, errors)


def _write_files(home: Path) -> None:
    rng = random.Random(0)
    _write_rows(
        home / "table.csv",
        [["a", "b", "c", "y"]]
        + [[rng.gauss(0, 1), rng.choice("uvw"), rng.randrange(9), rng.choice(["yes", "no"])] for _ in range(40)],
    )
    for color in ("blue", "red"):
        _write_images(home / "pictures" / color, 6)
    (home / "text.txt").write_text("The quick brown fox jumps over the lazy dog.\n" * 40)
    words = ["red", "blue", "green", "cat", "dog", "bird"]
    pairs = [" ".join(rng.choices(words, k=rng.randrange(1, 4))) for _ in range(40)]
    (home / "pairs.tsv").write_text("".join(f"{pair}\t{pair.upper()}\n" for pair in pairs))
    start = date(2025, 1, 1)
    days = [start + timedelta(days=i) for i in range(60)]
    _write_rows(
        home / "sales.csv",
        [["day", "store", "sold"], *([day, store, rng.gauss(9, 1)] for day in days for store in ("north", "south"))],
    )
    _write_rows(
        home / "graph" / "nodes.csv",
        [["name", "group", "x"], *([f"n{i}", "ab"[i % 2], rng.gauss(i % 2, 1)] for i in range(30))],
    )
    edges = [[f"n{i}", f"n{(i + step) % 30}"] for i in range(30) for step in (2, 4)]
    _write_rows(home / "graph" / "edges.csv", [["from", "to"], *edges])
    _write_images(home / "captions", 12)
    lines = [[f"{i}.png", f"a {words[i % 3]} {words[3 + i % 2]}"] for i in range(12)]
    _write_rows(home / "captions" / "captions.csv", [["file", "caption"], *lines])


def _write_rows(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def _write_images(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for i in range(count):
        pixels = np.random.default_rng(i).integers(0, 255, (12, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{i}.png")


def _save_estimator(home: Path) -> None:
    import gradlab as gl

    x, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3
    gl.Classifier(hidden=(4,), epochs=1, random_state=0).fit(x, y).save(home / "estimator")


def _save_pretrained(home: Path) -> None:
    import gradlab as gl

    gl.save_pretrained(gl.load_run(home / "text-run"), home / "pretrained")


def _save_models(home: Path) -> None:
    """One model of each architecture that can be written, with a tokenizer; weights of some lie in several files."""
    import gradlab as gl
    from gradlab.data import Tokenizer
    from gradlab.models import MaskedLanguageModel, TextClassifier, TransformerEncoder, TransformerLanguageModel
    from gradlab.models.language.presets import GPT2, LLAMA
    from gradlab.models.seq2seq import transformer_seq2seq
    from gradlab.models.seq2seq.presets import MARIAN, RELU, T5
    from gradlab.specs import Pair, Tokens

    sizes: dict[str, Any] = {"dim": 8, "layers": 1, "heads": 2}
    pair = Pair(Tokens(16, 40), Tokens(16, 40), shared=True)
    models = {
        "gpt2": TransformerLanguageModel(40, 16, **sizes, **GPT2),
        "llama": TransformerLanguageModel(40, 16, **sizes, **LLAMA),
        "bert": MaskedLanguageModel(TransformerEncoder(40, 16, **sizes)),
        "classifier": TextClassifier(TransformerEncoder(40, 16, **sizes, types=2), 2),
        "marian": transformer_seq2seq(pair, **sizes, hidden=8, **MARIAN, padding=0, start=1, end=2),
        "t5": transformer_seq2seq(pair, **sizes, hidden=8, **T5, **RELU, start=1),
    }
    tokenizer = Tokenizer.train("char", ["the cat sat on the mat and the dog sat on the log.\n"])
    for name, model in models.items():
        gl.save_pretrained(model, home / "models" / name, tokenizer=tokenizer)
        _split_weights(home / "models" / name, home / "models" / f"{name}-sharded")


def _split_weights(folder: Path, copy: Path) -> None:
    """The same model with its weights in two files and an index."""
    import shutil

    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, copy)
    tensors = load_file(copy / "model.safetensors")
    (copy / "model.safetensors").unlink()
    names = sorted(tensors)
    files = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(names)}
    for file in set(files.values()):
        save_file({name: tensors[name] for name in names if files[name] == file}, copy / file)
    (copy / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))


_MAKERS: dict[str, Callable[[Path], None]] = {
    "files": _write_files,
    "run": lambda home: _run("train", "iris-softmax", *SHORT, f"--out={home / 'run'}"),
    "estimator": _save_estimator,
    "pretrained": _save_pretrained,
    "models": _save_models,
}
NEEDS: dict[str, tuple[str, ...]] = {
    "commands": ("run",),
    "recipes": ("run",),
    "tables": ("table",),
    "runs": ("run",),
    "caches": tuple(CACHED),
    "estimators": ("estimator",),
    "pretrained": ("text", "pretrained"),
    "graphs": ("graph",),
    "pairs": ("pairs",),
    "series": ("series",),
    "captions": ("captions",),
    "foreign_models": ("models",),
    "generation": ("text", "pretrained", *GENERATORS),
    "studies": tuple(STUDIES),
}
"""What a family damages or uses, beyond files."""
