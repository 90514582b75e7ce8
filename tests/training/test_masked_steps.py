"""Pruned weights are exactly 0 after every step, whatever moves the others, and runs with them resume to the bit."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune

from gradlab.run.checkpoint import read, write
from gradlab.tasks import Objective, Task
from gradlab.training.magnitude import magnitude_masks
from gradlab.training.observers import Observer
from gradlab.training.optimizers import SEARCHING, optimizers


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Dropout(0.1), nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 3))


def pruned(model, keep=0.4):
    """Its masks; the weights are set to 0 by the training."""
    return magnitude_masks({n: p for n, p in model.named_parameters() if p.ndim == 2}, keep)


def evenly(model, keep):
    return magnitude_masks({n: p for n, p in model.named_parameters() if p.ndim == 2}, keep, per_layer=True)


class EveryStep(Observer):
    """Sees that pruned weights are +0 to the bit, and that the others move."""

    every = 1

    def __init__(self, masks):
        self.masks, self.moved, self.seen = masks, False, 0

    def start(self, training):
        self.before = [p.detach().clone() for p in training.model.parameters()]

    def step(self, training):
        for name, parameter in training.model.named_parameters():
            if name in self.masks:
                rest = parameter.detach()[~self.masks[name]]
                assert torch.equal(rest.view(torch.int32), torch.zeros_like(rest, dtype=torch.int32)), name
        for name, mean in training.average.snapshot()["average"].items() if training.average else ():
            assert name not in self.masks or not mean[~self.masks[name]].any()
        self.seen += 1
        now = list(training.model.parameters())
        self.moved |= all(not torch.equal(a, b) for a, b in zip(self.before, now, strict=True))


EXTRAS = {
    "plain": {},
    "decay": {"weight_decay": 0.1},
    "penalties": {"l1": 0.01, "max_norm": 0.6, "clip": 0.5},
    "averaged": {"ema": 0.9, "schedule": "cosine"},
    "parts": {"accumulate": 3},
}


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("rule", sorted(set(optimizers) - SEARCHING))
def test_pruned_weights_are_zero_in_every_step(make_training, run, rule, extra):
    model = network()
    masks = pruned(model)
    watch = EveryStep(masks)
    run(
        make_training(
            model=model, optimizer=rule, masks=masks, observers=[watch], lr=0.05, keep="last", **EXTRAS[extra]
        )
    )
    assert watch.seen == 18
    assert watch.moved


@pytest.mark.parametrize("name", sorted(SEARCHING))
def test_a_search_moves_no_pruned_weight(make_training, run, name):
    model = network()
    masks = pruned(model)
    watch = EveryStep(masks)
    plan = {"optimizer": name, "batch_size": "full", "lr": 1.0, "weight_decay": 0.01, "epochs": 3}
    run(make_training(model=model, masks=masks, observers=[watch], **plan))
    assert watch.moved


@pytest.mark.parametrize("rule", ["adam", "muon", "momentum"])
def test_the_steps_are_those_of_torchs_masked_parameters(make_training, run, rule):
    """torch.nn.utils.prune trains θ in a loss of m ⊙ θ; what its gradient, norm and clipping are must be ours."""
    masks, model, twin = pruned(network()), network(), network()
    for i in (0, 3, 5):
        prune.custom_from_mask(twin[i], "weight", masks[f"{i}.weight"])
    plan = {"optimizer": rule, "lr": 0.03, "clip": 0.3, "keep": "last", "epochs": 4, "log_every": 1}
    mine, theirs = (run(make_training(model=m, masks=k, **plan)) for m, k in ((model, masks), (twin, None)))
    norms = [[line["gradient_norm"] for line in t.record.lines if line["split"] == "train"] for t in (mine, theirs)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)
    assert mine.record.losses() == pytest.approx(theirs.record.losses(), rel=1e-4)
    x = torch.randn(5, 4)
    torch.testing.assert_close(model.eval()(x), twin.eval()(x), rtol=1e-3, atol=1e-4)


def test_clipping_knows_the_gradient_of_kept_weights_alone(make_training, run):
    model = network()
    masks = {n: torch.zeros_like(p, dtype=torch.bool) for n, p in model.named_parameters()}
    training = run(make_training(model=model, masks=masks, log_every=1))
    assert {line["gradient_norm"] for line in training.record.lines if line["split"] == "train"} == {0.0}


class TwoTurns(Task):
    """Both objectives move all weights, the second from where the first has left them; what they see is noted."""

    def __init__(self, masks):
        self.masks, self.seen = masks, []

    def objectives(self):
        return {"first": Objective(loss=self.loss), "second": Objective(loss=lambda m, b: {"other": self.loss(m, b)})}

    def loss(self, model, batch):
        named = dict(model.named_parameters())
        self.seen += [named[name].detach()[~mask].abs().sum().item() for name, mask in self.masks.items()]
        return F.cross_entropy(model(batch["inputs"]), batch["targets"], reduction="sum"), len(batch["inputs"])


def test_between_the_turns_of_several_objectives_they_are_zero_too(make_training, run):
    model = network()
    masks = pruned(model)
    task = TwoTurns(masks)
    training = run(make_training(model=model, masks=masks, task=task, optimizer="muon", validation=None, lr=0.05))
    assert len(task.seen) == 2 * len(masks) * training.progress.step
    assert not any(task.seen)


@pytest.mark.parametrize("rule", ["adam", "muon", "lion", "rmsprop"])
def test_a_checkpoint_of_pruned_weights_resumes_to_the_bit(make_training, run, save_at, rule, tmp_path):
    plan = {"optimizer": rule, "lr": 0.02, "ema": 0.8, "weight_decay": 0.01, "epochs": 4}
    masks, save = pruned(network()), save_at(11)
    whole = run(make_training(model=network(), masks=masks, observers=[save], **plan))
    path = write(tmp_path, save.checkpoint)
    resumed = run(make_training(model=network(1), masks=masks, **plan), read(path))
    at = whole.record.lines.index(next(line for line in whole.record.lines if line["step"] > 11))
    assert resumed.record.lines == whole.record.lines[at:]
    ends = whole.checkpoint(), resumed.checkpoint()
    for part in ("model", "optimizer", "best"):
        files = [write(tmp_path / str(i), end) / f"{part}.safetensors" for i, end in enumerate(ends)]
        assert files[0].read_bytes() == files[1].read_bytes(), part


def test_a_checkpoint_holds_kept_numbers_alone_of_weights_state_and_average(make_training, run, save_at, tmp_path):
    sizes = {}
    for keep in (0.1, 1.0):
        torch.manual_seed(0)
        model, save = nn.Sequential(nn.Linear(4, 200), nn.Tanh(), nn.Linear(200, 3)), save_at(12)
        run(make_training(model=model, masks=evenly(model, keep), observers=[save], ema=0.9, keep="last"))
        folder = write(tmp_path / str(keep), save.checkpoint)
        sizes[keep] = {file.name: file.stat().st_size for file in folder.glob("*.safetensors")}
    weights = 1400
    for name, copies in {"model.safetensors": 1, "best.safetensors": 1, "optimizer.safetensors": 3}.items():
        assert sizes[1.0][name] - sizes[0.1][name] == pytest.approx(4 * copies * 0.9 * weights, rel=0.05), name


def test_a_checkpoint_whose_weights_are_not_pruned_does_not_fit(make_training, run, save_at):
    save, masks = save_at(6), pruned(network())
    run(make_training(model=network(), observers=[save]))
    with pytest.raises(ValueError, match=r"pruned in one of them alone: 0\.weight"):
        make_training(model=network(), masks=masks).restore(save.checkpoint)


def test_parts_of_one_gradient_are_masked_apart(make_training, run):
    """Autograd may give two parameters the same tensor as their gradient."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = (nn.Parameter(torch.randn(4, 3)) for _ in range(2))

        def forward(self, x):
            return x @ (self.one + self.two)

    model = Twice()
    mask = torch.tensor([[True, False, True]] * 4)
    before = model.two.detach().clone()
    run(make_training(model=model, masks={"one": mask}, lr=0.1, keep="last"))
    assert not model.one.detach()[~mask].any()
    assert (model.two.detach() != before).all()
