"""Encoders and decoders: cached as uncached, padding that changes nothing, and a twin that loops over cells."""

import pytest
import torch
from torch import nn

from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.models.seq2seq import Conditioned
from gradlab.registry import Part
from gradlab.sampling import Beam, beam_search
from gradlab.specs import Pair, Picture, Tokens

SOURCES, TARGETS = 11, 13
BOS, EOS = 2, 3
RECURRENT = {
    "one vector": {"attention": "none"},
    "one vector, two layers": {"attention": "none", "layers": 2, "cell": "gru"},
    "dot": {"attention": "dot", "cell": "gru"},
    "general": {"attention": "general", "layers": 2},
    "reduced rank": {"attention": "reduced-rank", "rank": 3, "cell": "rnn"},
    "additive": {"attention": "additive", "bidirectional": False},
    "input feeding": {"attention": "additive", "input_feeding": True, "layers": 2},
    "bahdanau": {"attention": "additive", "form": "bahdanau", "cell": "gru", "layers": 2},
    "tied": {"attention": "general", "tied": True, "dim": 6},
}
TRANSFORMERS = {
    "of 2017": {"norm_first": False},
    "normalised first": {},
    "learned": {"position": "learned", "tied": False},
    "rotary, grouped": {"position": "rotary", "key_heads": 1},
    "alibi": {"position": "alibi", "decoder_layers": 1},
    "relative": {"position": "relative"},
    "linear": {"position": "none", "attention": "linear"},
    "gated": {"gated": True, "norm": "rms", "bias": False},
}
ALL = {
    **{name: ("seq2seq-rnn", {"dim": 8, "hidden": 6, **values}) for name, values in RECURRENT.items()},
    **{name: ("seq2seq-transformer", {"dim": 8, "heads": 2, "layers": 2, **v}) for name, v in TRANSFORMERS.items()},
}


def made(name, values, shared=False):
    torch.manual_seed(0)
    pair = Pair(Tokens(9, SOURCES), Tokens(9, SOURCES if shared else TARGETS), shared)
    return build_model(Part(name, values), pair, pair.target.vocabulary).double().eval()


@pytest.fixture(params=ALL, ids=str)
def model(request):
    return made(*ALL[request.param])


@pytest.fixture
def source():
    return torch.tensor([[4, 5, 6, 7, EOS], [8, 9, EOS, 0, 0], [EOS, 0, 0, 0, 0]])


@pytest.fixture
def target():
    return torch.tensor([[BOS, 4, 5, 6], [BOS, 7, 8, 9], [BOS, 12, 4, 4]])


def test_a_target_read_token_by_token_gives_what_it_gives_as_a_whole(model, source, target):
    conditioned = Conditioned(model, source)
    cache = conditioned.new_cache(len(source), 9)
    with torch.no_grad():
        steps = torch.cat([conditioned(target[:, i : i + 1], cache=cache) for i in range(4)], 1)
        torch.testing.assert_close(steps, model(source, target), rtol=0, atol=1e-12)
    assert cache.length == 4


def test_padding_of_sources_and_targets_changes_nothing(model, source, target):
    lengths = (source != 0).sum(1)
    with torch.no_grad():
        together = model(source, target)
        padded = model(torch.nn.functional.pad(source, (0, 3)), torch.nn.functional.pad(target, (0, 2)))
        for row, length in enumerate(lengths):
            alone = model(source[row : row + 1, :length], target[row : row + 1])
            torch.testing.assert_close(together[row : row + 1], alone, rtol=0, atol=1e-12)
            torch.testing.assert_close(padded[row : row + 1, :4], alone, rtol=0, atol=1e-12)


def test_a_beam_finds_the_same_with_a_cache_and_without(model, source):
    conditioned, prompts = Conditioned(model, source), torch.full((3, 1), BOS)
    with torch.no_grad():
        found = [
            beam_search(read, prompts, 5, Beam(3, n_best=2), eos=EOS, pad=0)
            for read in (conditioned, lambda tokens: conditioned(tokens))
        ]
    assert torch.equal(found[0].tokens, found[1].tokens)
    torch.testing.assert_close(found[0].scores, found[1].scores, rtol=0, atol=1e-10)


def test_weights_of_the_source_sum_to_one_over_what_is_no_padding(model, source, target):
    with torch.no_grad():
        weights = model.alignment(source, target)
    if weights is None:
        return
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4).double())
    assert weights[1, :, 3:].eq(0).all()
    assert weights[2, :, 0].eq(1).all()


def test_models_without_attention_or_without_weights_have_no_alignment(source, target):
    for name in ("one vector", "linear"):
        assert made(*ALL[name]).alignment(source, target) is None
    assert made(*ALL["additive"]).alignment(source, target) is not None


def test_every_parameter_has_a_gradient(model, source, target):
    model(source, target).logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0 or "bias" in name or "_proj" in name, name


def test_what_is_said_of_a_token_does_not_depend_on_later_ones(model, source, target):
    other = target.clone()
    other[:, 2:] = 10
    with torch.no_grad():
        torch.testing.assert_close(model(source, target)[:, :2], model(source, other)[:, :2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in ALL if n != "tied"])
def test_a_shared_vocabulary_is_one_table(name):
    apart, shared = made(*ALL[name]), made(*ALL[name], shared=True)
    assert shared.encoder.embedding is shared.decoder.embedding
    assert apart.encoder.embedding is not apart.decoder.embedding


def test_bahdanaus_decoder_is_a_loop_over_cells(source, target):
    model = made("seq2seq-rnn", {"dim": 8, "hidden": 6, "cell": "gru", "form": "bahdanau"})
    encoder, decoder = model.encoder, model.decoder
    memory = model.encode(source)
    layer, attention = decoder.layers[0], decoder.attention
    cell = nn.GRUCell(8 + 6, 6).double()
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    for row in range(3):
        length = int((source[row] != 0).sum())
        forwards, backwards = nn.GRUCell(8, 3).double(), nn.GRUCell(8, 3).double()
        weights = encoder.layers[0].state_dict()
        forwards.load_state_dict({n.removesuffix("_l0"): w for n, w in weights.items() if not n.endswith("reverse")})
        backwards.load_state_dict(
            {n.removesuffix("_l0_reverse"): w for n, w in weights.items() if n.endswith("reverse")}
        )
        x = encoder.embedding(source[row, :length])
        ahead, back = [torch.zeros(3).double()], [torch.zeros(3).double()]
        for t in range(length):
            ahead.append(forwards(x[t], ahead[-1]))
            back.append(backwards(x[length - 1 - t], back[-1]))
        states = torch.stack([torch.cat([ahead[1 + t], back[length - t]]) for t in range(length)])
        torch.testing.assert_close(memory.states[row, :length], states)
        s = torch.cat([ahead[-1], back[-1]])
        logits = []
        for token in target[row]:
            scores = [
                attention.score_weight @ torch.tanh(attention.query_weight @ s + attention.key_weight @ h)
                for h in states
            ]
            context = torch.softmax(torch.stack(scores), 0) @ states
            s = cell(torch.cat([decoder.embedding(token), context]), s)
            logits.append(decoder.head(torch.tanh(decoder.mix(torch.cat([context, s])))))
        torch.testing.assert_close(model(source, target)[row], torch.stack(logits))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"hidden": 7}, "must be even"),
        ({"tied": True}, "to be model.dim"),
        ({"input_feeding": True, "attention": "none"}, "Leave it out"),
        ({"input_feeding": True, "form": "bahdanau"}, "Leave it out"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(values, words):
    with pytest.raises(GradlabError, match=words):
        made("seq2seq-rnn", {"dim": 8, "hidden": 6, **values})


def test_pictures_are_for_other_models():
    pair = Pair(Picture(3, 8, 8), Tokens(9, TARGETS))
    with pytest.raises(GradlabError, match="pairs of texts"):
        build_model(Part("seq2seq-rnn"), pair, TARGETS)
