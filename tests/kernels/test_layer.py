"""A transformer's layer by our own kernels gives what the layer gives: on a GPU, or in Triton's interpreter."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from gradlab.data import Targets
from gradlab.kernels.layer import LayerKernels
from gradlab.kernels.triton_language import collecting
from gradlab.models.language import TransformerLanguageModel
from gradlab.nn import GELU, MLP, DecoderLayer, EncoderLayer, GatedMLP, MultiheadAttention, RMSNorm, RotaryPosition
from gradlab.nn.fused_layer import both_passes, can_fuse, fused, parameters_of
from gradlab.tasks import Language
from gradlab.training.compiled import CompiledStep, fast_layers
from gradlab.training.guard import HostGuard
from gradlab.training.optimizers import Parameters, optimizers
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.step import GradientStep

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(autouse=True)
def device():
    torch.manual_seed(0)
    with DEVICE:
        yield


def decoder(dim=24, heads=2, *, bias=True, dropout=0.0, approximate="none", position=None, kind=DecoderLayer):
    layer = kind(
        dim,
        heads,
        dropout=dropout,
        attention=MultiheadAttention(dim, heads, bias=bias, position=position),
        mlp=MLP(dim, bias=bias, dropout=dropout, activation=GELU(approximate)),
    )
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return layer


def both(call, x, parameters, slope, dtype=torch.bfloat16):
    with torch.autocast(DEVICE.type, torch.bfloat16, enabled=dtype == torch.bfloat16):
        y = call(x)
    return [y, *torch.autograd.grad(y, [x, *parameters], slope)]


@pytest.mark.parametrize("shape", [(3, 7), (1, 1), (2, 20)])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bias": False, "approximate": "tanh"},
        {"dim": 40, "position": RotaryPosition(20)},
        {"kind": EncoderLayer},
    ],
    ids=str,
)
def test_outputs_and_gradients_are_those_of_the_layer(settings, shape, poisoned):
    layer = decoder(**settings)
    assert can_fuse(layer, DEVICE)
    dim = layer.embed_dim
    x, slope = torch.randn(*shape, dim, requires_grad=True), torch.randn(*shape, dim)
    parameters = list(layer.parameters())
    exact = both(layer, x, parameters, slope, torch.float32)
    got = both(fused(layer), x, parameters, slope)
    for mine, right in zip(got, exact, strict=True):
        assert mine.dtype == torch.float32
        assert (mine - right).norm() <= 0.03 * right.norm() + 1e-4


def drawn_by(kernels, shape):
    """The factors of dropout: what comes of ones."""
    return kernels.add(torch.zeros(shape), torch.ones(shape), 0)


def test_dropout_drops_its_share_and_scales_what_stays():
    shape = (999, 100)
    kernels = LayerKernels(shape[0], 0.2, torch.randint(2**62, (3,)))
    factors = drawn_by(kernels, shape)
    stays = factors != 0
    assert abs(stays.float().mean() - 0.8) < 4 * (0.2 * 0.8 / stays.numel()) ** 0.5
    torch.testing.assert_close(factors[stays], torch.full_like(factors[stays], 1.25), rtol=1e-4, atol=0)
    # Neither rows that share a draw nor columns side by side are dropped together.
    for shift, axis in ((1, 0), (2, 0), (7, 0), (1, 1)):
        together = (stays & stays.roll(shift, axis)).float().mean()
        assert abs(together - 0.64) < 0.01
    assert not torch.equal(drawn_by(LayerKernels(shape[0], 0.2, torch.randint(2**62, (3,))), shape), factors)


@pytest.mark.parametrize("rows", [1, 8, 37])
def test_gradients_know_what_was_dropped(rows, poisoned):
    dim = 24
    kernels = LayerKernels(rows, 0.3, torch.randint(2**62, (3,)))
    factors = drawn_by(kernels, (rows, dim))
    x, delta, gain, shift = (torch.randn(size, requires_grad=True) for size in ((rows, dim), (rows, dim), dim, dim))
    s = x + factors * delta
    y = F.layer_norm(s, (dim,), gain, shift)
    ds, dy = torch.randn(2, rows, dim)
    wanted = torch.autograd.grad((s, y), (x, delta, gain, shift), (ds, dy))
    with torch.no_grad():
        total, normed, *moments = kernels.add_norm(x, delta, gain, shift, 1e-5, 0, torch.float32)
        parts = kernels.parts(3 * dim)
        dx, ddelta = kernels.add_norm_back(dy, ds, (total, gain, *moments), parts, 0)
        alone = kernels.parts(dim)
        later = kernels.add_back(ds, alone, 0, torch.float32)
    close = {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close((total, normed), (s, y), **close)
    of_gain, of_shift, of_bias = parts.sum(0).split(dim)
    torch.testing.assert_close((dx, ddelta, of_gain, of_shift), wanted, **close)
    torch.testing.assert_close(of_bias, wanted[1].sum(0), **close)
    torch.testing.assert_close((later, alone.sum(0)), (ds * factors, (ds * factors).sum(0)), **close)


def test_a_gradient_points_where_the_loss_grows_if_the_same_numbers_are_dropped():
    layer = decoder(dropout=0.5)
    x, slope = torch.randn(2, 8, 24, requires_grad=True), torch.randn(2, 8, 24)
    tensors = {"x": x, **dict(layer.named_parameters())}

    def loss():
        torch.manual_seed(1)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            return (fused(layer)(x) * slope).sum()

    for name, gradient in zip(tensors, torch.autograd.grad(loss(), tensors.values()), strict=True):
        tensor, step = tensors[name].data, 0.3 * gradient / gradient.norm()
        tensor += step
        above = loss().item()
        tensor -= 2 * step
        slope_along = (above - loss().item()) / (2 * step.norm())
        tensor += step
        assert abs(slope_along / gradient.norm() - 1) < 0.15, name


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_a_gelu_with_dropout_and_its_gradient(approximate, poisoned):
    rows, dim = 11, 48
    kernels = LayerKernels(rows, 0.3, torch.randint(2**62, (3,)))
    factors = drawn_by(kernels, (rows, dim))
    h, da = 3 * torch.randn(rows, dim), torch.randn(rows, dim)
    h.requires_grad_()
    a = factors * F.gelu(h, approximate=approximate)
    parts = kernels.parts(dim)
    with torch.no_grad():
        got = kernels.bend(h, approximate, 0)
        dh = kernels.bend_back(h, da, approximate, parts, 0)
    close = {"rtol": 1e-4, "atol": 3e-6}
    torch.testing.assert_close(got, a, **close)
    (wanted,) = torch.autograd.grad(a, h, da)
    torch.testing.assert_close((dh, parts.sum(0)), (wanted, wanted.sum(0)), **close)


class Louder(DecoderLayer):
    def forward(self, x, **more):
        return 2 * super().forward(x, **more)


def hooked():
    layer = decoder()
    layer.mlp.register_forward_hook(lambda module, args, output: 2 * output)
    return layer


def frozen():
    layer = decoder()
    layer.norm1.weight.requires_grad_(False)
    return layer


@pytest.mark.parametrize(
    "layer",
    [
        lambda: decoder(kind=Louder),
        hooked,
        frozen,
        lambda: DecoderLayer(24, 2, norm_first=False),
        lambda: DecoderLayer(24, 2, cross=True),
        lambda: DecoderLayer(24, 2, norm=RMSNorm),
        lambda: DecoderLayer(24, 2, mlp=GatedMLP(24)),
        lambda: decoder().double(),
    ],
)
def test_what_the_kernels_do_not_know_is_left_as_it_is(layer):
    assert not can_fuse(layer(), DEVICE)


def test_a_call_with_more_than_inputs_is_the_usual_one():
    layer, x = decoder(), torch.randn(2, 5, 24)
    mask = torch.ones(5, 5, dtype=torch.bool).tril(-1)
    mask[0, 0] = True
    with torch.autocast(DEVICE.type, torch.bfloat16):
        assert torch.equal(fused(layer)(x, mask=mask), layer(x, mask=mask))
        assert torch.equal(fused(layer, lambda layer: lambda x, mask: 2 * x)(x, mask), 2 * x)
        with torch.no_grad():
            assert torch.equal(fused(layer)(x), layer(x))
        assert "Fused" in fused(layer)(x, None).grad_fn.name()  # no more than inputs


def test_a_layer_in_evaluation_mode_drops_nothing():
    layer, x = decoder(dropout=0.5), torch.randn(2, 5, 24)
    with torch.autocast(DEVICE.type, torch.bfloat16):
        layer.eval()
        assert torch.equal(fused(layer)(x), layer(x))


def test_where_all_is_dropped_the_inputs_are_left():
    layer, x = decoder(dropout=1.0), torch.randn(2, 5, 24)
    with torch.autocast(DEVICE.type, torch.bfloat16):
        assert torch.equal(fused(layer)(x), x)


def test_a_second_derivative_of_the_same_outputs_is_refused():
    layer, x = decoder(), torch.randn(2, 5, 24)
    with torch.autocast(DEVICE.type, torch.bfloat16):
        y = fused(layer)(x).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="differentiated once"):
        y.backward()


def test_a_layer_takes_nine_launches_beside_its_products_and_its_attention():
    layer, x = decoder(dropout=0.1), torch.randn(2, 5, 24)
    with collecting() as launches, torch.no_grad():
        both_passes(x, layer, torch.bfloat16, parameters_of(layer))
    assert len(launches) == 9


def gpt_step(precision="bf16"):
    model = TransformerLanguageModel(30, 16, layers=2, heads=2, dim=16, dropout=0.1)
    plan = Plan(**plan_schema.resolve({"steps": 4, "optimizer": "adamw", "precision": precision}, "train"))
    optimizer = optimizers.build(plan.optimizer, Parameters(model))
    loss = partial(Language(Targets(tokens=30)).objectives()["loss"].loss, model)
    return GradientStep(loss, model, optimizer, plan, HostGuard())


def texts():
    return {name: torch.randint(30, (4, 16)) for name in ("inputs", "targets")}


def test_a_step_has_fused_layers_only_while_it_runs():
    plain = gpt_step()
    layers = list(plain.model.layers)
    forms = fast_layers(plain, compile=False)
    assert [layer for layer, _ in forms] == layers
    x, usual, inside = torch.randn(1, 2, 16), plain.loss, []

    def watched(batch):
        with torch.autocast(DEVICE.type, torch.bfloat16):
            inside.append(layers[0](x).grad_fn.name())
        return usual(batch)

    plain.loss = watched
    step, batch = (
        CompiledStep(plain, forms),
        {"inputs": torch.randint(30, (4, 16)), "targets": torch.randint(30, (4, 16))},
    )
    losses = [float(step(batch, 1e-2)["loss"][0]) for _ in range(4)]
    assert losses[-1] < losses[0]
    assert set(inside) == {"_FusedLayerBackward"}
    assert "Fused" not in layers[0](x).grad_fn.name()


def test_whoever_listens_to_a_layer_hears_it():
    plain, heard = gpt_step(), []
    forms = fast_layers(plain, compile=False)
    plain.model.layers[1].mlp.register_forward_hook(lambda *_: heard.append(1))
    step = CompiledStep(plain, forms)
    step(texts(), 1e-2)
    assert heard == [1]


def test_only_trainings_in_bf16_have_them():
    assert fast_layers(gpt_step("float32"), compile=False) == []
