"""Decoding on a CUDA device: the texts of the CPU, and errors that leave the device usable."""

import math

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel
from gradlab.models.seq2seq import Conditioned
from gradlab.nn.attention.cache import StaticCache
from gradlab.nn.transformer import DecoderLayer
from gradlab.registry import Part
from gradlab.sampling import Beam, Draft, Lookup, beam_search, captured, generate, stream
from gradlab.sampling.rounds import Rounds
from gradlab.specs import Pair, Tokens

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


class TinyGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(300, 16), nn.Embedding(64, 16)
        self.layers = nn.ModuleList(DecoderLayer(16, 2) for _ in range(2))
        self.head = nn.Linear(16, 300)
        nn.init.normal_(self.head.weight, std=0.7)

    def new_cache(self, batch, max_length):
        return StaticCache(len(self.layers), max_length)

    def forward(self, tokens, *, cache=None):
        start = 0 if cache is None else cache.length
        x = self.embedding(tokens) + self.position(torch.arange(start, start + tokens.shape[1], device=tokens.device))
        for i, layer in enumerate(self.layers):
            x = layer(x, cache=None if cache is None else cache[i])
        return self.head(x)


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"eos": list(range(20))},
        {"temperature": 0.9, "top_k": 50, "top_p": 0.9, "min_p": 0.01, "seed": 3},
        {"temperature": 1.0, "eos": list(range(20)), "repetition_penalty": 1.3, "seed": 3},
        {"beam": Beam(4, n_best=2), "eos": list(range(20))},
        {"beam": Beam(6, groups=3, diversity=0.5)},
        {"prefix": [4, 5], "allowed": [4, 5, 6, 7]},
        {"draft": Lookup(), "temperature": 0.7, "seed": 1},
    ],
)
def test_texts_are_those_of_the_cpu(way):
    torch.manual_seed(0)
    model, prompts = TinyGPT().double().eval(), torch.randint(300, (5, 7))
    lengths = [7, 3, 5, 1, 7]
    want = generate(model, prompts, 20, lengths=lengths, **way)
    model.cuda()
    got = generate(model, prompts.cuda(), 20, lengths=lengths, **way)
    assert torch.equal(got.cpu(), want)
    if not {"beam", "draft"} & set(way):
        assert torch.equal(torch.stack(list(stream(model, prompts.cuda(), 20, lengths=lengths, **way)), 1), got[:, 1:])
    if "temperature" not in way and "beam" not in way:
        assert torch.equal(generate(model, prompts.cuda(), 20, lengths=lengths, draft=Draft(model), **way), got)


LANGUAGE_MODELS = {
    "gpt": lambda: TransformerLanguageModel(300, 64, dim=32, layers=2, heads=2, approximate="tanh"),
    "llama": lambda: TransformerLanguageModel(
        300, 64, dim=32, layers=2, heads=2, position="rotary", norm="rms", gated=True, bias=False
    ),
    "alibi": lambda: TransformerLanguageModel(300, 64, dim=32, layers=2, heads=2, position="alibi"),
    "linear": lambda: TransformerLanguageModel(300, 64, dim=32, layers=2, heads=2, attention="linear"),
    "lstm": lambda: RecurrentLanguageModel(300, dim=32, layers=2),
}


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"eos": list(range(20))},
        {"temperature": 0.9, "top_p": 0.9, "seed": 3},
        {"beam": Beam(4, n_best=2), "eos": list(range(20))},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", LANGUAGE_MODELS)
@pytest.mark.parametrize("rows", [1, 7])
def test_replayed_texts_are_those_of_the_usual_way(name, way, rows, monkeypatch):
    torch.manual_seed(0)
    model, prompts = LANGUAGE_MODELS[name]().cuda().eval(), torch.randint(300, (rows, 7), device="cuda")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    with monkeypatch.context() as usual:
        usual.setattr(captured, "is_worth", lambda device, tokens: False)
        wanted = generate(model, prompts, 90, **way)  # beyond the context
    replays = []
    go = captured.CapturedStep.go
    monkeypatch.setattr(captured.CapturedStep, "go", lambda step: replays.append(1) or go(step))
    assert torch.equal(generate(model, prompts, 90, **way), wanted)
    assert replays


@pytest.mark.parametrize("name", ["gpt", "llama", "alibi"])
@pytest.mark.parametrize("way", [{}, {"eos": list(range(20))}], ids=str)
def test_rounds_of_guesses_give_the_text_without_a_draft(name, way, monkeypatch):
    torch.manual_seed(0)
    model, prompts = LANGUAGE_MODELS[name]().cuda().eval(), torch.randint(300, (2, 7), device="cuda")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    wanted, made = generate(model, prompts, 40, **way), []
    write = Rounds.write
    monkeypatch.setattr(Rounds, "write", lambda rounds: made.append(1) or write(rounds))
    for draft in (Draft(model, ahead=3), Draft(LANGUAGE_MODELS["gpt"]().cuda().eval(), ahead=5), Lookup()):
        assert torch.equal(generate(model, prompts, 40, draft=draft, **way), wanted)
    assert made
    sure = Draft(model, ahead=3)
    texts = [generate(model, prompts, 40, draft=sure, temperature=1.0, seed=1) for _ in range(2)]
    assert torch.equal(*texts)
    assert sure.acceptance.rate > 0.9  # a guess is refused where rounding alone made it less probable


def test_a_replayed_text_waits_for_nothing():
    model, prompts = LANGUAGE_MODELS["gpt"]().cuda(), torch.randint(300, (4, 7), device="cuda")
    columns = stream(model, prompts, 40, temperature=0.9, seed=1)
    next(columns)
    try:
        torch.cuda.set_sync_debug_mode("error")
        for _ in range(38):
            next(columns)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_token_takes_few_kernels():
    model = TransformerLanguageModel(300, 64, dim=64, layers=3, heads=2, approximate="tanh").cuda().eval()
    with torch.inference_mode():
        for rows, most in ((1, 5), (16, 8)):  # of a layer
            cache = model.new_cache(rows, 32)
            cache.read(torch.randint(300, (rows, 5), device="cuda"), last=1)
            step = captured.CapturedStep(cache, rows, torch.device("cuda"), reordered=False)
            with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as seen:
                step.replay()
                torch.cuda.synchronize()
            kernels = [event for event in seen.events() if event.device_type == torch.autograd.DeviceType.CUDA]
            assert len(kernels) <= 3 * most + 9


@pytest.mark.parametrize(
    "way", [{}, {"temperature": 1.0}, {"beam": 2}, {"temperature": 1.0, "eos": 2}, {"draft": Lookup()}]
)
def test_nan_is_told_with_its_step_and_harms_nothing(way):
    embedding = nn.Embedding(5, 5).cuda()

    def model(tokens):
        logits = 0 * embedding(tokens)
        if tokens.shape[1] >= 4:
            logits[-1, 3:] = math.nan
        return logits

    with pytest.raises(GradlabError, match="No token can be chosen at step 3 of row"):
        generate(model, torch.tensor([[1, 2], [3, 4]], device="cuda"), 6, **way)
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_tokens_outside_the_vocabulary_are_told_before_the_device_sees_them():
    model = TinyGPT().cuda()
    for wrong in ({"tokens": [[1, 300]]}, {"tokens": [[1], [2, 400]]}, {"eos": 300}, {"pad": 300}):
        asked = {"tokens": [[1], [2, 3]]} | wrong
        tokens = [torch.tensor(prompt, device="cuda") for prompt in asked.pop("tokens")]
        for way in ({}, {"beam": 2}):
            with pytest.raises(GradlabError, match="there is no token"):
                generate(model, tokens, 5, **asked, **way)
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_without_end_tokens_nothing_waits_for_the_device():
    model, tokens = TinyGPT().cuda(), torch.randint(300, (4, 7), device="cuda")
    calls = 0

    def watched(tokens, *, cache=None):
        nonlocal calls
        calls += 1
        # The first call is behind what is read once: the prompts. The last is followed by what is read at the end.
        torch.cuda.set_sync_debug_mode("error" if 1 < calls < 20 else "default")
        return model(tokens, cache=cache)

    try:
        watched.new_cache = model.new_cache
        for way in (
            {},
            {"temperature": 1.0, "top_k": 5, "top_p": 0.9, "min_p": 0.1, "repetition_penalty": 1.1, "seed": 0},
        ):
            calls = 0
            generate(watched, tokens, 20, **way)
        calls = 1
        beam_search(watched, tokens, 20, 3)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("name", ["seq2seq-transformer", "seq2seq-rnn"])
def test_targets_of_several_sources_are_those_of_the_cpu(name):
    torch.manual_seed(0)
    model = build_model(Part(name, {"dim": 32}), Pair(Tokens(24, 40), Tokens(24, 50)), 50).eval()
    source = torch.randint(1, 40, (5, 9))
    searched = {}
    for device in ("cpu", "cuda"):
        conditioned = Conditioned(model.to(device), source.to(device))
        found = beam_search(conditioned, torch.full((5, 1), 2, device=device), 20, Beam(3), eos=3, pad=0)
        searched[device] = found.tokens.cpu()
    assert torch.equal(searched["cpu"], searched["cuda"])
