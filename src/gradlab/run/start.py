"""How a run begins whose recipe does not draw its first weights: with these, some of which may be pruned for good.

start/model.safetensors   the weights before the first step; of pruned ones mask and kept values (`files/packing.py`)
start/pruning.json        what they were pruned from, and how
start/SHA256SUMS          of both
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from gradlab.errors import GradlabError, one_line
from gradlab.files import check_sums, json_text, read_json, write_sums
from gradlab.files.formats import Pruning
from gradlab.files.packing import packed
from gradlab.files.tensors import save_tensors
from gradlab.run.checkpoint import Weights, load_weights

_MODEL, _PRUNING = "model.safetensors", "pruning.json"


@dataclass(frozen=True, kw_only=True)
class Start:
    """First weights of a run; `masks` say of pruned parameters, by their names, which weights are kept."""

    weights: Weights
    pruning: dict[str, Any]
    masks: Weights = field(default_factory=dict)

    def load_into(self, model: nn.Module) -> None:
        try:
            model.load_state_dict(self.weights)
        except RuntimeError as error:
            raise GradlabError(f"The first weights of the run do not fit its recipe. {one_line(error)}") from None

    def write(self, folder: Path) -> None:
        folder.mkdir()
        save_tensors(folder / _MODEL, packed(self.weights, self.masks))
        (folder / _PRUNING).write_text(json_text(self.pruning) + "\n")
        write_sums(folder)

    @classmethod
    def read(cls, folder: Path) -> "Start":
        check_sums(folder, {_MODEL, _PRUNING})
        weights, masks = load_weights(folder / _MODEL)
        return cls(weights=weights, masks=masks, pruning={**read_json(folder / _PRUNING, Pruning)})
