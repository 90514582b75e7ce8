"""From a trained run to the pruned weights with which another one begins."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gradlab.data.hashing import key
from gradlab.errors import GradlabError, notice
from gradlab.run import Run
from gradlab.run.checkpoint import Weights, copy_tensors
from gradlab.run.folder import BRING_BACK
from gradlab.run.start import Start
from gradlab.training.experiment import Experiment, drawn_model
from gradlab.training.frozen import frozen_parts
from gradlab.training.magnitude import Masks, magnitude_masks
from gradlab.training.optimizers import Parameters
from gradlab.training.optimizers.matrices import matrices
from gradlab.training.plan import Plan
from gradlab.training.step import learns_without_gradients
from gradlab.wording import percent

Beginning = Literal["trained", "rewind", "reinit"]
"""Where kept weights begin: as they were trained, as they were before the first step, or drawn anew."""

_Convolution = nn.modules.conv._ConvNd
_ANEW = 1  # beside the seed of a run, makes that of other first weights


@dataclass(frozen=True, kw_only=True)
class Pruner:
    """A finished run, and what its weights can be pruned to."""

    run: Run
    experiment: Experiment
    """Of the recipe of the run, before the first step."""

    @classmethod
    def of(cls, run: Run, device: torch.device) -> "Pruner":
        """Refuses a run that cannot be pruned or trained again."""
        for change in run.check_code():
            notice(change)
        run.finished  # noqa: B018  (which says how to finish one that is not)
        experiment = Experiment.of(replace(run.recipe, data=run.source), device, start=run.start)
        if experiment.dataset.raw.fingerprint() != run.data["fingerprint"]:
            raise GradlabError(f"The data of {run.path} are not the ones it was trained on. {BRING_BACK}")
        if learns_without_gradients(experiment.model):
            raise GradlabError(
                f"{run.path} cannot be pruned: model={run.recipe.model.name} learns without gradients, and has no "
                "weights that could be trained again."
            )
        if not prunable(experiment.model, experiment.plan):
            raise GradlabError(f"{run.path} cannot be pruned: its model has no matrix or kernel that is trained.")
        return cls(run=run, experiment=experiment)

    def start(self, keep: float, beginning: Beginning = "trained", *, per_layer: bool = False) -> Start:
        """The weights after pruning to a share of all; what is pruned in the run already stays so."""
        if keep > self.share:
            raise GradlabError(
                f"{self.run.path} is pruned already, and has {percent(self.share)} of its weights: no more can be "
                "kept. --keep is a share of all weights, so take less than that."
            )
        trained = self.run.chosen_weights()
        names = prunable(self.experiment.model, self.experiment.plan)
        before = self.run.start.masks if self.run.start else {}
        masks = magnitude_masks({name: trained[name] for name in names}, keep, before, per_layer=per_layer)
        begin = {"trained": lambda: trained, "rewind": self.initial, "reinit": self.anew}[beginning]()
        return Start(
            weights=masked(begin, masks),
            masks=masks,
            pruning=described(masks, of=self.run, keep=keep, per_layer=per_layer, start=beginning),
        )

    def reinitialised(self) -> Start:
        """The masks of a run that is pruned, over weights that are drawn anew."""
        start = self.run.start
        assert start is not None, f"{self.run.path} is not pruned"
        weights = masked(self.anew(), start.masks)
        return Start(weights=weights, masks=start.masks, pruning={**start.pruning, "start": "reinit"})

    @property
    def share(self) -> float:
        """Of the weights that can be pruned, those that are left."""
        pruning = self.run.start.pruning if self.run.start else {"kept": 1, "weights": 1}
        return float(pruning["kept"] / pruning["weights"])

    def initial(self) -> Weights:
        """All weights of the run before its first step: as its recipe and seed draw them, or those it began with."""
        weights: Weights = copy_tensors(self.experiment.model.state_dict())
        return weights

    def anew(self) -> Weights:
        """Weights before a first step as the recipe would draw them with another seed."""
        e = self.experiment
        weights: Weights = copy_tensors(drawn_model(e.recipe, e.dataset, e.task, key(e.plan.seed, _ANEW)).state_dict())
        return weights


def prunable(model: nn.Module, plan: Plan | None = None) -> list[str]:
    """Names of what is pruned: matrices and kernels that are trained, and no biases, gains or tables of embeddings."""
    for_good = plan is not None and plan.thaw is None
    frozen = frozen_parts(model, plan) if plan is not None and for_good else lambda name: False
    parameters = Parameters(model, moved=lambda name: not frozen(name))
    maps = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear | _Convolution)}
    candidates = set(matrices(parameters))
    # The map to a single output is one row, as some gains are.
    return [
        n for n, p in parameters.by_name.items() if n in candidates or (id(p) in maps and max(p.shape) == p.numel())
    ]


def masked(weights: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> Weights:
    """m ⊙ w."""
    return {name: w.masked_fill(~masks[name], 0) if name in masks else w for name, w in weights.items()}


def described(masks: Masks, *, of: Run, keep: float, per_layer: bool, start: Beginning) -> dict[str, Any]:
    """What pruning.json holds."""
    layers = {name: [int(mask.sum()), mask.numel()] for name, mask in masks.items()}
    kept, weights = (sum(counts) for counts in zip(*layers.values(), strict=True))
    settings = {"of": str(of.path), "keep": keep, "by": "layer" if per_layer else "global", "start": start}
    return {**settings, "kept": kept, "weights": weights, "layers": layers}
