"""What would fail in a training, refused before it begins: for a run, before it has a folder."""

from dataclasses import replace
from typing import Any

import torch
from torch import nn

from gradlab import parallel
from gradlab.data import Batch, Examples, Stream
from gradlab.errors import GradlabError
from gradlab.nn.modes import evaluating
from gradlab.registry import shortly
from gradlab.tasks import Supervised, Task
from gradlab.tasks.evaluation import metrics_on
from gradlab.tasks.objective import check_apart, named
from gradlab.training.backward import sharded
from gradlab.training.plan import Plan
from gradlab.training.schedules import schedules
from gradlab.training.tensorboard import check_installed
from gradlab.wording import counted

_BF16_CAPABILITY, _FP8_CAPABILITY = (8, 0), (8, 9)


def check_plan(plan: Plan, model: nn.Module, steps: int, batch_sizes: list[int], validation: int) -> None:
    """Does the plan go with this model, so many steps of such batches, and so many examples to judge by?"""
    if any(sharded(module) for module in model.modules()):
        raise GradlabError(
            "The model is sharded by FSDP: each process has only a part of its parameters, and a training here needs "
            "all of them. Give the module itself; torchrun then shares the batches among processes."
        )
    if plan.log == "tensorboard":
        check_installed()
    if plan.searches and hasattr(model, "learn_without_gradients"):
        raise GradlabError(
            f"{type(model).__name__} learns without gradients: leave train.optimizer={plan.optimizer.name} out."
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
    if plan.searches:
        raise GradlabError(
            f"train.optimizer={plan.optimizer.name} searches in one process. Take another optimiser, or leave out "
            "torchrun."
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


def check_splits(task: Task, train: Any, **others: Any) -> None:
    """Is there something that the task can learn from, and do the other splits say how much they are?"""
    for name, split in others.items():
        if not hasattr(split, "__len__"):
            raise GradlabError(f"The {name} split, a {type(split).__name__}, has no length: give it `__len__`.")
    if isinstance(train, Examples):
        if not len(train):
            raise GradlabError("There is nothing to learn from: the training split has no examples.")
        batch = train.batch(slice(0, 1))
        if isinstance(task, Supervised) and not {"inputs", "targets"} <= set(batch):
            raise GradlabError(
                f"{type(task).__name__} learns from examples with inputs and targets, but these have "
                f"{', '.join(batch)}. Take a task of your own."
            )
    elif not isinstance(train, Stream):
        raise GradlabError(f"The training split must be Examples or a Stream, got {shortly(train)}.")
    else:
        _check_stream(train)


def _check_stream(stream: Stream) -> None:
    name = type(stream).__name__
    if type(stream).batches is Stream.batches:
        raise GradlabError(f"{name} gives no batches: write its method `batches`.")
    steps: Any = getattr(stream, "steps_per_epoch", None)
    if not isinstance(steps, int) or steps < 1:
        raise GradlabError(f"{name} does not say how many batches make an epoch: set its `steps_per_epoch`.")


def check_task(model: nn.Module, task: Task, batch: Batch) -> None:
    """Does a task of one's own give losses and figures that can be trained and judged by?"""
    if type(task).__module__.startswith("gradlab."):
        return  # its tests have seen to that
    losses = check_objectives(model, task, batch)
    figures = evaluation_figures(model, task, batch, losses)
    if figures and task.criterion.figure not in figures:
        raise GradlabError(
            f"The task judges weights by {task.criterion.figure!r}, but its evaluation gives {', '.join(figures)}."
        )


def evaluation_figures(model: nn.Module, task: Task, batch: Batch, losses: list[str]) -> list[str]:
    """What an evaluation gives; nothing where the task evaluates in another way."""
    with torch.random.fork_rng(), torch.no_grad(), evaluating(model):
        return _figures(model, task, batch, losses)


def _figures(model: nn.Module, task: Task, batch: Batch, losses: list[str]) -> list[str]:
    measured = [name for name, _ in metrics_on(task, model, batch)]
    if type(task).evaluate is Task.evaluate:
        for name in measured:
            if name in ("loss", *losses):
                raise GradlabError(f"A metric cannot be named {name!r}, which is the name of a loss.")
        return [*dict.fromkeys(["loss", *losses]), *measured]
    if isinstance(task, Supervised) and type(task).evaluate is Supervised.evaluate:
        output = task.forward(model, batch)
        named(task.loss(output, batch["targets"]), "loss")
        for metric in task.metrics.values():
            metric.sums(output, batch["targets"])
        return ["loss", *task.metrics, *measured]
    return []


def check_objectives(model: nn.Module, task: Task, batch: Batch) -> list[str]:
    """Does each objective give sums and counts, and do its losses, by these names, depend on what it should move?"""
    known: dict[str, Any] = {}
    with torch.random.fork_rng(), evaluating(model), torch.enable_grad():
        for name, objective in task.objectives().items():
            moved = [p for n, p in model.named_parameters() if p.requires_grad and objective.moved(n)]
            losses = named(objective.loss(model, batch), name)
            check_apart(losses, known)
            known |= losses
            for key, (total, count) in losses.items():
                if count < 0:
                    raise GradlabError(f"The loss {key!r} came with a count of {int(count)}: how many can that be?")
                if moved and not total.requires_grad:
                    raise GradlabError(
                        f"The loss {key!r} has no gradient: it does not depend on the parameters of the model. Was it "
                        "computed from detached tensors, or inside of torch.no_grad()?"
                    )
    return list(known)


def check_precision(plan: Plan, device: torch.device) -> None:
    """Can the device compute in the plan's precision, and is that any use?"""
    if plan.precision == "fp8" and not has_fp8(device):
        hardware = f"a {torch.cuda.get_device_name(device)}" if device.type == "cuda" else device.type
        raise GradlabError(
            "train.precision=fp8 needs a GPU that multiplies numbers of 8 bits (NVIDIA Ada, Hopper or newer); this run "
            f"is on {hardware}. Set train.precision=bf16, or leave it out."
        )
    if plan.precision in ("float32", "auto") or device.type == "cuda":
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


def settle_precision(plan: Plan, device: torch.device) -> Plan:
    """The plan with the precision that `auto` is on this device."""
    if plan.precision != "auto":
        return plan
    narrow = device.type == "cuda" and torch.cuda.get_device_capability(device) >= _BF16_CAPABILITY
    return replace(plan, precision="bf16" if narrow else "float32")


def has_fp8(device: torch.device) -> bool:
    """Whether the device multiplies numbers of 8 bits."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= _FP8_CAPABILITY
