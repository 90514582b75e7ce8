"""The training plan: everything about how a model is trained that a user may set."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import StringConstraints

from gradlab.errors import GradlabError
from gradlab.registry import Count, Fraction, NonNegative, Part, Positive, Schema, Seed
from gradlab.training.optimizers import SEARCHING, optimizers
from gradlab.training.schedules import schedules

Share = Annotated[float, Gt(0), Lt(1)]
Sum = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Threads = Annotated[int, Ge(1), Le(256)]  # each is started, whether there is a core for it or not

_AUTO_BATCH = 32, 512
_AUTO_EPOCHS, _AUTO_STEPS = (8, 100), 2500
_LOG_POINTS = 100  # at most so many log lines, for a run of any length


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Its fields are the keys of `[train]` in a recipe."""

    epochs: Annotated[Count | Literal["auto"], "passes over the training split; auto: by its size"] = 20
    steps: Annotated[Count | None, "updates; instead of epochs"] = None
    batch_size: Annotated[
        Count | Literal["full", "auto"], "examples per update; full: the whole split; auto: by its size"
    ] = 32
    optimizer: Annotated[Part, optimizers, "update rule"] = Part("adam")  # noqa: RUF009
    lr: Annotated[Positive, "learning rate"] = 1e-3
    schedule: Annotated[Part, schedules, "learning rate over the run"] = Part("constant")  # noqa: RUF009
    weight_decay: Annotated[NonNegative, "L2 penalty, or decoupled decay with adamw, lion and muon"] = 0.0
    l1: Annotated[NonNegative, "L1 penalty: sign(w) times this is added to the gradient"] = 0.0
    decay_all: Annotated[bool, "decay and penalise biases and normalisation gains too"] = False
    max_norm: Annotated[Positive | None, "longest vector of weights into a unit; longer ones are scaled back"] = None
    clip: Annotated[Positive | None, "largest gradient norm; longer gradients are shortened to it"] = None
    from_run: Annotated[str | None, "a run of a classifier, whose weights the model starts from: --from RUN"] = None
    from_sha256: Annotated[Sum | None, "of those weights; other ones are refused"] = None
    new_head: Annotated[bool | None, "draw the last layer anew; default if the run had other classes"] = None
    freeze: Annotated[
        list[str] | None,
        "parts that stay as they are, by the beginnings of their parameters' names; trunk: all but the last layer",
    ] = None
    thaw: Annotated[Fraction | None, "share of the run after which frozen parts learn too; default never"] = None
    thaw_lr: Annotated[Positive, "their learning rate from then on, as a multiple of lr"] = 0.1
    ema: Annotated[Share | None, "decay of a moving average of the weights, which is judged and kept instead"] = None
    accumulate: Annotated[Count, "parts a batch is run in, one after the other; memory falls, gradients add up"] = 1
    carry: Annotated[bool, "read a text in order, each window from the state of the last; gradients stop there"] = False
    patience: Annotated[Count | None, "stop after this many evaluations without a better validation loss"] = None
    keep: Annotated[Literal["best", "last"], "weights the run ends with: best by validation loss, or last"] = "best"
    evaluate_every: Annotated[Count | None, "steps between evaluations; default one epoch"] = None
    log_every: Annotated[Count | None, "steps between log lines; default 20, or a hundredth of a long run"] = None
    log: Annotated[Literal["none", "tensorboard"], "write the log for TensorBoard too, into the run folder"] = "none"
    checkpoint_every: Annotated[Count, "steps between checkpoints"] = 1000
    checkpoint_minutes: Annotated[Positive, "and the longest time between them; to the first, at most one"] = 5.0
    checkpoints: Annotated[Count, "newest checkpoints that are kept"] = 3
    precision: Annotated[
        Literal["float32", "bf16", "fp8", "auto"],
        "bf16: mixed precision, on CUDA and CPUs made for it; fp8: large linear maps in 8 bits too, on newer GPUs; "
        "auto: bf16 on GPUs that multiply in it, float32 elsewhere",
    ] = "float32"
    compile: Annotated[Literal["auto", "on", "off"], "compile or capture the step; auto: only where it pays"] = "auto"
    threads: Annotated[Threads | None, "CPU threads; default by the size of the products in a step"] = None
    sync_batch_norm: Annotated[bool, "batch statistics over all processes, where several train together"] = False
    deterministic: Annotated[bool, "bit-exact on CUDA too, at a price"] = False
    doctor: Annotated[bool, "report what is wrong with the training; on or off, it changes nothing in it"] = True
    seed: Annotated[Seed, "of weights, order and dropout"] = 0

    def __post_init__(self) -> None:
        if self.thaw is not None and not self.freeze:
            raise GradlabError(f"train.thaw={self.thaw:g} needs something frozen before: set train.freeze=trunk.")
        if self.searches:
            refused = {
                f"train.batch_size={self.batch_size}": self.batch_size != "full",
                f"train.precision={self.precision}": self.precision != "float32",
                "train.compile=on": self.compile == "on",
                f"train.clip={self.clip}": self.clip is not None,
                f"train.l1={self.l1}": self.l1 > 0,  # has a kink at 0
                f"train.max_norm={self.max_norm}": self.max_norm is not None,
                f"train.ema={self.ema}": self.ema is not None,
                f"train.accumulate={self.accumulate}": self.accumulate > 1,
                f"train.thaw={self.thaw}": self.thaw is not None,
            }
            for setting, bad in refused.items():
                if bad:
                    raise GradlabError(
                        f"{setting} does not go with {self.optimizer.name}, which searches along the exact gradient of "
                        "a smooth loss on the full batch. Set train.batch_size=full, and leave out the rest."
                    )

    @property
    def searches(self) -> bool:
        """Whether the optimiser evaluates the loss itself, and finds out how long its steps are."""
        return self.optimizer.name in SEARCHING

    def examples_per_step(self, examples: int) -> int:
        if self.batch_size == "auto":  # some 250 updates an epoch, in batches that are neither slow nor few
            least, most = _AUTO_BATCH
            fitting = 1 << round(math.log2(max(1, examples / 250)))
            return min(examples, max(least, min(most, fitting)))
        return examples if self.batch_size == "full" else min(self.batch_size, examples)

    def batch_sizes(self, examples: int) -> list[int]:
        """The batches of an epoch; a single example that is left over joins the batch before it.

        Alone, it would be the noisiest step of the epoch, and batch normalisation cannot learn from it at all. With
        `carry` every batch has a window of each strip: see `Windows.sequential`.
        """
        size = self.examples_per_step(examples)
        if self.carry:
            return [size] * ((examples - 1) // size)
        whole, rest = divmod(examples, size)
        if rest == 1 and size > 1:
            return [size] * (whole - 1) + [size + 1]
        return [size] * whole + [rest] * (rest > 0)

    def steps_per_epoch(self, examples: int) -> int:
        return len(self.batch_sizes(examples))

    def total_steps(self, steps_per_epoch: int) -> int:
        return self.steps or self.passes(steps_per_epoch) * steps_per_epoch

    def thaw_step(self, steps: int) -> int | None:
        """The first step of a run of this length in which frozen parts learn too; None if they never do."""
        return None if self.thaw is None else round(self.thaw * steps)

    def passes(self, steps_per_epoch: int) -> int:
        """Over the training split."""
        if self.epochs != "auto":
            return self.epochs
        fewest, most = _AUTO_EPOCHS
        return max(fewest, min(most, round(_AUTO_STEPS / steps_per_epoch)))

    def log_interval(self, total: int) -> int:
        # A line costs about as much as a small step: twenty steps lie between lines, unless the run is short.
        return self.log_every or max(math.ceil(total / _LOG_POINTS), min(20, math.ceil(total / 10)))

    def evaluation_interval(self, steps_per_epoch: int) -> int:
        return self.evaluate_every or steps_per_epoch


plan_schema = Schema(Plan)
