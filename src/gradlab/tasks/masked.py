"""Masked language modelling: tokens that were hidden, from what stands on both sides of them."""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.data import Batch, Examples, Targets, Wants
from gradlab.data.text.masking import UNASKED
from gradlab.errors import GradlabError
from gradlab.models.ngram import NGram
from gradlab.tasks.counted import ngram_baselines, token_entropy, tokens_of
from gradlab.tasks.metrics import Metric, perplexity
from gradlab.tasks.objective import Loss
from gradlab.tasks.task import Supervised, tasks

Logits = Float[Tensor, "batch length tokens"]
Chosen = Int64[Tensor, "batch length"]


@tasks.register("masked")
@dataclass(eq=False)
class MaskedLanguage(Supervised):
    r"""The tokens at the chosen places C of a window, by cross-entropy, from the window in which they were hidden.

    $$ \ell = -\frac{1}{|C|} \sum_{t \in C} \log P(x_t \mid \tilde x_1, \dots, \tilde x_T) $$

    The loss is in nats for each chosen token, and `masked_perplexity` is its exponential. Neither can be compared with
    those of a language model, which sees one side only and is asked at every place.
    """

    targets: Targets
    _: KW_ONLY

    wants: ClassVar[Wants] = "masked"
    sections: ClassVar[tuple[str, ...]] = ("filled in",)
    use: ClassVar[str] = ""
    instead: ClassVar[str] = "is a model that fills in hidden tokens: its report.html shows some."

    def __post_init__(self) -> None:
        if not self.targets.masked:
            raise GradlabError("Masked language modelling needs text. Use data=text, or another task.")
        self.outputs = self.targets.tokens
        self.metrics: Mapping[str, Metric] = {
            "masked_perplexity": Metric(_sums, lambda total: perplexity(float(total[0] / total[2])), False),
            "accuracy": Metric(_sums, lambda total: float(total[1] / total[2]), True),
        }

    def loss(self, output: Logits, target: Chosen, weight: Float[Tensor, " batch"] | None = None) -> Loss:
        # Where the chosen places are is asked for in a shape that is known, which does not wait for the device; at the
        # others a softmax over the vocabulary would be for nothing.
        count = len(target) * self.targets.masked
        chosen = torch.nonzero_static(target.flatten() != UNASKED, size=count).squeeze(1)
        logits, tokens = output.flatten(0, 1).index_select(0, chosen), target.flatten().index_select(0, chosen)
        if weight is None:
            return F.cross_entropy(logits, tokens, reduction="sum"), count
        each = F.cross_entropy(logits, tokens, reduction="none")
        return weight @ each.view(len(target), -1).sum(1), count

    def expected_initial_loss(self) -> tuple[float, str]:
        return math.log(self.outputs), f"log {self.outputs:,} tokens"

    def baselines(self, train: Examples, model: nn.Module) -> dict[str, NGram]:
        """All tokens alike, and how often each is in the training text."""
        return ngram_baselines(tokens_of(train), self.outputs, order=1)

    def output_shape(self, batch: Batch) -> tuple[int, ...]:
        """Of a text, some models answer at each token, and others once: both take the same inputs."""
        return (*batch["inputs"].shape[1:], self.outputs)

    def constant_loss(self, train: Examples, model: nn.Module, some: Examples) -> float:
        return token_entropy(train)

    def decode(self, output: Tensor) -> list[dict[str, Any]]:
        raise GradlabError("A masked language model fills in tokens of a text. Its report shows some.")


def _sums(logits: Logits, target: Chosen) -> Float[Tensor, "3"]:
    """-Σ log P of the chosen tokens, how many of them are the most probable one, and how many there are."""
    right, masked = (logits.argmax(-1) == target).sum(), (target != UNASKED).sum()
    loss = F.cross_entropy(logits.flatten(0, 1).float(), target.flatten(), reduction="sum", ignore_index=UNASKED)
    return torch.stack([loss.double(), right.double(), masked.double()])
