"""Decoding on a device: the host starts a step for each token, and waits for none of them."""

import itertools

import pytest
import torch
from counting import META, Device

from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel
from gradlab.sampling import captured, generate

MODELS = {
    "gpt": lambda: TransformerLanguageModel(30, 64, dim=16, layers=2, heads=2),
    "llama": lambda: TransformerLanguageModel(
        30, 64, dim=16, layers=2, heads=2, position="rotary", norm="rms", gated=True, bias=False
    ),
    "linear": lambda: TransformerLanguageModel(30, 64, dim=16, layers=1, heads=2, attention="linear"),
    "performer": lambda: TransformerLanguageModel(30, 64, dim=16, layers=1, heads=2, attention="performer"),
    "lstm": lambda: RecurrentLanguageModel(30, dim=16, layers=2),
}
NEW = 20


@pytest.fixture
def device(monkeypatch):
    """One that counts, a part for each replay: on meta, what was recorded is done again as it is."""
    device, go = Device(says=False), captured.CapturedStep.go
    monkeypatch.setattr(captured, "is_worth", lambda device, tokens: True)
    monkeypatch.setattr(captured.CapturedStep, "go", lambda step: device.part() or go(step))
    return device


def written(model, device, new=NEW, **way):
    """What was counted for each replayed token, but for the last, which is read to the end with it."""
    with device:
        generate(model.eval().to(META), torch.zeros(3, 5, dtype=torch.int64, device=META), new, **way)
    return device.parts[1:]


@pytest.mark.parametrize("way", [{}, {"temperature": 0.9, "top_k": 5, "seed": 1}], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_a_token_is_one_replay_of_always_the_same_operations_and_waits_for_nothing(name, way, device):
    tokens = written(MODELS[name](), device, **way)
    assert len(tokens) == NEW - 2
    assert not any(part.waits for part in tokens)
    assert len({sum(part.calls.values()) for part in tokens}) == 1


def test_ends_are_looked_at_once_in_sixteen_tokens(device):
    tokens = written(MODELS["gpt"](), device, new=40, eos=3)
    waits = [i for i, part in enumerate(tokens) if part.waits]
    assert [b - a for a, b in itertools.pairwise(waits)] == [16]


@pytest.mark.parametrize("eos", [None, 3])
def test_a_beam_search_waits_no_more_often(eos, device):
    tokens = written(MODELS["gpt"](), device, beam=3, eos=eos)
    assert len(tokens) == NEW - 2
    assert sum(map(bool, (part.waits for part in tokens))) <= (0 if eos is None else NEW // 16)
