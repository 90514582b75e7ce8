"""What is recorded of a pass is what a plain pass has, and nothing is left behind."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gradlab.errors import GradlabError
from gradlab.probes import layer_values, record


class Tied(nn.Module):
    """A layer that is called twice, around functions that are no modules."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return self.inner(torch.sin(self.inner(x)))


def small():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Dropout(0.5), nn.Sequential(nn.Linear(6, 3)))


def test_outputs_and_gradients_are_those_of_autograd():
    model, x, y = small(), torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    seen = record(model, x, y, F.cross_entropy)
    first = F.linear(x, model[0].weight, model[0].bias)
    bent = torch.tanh(first)
    output = F.linear(bent, model[3][0].weight, model[3][0].bias)
    loss = F.cross_entropy(output, y)
    wanted = torch.autograd.grad(loss, [first, bent, output, *model.parameters()])
    calls = {call.name: call for call in seen.calls}
    for name, value, gradient in zip(("0", "1", "3.0"), (first, bent, output), wanted, strict=False):
        torch.testing.assert_close(calls[name].outputs[0], value.detach(), rtol=0, atol=1e-6)
        torch.testing.assert_close(calls[name].gradients[0], gradient, rtol=0, atol=1e-6)
    for (name, found), gradient in zip(seen.gradients.items(), wanted[3:], strict=True):
        torch.testing.assert_close(found, gradient, rtol=0, atol=1e-6, msg=name)
    assert seen.loss == pytest.approx(loss.item())


def test_dropout_that_does_nothing_is_left_out_and_containers_hand_on():
    seen = record(small(), torch.randn(5, 4))
    assert [(call.name, call.handed_on) for call in seen.calls] == [
        ("0", False),
        ("1", False),
        ("3.0", False),
        ("3", True),
        ("", True),
    ]


def test_an_activation_in_place_does_not_change_what_the_layer_before_it_gave():
    model, x = nn.Sequential(nn.Linear(4, 6), nn.ReLU(inplace=True), nn.Linear(6, 2)), torch.randn(8, 4)
    apart = nn.Sequential(model[0], nn.ReLU(), model[2])
    here, there = (record(m, x, loss=lambda output: output.square().sum()) for m in (model, apart))
    assert [call.name for call in here.calls] == [call.name for call in there.calls]
    for one, other in zip(here.calls, there.calls, strict=True):
        torch.testing.assert_close(one.outputs, other.outputs)
        torch.testing.assert_close(one.gradients, other.gradients)
        assert one.saturated == other.saturated


def test_a_module_that_is_called_twice_has_two_calls_and_one_line():
    model, x = Tied(), torch.randn(3, 4)
    seen = record(model, x, loss=torch.sum)
    assert [call.name for call in seen.calls] == ["inner", "inner", ""]
    (line,) = layer_values(seen)
    assert line.calls == 2
    assert line.outputs.mean == pytest.approx(torch.cat([c.outputs[0] for c in seen.calls[:2]]).mean().item())


def test_nothing_is_left_behind():
    model, x = small(), torch.randn(5, 4)
    model[1].eval()
    model[0].weight.grad = torch.ones_like(model[0].weight)
    modes = [m.training for m in model.modules()]
    before = {k: v.clone() for k, v in model.state_dict().items()}
    generator = torch.get_rng_state()
    record(model, x, loss=torch.sum)
    assert [m.training for m in model.modules()] == modes
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert torch.equal(model[0].weight.grad, torch.ones_like(model[0].weight))
    assert model[0].bias.grad is None
    assert torch.equal(torch.get_rng_state(), generator)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert not x.requires_grad


def test_frozen_layers_have_gradients_of_their_outputs_but_none_of_their_parameters():
    model = small().requires_grad_(False)
    seen = record(model, torch.randn(5, 4), loss=torch.sum)
    lines = {line.name: line for line in layer_values(seen)}
    assert lines["0"].gradient > 0
    assert lines["0"].weight_gradient is None


def test_arguments_may_be_several_or_named():
    model = nn.Bilinear(3, 4, 2)
    a, b = torch.randn(5, 3), torch.randn(5, 4)
    one, other = record(model, (a, b)), record(model, {"input1": a, "input2": b})
    torch.testing.assert_close(one.output, other.output)


def test_it_works_where_gradients_are_switched_off():
    model = small()
    with torch.inference_mode():
        assert record(model, torch.randn(5, 4), loss=torch.sum).gradients["0.weight"].abs().sum() > 0


@pytest.mark.parametrize(
    ("x", "loss", "words"),
    [
        (torch.zeros(5, 3), None, "cannot be called on these inputs"),
        (torch.zeros(5, 4), lambda output: output, "must be a tensor of one number, got shape"),
        (torch.zeros(5, 4), lambda output: 1.0, "must be a tensor of one number, got float"),
        (torch.zeros(5, 4), lambda output: output @ output, "The loss cannot be computed"),
    ],
)
def test_what_does_not_fit_is_told(x, loss, words):
    model = small()
    with pytest.raises(GradlabError, match=words):
        record(model, x, loss=loss)
    assert not any(m._forward_hooks for m in model.modules())
