"""A step that a device would replay, done on the CPU as it is: the texts are those of the usual way."""

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel
from gradlab.sampling import Beam, captured, generate, models, stream
from gradlab.sampling.captured import CapturedStep

SETTINGS = [
    *({"position": position} for position in ("none", "learned", "sinusoidal", "rotary", "alibi", "relative")),
    {"norm": "rms", "gated": True, "bias": False, "tied": False, "position": "rotary"},
    {"norm_first": False, "approximate": "tanh"},
    {"attention": "linear"},
    {"attention": "performer", "position": "none"},
    {"attention": "additive"},
]
WAYS = [
    {},
    {"eos": [1, 4, 7]},
    {"temperature": 0.9, "top_k": 5, "repetition_penalty": 1.2, "seed": 3},
    {"beam": Beam(3, n_best=2), "eos": 2},
    {"beam": Beam(4, groups=2, diversity=0.3)},
]


def transformer(context=64, **settings) -> TransformerLanguageModel:
    torch.manual_seed(0)
    model = TransformerLanguageModel(11, context, dim=16, layers=2, heads=2, **settings).double()
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def recurrent(cell) -> RecurrentLanguageModel:
    torch.manual_seed(0)
    return RecurrentLanguageModel(11, dim=8, layers=2, cell=cell).double().eval()


@pytest.fixture
def replayed(monkeypatch):
    """As on a device: steps are recorded, and ends are looked at now and then. Gives the steps there were."""
    made = []

    class Counted(CapturedStep):
        def go(self):
            made.append(self.tokens.clone())
            super().go()

    monkeypatch.setattr(captured, "is_worth", lambda device, tokens: tokens > 0)
    monkeypatch.setattr(models, "CapturedStep", Counted)
    monkeypatch.setattr("gradlab.sampling.generation.look_every", lambda device: 16)
    monkeypatch.setattr("gradlab.sampling.beam.look_every", lambda device: 16)
    return made


def check_texts(model, way, replayed, monkeypatch, new=20):
    prompts, lengths = torch.randint(11, (3, 5)), [5, 2, 4]
    with monkeypatch.context() as usual:
        usual.setattr(captured, "is_worth", lambda device, tokens: False)
        wanted = generate(model, prompts, new, lengths=lengths, **way)
    assert not replayed
    assert torch.equal(generate(model, prompts, new, lengths=lengths, **way), wanted)
    assert len(replayed) > 1
    if "beam" not in way:
        columns = torch.stack(list(stream(model, prompts, new, lengths=lengths, **way)), 1)
        assert torch.equal(torch.cat([wanted[:, :2], columns], 1), wanted)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_transformer_writes_the_same(settings, way, replayed, monkeypatch):
    check_texts(transformer(**settings), way, replayed, monkeypatch)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_a_recurrent_model_writes_the_same(cell, way, replayed, monkeypatch):
    check_texts(recurrent(cell), way, replayed, monkeypatch)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[3]], ids=str)
@pytest.mark.parametrize("attention", ["scaled_dot", "linear"])
def test_a_window_slides(attention, way, replayed, monkeypatch):
    check_texts(transformer(context=8, attention=attention), way, replayed, monkeypatch, new=30)


@pytest.mark.parametrize("eos", [None, *range(11)])
def test_what_a_recording_writes_is_put_back(eos, replayed, monkeypatch):
    """It reads the token 0 where the first token will come, and may choose an end."""
    model, prompts = transformer(), torch.arange(1, 10).view(3, 3)
    with monkeypatch.context() as usual:
        usual.setattr(captured, "is_worth", lambda device, tokens: False)
        wanted = generate(model, prompts, 20, eos=eos)
    assert torch.equal(generate(model, prompts, 20, eos=eos), wanted)


@pytest.mark.parametrize("way", [{}, {"temperature": 0.9, "seed": 1}, {"beam": 2}], ids=str)
def test_nan_is_told_with_its_step(way, replayed):
    model = transformer()
    model.position.weight.data[8] = torch.nan
    with pytest.raises(GradlabError, match="No token can be chosen at step 7 of row 0"):
        generate(model, torch.arange(1, 7).view(2, 3), 20, **way)


@pytest.mark.parametrize("kind", [transformer, lambda: recurrent("gru")], ids=["transformer", "recurrent"])
def test_what_has_a_hook_is_not_replayed(kind, replayed):
    model, calls = kind(), []
    model.layers[0].register_forward_hook(lambda *call: calls.append(1))
    generate(model, torch.randint(11, (1, 3)), 20)
    assert len(calls) == 20
    assert not replayed


def test_a_subclass_is_not_replayed(replayed):
    class Doubled(TransformerLanguageModel):
        def forward(self, tokens, *, cache=None):
            return 2 * super().forward(tokens, cache=cache)

    generate(Doubled(11, 32, dim=16, layers=1, heads=2), torch.randint(11, (1, 3)), 20)
    assert not replayed


def test_the_cpu_records_nothing():
    assert not captured.is_worth(torch.device("cpu"), 1000)


@torch.inference_mode()
def test_a_step_leaves_memory_where_it_is():
    model, tokens = transformer(), torch.randint(11, (2, 1))
    cache = model.new_cache(2, 8)
    cache.read(torch.randint(11, (2, 3)), last=1)
    step = CapturedStep(cache, 2, torch.device("cpu"), reordered=True)
    places = [room.data_ptr() for layer in cache.layers for room in layer.rooms]
    logits = step(tokens)
    cache.reorder(torch.tensor([1, 0]))
    assert step(tokens) is logits
    assert [room.data_ptr() for layer in cache.layers for room in layer.rooms] == places
    assert cache.length == 5


@torch.inference_mode()
def test_what_is_read_after_a_reordering_sees_the_right_keys():
    model, tokens = transformer(position="rotary"), torch.randint(11, (2, 8))
    cache = model.new_cache(2, 8)
    cache.read(tokens[:, :3], last=1)
    step = CapturedStep(cache, 2, torch.device("cpu"), reordered=True)
    step(tokens[:, 3:4])
    rows = torch.tensor([1, 1])
    cache.reorder(rows)
    step(tokens[:, 4:5])
    text = torch.cat([tokens[rows, :4], tokens[:, 4:]], 1)
    torch.testing.assert_close(cache.read(text[:, 5:], last=1), model(text)[:, -1:])
