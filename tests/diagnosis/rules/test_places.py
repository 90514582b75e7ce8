"""Sequences whose places are confused: masks of numbers, decoders that are given the answer, targets too far ahead,
positions along the wrong axis."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from trainings import adam, found, grave, watching

WORDS, LENGTH = 12, 8


def walks(rows=160):
    steps = torch.randint(1, 3, (rows, LENGTH))
    return (torch.randint(WORDS, (rows, 1)) + steps.cumsum(1)) % WORDS


class Reader(nn.Module):
    def __init__(self, mask=None, positions=None, outputs=WORDS):
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.stack, self.out = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), nn.Linear(16, outputs)
        self.mask = mask
        self.register_buffer("positions", positions)

    def forward(self, x):
        h = self.words(x)
        if self.positions is not None:
            rows = len(x) if self.positions.shape[1] == 1 else x.shape[1]
            h = h + (self.positions[:rows] if self.positions.shape[1] == 1 else self.positions[:, :rows])
        return self.out(self.stack(h, mask=self.mask))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(WORDS, 16), nn.Linear(16, WORDS)
        self.reads, self.writes = nn.GRU(16, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)

    def forward(self, source, given):
        return self.out(self.writes(self.words(given), self.reads(self.words(source))[1])[0])


def fit(model, split, steps=30):
    optimizer = adam(model.parameters())
    rows = walks()
    for _ in range(steps):
        inputs, targets = split(rows[torch.randint(len(rows), (16,))])
        loss = F.cross_entropy(model(*inputs).reshape(-1, WORDS), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def following(rows):
    return (rows[:, :-1],), rows[:, 1:]


@pytest.mark.parametrize("kind", [torch.float, torch.bool])
def test_a_mask_of_ones_and_zeros_hides_nothing(kind):
    mask = torch.ones(LENGTH - 1, LENGTH - 1).triu(1).to(kind)
    with watching() as doctor:
        fit(Reader(mask), following)
    if kind == torch.bool:
        assert grave(doctor, "causal_leak") == []
    else:
        assert found(doctor, "causal_leak").severity == "error"


def test_a_decoder_is_given_what_it_should_say():
    with watching() as doctor:
        fit(Translator(), lambda rows: ((rows.flip(1), rows[:, 1:]), rows[:, 1:]))
    assert "copy" in found(doctor, "causal_leak").evidence


def test_a_decoder_is_given_what_came_before():
    with watching() as doctor:
        fit(Translator(), lambda rows: ((rows.flip(1), rows[:, :-1]), rows[:, 1:]))
    assert grave(doctor, "causal_leak") == []


def test_what_is_to_be_rebuilt_may_be_seen():
    class Rebuilding(Translator):
        def forward(self, given):
            return super().forward(given, given)

    with watching() as doctor:
        fit(Rebuilding(), lambda rows: ((rows,), rows))
    assert grave(doctor, "causal_leak") == []


class Speaker(nn.Module):
    def __init__(self, both_ways: bool):
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.rnn = nn.GRU(16, 16, batch_first=True, bidirectional=both_ways)
        self.out = nn.Linear(32 if both_ways else 16, WORDS)

    def forward(self, x):
        return self.out(self.rnn(self.words(x))[0])


@pytest.mark.parametrize(("shifted", "both_ways"), [(False, False), (True, False), (False, True)])
def test_targets_that_are_the_inputs_themselves(shifted, both_ways):
    """Who sees all places may be meant to say them again; who goes from one to the next is not."""
    with watching() as doctor:
        fit(Speaker(both_ways), following if shifted else lambda rows: ((rows,), rows))
    if shifted or both_ways:
        assert grave(doctor, "causal_leak") == []
    else:
        assert "at that very place" in found(doctor, "causal_leak").evidence


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_targets_are_so_many_places_ahead(ahead):
    mask = torch.ones(LENGTH - ahead, LENGTH - ahead).triu(1).bool()
    with watching() as doctor:
        fit(Reader(mask), lambda rows: ((rows[:, :-ahead],), rows[:, ahead:]))
    if ahead == 1:
        assert grave(doctor, "label_misalignment") == []
    else:
        assert found(doctor, "label_misalignment").measured["places"] == ahead


def test_several_tokens_ahead_are_predicted_on_purpose():
    mask = torch.ones(LENGTH - 2, LENGTH - 2).triu(1).bool()
    model = Reader(mask, outputs=2 * WORDS)
    optimizer, rows = adam(model.parameters()), walks()
    with watching() as doctor:
        for _ in range(30):
            batch = rows[torch.randint(len(rows), (16,))]
            one, two = model(batch[:, :-2]).split(WORDS, 2)
            near = F.cross_entropy(one.reshape(-1, WORDS), batch[:, 1:-1].reshape(-1))
            far = F.cross_entropy(two.reshape(-1, WORDS), batch[:, 2:].reshape(-1))
            optimizer.zero_grad()
            (near + far).backward()
            optimizer.step()
    assert grave(doctor, "label_misalignment") == []


@pytest.mark.parametrize("axis", [0, 1])
def test_positions_of_the_batch(axis):
    positions = torch.randn(50, 16).unsqueeze(1 - axis)
    model = Reader(positions=positions, outputs=3)
    optimizer, rows = adam(model.parameters()), walks(64)
    labels = rows[:, 0] % 3
    with watching() as doctor:
        for _ in range(12):
            for at in torch.randperm(64).split(16):
                optimizer.zero_grad()
                F.cross_entropy(model(rows[at]).mean(1), labels[at]).backward()
                optimizer.step()
    if axis == 0:
        assert "another order" in found(doctor, "batch_mixing").evidence
    else:
        assert grave(doctor, "batch_mixing") == []
