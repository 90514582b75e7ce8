"""A checkpoint on disk: tensors in safetensors, the rest in JSON, SHA-256 sums over all. Nothing is ever unpickled."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from gradlab.errors import GradlabError

Weights = dict[str, Tensor]
SUMS = "SHA256SUMS"
WRITE_ERRORS = (OSError, SafetensorError)
_REQUIRED = {"model.safetensors", "optimizer.safetensors", "state.json"}


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that a training needs to go on as if it had never stopped.

    `best` holds the weights the run is judged by, where those are not the current ones: the best so far, or an average.
    """

    step: int
    model: Weights
    optimizer: dict[str, Any]
    state: dict[str, Any]
    best: Weights | None = None

    @property
    def chosen(self) -> Weights:
        """The weights to use."""
        return self.model if self.best is None else self.best


def write(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write `folder/step-NNNNNNNN`."""
    return write_as(folder / f"step-{checkpoint.step:08d}", checkpoint)


def write_as(target: Path, checkpoint: Checkpoint) -> Path:
    """Write into a temporary folder, flushed, then renamed to the target: no half of it is ever seen."""
    temporary = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        tensors, structure = flatten(checkpoint.optimizer)
        files = {"model": checkpoint.model, "optimizer": tensors}
        if checkpoint.best is not None:
            files["best"] = checkpoint.best
        for name, content in files.items():
            save_file({k: v.contiguous() for k, v in content.items()}, temporary / f"{name}.safetensors")
        state = {"step": checkpoint.step, **checkpoint.state, "optimizer": structure}
        (temporary / "state.json").write_text(json.dumps(state, indent=1))
        for name in files:  # which are written readable to nobody else, whatever the user's umask allows
            shutil.copymode(temporary / "state.json", temporary / f"{name}.safetensors")
        sums = "".join(f"{_sha256(path)}  {path.name}\n" for path in sorted(temporary.iterdir()))
        (temporary / SUMS).write_text(sums)
        for path in temporary.iterdir():
            _flush(path)
        _flush(temporary)
        if target.exists():  # the same step again, after a resume from an older checkpoint
            remove(target)
        temporary.rename(target)
        _flush(target.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return target


def read(path: Path) -> Checkpoint:
    """Read a checkpoint folder, every byte checked against its sums; a damaged file is named."""
    check(path)
    try:
        state = json.loads((path / "state.json").read_text())
        structure, step = state.pop("optimizer"), state.pop("step")
        best = path / "best.safetensors"
        return Checkpoint(
            step=step,
            model=_load(path / "model.safetensors"),
            optimizer=unflatten(structure, _load(path / "optimizer.safetensors")),
            state=state,
            best=_load(best) if best.exists() else None,
        )
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise GradlabError(f"{path} is not a checkpoint of this version: {error}.") from None


def _load(path: Path) -> Weights:
    # Copied out of the file's bytes, where tensors start anywhere: sums over memory that is aligned otherwise than a
    # fresh tensor's may be added in another order, and differ in the last bit.
    return {name: tensor.clone() for name, tensor in load_file(path).items()}


def check(path: Path) -> None:
    """Compare every file with SHA256SUMS (which `sha256sum -c` reads too)."""
    try:
        lines = (path / SUMS).read_bytes().decode().removesuffix("\n").split("\n")  # as `sha256sum -c` reads it
    except (OSError, UnicodeDecodeError) as error:
        raise GradlabError(f"{path} is damaged: {SUMS} cannot be read ({error}).") from None
    sums = {name: expected for expected, _, name in (line.partition("  ") for line in lines)}
    if not _REQUIRED <= set(sums) <= _REQUIRED | {"best.safetensors"}:
        raise GradlabError(f"{path} is damaged: {SUMS} does not list its files.")
    if (path / "best.safetensors").exists() and "best.safetensors" not in sums:
        raise GradlabError(f"{path} is damaged: {SUMS} does not list best.safetensors.")
    for name, expected in sums.items():
        file = path / name
        if not file.is_file():
            raise GradlabError(f"{file} is missing, though {SUMS} lists it.")
        if _sha256(file) != expected:
            raise GradlabError(f"{file} is damaged: its SHA-256 is not the one in {SUMS}.")


def steps(folder: Path) -> list[Path]:
    """The complete checkpoints of a run, newest first."""
    return sorted((path for path in folder.glob("step-*") if re.fullmatch(r"step-\d{8,}", path.name)), reverse=True)


def remove(path: Path) -> None:
    """Delete a checkpoint: renamed first, so that a deletion cut short leaves no half of it under its name."""
    doomed = path.with_name(f".{path.name.lstrip('.')}-removed")
    path.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def newest_sound(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint without damage, and what is wrong with the newer ones."""
    complaints: list[str] = []
    for path in steps(folder):
        try:
            return read(path), complaints
        except GradlabError as error:
            complaints.append(str(error))
    return None, complaints


def flatten(nested: Any, path: str = "") -> tuple[Weights, Any]:
    """Nested dictionaries and lists with tensors in them, as flat tensors and a JSON structure that refers to them.

    >>> tensors, structure = flatten({"step": 3, "avg": {"w": torch.ones(2)}, "old": [torch.zeros(1)]})
    >>> sorted(tensors), structure
    (['avg.w', 'old.0'], {'step': 3, 'avg': {'w': {'$tensor': 'avg.w'}}, 'old': [{'$tensor': 'old.0'}]})
    """
    if isinstance(nested, Tensor):
        return {path: nested}, {"$tensor": path}
    if isinstance(nested, dict):
        parts = {str(k): flatten(v, f"{path}.{k}" if path else str(k)) for k, v in nested.items()}
        return {n: t for found, _ in parts.values() for n, t in found.items()}, {k: s for k, (_, s) in parts.items()}
    if isinstance(nested, (list, tuple)):
        items = [flatten(v, f"{path}.{i}") for i, v in enumerate(nested)]
        return {n: t for found, _ in items for n, t in found.items()}, [s for _, s in items]
    return {}, nested


def unflatten(structure: Any, tensors: Weights) -> Any:
    """The inverse of `flatten`, except that keys are text and tuples are lists."""
    if isinstance(structure, dict):
        if set(structure) == {"$tensor"}:
            return tensors[structure["$tensor"]]
        return {k: unflatten(v, tensors) for k, v in structure.items()}
    if isinstance(structure, list):
        return [unflatten(v, tensors) for v in structure]
    return structure


def copied(nested: Any) -> Any:
    """The same nesting with every tensor copied to the CPU, apart from the live one."""
    if isinstance(nested, Tensor):
        return nested.detach().to("cpu", copy=True)
    if isinstance(nested, dict):
        return {k: copied(v) for k, v in nested.items()}
    if isinstance(nested, (list, tuple)):
        return [copied(v) for v in nested]
    return nested


def rng_state(device: torch.device) -> dict[str, str]:
    """The states of torch's generators, as text."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    if device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return {name: bytes(state.numpy()).hex() for name, state in states.items()}


def set_rng_state(states: dict[str, str], device: torch.device) -> None:
    setters: dict[str, Callable[[Tensor], None]] = {
        "cpu": torch.set_rng_state,
        "cuda": lambda s: torch.cuda.set_rng_state(s, device),
        "mps": torch.mps.set_rng_state,
    }
    for name, state in states.items():
        setters[name](torch.frombuffer(bytearray.fromhex(state), dtype=torch.uint8))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
