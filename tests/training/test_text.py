"""Trainings on text: restored in mid-epoch, they go on to the bit, whatever is hidden or padded in each epoch."""

import numpy as np
import pytest
import torch

from gradlab.data import Targets
from gradlab.data.text.masking import Masked
from gradlab.data.text.sequences import Padded, PaddedExamples
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.models import models
from gradlab.registry import Part
from gradlab.specs import Tokens
from gradlab.tasks import Classify, MaskedLanguage
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

VOCABULARY, CONTEXT = 12, 8
_TRANSFORMER = {"dim": 8, "heads": 2, "layers": 1, "dropout": 0.1}
SMALL = {
    "bert": _TRANSFORMER,
    "bert-classifier": _TRANSFORMER,
    "rnn-classifier": {"dim": 8, "dropout": 0.1, "bidirectional": True},
}


class Kept(Observer):
    """Every line, without the clock, and the checkpoint of one step."""

    def __init__(self, step=None):
        self.every, self.lines, self.checkpoint = step, [], None

    def log(self, training, line):
        self.lines.append({k: v for k, v in line.items() if k != "seconds"})

    def step(self, training):
        if training.progress.step == self.every:
            self.checkpoint = training.checkpoint()


def hidden_words():
    tokens = torch.randint(2, VOCABULARY, (200,), generator=torch.Generator().manual_seed(1))
    masked = Masked(windows=Windows(tokens, CONTEXT), chosen=2, mask=1, first=2, vocabulary=VOCABULARY)
    examples = WindowExamples.over(masked)
    return MaskedLanguage(Targets(tokens=VOCABULARY, masked=2)), examples, "bert", Tokens(CONTEXT, VOCABULARY)


def ragged_texts():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 2 * CONTEXT, size=25)
    tokens = rng.integers(1, VOCABULARY, size=lengths.sum())
    padded = Padded.of(tokens, np.cumsum(lengths) - lengths, CONTEXT)
    labels = torch.from_numpy(rng.integers(0, 2, size=25))
    task = Classify(Targets(classes=["short", "long"]))
    return task, PaddedExamples.of(padded, labels), "bert-classifier", Tokens(CONTEXT, VOCABULARY)


def texts_read_both_ways():
    task, examples, _, spec = ragged_texts()
    return task, examples, "rnn-classifier", spec


def make(data, *observers, **changes):
    task, examples, name, spec = data()
    values = {"epochs": 3, "batch_size": 8, "optimizer": "adam", "log_every": 1, **changes}
    plan = Plan(**plan_schema.resolve(values, "train"))
    torch.manual_seed(plan.seed)
    part = models.resolve(Part(name, SMALL[name]), "model")
    model = models.build(part, spec, task.outputs)
    return Training(model, task, examples, examples.sample(5), plan, observers=observers)


def run(training, checkpoint=None):
    with settings(torch.device("cpu"), 1, training.plan):
        if checkpoint is not None:
            training.restore(checkpoint)
        training.run()
    return training.model.state_dict()


@pytest.mark.parametrize("data", [hidden_words, ragged_texts, texts_read_both_ways])
@pytest.mark.parametrize("stop", [1, 5, 8])
def test_a_restored_training_goes_on_to_the_bit(data, stop):
    whole, rest = Kept(stop), Kept()
    expected = run(make(data, whole))
    weights = run(make(data, rest), whole.checkpoint)
    assert all(torch.equal(weights[name], value) for name, value in expected.items())
    assert rest.lines == [line for line in whole.lines if line["step"] > stop]


def test_every_epoch_hides_other_tokens_and_validation_always_the_same():
    training = make(hidden_words)
    epochs = [torch.cat([batch["inputs"] for batch in training.stream.epoch(epoch)]) for epoch in (0, 0, 1)]
    assert torch.equal(epochs[0], epochs[1])
    places = [{tuple(row.nonzero().flatten().tolist()) for row in epoch == 1} for epoch in epochs]
    assert places[0] != places[2]
    assert torch.equal(training.validation.inputs[:], training.validation.inputs[:])


def test_batches_of_texts_are_no_wider_than_their_longest_needs():
    training = make(ragged_texts)
    lengths = training.train.inputs.lengths
    order = training.train.order(training.plan.seed, 0, 8)
    sizes = training.plan.batch_sizes(25)
    assert sizes == [8, 8, 9]
    for batch, rows in zip(training.stream.epoch(0), torch.split(order, sizes), strict=True):
        x, y = batch.values()
        assert x.shape == (len(rows), lengths[rows].max())
        assert torch.equal(y, training.train.targets[rows])
