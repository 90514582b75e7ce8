"""What the model of a generative run drew at moments of its training.

samples/step-NNNNNNNN.safetensors   the same samples after so many steps: `x` in raw units and, of a model that is told
                                    classes, `y`
samples/SHA256SUMS                  of these
"""

import re
from collections.abc import Sequence
from pathlib import Path

import torch

from gradlab.errors import TrainingError, notice
from gradlab.files import REMEDY, SUMS, Damaged, FolderSums, delete, write_errors
from gradlab.files.tensors import load_tensors, save_tensors
from gradlab.run.samples import Drawn


def write_samples(folder: Path, step: int, drawn: Drawn) -> None:
    """Keep what was drawn after so many steps."""
    advice = f"{REMEDY}, then: gradlab resume {folder.parent}"
    tensors = {"x": torch.from_numpy(drawn.x).float()}
    if drawn.y is not None:
        tensors["y"] = torch.from_numpy(drawn.y)
    sums = FolderSums(folder)
    if not (folder / SUMS).exists():
        with write_errors(folder, advice, TrainingError):
            folder.mkdir(exist_ok=True)
        sums.create([], advice, TrainingError)
    with sums.new_file(samples_file(folder, step).name, advice, TrainingError) as file:
        save_tensors(file, tensors)


def read_samples(folder: Path, shape: Sequence[int], classes: int = 0) -> dict[int, Drawn]:
    """By the number of the step, samples of this shape and of so many classes; damaged files are reported."""
    drawn = {}
    for step, path in sorted(_files(folder).items()):
        try:
            drawn[step] = _read(path, tuple(shape), classes)
        except Damaged as error:
            notice(f"{error.what} It is left out.")
    return drawn


def drop_samples(folder: Path, after: int) -> None:
    """Remove those of later steps."""
    late = [path for step, path in _files(folder).items() if step > after]
    for path in late:
        delete(path)
    if late:
        FolderSums(folder).remove(path.name for path in late)


def samples_file(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}.safetensors"


def _files(folder: Path) -> dict[int, Path]:
    matches = ((re.fullmatch(r"step-(\d{8,})\.safetensors", path.name), path) for path in folder.glob("step-*"))
    return {int(match[1]): path for match, path in matches if match}


def _read(path: Path, shape: tuple[int, ...], classes: int) -> Drawn:
    FolderSums(path.parent).check(path.name)
    tensors = load_tensors(path)
    x, y = tensors.get("x"), tensors.get("y")
    if x is None or not x.is_floating_point() or tuple(x.shape[1:]) != shape or not len(x):
        raise Damaged(path, f"it has no samples of shape {shape}")
    if y is not None and (y.shape != x.shape[:1] or y.dtype != torch.int64 or not ((y >= 0) & (y < classes)).all()):
        raise Damaged(path, f"its classes are not numbers of {classes}, one for each sample")
    return Drawn(x.double().numpy(), None if y is None else y.numpy())
