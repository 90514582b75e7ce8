"""Language modelling: the next token, at every place of a text."""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from gradlab.data import Batch, Examples, Targets, Wants
from gradlab.errors import GradlabError
from gradlab.models.language import TransformerLanguageModel
from gradlab.models.ngram import NGram
from gradlab.nn.linear_cross_entropy import linear_cross_entropy
from gradlab.nn.plain import is_itself
from gradlab.tasks.counted import ngram_baselines, token_entropy, tokens_of
from gradlab.tasks.evaluation import inference
from gradlab.tasks.metrics import Metric, perplexity
from gradlab.tasks.objective import Loss
from gradlab.tasks.task import Supervised, tasks

Logits = Float[Tensor, "batch length tokens"]
Next = Int64[Tensor, "batch length"]

# Beside fewer tokens than these the logits are small: what a chunk of them costs on top would not be won back.
_MANY_TOKENS = 4096


@tasks.register("language")
@dataclass(eq=False)
class Language(Supervised):
    r"""The next token, by cross-entropy, at every place of a window.

    $$ \ell = -\frac{1}{T} \sum_t \log P(x_{t+1} \mid x_1, \dots, x_t) $$

    The loss is in nats for each token. `perplexity` is its exponential, as if so many tokens were equally likely;
    `bits_per_byte` does not depend on what a token is, so that models with different tokenizers can be compared.
    """

    targets: Targets
    _: KW_ONLY

    wants: ClassVar[Wants] = "tokens"
    sections: ClassVar[tuple[str, ...]] = ("written",)
    use: ClassVar[str] = "generate"
    instead: ClassVar[str] = "is a language model, which writes text: use gradlab generate {run}"

    def __post_init__(self) -> None:
        if not self.targets.tokens:
            raise GradlabError("Language modelling needs text. Use data=text, or another task.")
        self.outputs = self.targets.tokens
        self.metrics: Mapping[str, Metric] = {
            "perplexity": Metric(_surprise, lambda total: perplexity(float(total[0] / total[1])), False)
        }
        if self.targets.token_bytes:
            surprise = _surprise_and_bytes(torch.tensor(self.targets.token_bytes, dtype=torch.float64))
            self.metrics["bits_per_byte"] = Metric(
                surprise, lambda total: float(total[0] / total[1] / math.log(2)) if total[1] else math.nan, False
            )

    def loss(self, output: Logits, target: Next, weight: Float[Tensor, " batch"] | None = None) -> Loss:
        if weight is None:
            return F.cross_entropy(output.flatten(0, 1), target.flatten(), reduction="sum"), target.numel()
        each = F.cross_entropy(output.flatten(0, 1), target.flatten(), reduction="none")
        return weight @ each.view_as(target).sum(1), target.numel()

    def _minimised(self, model: nn.Module, batch: Batch) -> Loss:
        if not self._fuses(model, batch):
            return super()._minimised(model, batch)
        hidden, target = model.hidden(batch["inputs"]), batch["targets"]  # type: ignore[operator]
        return linear_cross_entropy(hidden.flatten(0, 1), model.output_weight, target.flatten()), target.numel()  # type: ignore[arg-type]

    def _fuses(self, model: nn.Module, batch: Batch) -> bool:
        """Whether the last product and the loss are computed together, which never has all logits in memory."""
        own = type(self)
        plain = own.loss is Language.loss and own.training_loss is Supervised.training_loss and "weights" not in batch
        return plain and self._pays(batch["inputs"]) and _only_multiplies(model)

    def _pays(self, tokens: Tensor) -> bool:
        return tokens.is_cuda and self.outputs >= _MANY_TOKENS

    def expected_initial_loss(self) -> tuple[float, str]:
        return math.log(self.outputs), f"log {self.outputs:,} tokens"

    def baselines(self, train: Examples, model: nn.Module) -> dict[str, NGram]:
        """All tokens alike, and counted trigrams; for a model that counts by itself, n-grams shorter than its own."""
        order = min(3, model.order - 1) if isinstance(model, NGram) else 3
        return ngram_baselines(tokens_of(train), self.outputs, order)

    def output_shape(self, batch: Batch) -> tuple[int, ...]:
        """Of a text, some models answer at each token, and others once: both take the same inputs."""
        return (*batch["inputs"].shape[1:], self.outputs)

    def constant_loss(self, train: Examples, model: nn.Module, some: Examples) -> float:
        return token_entropy(train)

    def check(self, model: nn.Module, train: Examples) -> None:
        """What is said of a token must not depend on it, nor on those after it."""
        if train.inputs.shape[1] < 2:
            return
        tokens = train.inputs[:1]
        other = tokens.clone()
        other[:, -1] = (other[:, -1] + 1) % self.outputs
        with inference(model):
            logits, changed = (model(x)[:, :-1] for x in (tokens, other))
        if not torch.allclose(logits, changed, atol=1e-4 * float(logits.abs().max())):
            raise GradlabError(
                f"{type(model).__name__} sees the tokens that it should predict: changing the last one changes what it "
                "says before. task=language is for models that read from left to right; use task=masked."
            )

    def decode(self, output: Tensor) -> list[dict[str, Any]]:
        raise GradlabError("A language model writes text: use gradlab generate.")


def _only_multiplies(model: Any) -> bool:
    """Whether a model's logits are `output_weight` times `hidden`, and nobody listens to its calls."""
    if not isinstance(model, TransformerLanguageModel) or not is_itself(model, TransformerLanguageModel.forward):
        return False
    heard = model._backward_hooks or model._backward_pre_hooks or _has_any_global_hook()  # type: ignore[no-untyped-call]
    return not heard


def _surprise(logits: Logits, target: Next) -> Float[Tensor, "2"]:
    """-Σ log P of the targets, and how many there are."""
    loss = F.cross_entropy(logits.flatten(0, 1).float(), target.flatten(), reduction="sum")
    return torch.stack([loss.double(), loss.new_tensor(target.numel(), dtype=torch.float64)])


def _surprise_and_bytes(token_bytes: Float[Tensor, " tokens"]) -> Any:
    """-Σ log P of the targets, and how many bytes they stand for."""

    def sums(logits: Logits, target: Next) -> Float[Tensor, "2"]:
        table = token_bytes.to(target.device)
        return torch.stack([_surprise(logits, target)[0], table[target].sum()])

    return sums
