"""Encoders and decoders: cached as uncached, padding that changes nothing, and a twin that loops over cells."""

import pytest
import torch
from torch import nn

from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.models.seq2seq import Conditioned, RecurrentEncoder
from gradlab.registry import Part
from gradlab.sampling import Beam, beam_search
from gradlab.sampling.models import Reader
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


def test_several_sources_tell_the_size_of_the_vocabulary(model, source, target):
    reader = Reader(Conditioned(model, source), len(source), 9)
    with torch.no_grad():
        assert reader.size_of_vocabulary(target) == TARGETS


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


def packed(encoder, cell, layers):
    """PyTorch's network of the same weights, for sequences that are packed."""
    kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[cell]
    both = bool(encoder.backwards)
    units = encoder.forwards[0].hidden_size
    peer = kind(8, units, layers, batch_first=True, bidirectional=both).double()
    for i in range(layers):
        for way, suffix in [(encoder.forwards, ""), *([(encoder.backwards, "_reverse")] if both else [])]:
            weight = way[i].weight_ih_l0.data
            getattr(peer, f"weight_ih_l{i}{suffix}").data.copy_(weight[:, :-1])
            getattr(peer, f"bias_ih_l{i}{suffix}").data.copy_(weight[:, -1])
            getattr(peer, f"bias_hh_l{i}{suffix}").data.zero_()
            getattr(peer, f"weight_hh_l{i}{suffix}").data.copy_(way[i].weight_hh_l0.data)
    return peer


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("both", [True, False])
def test_an_encoder_reads_what_packed_sequences_say(cell, both, source):
    torch.manual_seed(0)
    encoder = RecurrentEncoder(nn.Embedding(SOURCES, 8), cell, 6, 2, bidirectional=both).double()
    for layer in (*encoder.forwards, *encoder.backwards):
        nn.init.normal_(layer.weight_ih_l0.data[:, -1])
    memory, lengths = encoder(source), (source != 0).sum(1)
    run = nn.utils.rnn.pack_padded_sequence(encoder.embedding(source), lengths, True, enforce_sorted=False)
    outputs, last = packed(encoder, cell, 2)(run)
    outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs, True, total_length=source.shape[1])
    torch.testing.assert_close(memory.states, outputs)
    parts = list(zip(*memory.last, strict=True)) if cell == "lstm" else [memory.last]
    for mine, theirs in zip(parts, last if cell == "lstm" else [last], strict=True):
        by_layer = theirs.view(2, 1 + both, len(source), -1).transpose(1, 2).flatten(2)
        torch.testing.assert_close(torch.cat(list(mine)), by_layer)


def test_an_encoder_waits_for_no_device(source):
    """On the device meta, whoever asks for a number fails."""
    encoder = RecurrentEncoder(nn.Embedding(SOURCES, 8), "lstm", 6).to("meta")
    assert encoder(source.to("meta")).states.shape == (3, 5, 6)


def test_bahdanaus_decoder_is_a_loop_over_cells(source, target):
    model = made("seq2seq-rnn", {"dim": 8, "hidden": 6, "cell": "gru", "form": "bahdanau"})
    decoder, memory = model.decoder, model.encode(source)
    layer, attention = decoder.layers[0], decoder.attention
    cell = nn.GRUCell(8 + 6, 6).double()
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    for row in range(3):
        states, s = memory.states[row, source[row] != 0], memory.last[0][0, row]
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
