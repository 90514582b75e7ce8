"""Pairs as long as those of Multi30k, and one training of a transformer on them. Importing this imports torch."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.bench.device import device_name, versions
from gradlab.bench.laps import Clock, Laps, by_hand
from gradlab.bench.seq2seq.usual_loop import Pair, UsualTransformer, endless
from gradlab.data.pairs.files import read_pairs
from gradlab.data.pairs.prepare import PairedExamples, prepare_pairs
from gradlab.data.pairs.raw import Pairs
from gradlab.data.pairs.reader import SentenceReader
from gradlab.data.text.kinds import Kind
from gradlab.data.text.sequences import Padded
from gradlab.models import build_model
from gradlab.models.seq2seq.model import PADDING
from gradlab.registry import Part
from gradlab.tasks.seq2seq import Seq2Seq
from gradlab.training import driver
from gradlab.training.plan import Plan, plan_schema
from gradlab.wording import counted

_RATE, _CLIP = 1e-3, 1.0
_MEDIAN, _SPREAD, _SHORTEST, _LONGEST = 15, 0.3, 8, 40  # words of a source; the logarithm of their number is normal
_WORDS = 7000
_CPU = torch.device("cpu")


class Seq2SeqWork:
    """Which transformer, on which pairs, for how long. One epoch warms up, one is timed."""

    def __init__(self, model: dict[str, Any], pairs: int, batch: int, threads: int, path: str | None = None):
        self.settings, self.batch, self.threads = model, batch, threads
        raw = generated_pairs(pairs) if path is None else _first(Path(path), pairs)
        kind: Kind = "word" if path is None else "bpe"
        self.dataset = prepare_pairs(raw, tokenizer=kind, vocabulary=8000, shared=True, validation=0.0, test=0.0)
        self.steps = 2 * -(-len(self.train) // batch)

    @property
    def about(self) -> dict[str, str]:
        where = f"{device_name(_CPU)}, {counted(self.threads, 'thread')}"
        return {"title": self._title, "device": where, "versions": versions()}

    @property
    def _title(self) -> str:
        lengths = [np.median(side.lengths) for side in (self.train.inputs, self.train.targets)]
        return (
            f"{counted(len(self.train), 'pair')} of {lengths[0]:.0f} and {lengths[1]:.0f} tokens (median), vocabulary "
            f"{self.dataset.targets.tokens:,}, batch {self.batch}"
        )

    @property
    def train(self) -> PairedExamples:
        train: PairedExamples = self.dataset.train
        return train

    @cached_property
    def tokens(self) -> list[Pair]:
        """Source and target of each pair."""
        sides = [_texts(side) for side in (self.train.inputs, self.train.targets)]
        return list(zip(*sides, strict=True))

    def answer(self, clock: Clock, model: nn.Module, pairs: int, places: int) -> dict[str, Any]:
        seconds = clock.end - clock.half
        real = sum(len(side) for pair in self.tokens for side in pair)
        return {
            "seconds": seconds,
            "cpu": clock.cpu[1] - clock.cpu[0],
            "padding": 1 - real / places,
            "losses": clock.losses,
            "pairs": pairs,
            "parameters": sum(p.numel() for p in model.parameters()),
        }


def generated_pairs(count: int) -> Pairs:
    """Words by their frequency (Zipf's law), and for each of them its own word of the other language, in its order."""
    generator = np.random.default_rng(0)
    lengths = np.exp(generator.normal(np.log(_MEDIAN), _SPREAD, count)).round().clip(_SHORTEST, _LONGEST).astype(int)
    frequency = 1 / np.arange(1, _WORDS + 1)
    texts = [generator.choice(_WORDS, size=n, p=frequency / frequency.sum()) for n in lengths]
    sources = [" ".join(f"s{word}" for word in text) for text in texts]
    targets = [" ".join(f"t{word}" for word in text) for text in texts]
    return Pairs.of_texts(sources, targets, "pair {}".format, SentenceReader())


def by_gradlab(work: Seq2SeqWork) -> dict[str, Any]:
    """As a recipe trains it."""
    torch.manual_seed(0)
    dataset, part = work.dataset, Part("seq2seq-transformer", work.settings)
    model = build_model(part, dataset.preprocessing.spec, dataset.targets.tokens)
    task, clock = Seq2Seq(dataset.targets), Clock(work.steps, _CPU)
    values = {"batch_size": work.batch, "steps": work.steps, "lr": _RATE, "clip": _CLIP, "schedule": "constant"}
    more = {"optimizer": "adam", "keep": "last", "log_every": work.steps // 2, "threads": work.threads}
    plan = Plan(**plan_schema.resolve(values | more, "bench"))
    with driver.training(model, task, work.train, None, plan, observers=[Laps(clock)]) as run:
        steps = run.run().step
    return work.answer(
        clock, model, 2 * len(work.train) * steps // work.steps, _places(work.train, plan.seed, work.batch)
    )


def by_the_usual_loop(work: Seq2SeqWork) -> dict[str, Any]:
    torch.manual_seed(0)
    torch.set_num_threads(work.threads)
    longest = max(len(side) for pair in work.tokens for side in pair)
    sizes = {name: work.settings[name] for name in ("dim", "heads", "layers", "hidden", "dropout")}
    model = UsualTransformer(work.dataset.targets.tokens, longest, **sizes).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=_RATE)
    criterion = nn.CrossEntropyLoss(ignore_index=PADDING)
    batches, seen, places = endless(work.tokens, work.batch), 0, 0

    def step() -> Tensor:
        nonlocal seen, places
        source, target = next(batches)
        logits = model(source, target[:, :-1])
        loss: Tensor = criterion(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        optimizer.step()
        seen, places = seen + len(source), places + source.numel() + target.numel()
        return loss

    clock = Clock(work.steps, _CPU)
    by_hand(clock, step)
    return work.answer(clock, model, seen, places // 2)


def _places(train: PairedExamples, seed: int, batch: int) -> int:
    """Tokens of an epoch, with those that fill up its batches."""
    batches = torch.split(train.order(seed, 1, batch), batch)
    return sum(side[rows].numel() for rows in batches for side in (train.inputs, train.targets))


def _first(path: Path, count: int) -> Pairs:
    """At most so many pairs of a file."""
    lines = read_pairs(path)
    return Pairs.of_texts(lines.sources[:count], lines.targets[:count], lines.places.__getitem__, SentenceReader())


def _texts(side: Padded) -> list[Tensor]:
    starts = side.sequences.starts[side.rows]
    tokens = torch.from_numpy(np.asarray(side.sequences.tokens, dtype=np.int64))
    return [tokens[start : start + length] for start, length in zip(starts, side.lengths, strict=True)]
