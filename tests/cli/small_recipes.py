"""Every recipe of the book at a size that trains in a second, on data that are written for it."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from gradlab.data import sources
from gradlab.data.public.cifar import CIFAR10, CIFAR100
from gradlab.models import models
from gradlab.recipe import Recipe
from gradlab.recipes import find
from gradlab.registry import Registry

EXAMPLES = Path(__file__).parents[2] / "examples"

# Of each knob that a recipe has, a size that is enough.
_DATA = {
    "examples": 80, "limit": 60, "steps": 2000, "tokenizer": "char", "context": 24, "count": 3, "rows": 400,
    "horizon": 4, "history": 24, "nodes": 120, "length": 8, "delay": 4,
}  # fmt: skip
_MODEL = {
    "dim": 16, "heads": 2, "layers": 1, "width": 8, "channels": 8, "discriminator": 8, "multiples": "1,2", "blocks": 1,
    "widths": "4,8", "latent": 4,
}  # fmt: skip
# Of a source, a model or a task, the values that it needs instead; None leaves the value of the recipe.
_SPECIAL: dict[str, dict[str, Any]] = {
    "blocks": {"data.labels": 4},
    "dates": {"data.context": None},
    "docstrings": {"data.tokenizer": None},
    "karate": {"data.limit": None},
    "pairs": {"data.context": None},
    "images": {"data.size": 16},
    "pictures": {"data.size": 16},
    "pydoc": {"data.limit": 20_000},
    "recall": {"data.tokenizer": None, "data.context": None, "data.limit": None},
    "copy": {"data.tokenizer": None, "data.context": None},
    "shapes": {"data.tokenizer": None, "data.context": None},
    "sine": {"data.examples": None},
    "stdlib": {"data.limit": 20_000},
    "pca": {"train.steps": 1},
    "ngram": {"train.steps": 1},
    "whitened-cnn": {"model.widths": "16,16,16"},
    "dqn": {"task.before": 64, "task.every": 32, "task.updates": 16},
}


def shrink(name: str, folder: Path) -> list[str]:
    """The values, as `key=value`, that make a recipe small; the data that it needs are written into the folder."""
    recipe = find(name, "cpu")
    values = {"train.steps": 2, "train.log_every": 1, **_sizes(recipe), **_data_values(recipe.data.name, folder)}
    for part in (recipe.data.name, recipe.model.name, recipe.task.name):
        values |= _SPECIAL.get(part, {})
    return [f"{key}={value}" for key, value in values.items() if value is not None]


def _sizes(recipe: Recipe) -> dict[str, Any]:
    parts = (("data", sources, recipe.data.name, _DATA), ("model", models, recipe.model.name, _MODEL))
    return {
        f"{where}.{knob}": value
        for where, registry, name, sizes in parts
        for knob, value in sizes.items()
        if knob in _knobs(registry, name)
    }


def _knobs(registry: Registry[Any], name: str) -> set[str]:
    return set(registry.schema(name).knobs)


def _data_values(source: str, folder: Path) -> dict[str, Any]:
    writer = _WRITERS.get(source)
    if writer is None:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    return writer(folder)


def _write_idx(folder: Path) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    for part, count in (("train", 60), ("t10k", 20)):
        for what, values in (
            ("images-idx3-ubyte", rng.integers(0, 256, (count, 28, 28))),
            ("labels-idx1-ubyte", np.arange(count) % 10),
        ):
            header = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
            (folder / f"{part}-{what}").write_bytes(header + values.astype(np.uint8).tobytes())
    return {"data.path": folder}


def _write_cifar(layout: Any) -> Callable[[Path], dict[str, Any]]:
    def write(folder: Path) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        for name in (*layout.train, layout.test):
            labels = [rng.integers(0, classes, (20, 1)) for classes in layout.names.values()]
            records = np.concatenate([*labels, rng.integers(0, 256, (20, 3072))], axis=1)
            (folder / name).write_bytes(records.astype(np.uint8).tobytes())
        for name, classes in layout.names.items():
            (folder / name).write_text("".join(f"class-{i}\n" for i in range(classes)))
        return {"data.path": folder}

    return write


def _write_images(folder: Path) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    for label in ("cat", "dog"):
        (folder / label).mkdir(exist_ok=True)
        for i in range(16):
            Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(folder / label / f"{i}.png")
    return {"data.path": folder}


def _write_captions(folder: Path) -> dict[str, Any]:
    _write_images(folder)
    rows = [[f"{label}/{i}.png", f"a {label} in a field"] for label in ("cat", "dog") for i in range(16)]
    return {"data.path": _write_csv(folder / "captions.csv", [["file", "caption"], *rows])}


def _write_arrays(folder: Path) -> dict[str, Any]:
    x = np.random.default_rng(0).normal(size=(60, 3))
    np.savez(folder / "data.npz", x=x, y=(x[:, 0] > 0).astype(int))
    return {"data.path": folder / "data.npz"}


def _write_table(folder: Path) -> dict[str, Any]:
    rows = [[i % 7, "abc"[i % 3], "yes" if i % 7 > 2 else "no"] for i in range(60)]
    path = _write_csv(folder / "table.csv", [["area", "district", "sold"], *rows])
    return {"data.path": path, "data.target": "sold"}


def _write_texts(folder: Path) -> dict[str, Any]:
    rows = [[f"a {'good' if i % 2 else 'bad'} film {i % 5}", "good" if i % 2 else "bad"] for i in range(60)]
    path = _write_csv(folder / "texts.csv", [["review", "verdict"], *rows])
    return {"data.path": path, "data.text": "review", "data.target": "verdict"}


def _write_text(folder: Path) -> dict[str, Any]:
    (folder / "text.txt").write_text("the cat sat on the mat and the dog sat on the log.\n" * 60)
    return {"data.path": folder / "text.txt", "data.limit": None}


def _write_csv(path: Path, rows: list[list[Any]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


_WRITERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "mnist": _write_idx,
    "fashion-mnist": _write_idx,
    "cifar10": _write_cifar(CIFAR10),
    "cifar100": _write_cifar(CIFAR100),
    "images": _write_images,
    "pictures": _write_images,
    "captions": _write_captions,
    "npz": _write_arrays,
    "csv": _write_table,
    "texts": _write_texts,
    "text": _write_text,
    "pairs": lambda folder: {"data.path": EXAMPLES / "phrases.tsv"},
    "series": lambda folder: {
        "data.path": EXAMPLES / "bikes.csv", "data.time": "day", "data.target": "hired", "data.series": "stand",
    },
    "graph": lambda folder: {
        "data.path": EXAMPLES / "club/nodes.csv", "data.edges": EXAMPLES / "club/edges.csv", "data.target": "followed",
    },
}  # fmt: skip

# Sources that say what is tested on, and those that always hold out examples to validate on too.
_OWN_TEST = ("mnist", "fashion-mnist", "cifar10", "cifar100", "karate", "blocks")
_HOLDING_BACK = ("environment", "sine")


def keep_nothing_back(name: str) -> list[str]:
    """The values by which a recipe keeps back as little as its data allow; empty where they need held-out examples."""
    source = find(name, "cpu").data.name
    if source in _HOLDING_BACK:
        return []
    return ["data.validation=0", *(["data.test=0"] if source not in _OWN_TEST else [])]
