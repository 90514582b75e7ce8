"""A GPT trained at one context with one kind of attention, in a fresh process: a JSON line in, a JSON line out."""

import hashlib
import json
import os
import sys
from itertools import islice
from typing import Any

import torch

from gradlab.bench.device import device_name, versions
from gradlab.bench.laps import Clock, Laps
from gradlab.data import Batch, Dataset, load, sources
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.errors import is_out_of_memory
from gradlab.models.cost import parameter_count
from gradlab.models.language import TransformerLanguageModel
from gradlab.registry import Part
from gradlab.tasks import Language, evaluate
from gradlab.training import driver
from gradlab.training.environment import choose_threads
from gradlab.training.plan import Plan, plan_schema
from gradlab.wording import count

_SHAPE: dict[str, Any] = {"position": "rotary", "norm": "rms", "gated": True, "bias": False}  # that of stdlib-gpt
_PLAN: dict[str, Any] = {"optimizer": "adamw", "lr": 1e-3, "weight_decay": 0.1, "clip": 1.0, "keep": "last"}
_SCHEDULE = Part("cosine", {"warmup": "auto"})
_LONG = 10_000  # steps of the training that the default settings are chosen for


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    answers.write(json.dumps(train(**json.loads(sys.stdin.readline()))) + "\n")


def train(
    attention: str,
    context: int,
    tokens: int,
    steps: int,
    held_out: int,
    device: str,
    text: int | None,
    sizes: dict[str, int],
) -> dict[str, Any]:
    """So many steps of so many tokens each; the losses before, meanwhile and after."""
    place, batch = torch.device(device), tokens // context
    dataset = load(sources.resolve(Part("stdlib", {"context": context, "test": 0.0, "size": text}), "data"), "tokens")
    whole = len(dataset.train) // batch * batch  # a batch of fewer windows would be fewer tokens
    examples, unseen = dataset.train.sample(whole).to(place), _first(dataset, context, held_out).to(place)
    task = Language(dataset.targets)
    model = TransformerLanguageModel(task.outputs, context, attention=attention, **_SHAPE, **sizes).to(place)
    torch.manual_seed(0)
    model.reset_parameters()  # the same weights for all kinds, of which one draws features too
    precision = "bf16" if device == "cuda" else "float32"
    more = {"batch_size": batch, "precision": precision, "schedule": _SCHEDULE, "log_every": steps // 2}
    plan, long = (Plan(**plan_schema.resolve({**_PLAN, **more, "steps": many}, "bench")) for many in (steps, _LONG))
    try:
        trained = _trained(model, task, examples, unseen, plan, long)
    except Exception as failure:
        if not is_out_of_memory(failure):
            raise
        trained = {"row": None, "losses": None, "work": None}
    shape = f"{sizes['layers']} layers, {sizes['dim']} wide, {sizes['heads']} heads"
    what = f"{shape}, {count(parameter_count(model))} weights, {precision}"
    return {"about": {"device": device_name(place), "versions": versions(), "model": what}, **trained}


def _trained(
    model: TransformerLanguageModel,
    task: Language,
    examples: WindowExamples,
    unseen: WindowExamples,
    plan: Plan,
    long: Plan,
) -> dict[str, Any]:
    before = evaluate(model, task, unseen)["loss"]
    cost, steps = driver.example_cost(model, task, examples), driver.total_steps(examples, plan)
    threads = choose_threads(plan, driver.product_flops(cost, examples, plan))
    mode = driver.mode_of(model, examples, long, cost)
    if examples.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    clock = Clock(steps, examples.device)
    choices: dict[str, Any] = {"threads": threads, "mode": mode, "observers": [Laps(clock)]}
    with driver.training(model, task, examples, None, plan, **choices) as training:
        training.run()
        row = clock.row(plan.examples_per_step(len(examples)) * examples.inputs.shape[1])
        read = list(islice(training.stream.batches(0), steps))
    tokens, after = sum(batch["targets"].numel() for batch in read), evaluate(model, task, unseen)["loss"]
    return {
        "row": row,
        "losses": {"initial": before, "training": row.pop("losses")[-1], "validation": after},
        "work": {"batches": _digest(read), "tokens": tokens, "held_out": unseen.targets.shape.numel()},
    }


def _first(dataset: Dataset, context: int, held_out: int) -> WindowExamples:
    """The beginning of the validation text in windows: the same tokens whatever the context."""
    return WindowExamples.over(Windows(dataset.validation.inputs.tokens[: held_out + 1], context))


def _digest(batches: list[Batch]) -> str:
    every = hashlib.sha256()
    for batch in batches:
        for part in batch.values():
            every.update(part.cpu().numpy())
    return every.hexdigest()


if __name__ == "__main__":
    main()
