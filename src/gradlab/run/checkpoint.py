"""A checkpoint on disk: tensors in safetensors, the rest in JSON, SHA-256 sums over all. Nothing is ever unpickled."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.files import check_sums, interpreting, json_text, read_json, write_folder, write_sums
from gradlab.files.formats import StateFile
from gradlab.files.packing import packed, unpacked
from gradlab.files.tensors import load_tensors, save_tensors

Weights = dict[str, Tensor]
_REQUIRED = {"model.safetensors", "optimizer.safetensors", "state.json"}


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that a training needs to go on as if it had never stopped.

    `best` holds the weights the run is judged by, where those are not the current ones: the best so far, or an average.
    `masks` say of pruned weights, by their names, which are kept: on disk only those are there.
    """

    step: int
    model: Weights
    optimizer: dict[str, Any]
    state: dict[str, Any]
    best: Weights | None = None
    masks: Weights = field(default_factory=dict)

    @property
    def chosen(self) -> Weights:
        """The weights to use."""
        return self.model if self.best is None else self.best

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"step-{self.step:08d}"

    @property
    def chosen_file(self) -> str:
        """Where the weights to use are, within the folder of checkpoints."""
        return f"{self.folder}/{'model' if self.best is None else 'best'}.safetensors"


def check_saveable(model: nn.Module) -> None:
    """Refuse weights and buffers that no checkpoint can hold."""
    for name, tensor in model.state_dict().items():
        if tensor.layout != torch.strided:
            raise GradlabError(
                f"{name} is sparse ({str(tensor.layout).removeprefix('torch.')}), which a checkpoint cannot hold. Make "
                "it part of the code: self.register_buffer(NAME, TENSOR, persistent=False)."
            )


def write(folder: Path, checkpoint: Checkpoint, **failing: Any) -> Path:
    """Write it into a folder of its own, `step-NNNNNNNN`."""
    return write_as(folder / checkpoint.folder, checkpoint, **failing)


def write_as(target: Path, checkpoint: Checkpoint, **failing: Any) -> Path:
    """Write a folder, whole or not at all, in place of one that is there; `failing` is the message for a full disk."""
    with write_folder(target, "replace", **failing) as folder:
        tensors, structure = flatten(checkpoint.optimizer)
        masks = checkpoint.masks
        files = {"model": (checkpoint.model, masks), "best": (checkpoint.best, masks)}
        for name, (content, kept) in {**files, "optimizer": (tensors, _masks_of(tensors, masks))}.items():
            if content is not None:
                save_tensors(folder / f"{name}.safetensors", packed(content, kept))
        _, state = flatten({"step": checkpoint.step, **checkpoint.state})
        (folder / "state.json").write_text(json_text({**state, "optimizer": structure}))
        write_sums(folder)
    return target


def read(path: Path) -> Checkpoint:
    """Read a checkpoint folder, every byte checked against its sums; a damaged file is named."""
    check_sums(path, _REQUIRED, ["best.safetensors"])
    state: dict[str, Any] = {**read_json(path / "state.json", StateFile)}
    structure, step = state.pop("optimizer"), state.pop("step")
    best, (tensors, _) = path / "best.safetensors", load_weights(path / "optimizer.safetensors")
    model, masks = load_weights(path / "model.safetensors")
    with interpreting(path / "state.json"):
        return Checkpoint(
            step=step,
            model=model,
            optimizer=unflatten(structure, tensors),
            state=unflatten(state, {}),
            best=load_weights(best)[0] if best.exists() else None,
            masks=masks,
        )


def load_weights(path: Path) -> tuple[Weights, Weights]:
    """Tensors by their names, and the masks of those that are pruned."""
    whole, masks = unpacked(load_tensors(path), path)
    # Copied out of the file's bytes, where tensors start anywhere: sums over memory that is aligned otherwise than a
    # fresh tensor's may be added in another order, and differ in the last bit.
    return {name: tensor.clone() for name, tensor in whole.items()}, masks


def _masks_of(tensors: Weights, masks: Weights) -> Weights:
    """The mask of each tensor that an optimiser keeps for a pruned weight, as `exp_avg.layers.0.weight` is."""
    ends = {f".{name}": mask for name, mask in sorted(masks.items(), key=lambda item: len(item[0]))}
    return {name: mask for end, mask in ends.items() for name in tensors if name.endswith(end)}


def steps(folder: Path) -> list[Path]:
    """The complete checkpoints of a run, newest first."""
    return sorted((path for path in folder.glob("step-*") if re.fullmatch(r"step-\d{8,}", path.name)), reverse=True)


def step_number(path: Path) -> int:
    """The step of a checkpoint, by the name of its folder."""
    return int(path.name.removeprefix("step-"))


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

    >>> tensors, structure = flatten({"step": 3, "avg": {"w": torch.ones(2)}, "old": [torch.zeros(1), math.inf]})
    >>> sorted(tensors), structure["avg"], structure["old"]
    (['avg.w', 'old.0'], {'w': {'$tensor': 'avg.w'}}, [{'$tensor': 'old.0'}, {'$number': 'inf'}])
    """
    if isinstance(nested, Tensor):
        return {path: nested}, {"$tensor": path}
    if isinstance(nested, dict):
        parts = {str(k): flatten(v, f"{path}.{k}" if path else str(k)) for k, v in nested.items()}
        return {n: t for flat, _ in parts.values() for n, t in flat.items()}, {k: s for k, (_, s) in parts.items()}
    if isinstance(nested, (list, tuple)):
        items = [flatten(v, f"{path}.{i}") for i, v in enumerate(nested)]
        return {n: t for flat, _ in items for n, t in flat.items()}, [s for _, s in items]
    if isinstance(nested, float) and not math.isfinite(nested):  # which JSON has no word for
        return {}, {"$number": str(nested)}
    return {}, nested


def unflatten(structure: Any, tensors: Weights) -> Any:
    """The inverse of `flatten`, except that keys are text and tuples are lists."""
    if isinstance(structure, dict):
        if set(structure) == {"$tensor"}:
            return tensors[structure["$tensor"]]
        if set(structure) == {"$number"}:
            return float(structure["$number"])
        return {k: unflatten(v, tensors) for k, v in structure.items()}
    if isinstance(structure, list):
        return [unflatten(v, tensors) for v in structure]
    return structure


def copy_tensors(nested: Any, place: torch.device | str = "cpu") -> Any:
    """The same nesting with every tensor copied to a device, apart from the live one."""
    if isinstance(nested, Tensor):
        return nested.detach().to(place, copy=True)
    if isinstance(nested, dict):
        return {k: copy_tensors(v, place) for k, v in nested.items()}
    if isinstance(nested, (list, tuple)):
        return [copy_tensors(v, place) for v in nested]
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
    if "cpu" not in states:
        raise ValueError("It has no state of the random numbers of the CPU.")
    setters: dict[str, Callable[[Tensor], None]] = {
        "cpu": torch.set_rng_state,
        "cuda": lambda s: torch.cuda.set_rng_state(s, device),
        "mps": torch.mps.set_rng_state,
    }
    for name, state in states.items():
        setters[name](torch.frombuffer(bytearray.fromhex(state), dtype=torch.uint8))
