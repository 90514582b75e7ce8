"""Sequence to sequence: a text for each source, token by token."""

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from annotated_types import Ge
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.data import Batch, PairedExamples, Targets, Wants
from gradlab.data.pairs.sentences import Sentences
from gradlab.errors import GradlabError
from gradlab.models.ngram import NGram
from gradlab.models.seq2seq.model import PADDING
from gradlab.registry import Count, Fraction
from gradlab.sampling import Beam
from gradlab.tasks.counted import ngram_baselines
from gradlab.tasks.metrics import Metric, perplexity
from gradlab.tasks.objective import Loss
from gradlab.tasks.regions import attention_on_shape
from gradlab.tasks.task import Figures, Supervised, tasks
from gradlab.tasks.text_scores import signatures, text_scores
from gradlab.tasks.written import Written, write

Logits = Float[Tensor, "batch length tokens"]
Target = Int64[Tensor, "batch length_and_end"]


@tasks.register("seq2seq")
@dataclass(eq=False)
class Seq2Seq(Supervised):
    r"""The next token of a target, by cross-entropy, from its source and the tokens before it.

    $$ \ell = -\frac{1}{T} \sum_t \log P(y_t \mid y_1, \dots, y_{t-1}, x) $$

    Padding counts nowhere. While training, the tokens before are the true ones (teacher forcing), or with
    `scheduled_sampling` sometimes what the model itself says there: that is asked in one pass over the true ones, for
    all places at once (Mihaylova & Martins 2019, arXiv:1906.07651). A finished model is judged by what it writes,
    searching with `beam` hypotheses.
    """

    targets: Targets
    _: KW_ONLY
    label_smoothing: Annotated[Fraction, "share ε of each training token that is spread over all tokens"] = 0.0
    scheduled_sampling: Annotated[Fraction, "share of the tokens before that are the model's own, in training"] = 0.0
    ramp: Annotated[Count, "epochs over which that share grows to its full size"] = 10
    beam: Annotated[Count, "hypotheses that are followed where the model writes; 1 is greedy"] = 1
    length_penalty: Annotated[float, Ge(0.0), "exponent of the length that a score is divided by"] = 1.0

    wants: ClassVar[Wants] = "pairs"
    sections: ClassVar[tuple[str, ...]] = ("pairs",)
    finished_figures: ClassVar[tuple[str, ...]] = ("exact_match", "bleu", "chrf")
    doctor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.targets.text, Sentences):
            raise GradlabError("task=seq2seq needs pairs of a source and a target. Use data=pairs, or another task.")
        self.text, self.prefix = self.targets.text, ""
        self.outputs = self.targets.tokens
        self.metrics: Mapping[str, Metric] = {
            "token_accuracy": Metric(_sums, lambda total: float(total[1] / total[2]), True),
            "perplexity": Metric(_sums, lambda total: perplexity(float(total[0] / total[2])), False),
        }

    @property
    def trains_by_its_loss(self) -> bool:
        return not self.label_smoothing and not self.scheduled_sampling

    def forward(self, model: nn.Module, batch: Batch) -> Logits:
        before = batch["targets"][:, :-1]
        if "own" in batch:
            before = self._mixed(model, batch, before)
        logits: Tensor = model(batch["inputs"], before)
        return logits

    def _mixed(self, model: nn.Module, batch: Batch, before: Tensor) -> Tensor:
        """The tokens before, some of them as the model itself would have written them."""
        with torch.no_grad():
            said = model(batch["inputs"], before).argmax(-1)
        own = torch.rand(before.shape, device=before.device) < batch["own"][:, None]
        later = torch.where(own[:, 1:], said[:, :-1], before[:, 1:])
        return torch.cat([before[:, :1], later], 1)

    def output_shape(self, batch: Batch) -> tuple[int, ...]:
        return batch["targets"].shape[1] - 1, self.outputs

    def loss(self, output: Logits, target: Target, weight: Tensor | None = None) -> Loss:
        return self._cross_entropy(output, target, 0.0)

    def training_loss(self, output: Logits, target: Target, weight: Tensor | None = None) -> Loss:
        return self._cross_entropy(output, target, self.label_smoothing)

    def _cross_entropy(self, output: Logits, target: Target, smoothing: float) -> Loss:
        following = target[:, 1:].flatten()
        total = F.cross_entropy(
            output.flatten(0, 1), following, ignore_index=PADDING, label_smoothing=smoothing, reduction="sum"
        )
        return total, (following != PADDING).sum()

    def encoded(self, split: Any) -> Any:
        if not self.scheduled_sampling or not isinstance(split, PairedExamples):
            return split
        return replace(split, own=self.scheduled_sampling, ramp=self.ramp)

    def evaluate_finished(self, model: nn.Module, split: Any) -> Figures:
        """With what it writes for each source: exact match and, where sacrebleu is installed, BLEU and chrF."""
        written = self.write(model, split.inputs)
        return self.evaluate(model, split) | text_scores([one.text for one in written], split.texts)

    @property
    def signatures(self) -> dict[str, str]:
        return signatures()

    def writing(self, beam: int | None, prefix: str | None) -> "Seq2Seq":
        changed = copy(self)
        changed.beam, changed.prefix = self.beam if beam is None else beam, prefix or ""
        return changed

    def write(self, model: nn.Module, inputs: Any) -> list[Written]:
        """What the model writes for prepared sources."""
        beginning = self.text.encode([self.prefix], unknown="refuse")[0][1:-1].tolist() if self.prefix else []
        return write(model, inputs, self.text, Beam(self.beam, length_penalty=self.length_penalty), beginning)

    def answers(self, model: nn.Module, inputs: Any, temperature: float = 1.0) -> list[dict[str, Any]]:
        if temperature != 1.0:
            raise GradlabError("Texts are written by the most probable tokens, which a temperature does not change.")
        return [_answer(one) for one in self.write(model, inputs)]

    def expected_initial_loss(self) -> tuple[float, str]:
        return math.log(self.outputs), f"log {self.outputs:,} tokens"

    def baselines(self, train: PairedExamples, model: nn.Module) -> dict[str, nn.Module]:
        """All tokens alike, and trigrams of the targets, which do not look at the source."""
        counted = ngram_baselines(train.targets.flat(), self.outputs)
        return {name: Unconditional(language) for name, language in counted.items()}

    def closing(self, model: nn.Module, splits: Mapping[str, Any]) -> dict[str, Any]:
        """Of pictures in which it is known what is where: whether the model looks at what it names."""
        test = splits.get("test")
        looked = attention_on_shape(model, test, self.text) if isinstance(test, PairedExamples) else None
        return {} if looked is None else {"attention_on_shape": looked._asdict(), "notes": [str(looked)]}

    def constant_loss(self, train: Any, model: nn.Module, some: Any) -> float:
        return math.nan


class Unconditional(nn.Module):
    """A language model of the targets, which knows nothing of their sources."""

    def __init__(self, language: NGram):
        super().__init__()
        self.language = language

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.language(target)
        return logits


def _answer(written: Written) -> dict[str, Any]:
    looked = {} if written.coverage is None else {"coverage": written.coverage}
    return {"text": written.text, "score": written.score, **looked}


def _sums(logits: Logits, target: Target) -> Float[Tensor, "3"]:
    """-Σ log P of the tokens that are no padding, how many of them are the most probable, and how many there are."""
    following = target[:, 1:].flatten()
    flat = logits.flatten(0, 1)
    surprise = F.cross_entropy(flat.float(), following, ignore_index=PADDING, reduction="sum").double()
    counts = following != PADDING
    return torch.stack([surprise, ((flat.argmax(-1) == following) & counts).sum().double(), counts.sum().double()])
