"""What a model of pairs writes for its sources, by beam search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.data.batch import sent
from gradlab.data.examples import at_once
from gradlab.data.pairs.sentences import Sentences
from gradlab.errors import GradlabError
from gradlab.models.seq2seq import Conditioned, EncoderDecoderModel
from gradlab.models.seq2seq.model import PADDING
from gradlab.sampling import Banned, Beam, LogitFilter, Prefix, beam_search
from gradlab.tasks.evaluation import device_of, inference

_ROWS = 64  # sources at a time, each with all its hypotheses


@dataclass(frozen=True)
class Written:
    """A target that was written for a source."""

    text: str
    tokens: list[int]
    """From the one that begins it to the one that ends it, if it came to an end."""

    score: float
    """The mean logarithm of the probabilities of its tokens, by which hypotheses are ranked."""

    coverage: float | None
    """The share of the source that was looked at: the mean over its positions of what they counted in all, at most 1.
    None for a model that does not look."""


def write(
    model: nn.Module, inputs: Any, text: Sentences, beam: Beam, prefix: Sequence[int] = (), rows: int = _ROWS
) -> list[Written]:
    """The best target of each source that a beam search finds; with a `prefix`, of those that begin with it."""
    if not isinstance(model, EncoderDecoderModel):
        raise GradlabError(f"{type(model).__name__} does not write targets: it is no model of pairs.")
    rows, device = at_once(rows, inputs), device_of(model)
    parts = (sent(inputs[start : start + rows], device) for start in range(0, len(inputs), rows))
    return [one for part in parts for one in _write(model, part, text, beam, prefix)]


def _write(
    model: EncoderDecoderModel, source: Tensor, text: Sentences, beam: Beam, prefix: Sequence[int]
) -> list[Written]:
    first, end = text.encoder["<bos>"], text.encoder["<eos>"]
    prompts = torch.full((len(source), 1), first, device=source.device)
    filters: list[LogitFilter] = [Banned([PADDING, first]), *([Prefix(list(prefix))] if prefix else [])]
    with inference(model):
        written = Conditioned(model, source)
        hypotheses = beam_search(written, prompts, text.most_written, beam, eos=end, pad=PADDING, filters=filters)
        best = hypotheses.tokens[:, 0]
        coverage = _coverage(written, best)
    lengths = (1 + hypotheses.lengths[:, 0]).tolist()
    rows = [tokens[:length] for tokens, length in zip(best.tolist(), lengths, strict=True)]
    scores = hypotheses.scores[:, 0].tolist()
    covered = [None] * len(rows) if coverage is None else coverage.tolist()
    return [Written(text.decode(row[1:]), row, *rest) for row, *rest in zip(rows, scores, covered, strict=True)]


def _coverage(written: Conditioned, target: Tensor) -> Tensor | None:
    memory = written.memory
    weights = written.decoder.alignment(target[:, :-1], memory)
    if weights is None:
        return None
    counted = (target[:, 1:] != PADDING)[..., None] * weights
    looked: Tensor = counted.sum(1).clamp(max=1.0)
    if memory.mask is None:
        return looked.mean(1)
    return (looked * memory.mask).sum(1) / memory.mask.sum(1)
