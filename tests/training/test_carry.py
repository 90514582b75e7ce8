"""Truncated backpropagation through time: the loop beside one written by hand, its state, and what it refuses."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from torch.utils._pytree import tree_flatten, tree_map

import gradlab as gl
from gradlab.data import Targets
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.errors import GradlabError, TrainingError
from gradlab.models import models
from gradlab.models.language.recurrent import RecurrentLanguageModel
from gradlab.nn.recurrent.cache import StateCache
from gradlab.recipe import Part
from gradlab.run import checkpoint as disk
from gradlab.specs import Table, Tokens
from gradlab.tasks import evaluation
from gradlab.tasks.evaluation import evaluate
from gradlab.tasks.language import Language
from gradlab.training.carry import Carried, check_carry
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

TOKENS, LENGTH, STRIPS = 7, 5, 3
CPU = torch.device("cpu")


def text(count, seed=0):
    """Windows of tokens, each of which depends on several before it."""
    tokens = list(np.random.default_rng(seed).integers(TOKENS, size=8))
    while len(tokens) < count:
        tokens.append((tokens[-1] + tokens[-8] + len(tokens) // 3) % TOKENS)
    inputs = Windows(np.array(tokens, dtype=np.uint8), LENGTH)
    return WindowExamples.over(inputs)


def recurrent(cell="lstm", **settings):
    torch.manual_seed(1)
    return RecurrentLanguageModel(TOKENS, dim=4, hidden=6, layers=2, cell=cell, **settings).double()


def task():
    return Language(Targets(tokens=TOKENS, token_bytes=[1] * TOKENS))


@pytest.fixture
def carrying(make_training):
    """A training that carries: 104 tokens are 20 windows of 5, hence 6 steps an epoch along 3 strips."""

    def make(model=None, count=104, **plan):
        settled = {"carry": True, "batch_size": STRIPS, "log_every": 1, "lr": 0.1, "clip": 1.0, **plan}
        split = {"train": text(count), "validation": settled.pop("validation", text(90, seed=1))}
        return make_training(model=model or recurrent(), task=task(), **split, **settled)

    return make


def by_hand(model, tokens, lr, seed, epochs):
    """The losses of plain gradient descent, the weights and the state at the end; only PyTorch's own classes."""
    kind = {"RNN": nn.RNN, "GRU": nn.GRU, "LSTM": nn.LSTM}[type(model.layers[0]).__name__]
    embedding, network = nn.Embedding(TOKENS, 4), kind(4, 6, 2, batch_first=True)
    parts = nn.ModuleList([embedding, network, nn.Linear(6, TOKENS)]).double()
    with torch.no_grad():
        for mine, theirs in zip(parts.parameters(), model.parameters(), strict=True):
            mine.copy_(theirs)
    losses, state = [], None
    steps = ((len(tokens) - 1) // LENGTH - 1) // STRIPS
    for epoch in range(epochs):
        offset, state = Windows(tokens, LENGTH).for_epoch(seed, epoch).offset, None
        strips = [tokens[offset + b * steps * LENGTH :][: steps * LENGTH + 1] for b in range(STRIPS)]
        strips = torch.tensor(np.array(strips), dtype=torch.int64)
        for start in range(0, steps * LENGTH, LENGTH):
            x, y = strips[:, start : start + LENGTH], strips[:, start + 1 : start + LENGTH + 1]
            outputs, state = network(embedding(x), state)
            loss = F.cross_entropy(parts[2](outputs).flatten(0, 1), y.flatten())
            parts.zero_grad()
            loss.backward()
            with torch.no_grad():
                for p in parts.parameters():
                    p -= lr * p.grad
            state = tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
            losses.append(loss.item())
    return losses, list(parts.parameters()), state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_it_trains_as_a_loop_by_hand_along_the_same_strips(carrying, run, cell):
    model = recurrent(cell)
    tokens = text(104).inputs.tokens
    losses, weights, state = by_hand(model, tokens, lr=0.5, seed=4, epochs=3)
    training = run(carrying(model, optimizer="sgd", lr=0.5, clip=None, seed=4, epochs=3, keep="last"))
    assert training.total_steps == len(losses) == 18
    assert training.record.losses() == pytest.approx(losses, rel=1e-10)
    assert_close(dict(enumerate(training.model.parameters())), dict(enumerate(weights)), rtol=1e-9, atol=1e-11)
    by_layer = [part[layer : layer + 1] for layer in range(2) for part in state]
    assert_close(training.stream.carried.state, by_layer, rtol=1e-9, atol=1e-11)


class States(Observer):
    """The state behind each step."""

    every = 1

    def __init__(self):
        self.found = []

    def step(self, training):
        self.found.append([part.clone() for part in training.stream.carried.state])


def test_with_weights_that_stay_the_state_is_that_of_the_strip_read_at_once(carrying, run):
    states, model = States(), recurrent()
    training = run(carrying(model, optimizer="sgd", lr=1e-30, observers=[states], epochs=2, seed=3))
    tokens, steps = training.train.inputs.tokens, training.steps_per_epoch
    for number, found in enumerate(states.found):
        epoch, position = divmod(number, steps)
        offset = training.train.inputs.for_epoch(3, epoch).offset
        read = [tokens[offset + b * steps * LENGTH :][: (position + 1) * LENGTH] for b in range(STRIPS)]
        with torch.no_grad():
            cache = model.new_cache(STRIPS, 1)
            model(torch.tensor(np.array(read), dtype=torch.int64), cache=cache)
        assert_close(found, tree_flatten(cache.state)[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_the_gradient_stops_at_the_border_of_the_window(cell):
    model = recurrent(cell)
    x, y = text(104).inputs[:STRIPS], text(104).inputs[STRIPS : 2 * STRIPS]
    carried = Carried(model, STRIPS, CPU)
    carried(x)
    carried.advance()
    got = torch.autograd.grad(carried(y).square().sum(), list(model.parameters()))

    def through(border):
        cache = StateCache(batch_axis=1)
        model(x, cache=cache)
        if border:
            state = cache.state
            cache.update(tree_map(torch.detach, state), steps=0)
        return torch.autograd.grad(model(y, cache=cache).square().sum(), list(model.parameters()))

    assert_close(got, through(border=True), rtol=1e-12, atol=1e-12)
    assert any(not torch.allclose(a, b) for a, b in zip(got, through(border=False), strict=True))


def test_a_step_that_is_skipped_leaves_the_state():
    carried = Carried(recurrent(), STRIPS, CPU)
    memory = [part.data_ptr() for part in carried.state]
    x = text(104).inputs[:STRIPS]
    carried(x)
    carried.advance(skip=torch.tensor(0.0))
    before = [part.clone() for part in carried.state]
    assert all(part.abs().sum() > 0 for part in before)
    carried(x)
    carried.ahead = [part * torch.nan for part in carried.ahead]
    carried.advance(skip=torch.tensor(1.0))
    assert_close(carried.state, before, rtol=0, atol=0)
    carried.reset()
    assert not any(part.any() for part in carried.state)
    assert [part.data_ptr() for part in carried.state] == memory  # which captured steps refer to


def test_a_divergence_is_explained_from_the_state_of_its_step(carrying, run):
    class Breaks(nn.Module):
        """Gives no numbers once it has read for two windows; not from a state of zeros."""

        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(TOKENS))
            self.last = nn.Identity()

        def forward(self, tokens, cache=None):
            read = torch.zeros(len(tokens)) if cache is None or cache.state is None else cache.state
            if cache is not None:
                cache.update(read + 1, steps=tokens.shape[1])
            logits = F.one_hot(tokens, TOKENS) * self.scale
            return self.last(logits / (2 - read).sign().relu().view(-1, 1, 1) - 1 + 1)

        def new_cache(self, batch, max_length):
            return StateCache()

    with pytest.raises(TrainingError, match=r"step 3 .*the output of last \(Identity\) is the first"):
        run(carrying(Breaks(), validation=None))


PLANS = {
    "adam": {"optimizer": "adam", "lr": 0.02, "schedule": "cosine"},
    "averaged": {"optimizer": "rmsprop", "lr": 0.01, "ema": 0.8},
}


@pytest.mark.parametrize("stop", [1, 4, 6, 10])
@pytest.mark.parametrize("name", PLANS)
def test_a_restored_training_goes_on_to_the_bit(carrying, run, save_at, tmp_path, name, stop):
    saver, plan = save_at(stop), {**PLANS[name], "epochs": 3}
    whole = run(carrying(recurrent(dropout=0.2), observers=[saver], **plan))
    resumed = run(carrying(recurrent(dropout=0.2), **plan), disk.read(disk.write(tmp_path, saver.checkpoint)))
    assert resumed.record.lines == [line for line in whole.record.lines if line["step"] > stop]
    assert_close(resumed.checkpoint().optimizer, whole.checkpoint().optimizer, rtol=0, atol=0)
    for key, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[key]), key


@pytest.mark.skipif(not torch.cpu._is_avx512_bf16_supported(), reason="torch has no LSTM in bf16 on this CPU")
def test_the_state_is_carried_in_half_precision_too(carrying, run):
    training = run(carrying(recurrent().float(), precision="bf16", optimizer="adam", lr=0.01, epochs=2))
    full = run(carrying(recurrent().float(), optimizer="adam", lr=0.01, epochs=2))
    assert {part.dtype for part in training.stream.carried.state} == {torch.float32}
    assert training.record.losses() == pytest.approx(full.record.losses(), rel=0.05)
    assert training.record.losses() != full.record.losses()


@given(st.integers(2, 300), st.integers(1, 40))
def test_the_plan_counts_the_steps_that_the_strips_have(windows, batch_size):
    plan = Plan(carry=True, batch_size=batch_size)
    if batch_size < windows:
        order = Windows(np.zeros(windows * LENGTH + 1, dtype=np.uint8), LENGTH).sequential(batch_size)
        assert plan.batch_sizes(windows) == [len(rows) for rows in order]
        assert plan.steps_per_epoch(windows) == len(order)


# Evaluation.


def read_at_once(model, tokens, strips):
    """The mean loss, and the number of tokens judged, of strips of windows that are each read in one call."""
    count = (len(tokens) - 1) // LENGTH
    steps = -(-count // strips)
    losses = []
    for first in range(0, count, steps):
        piece = tokens[first * LENGTH : min(count, first + steps) * LENGTH + 1]
        piece = torch.tensor(piece, dtype=torch.int64)
        with torch.no_grad():
            losses.append(F.cross_entropy(model(piece[None, :-1])[0], piece[1:], reduction="none"))
    return torch.cat(losses).mean().item(), sum(map(len, losses))


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("strips", [1, 4, 7, 40])
@pytest.mark.parametrize("windows", [3, 16, 33])
def test_a_split_is_judged_in_order(monkeypatch, cell, strips, windows):
    monkeypatch.setattr(evaluation, "STRIPS", strips)
    model, split = recurrent(cell).eval(), text(windows * LENGTH + 3)
    figures = evaluate(model, task(), split.carried())
    want, count = read_at_once(model, split.inputs.tokens, strips)
    assert count == windows * LENGTH  # each token once, whatever the strips
    assert figures["loss"] == pytest.approx(want, rel=1e-10)
    apart = evaluate(model, task(), split)["loss"]
    assert (abs(apart - want) < 1e-9) == (strips >= windows)


@given(st.integers(1, 200), st.integers(0, 250), st.integers(1, 40))
def test_a_sample_in_strips_is_spread_and_has_neighbours(windows, count, stretches):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradlab.data.text.windows.STRIPS", stretches)
        rows = text(windows * LENGTH + 1).carried().sample(count).rows
    kept = min(count, windows)
    apart = min(kept, stretches)
    assert len(rows) == (kept // apart * apart if kept else 0)
    assert len(set(rows)) == len(rows)
    for stretch in np.split(rows, apart) if kept else []:
        assert (np.diff(stretch) == 1).all()
    if len(rows):
        assert rows[0] == 0
        assert rows[-1] >= windows - 1 - windows // apart


def test_training_and_evaluation_judge_alike(carrying, run):
    training = run(carrying(epochs=2, keep="last"))
    held = training.validation
    last = [line for line in training.record.lines if line["split"] == "validation"][-1]
    figures = evaluate(training.model, task(), held.carried())
    assert {name: last[name] for name in figures} == figures
    sample = [line for line in training.record.lines if line["split"] == "train-sample"][-1]
    figures = evaluate(training.model, task(), training.sample.carried())
    assert sample["loss"] == figures["loss"]
    strips = training.sample.rows.reshape(evaluation.STRIPS, -1)
    assert strips.shape[1] > 1
    assert (np.diff(strips) == 1).all()  # so that a state goes on from each to the next


# What is refused.


@pytest.mark.parametrize(
    ("plan", "windows", "words"),
    [
        ({"accumulate": 2}, 100, r"train\.accumulate=2 does not go with train\.carry"),
        ({"batch_size": "full"}, 100, r"train\.batch_size=full strips, and 100 windows"),
        ({"batch_size": 100}, 100, r"train\.batch_size=100 strips, and 100 windows"),
    ],
)
def test_plans_that_cannot_carry_are_refused(plan, windows, words):
    settled = Plan(**plan_schema.resolve({"carry": True, **plan}, "train"))
    with pytest.raises(GradlabError, match=words) as caught:
        check_carry(settled, recurrent(), text(windows * LENGTH + 1))
    assert "\n" not in str(caught.value)
    check_carry(Plan(carry=True, batch_size=windows - 1), recurrent(), text(windows * LENGTH + 1))


@pytest.mark.parametrize("name", ["gpt", "ngram", "linear"])
def test_models_without_a_state_are_refused(name):
    spec = Table(LENGTH) if name == "linear" else Tokens(LENGTH, TOKENS)
    model = models.build(models.resolve(Part(name), "model"), spec, TOKENS)
    with pytest.raises(GradlabError, match=r"train\.carry=true is for models that have a state"):
        check_carry(Plan(carry=True), model, text(300))


def test_rows_that_stand_alone_are_refused():
    with pytest.raises(GradlabError, match=r"carry=True is for a text .*task=language"):
        gl.fit(nn.Linear(2, 2), (torch.randn(9, 2), torch.arange(9) % 2), carry=True)
