import math
from dataclasses import asdict

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models import MaskedLanguageModel, TextClassifier, TransformerEncoder, models
from gradlab.registry import Part
from gradlab.specs import Tokens

TOKENS = torch.randint(1, 11, (3, 9), generator=torch.Generator().manual_seed(1))
PADDED = torch.cat([TOKENS, torch.zeros(3, 4, dtype=torch.int64)], 1)


def shaken(model):
    torch.manual_seed(0)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.double().eval()


def encoder(**options):
    return TransformerEncoder(11, 16, **{"dim": 16, "layers": 2, "heads": 2, **options})


HEADS = {
    "features": lambda **options: encoder(**options),
    "masked": lambda **options: MaskedLanguageModel(encoder(**options)),
    "first": lambda **options: TextClassifier(encoder(**options), 3),
    "mean": lambda **options: TextClassifier(encoder(**options), 3, pooling="mean"),
}


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_features_are_those_of_torch(norm_first):
    ours = shaken(encoder(norm_first=norm_first, eps=0.1, types=3, hidden=20))
    options = {"dropout": 0.0, "activation": "gelu", "layer_norm_eps": 0.1, "norm_first": norm_first}
    layer = nn.TransformerEncoderLayer(16, 2, 20, batch_first=True, **options)
    theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double().eval()
    renamed = {"attention": "self_attn", "mlp.": ""}
    state = {}
    for name, tensor in ours.layers.state_dict().items():
        for old, new in renamed.items():
            name = name.replace(old, new)
        state[name] = tensor
    theirs.layers.load_state_dict(state)
    types = torch.arange(13).remainder(3).expand(3, 13)
    tables = ours.embedding.weight[PADDED] + ours.position.weight[:13] + ours.types.weight[types]
    read = theirs(tables if norm_first else ours.norm(tables), src_key_padding_mask=PADDED == 0)
    want = ours.norm(read) if norm_first else read
    assert_close(ours(PADDED, types=types)[:, :9], want[:, :9])


@pytest.mark.parametrize("head", HEADS)
def test_padding_changes_nothing_and_later_tokens_do(head):
    model = shaken(HEADS[head]())
    alone, padded = model(TOKENS), model(PADDED)
    assert_close(padded[:, :9] if alone.ndim == 3 else padded, alone)
    other = TOKENS.clone()
    other[:, 8] = other[:, 8] % 10 + 1
    first = (slice(None), 0) if alone.ndim == 3 else slice(None)
    assert not torch.allclose(model(other)[first], alone[first])


@pytest.mark.parametrize("head", HEADS)
def test_a_mask_says_what_is_looked_at_whatever_the_tokens_are(head):
    model, deaf = shaken(HEADS[head]()), shaken(HEADS[head](padding=None))
    real = PADDED != 0
    hidden = PADDED.masked_fill(~real, 5)  # hidden by the mask, and not by what it is
    places = real if model(PADDED).ndim == 3 else slice(None)
    assert_close(model(hidden, real)[places], model(PADDED)[places])
    assert_close(deaf(PADDED), model(PADDED, torch.ones_like(real)))
    assert not torch.allclose(deaf(PADDED)[places], model(PADDED)[places])


@pytest.mark.parametrize("head", HEADS)
def test_a_text_of_padding_alone_has_finite_outputs_and_gradients(head):
    model = shaken(HEADS[head]())
    model(torch.zeros(2, 5, dtype=torch.int64)).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_the_head_of_bert_is_its_equation():
    model = shaken(MaskedLanguageModel(encoder(eps=0.1)))
    y = model.encoder(TOKENS) @ model.dense.weight.T + model.dense.bias
    y = F.layer_norm(y * (1 + torch.erf(y / 2**0.5)) / 2, (16,), model.norm.weight, model.norm.bias, eps=0.1)
    assert_close(model(TOKENS), torch.einsum("btd,vd->btv", y, model.encoder.embedding.weight) + model.bias)


def test_the_classifiers_are_their_equations():
    first, mean = (shaken(TextClassifier(encoder(), 3, pooling=pooling)) for pooling in ("first", "mean"))
    y = torch.tanh(first.encoder(PADDED)[:, 0] @ first.pooler.weight.T + first.pooler.bias)
    assert_close(first(PADDED), y @ first.head.weight.T + first.head.bias)
    y = mean.encoder(PADDED)[:, :9].mean(1)
    assert_close(mean(PADDED), y @ mean.head.weight.T + mean.head.bias)


def test_dropout_is_of_training_alone():
    model = TextClassifier(encoder(dropout=0.5), 3, dropout=0.5)
    assert not torch.equal(model(TOKENS), model(TOKENS))
    model.eval()
    assert torch.equal(model(TOKENS), model(TOKENS))


def test_a_head_leaves_the_weights_of_a_trained_encoder_alone():
    trained = encoder()
    before = {name: tensor.clone() for name, tensor in trained.state_dict().items()}
    for head in (MaskedLanguageModel(trained), TextClassifier(trained, 3)):
        assert all(torch.equal(tensor, before[name]) for name, tensor in head.encoder.state_dict().items())


def test_a_fresh_model_knows_nothing_and_has_weights_as_bert():
    torch.manual_seed(0)
    model = MaskedLanguageModel(TransformerEncoder(50, 16, dim=64, layers=3, heads=4))
    matrices = torch.cat([p.flatten() for p in model.parameters() if p.ndim == 2])
    assert matrices.std().item() == pytest.approx(0.02, rel=0.02)
    tokens = torch.randint(1, 50, (8, 16))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), torch.randint(50, (128,)))
    assert loss.item() == pytest.approx(math.log(50), abs=0.1)


def test_types_where_there_are_none_are_told():
    with pytest.raises(GradlabError, match="no types of tokens: build it with types=2"):
        encoder()(TOKENS, types=torch.zeros_like(TOKENS))


def test_settings_build_the_same_encoder_again():
    made = encoder(hidden=20, dropout=0.1, norm_first=True, eps=0.1, types=2, padding=3, approximate="tanh")
    again = TransformerEncoder(made.vocabulary, made.context, **asdict(made.settings))
    again.load_state_dict(made.state_dict())
    assert_close(again.eval()(TOKENS), made.eval()(TOKENS))
    assert str(again) == str(made)
    assert again.settings == made.settings


@pytest.mark.parametrize(("name", "shape"), [("bert", (3, 9, 11)), ("bert-classifier", (3, 4))])
def test_they_are_built_by_name(name, shape):
    part = models.resolve(Part(name, {"dim": 16, "layers": 1, "heads": 2, "norm_first": True}), "model")
    outputs = 11 if name == "bert" else 4
    assert models.build(part, Tokens(9, 11), outputs)(TOKENS).shape == shape
