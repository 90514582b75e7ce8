"""The short way to the gradients, which calls a private function of torch, and who makes the usual one necessary."""

import pytest
import torch
from torch import distributed, nn

from gradlab import fit
from gradlab.errors import GradlabError
from gradlab.models import mlp
from gradlab.specs import Table
from gradlab.training import driver
from gradlab.training.backward import gradients, heard, heard_gradients
from gradlab.training.observers import Observer
from gradlab.training.step import GradientStep

WAYS = {"the short way": gradients, "the usual way": heard_gradients}


class TwoHeads(nn.Module):
    """A trunk with two heads, and a parameter that nothing reaches."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.trunk, self.one, self.other = nn.Linear(5, 6), nn.Linear(6, 3), nn.Linear(6, 2)
        self.unused = nn.Parameter(torch.ones(2))

    def losses(self):
        hidden = torch.tanh(self.trunk(torch.linspace(-1, 1, 20).view(4, 5)))
        return self.one(hidden).exp().sum(), self.other(hidden).square().sum()


def equal(found, wanted):
    return all((a is None and b is None) or torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.fixture(params=sorted(WAYS))
def way(request):
    return WAYS[request.param]


@pytest.mark.parametrize("count", [1, 2])
def test_the_gradients_are_to_the_bit_those_of_torch(way, count):
    model = TwoHeads()
    parameters = tuple(model.parameters())
    seeds = torch.tensor([1 / 7, 1 / 3])[:count].unbind()
    found = way(model.losses()[:count], seeds, parameters)
    wanted = torch.autograd.grad(model.losses()[:count], parameters, seeds, allow_unused=True)
    assert [g is None for g in found] == [g is None for g in wanted]
    assert wanted[0] is None  # `unused`
    assert equal(found, wanted)
    torch.autograd.backward(
        model.losses()[:count], seeds
    )  # adds to `.grad`, so that it doubles what the usual way left
    times = 2 if way is heard_gradients else 1
    assert equal([None if g is None else times * g for g in wanted], [p.grad for p in parameters])


def test_the_seed_is_a_factor_of_its_own_loss_alone(way):
    model = TwoHeads()
    head, other = model.one.weight, model.other.weight
    found = way(model.losses(), (torch.tensor(4.0), torch.tensor(0.5)), (head, other))
    plain = way(model.losses(), (torch.tensor(1.0), torch.tensor(1.0)), (head, other))
    assert torch.equal(found[0], 4 * plain[0])
    assert torch.equal(found[1], plain[1] / 2)


def test_a_kept_graph_can_be_gone_through_again_and_another_cannot(way):
    model = TwoHeads()
    parameters, one = tuple(model.parameters()), (torch.tensor(1.0),)
    first, second = model.losses()
    found = [None if g is None else g.clone() for g in way((first,), one, parameters, keep=True)]
    again = [None if g is None else g.clone() for g in way((first,), one, parameters, keep=True)]
    rest = way((second,), one, parameters)
    assert equal(found, torch.autograd.grad(model.losses()[0], parameters, allow_unused=True))
    assert equal(again, found)
    assert equal(rest, torch.autograd.grad(model.losses()[1], parameters, allow_unused=True))
    with pytest.raises(RuntimeError, match="second time"):
        way((second,), one, parameters)


class Transposed(nn.Module):
    """Its gradients are transposed in memory, or one number for all."""

    def __init__(self):
        super().__init__()
        self.weight, self.shift = nn.Parameter(torch.ones(3, 4)), nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return x @ self.weight.T.contiguous() * torch.arange(1.0, 4.0) + self.shift.sum()


@pytest.mark.parametrize(("name", "rule"), [("sgd", torch.optim.SGD), ("adam", torch.optim.Adam)])
def test_a_gradient_in_another_order_of_memory_moves_the_weights_that_it_is_of(name, rule):
    short, usual = Transposed(), Transposed()
    torch.manual_seed(0)
    X, y = torch.randn(12, 4), torch.randn(12, 3)
    fit(short, (X, y), loss="mse", epochs=3, batch_size="full", optimizer=name, lr=0.1, doctor=False)
    optimizer = rule(usual.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (usual(X) - y).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(list(short.parameters()), list(usual.parameters()))


def test_the_short_way_leaves_grad_alone_and_calls_nobody_who_waits_for_it():
    model, called = TwoHeads(), []
    parameters, one = tuple(model.parameters()), (torch.tensor(1.0),)
    model.trunk.bias.grad = torch.full((6,), 7.0)
    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(called.append)
    gradients(model.losses()[:1], one, parameters)
    assert model.trunk.bias.grad.tolist() == [7.0] * 6
    assert [p.grad is None for p in parameters].count(False) == 1
    assert called == []
    heard_gradients(model.losses()[:1], one, parameters)
    assert len(called) == 4  # trunk and first head, weight and bias each


def test_the_usual_way_starts_from_nothing_each_time():
    model = TwoHeads()
    parameters, one = tuple(model.parameters()), (torch.tensor(1.0),)
    wanted = torch.autograd.grad(model.losses()[0], parameters, allow_unused=True)
    for _ in range(2):
        found = heard_gradients(model.losses()[:1], one, parameters)
        assert equal(found, wanted)
        assert all(g is p.grad for g, p in zip(found, parameters, strict=True))


# Who listens.


LISTENERS = {
    "a hook on a parameter": lambda model: model[0].weight.register_hook(lambda gradient: None),
    "a hook behind a gradient": lambda model: model[-1].bias.register_post_accumulate_grad_hook(lambda p: None),
    "a hook behind a module": lambda model: model[0].register_full_backward_hook(lambda module, before, after: None),
    "a hook before a module": lambda model: model[0].register_full_backward_pre_hook(lambda module, after: None),
    "a hook of all parameters": lambda model: torch.autograd.graph.register_multi_grad_hook(
        list(model.parameters()), lambda gradients: None
    ),
}


def small():
    torch.manual_seed(0)
    return mlp(Table(4), 3, hidden=[6])


def test_nobody_listens_to_a_plain_model():
    model = small()
    model.register_forward_hook(lambda module, inputs, output: None)
    assert not heard(model, model.parameters())


@pytest.mark.parametrize("name", sorted(LISTENERS))
def test_a_hook_of_the_backward_pass_listens_until_it_is_removed(name):
    model = small()
    handle = LISTENERS[name](model)
    assert heard(model, model.parameters())
    handle.remove()
    assert not heard(model, model.parameters())


@pytest.fixture
def group(tmp_path):
    """A group of this process alone; it needs no socket."""
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def test_a_model_inside_of_ddp_listens_and_learns_the_same(group, make_training, run):
    plain = run(make_training(model=small()))
    wrapped = make_training(model=nn.parallel.DistributedDataParallel(small()))
    assert heard(wrapped.model, wrapped.model.parameters())
    run(wrapped)
    assert all(p.grad is not None for p in wrapped.model.parameters())
    assert equal(wrapped.model.parameters(), plain.model.parameters())
    assert wrapped.record.losses() == plain.record.losses()


def test_a_model_sharded_by_fsdp_listens_and_is_refused(group, make_plan, examples):
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    from torch.distributed.device_mesh import init_device_mesh

    model = small()
    fsdp.fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
    assert heard(model, model.parameters())
    with pytest.raises(GradlabError, match=r"FSDP.*Give the module itself"):
        driver.check(model, examples(45), None, make_plan())


@pytest.mark.filterwarnings("ignore")
def test_compiled_autograd_listens():
    from torch._dynamo import compiled_autograd

    model = small()
    with compiled_autograd._enable(lambda graph: graph):
        assert heard(model, model.parameters())
    assert not heard(model, model.parameters())


# What a training does for them.


class Listens(Observer):
    """Registers its hooks when the training starts, as an observer would."""

    def __init__(self):
        self.called = []

    def start(self, training):
        self.called.append("start")
        for name, parameter in training.model.named_parameters():
            parameter.register_hook(lambda gradient, name=name: self.called.append(name))
            parameter.register_post_accumulate_grad_hook(
                lambda parameter, name=name: self.called.append((name, parameter.grad.clone()))
            )


def way_of(training):
    assert isinstance(training.step, GradientStep)
    return training.step.backward


@pytest.mark.parametrize("plan", [{}, {"accumulate": 3}, {"clip": 0.1, "l1": 0.01, "ema": 0.9, "max_norm": 0.7}])
def test_with_a_listener_the_training_gives_the_same_bits_and_grad_is_filled(make_training, run, plan):
    values = {"optimizer": "adam", "lr": 0.01, "keep": "last", **plan}
    observer = Listens()
    plain, watched = make_training(**values), make_training(observers=[observer], **values)
    run(plain)
    run(watched)
    assert way_of(plain) is gradients
    assert way_of(watched) is heard_gradients
    assert watched.record.lines == plain.record.lines
    assert equal(watched.model.parameters(), plain.model.parameters())
    names = [name for name, _ in watched.model.named_parameters()]
    backwards = 18 * plan.get("accumulate", 1)
    assert len(observer.called) == 1 + 2 * len(names) * backwards
    assert all(p.grad is None for p in plain.model.parameters())
    assert all(p.grad is not None for p in watched.model.parameters())


def test_a_hook_that_changes_the_gradient_changes_the_update(make_training, run):
    training = make_training(optimizer="sgd", keep="last", steps=4)
    first, last = training.model[0].weight, training.model[-1].weight
    before = first.detach().clone(), last.detach().clone()
    first.register_hook(torch.zeros_like)
    run(training)
    assert torch.equal(first, before[0])
    assert not torch.equal(last, before[1])
