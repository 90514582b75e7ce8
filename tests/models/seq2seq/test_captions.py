"""Models of pictures with captions: what they look at, that they learn, and that a cache changes nothing."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.models.seq2seq import Conditioned
from gradlab.models.seq2seq.regions import maps_of
from gradlab.registry import Part
from gradlab.specs import Pair, Picture, Tokens

PAIR = Pair(Picture(3, 12, 8), Tokens(9, 7))
TRUNK = Part("vgg", {"widths": [4, 6], "convolutions": 1})
RECURRENT = {"dim": 5, "hidden": 6, "trunk": TRUNK}
KINDS = {
    "none": ("caption-rnn", {**RECURRENT, "attention": "none", "layers": 2}),
    "dot": ("caption-rnn", {**RECURRENT, "attention": "dot", "cell": "gru"}),
    "bahdanau": ("caption-rnn", {**RECURRENT, "attention": "additive", "form": "bahdanau"}),
    "fed": ("caption-rnn", {**RECURRENT, "attention": "general", "input_feeding": True, "cell": "rnn"}),
    "transformer": ("caption-transformer", {"dim": 8, "layers": 2, "heads": 2, "trunk": TRUNK}),
}


def built(kind):
    torch.manual_seed(0)
    name, values = KINDS[kind]
    return build_model(Part(name, values), PAIR, 7)


def inputs(rows=3):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(rows, 3, 12, 8, generator=generator), torch.randint(1, 7, (rows, 9), generator=generator)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_every_parameter_and_the_loss_falls(kind):
    model, (x, y) = built(kind), inputs()
    optimizer, losses = torch.optim.Adam(model.parameters(), 3e-3), []
    for _ in range(4):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, y[:, :-1]).flatten(0, 1), y[:, 1:].flatten())
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert silent == []
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_caption_read_token_by_token_has_the_same_logits(kind):
    model, (x, y) = built(kind).double().eval(), inputs()
    source = x.double()
    conditioned = Conditioned(model, source)
    cache = conditioned.new_cache(3, 9)
    steps = [conditioned(y[:, i : i + 1], cache=cache) for i in range(9)]
    assert_close(torch.cat(steps, 1), model(source, y))


@pytest.mark.parametrize("kind", KINDS)
def test_each_cell_has_a_weight_and_they_sum_to_one(kind):
    model, (x, y) = built(kind).eval(), inputs()
    assert model.encoder.grid == (3, 2)
    weights = model.alignment(x, y)
    if kind == "none":
        assert weights is None
    else:
        assert weights.shape == (3, 9, 6)
        assert_close(weights.sum(-1), torch.ones(3, 9))


def test_cells_are_row_by_row():
    """A change of the lower right of a picture moves the last cell, and not the first."""
    model, (x, _) = built("dot").eval(), inputs(1)
    before = model.encode(x).states
    x[..., -1, -1] += 5
    changed = (model.encode(x).states - before).abs().amax(-1)[0] > 0
    assert changed.tolist() == [False, False, False, False, False, True]


def test_without_attention_the_first_state_knows_the_place_of_things():
    """The mean of all cells does not, but for what borders do."""
    x, _ = inputs(1)
    shifted = x.roll(4, -2)
    for kind, differs in (("none", True), ("dot", False)):
        model = built(kind).eval()
        with torch.no_grad():
            model.encoder.position.weight.zero_()
            model.encoder.trunk = torch.nn.AvgPool2d(4)
            model.encoder.map = torch.nn.Linear(3, 6)
        one, other = (model.encode(picture).last[0] for picture in (x, shifted))
        first = one[0] if isinstance(one, tuple) else one
        second = other[0] if isinstance(other, tuple) else other
        assert torch.allclose(first, second, atol=1e-6) != differs


@pytest.mark.parametrize(("name", "channels"), [("resnet20", 64), ("densenet", None), ("lenet", 16), ("vgg", 64)])
def test_networks_of_pictures_are_trunks(name, channels):
    pair = Pair(Picture(3, 32, 32), Tokens(9, 7))
    model = build_model(Part("caption-rnn", {"dim": 4, "hidden": 4, "trunk": Part(name)}), pair, 7)
    rows, columns = model.encoder.grid
    assert model(torch.randn(2, 3, 32, 32), torch.ones(2, 5, dtype=torch.int64)).shape == (2, 5, 7)
    assert model.encoder.map.in_features == (channels or model.encoder.map.in_features)
    assert model.encode(torch.randn(2, 3, 32, 32)).states.shape == (2, rows * columns, 4)


def test_building_leaves_the_statistics_of_normalisation_alone():
    for name, buffer in built("dot").encoder.trunk.named_buffers():
        expected = torch.ones_like(buffer) if name.endswith("var") else torch.zeros_like(buffer)
        assert torch.equal(buffer, expected)


def test_what_gives_no_maps_or_is_no_picture_is_refused():
    with pytest.raises(GradlabError, match=r"model.trunk=mlp gives no maps of a picture. Take vgg"):
        maps_of(build_model(Part("mlp"), Picture(3, 8, 8), 2), "mlp")
    texts = Pair(Tokens(8, 9), Tokens(8, 9))
    with pytest.raises(GradlabError, match="for pictures with captions, and these are pairs: texts"):
        build_model(Part("caption-rnn"), texts, 9)
