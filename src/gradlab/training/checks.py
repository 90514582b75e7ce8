"""What would fail in a training, refused before it begins: for a run, before it has a folder."""

import torch
from torch import nn

from gradlab.data import Examples
from gradlab.data.text.windows import Windows
from gradlab.errors import GradlabError
from gradlab.models import NGram
from gradlab.tasks import Language, Task
from gradlab.tasks.evaluation import inference
from gradlab.training.carry import state_cache
from gradlab.training.plan import Plan
from gradlab.training.schedules import schedules


def check_plan(plan: Plan, model: nn.Module, examples: int, validation: int) -> None:
    """Does the plan go with this model and so many examples to train on and to judge by?"""
    if isinstance(model, NGram) and plan.total_steps(examples) > 1:
        raise GradlabError("The model ngram learns in one step, which counts all of the text. Set train.steps=1.")
    schedules.build(plan.schedule, plan.total_steps(examples))
    if plan.schedule.name == "plateau" and not validation:
        raise GradlabError(
            "train.schedule=plateau follows the validation loss, but there is no validation split. "
            "Set some examples apart for it, or take another schedule, such as cosine."
        )
    least = min(plan.batch_sizes(examples)) // plan.accumulate
    if least <= 1 and any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in model.modules()):
        remedy = (
            "raise train.batch_size" if plan.accumulate == 1 else "raise train.batch_size or lower train.accumulate"
        )
        raise GradlabError(f"Batch normalisation cannot learn from one example at a time: {remedy}.")


def check_carry(plan: Plan, model: nn.Module, train: Examples) -> None:
    """With `carry`: is there a state, and a text to carry it along?"""
    if not plan.carry:
        return
    if not isinstance(train.inputs, Windows):
        raise GradlabError(
            "train.carry=true is for a text that is read in order, to predict the next token (task=language); these "
            "examples stand alone. Set train.carry=false."
        )
    state_cache(model)
    if plan.accumulate > 1:
        raise GradlabError(
            f"train.accumulate={plan.accumulate} does not go with train.carry: the parts of a batch would each need "
            "their rows of the state. Lower train.batch_size instead, or leave one of them out."
        )
    if plan.batch_size == "full" or plan.batch_size >= len(train):
        raise GradlabError(
            f"train.carry=true cuts the text into train.batch_size={plan.batch_size} strips, and {len(train):,} "
            "windows do not make so many. Lower it, or set train.carry=false."
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


def check_causal(model: nn.Module, task: Task, train: Examples) -> None:
    """What a language model says of a token must not depend on it, nor on those after it."""
    if not isinstance(task, Language) or train.inputs.shape[1] < 2:
        return
    tokens = train.inputs[:1]
    other = tokens.clone()
    other[:, -1] = (other[:, -1] + 1) % task.outputs
    with inference(model):
        logits, changed = (model(x)[:, :-1] for x in (tokens, other))
    if not torch.allclose(logits, changed, atol=1e-4 * float(logits.abs().max())):
        raise GradlabError(
            f"{type(model).__name__} sees the tokens that it should predict: changing the last one changes what it "
            "says before. task=language is for models that read from left to right; use task=masked."
        )
