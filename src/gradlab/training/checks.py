"""What would fail in a training, refused before it begins: for a run, before it has a folder."""

from typing import Any

import torch
from torch import nn

from gradlab import parallel
from gradlab.data import Batch
from gradlab.errors import GradlabError
from gradlab.nn.modes import evaluating
from gradlab.tasks import Task
from gradlab.tasks.objective import check_apart, named
from gradlab.training.backward import sharded
from gradlab.training.plan import Plan
from gradlab.training.schedules import schedules
from gradlab.wording import counted


def check_plan(plan: Plan, model: nn.Module, steps: int, batch_sizes: list[int], validation: int) -> None:
    """Does the plan go with this model, so many steps of such batches, and so many examples to judge by?"""
    if any(sharded(module) for module in model.modules()):
        raise GradlabError(
            "The model is sharded by FSDP: each process has only a part of its parameters, and a training here needs "
            "all of them. Give the module itself; torchrun then shares the batches among processes."
        )
    most = getattr(model, "learning_steps", None)
    if most is not None and steps > most:
        raise GradlabError(
            f"{type(model).__name__} learns all there is in {counted(most, 'step')}. Set train.steps={most}."
        )
    if schedules.build(plan.schedule, steps).words and not validation:
        raise GradlabError(
            f"train.schedule={plan.schedule.name} follows the validation loss, but there is no validation split. "
            "Set some examples apart for it, or take another schedule, such as cosine."
        )
    processes = 1 if plan.sync_batch_norm else parallel.count()
    parts = plan.accumulate * processes
    if min(batch_sizes, default=2 * parts) // parts <= 1 and normalises(model):
        remedy = (
            "raise train.batch_size"
            + " or lower train.accumulate" * (plan.accumulate > 1)
            + " or set train.sync_batch_norm=true" * (processes > 1)
        )
        raise GradlabError(f"Batch normalisation cannot learn from one example at a time: {remedy}.")


def normalises(model: nn.Module) -> bool:
    """Whether examples of a batch have a say in each other's outputs."""
    return any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in model.modules())


def check_processes(plan: Plan, model: nn.Module, batch_sizes: list[int]) -> None:
    """Can so many processes share the batches?"""
    processes = parallel.count()
    if processes == 1:
        return
    if plan.optimizer.name == "lbfgs":
        raise GradlabError(
            "train.optimizer=lbfgs searches in one process. Take another optimiser, or leave out torchrun."
        )
    # Batch normalisation over all processes needs each of them in every part of every batch.
    over_all = plan.sync_batch_norm and normalises(model)
    parts = plan.accumulate if over_all else 1
    least = min(batch_sizes if over_all else batch_sizes[:1], default=processes * parts)
    if least < processes * parts:
        raise GradlabError(
            f"A batch of {counted(least, 'example')} cannot be shared by {processes} processes"
            + f" in {parts} parts each" * (parts > 1)
            + ": raise train.batch_size"
            + " or lower train.accumulate" * (parts > 1)
            + "."
        )


def check_objectives(model: nn.Module, task: Task, batch: Batch) -> None:
    """Does each objective give sums and counts, and does its loss depend on what it should move?"""
    seen: dict[str, Any] = {}
    with torch.random.fork_rng(), evaluating(model), torch.enable_grad():
        for name, objective in task.objectives().items():
            moved = [p for n, p in model.named_parameters() if p.requires_grad and objective.moved(n)]
            losses = named(objective.loss(model, batch), name)
            check_apart(losses, seen)
            seen |= losses
            for key, (total, _) in losses.items():
                if moved and not total.requires_grad:
                    raise GradlabError(
                        f"The loss {key!r} has no gradient: it does not depend on the parameters of the model. Was it "
                        "computed from detached tensors, or inside of torch.no_grad()?"
                    )


def check_precision(plan: Plan, device: torch.device) -> None:
    """Can the device compute in the plan's precision, and is that any use?"""
    if plan.precision == "float32" or device.type == "cuda":
        return
    if device.type != "cpu":
        raise GradlabError(f"train.precision=bf16 is for CUDA and for some CPUs; this run is on {device.type}.")
    # With instructions for it, `gradlab bench precision` showed wide layers at half to two thirds of float32's time and
    # small steps and convolutions that gain nothing; without, every step took twice as long.
    if not torch.cpu._is_avx512_bf16_supported():
        raise GradlabError(
            "train.precision=bf16 would be slower here than float32: this CPU has no bf16 instructions (avx512_bf16). "
            "Leave it out, or use --device cuda."
        )
