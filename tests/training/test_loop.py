import itertools
import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.data import Examples, Targets, permutation
from gradlab.models import mlp
from gradlab.registry import Part
from gradlab.run import checkpoint as disk
from gradlab.specs import Table
from gradlab.tasks import Classify
from gradlab.training.observers import Observer


class Counted(Classify):
    """Classification that remembers the sum and count of each batch it was trained on."""

    def __init__(self):
        super().__init__(Targets(classes=["a", "b", "c"]))
        self.batches = []

    def loss(self, output, target):
        total, count = super().loss(output, target)
        if total.requires_grad:
            self.batches.append((total.item(), count))
        return total, count

    training_loss = loss


def weights(training):
    return {k: v.detach().clone() for k, v in training.model.state_dict().items()}


def assert_same_bits(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert torch.equal(value, b[name]), name


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(make_training, run):
    first, again, other = (run(make_training(seed=s)) for s in (5, 5, 6))
    assert first.record.lines == again.record.lines
    assert_same_bits(weights(first), weights(again))
    assert first.record.losses() != other.record.losses()


def noisy():
    torch.manual_seed(0)
    return mlp(Table(4), 3, hidden=[8, 8], dropout=0.3, norm=Part("batch"))


# 45 examples in batches of 8: 6 steps an epoch. Log lines every 4 steps, evaluations every epoch.
PLANS = {
    "adam": {"optimizer": "adam", "lr": 0.01, "weight_decay": 0.01, "schedule": "cosine", "clip": 1.0},
    "momentum": {"optimizer": "momentum", "lr": 0.05},
    "nesterov without validation": {"optimizer": "nesterov", "lr": 0.02, "validation": None},
    "adamw that keeps the last": {"optimizer": "adamw", "weight_decay": 0.1, "keep": "last"},
    "lbfgs": {"optimizer": "lbfgs", "batch_size": "full", "lr": 1.0, "weight_decay": 0.1, "epochs": 18},
    "rmsprop, averaged, on a plateau": {
        "optimizer": {"name": "rmsprop", "momentum": 0.5, "centered": True},
        "ema": 0.8,
        "schedule": {"name": "plateau", "patience": 0, "factor": 0.5},
        "evaluate_every": 2,
    },
    "average that keeps the last": {"ema": 0.99, "keep": "last", "lr": 0.02},
    "average without validation": {"ema": 0.9, "validation": None, "lr": 0.02},
    "adagrad": {"optimizer": {"name": "adagrad", "initial": 0.1}, "lr": 0.05, "weight_decay": 0.01},
    "adadelta": {"optimizer": "adadelta", "lr": 1.0, "schedule": {"name": "one-cycle"}},
    "muon": {"optimizer": {"name": "muon", "adamw_rate": 0.5}, "lr": 0.02, "weight_decay": 0.1, "clip": 1.0},
    "lion in short rows": {"optimizer": "lion", "lr": 0.01, "weight_decay": 0.1, "max_norm": 0.5},
    "l1 in parts": {"l1": 0.01, "accumulate": 2, "lr": 0.02, "schedule": {"name": "polynomial", "power": 2.0}},
    "half precision": {"precision": "bf16", "lr": 0.02},
    "everything": {"ema": 0.9, "max_norm": 0.6, "l1": 0.001, "accumulate": 2, "weight_decay": 0.01, "clip": 1.0},
}


@pytest.mark.parametrize("name", sorted(PLANS))
@pytest.mark.parametrize("stop", [3, 6, 8, 17, 18])
def test_a_restored_training_goes_on_to_the_bit(make_training, run, save_at, tmp_path, name, stop):
    plan = {"log_every": 4, "epochs": 4, **PLANS[name]}
    model = noisy if name != "lbfgs" else (lambda: mlp(Table(4), 3, hidden=[5]))
    torch.manual_seed(3)
    start = model()
    other = model()
    other.load_state_dict(start.state_dict())
    saver = save_at(stop)
    whole = run(make_training(model=start, observers=[saver], **plan))
    stored = disk.read(disk.write(tmp_path, saver.checkpoint))
    resumed = run(make_training(model=other, **plan), stored)
    assert_same_bits(weights(resumed), weights(whole))
    assert resumed.record.lines == [line for line in whole.record.lines if line["step"] > stop]
    assert resumed.progress.best_step == whole.progress.best_step


class Remembers(Observer):
    """Counts log lines, and keeps the count in checkpoints."""

    def __init__(self, first=0):
        self.state = {"count": first, "sums": torch.zeros(1)}

    def log(self, training, line):
        self.state = {"count": self.state["count"] + 1, "sums": self.state["sums"] + line["loss"]}

    def snapshot(self):
        return self.state

    def restore(self, state):
        self.state = state


def test_observers_are_given_back_what_they_kept(make_training, run, save_at, tmp_path):
    saver, whole, again = save_at(8), [Remembers(), Remembers(100)], [Remembers(), Remembers()]
    run(make_training(log_every=4, observers=[*whole, saver]))
    stored = disk.read(disk.write(tmp_path, saver.checkpoint))
    run(make_training(log_every=4, observers=[Observer(), *again]), stored)
    assert [o.state for o in again] == [o.state for o in whole]
    assert whole[1].state["count"] == whole[0].state["count"] + 100


def test_taking_a_checkpoint_changes_nothing(make_training, run, save_at):
    plain, watched = (
        make_training(model=noisy(), log_every=4),
        make_training(model=noisy(), log_every=4, observers=[save_at(3), save_at(7)]),
    )
    assert_same_bits(weights(run(plain)), weights(run(watched)))
    assert plain.record.lines == watched.record.lines


def test_a_loop_written_by_hand_reaches_the_same_weights(make_training, run, examples):
    plan = {"optimizer": "adam", "lr": 0.01, "weight_decay": 0.01, "decay_all": True, "clip": 0.5, "epochs": 4}
    ours = run(make_training(seed=9, validation=None, **plan))
    torch.manual_seed(9)
    model = mlp(Table(4), 3, hidden=[6])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.01)
    data = examples(45)
    for epoch in range(4):
        for rows in permutation(45, 9, epoch).split(8):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.inputs[rows]), data.targets[rows]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    assert_close(list(ours.model.parameters()), list(model.parameters()), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("log_every", [1, 4, 6, 100])
def test_a_logged_loss_is_the_mean_over_the_examples_since_the_last_line(make_training, run, log_every):
    task = Counted()
    training = run(make_training(task=task, validation=None, lr=0.05, log_every=log_every, epochs=2))
    assert [count for _, count in task.batches] == [8, 8, 8, 8, 8, 5] * 2
    edges = [*range(0, 12, log_every), 12]
    windows = [task.batches[a:b] for a, b in itertools.pairwise(edges)]
    want = [sum(t for t, _ in w) / sum(n for _, n in w) for w in windows]
    assert training.record.losses() == want
    if log_every == 6:  # the mean of means gives the ragged batch too much weight: the law must see that
        assert training.record.losses() != pytest.approx([np.mean([t / n for t, n in w]) for w in windows], rel=1e-7)


def test_every_epoch_sees_every_example_once(make_training, run, examples):
    seen = []

    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.map = nn.Linear(4, 3)

        def forward(self, x):
            if self.training:
                seen.extend(map(tuple, x.tolist()))
            return self.map(x)

    run(make_training(model=Rows(), epochs=3))
    everything = sorted(map(tuple, examples(45).inputs.tolist()))
    epochs = [seen[i : i + 45] for i in (0, 45, 90)]
    assert [sorted(e) for e in epochs] == [everything] * 3
    assert epochs[0] != epochs[1]


def test_a_line_tells_rate_norm_and_how_far_each_layer_moved(make_training, run):
    training = run(make_training(optimizer="sgd", lr=0.1, steps=1, validation=None))
    (line,) = training.record.lines
    torch.manual_seed(0)
    before = mlp(Table(4), 3, hidden=[6])
    moved = {
        n: (p - q).norm() for (n, p), q in zip(training.model.named_parameters(), before.parameters(), strict=True)
    }
    assert (line["step"], line["epoch"], line["split"], line["lr"]) == (1, round(1 / 6, 4), "train", 0.1)
    assert line["gradient_norm"] == pytest.approx(torch.stack(list(moved.values())).norm().item() / 0.1, rel=1e-4)
    want = {n: (moved[n] / p.norm()).item() for n, p in before.named_parameters() if p.ndim == 2}
    assert line["update_ratio"] == pytest.approx(want, rel=1e-4)


def test_the_rate_follows_the_schedule(make_training, run):
    training = run(make_training(schedule="cosine", lr=0.2, log_every=1, validation=None))
    rates = [line["lr"] for line in training.record.lines]
    assert rates == [training.lr(step) for step in range(18)]
    assert (rates[0], rates[-1]) == (0.2, pytest.approx(0, abs=1e-12))


def plateaued(make_training, **plan):
    schedule = {"name": "plateau", "patience": 1, "factor": 0.5, "floor": 0.1, "threshold": 0.01}
    values = {"schedule": schedule, "lr": 0.05, "log_every": 1, "epochs": 30, **plan}
    return make_training(train=random_labels(45, 0), validation=random_labels(20, 1), **values)


def test_the_rate_falls_on_a_plateau_as_that_of_torch_does(make_training, run):
    training = run(plateaued(make_training))
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.05)
    judge = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=1, threshold=0.01, min_lr=0.005, eps=0.0
    )
    rates, want = [], []
    for line in training.record.lines:
        if line["split"] == "validation":
            judge.step(line["loss"])
        if line["split"] == "train":
            rates.append(line["lr"])
            want.append(optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx(want)
    assert rates[0] == 0.05
    assert rates[-1] == pytest.approx(0.005)


def test_what_a_plateau_has_seen_is_in_the_progress(make_training, run, save_at):
    saver = save_at(45)
    whole = run(plateaued(make_training, observers=[saver]))
    seen = saver.checkpoint.state["progress"]
    assert 0.1 <= seen["trace"]["factor"] < 1
    assert seen["trace"]["loss"] >= seen["best"]["loss"]
    resumed = run(plateaued(make_training), saver.checkpoint)
    assert [line["lr"] for line in resumed.record.lines if line["split"] == "train"] == [
        line["lr"] for line in whole.record.lines if line["split"] == "train" and line["step"] > 45
    ]


def random_labels(count, seed):
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(count, 4, generator=generator), torch.randint(3, (count,), generator=generator)
    return Examples.of(x, y, np.arange(count))


def overfitting(make_training, **plan):
    """There is nothing to learn, so the validation loss must rise."""
    values = {"lr": 0.05, "epochs": 40, **plan}
    return make_training(train=random_labels(45, 0), validation=random_labels(20, 1), **values)


def test_patience_ends_the_training_and_the_best_weights_are_restored(make_training, run):
    training = run(overfitting(make_training, patience=3))
    progress = training.progress
    assert progress.ended == "patience"
    assert progress.step == progress.best_step + 3 * training.evaluate_every < training.total_steps
    losses = training.record.losses("validation")
    assert progress.best["loss"] == min(losses)
    judged = training.task.evaluate(training.model, training.validation)
    assert judged == progress.best


def test_without_patience_the_best_weights_are_kept_all_the_same(make_training, run):
    training = run(overfitting(make_training))
    assert training.progress.ended == "finished"
    judged = training.task.evaluate(training.model, training.validation)
    assert judged["loss"] == min(training.record.losses("validation")) < training.record.losses("validation")[-1]


def test_keep_last_ends_with_the_last_weights(make_training, run):
    last, unjudged = overfitting(make_training, keep="last"), overfitting(make_training)
    unjudged.validation = None
    assert_same_bits(weights(run(last)), weights(run(unjudged)))
    assert last.progress.best_step < last.progress.step
    judged = last.task.evaluate(last.model, last.validation)
    assert judged["loss"] == last.record.losses("validation")[-1]


def test_evaluations_do_not_change_the_training(make_training, run):
    often = run(make_training(model=noisy(), evaluate_every=1, keep="last"))
    never = run(make_training(model=noisy(), validation=None))
    assert often.record.losses() == never.record.losses()
    assert_same_bits(weights(often), weights(never))


def test_evaluations_come_before_the_first_step_at_their_interval_and_at_the_end(make_training, run):
    training = run(make_training(evaluate_every=4, epochs=3))
    steps = [line["step"] for line in training.record.lines if line["split"] == "validation"]
    assert steps == [0, 4, 8, 12, 16, 18]


def test_the_training_examples_that_are_judged_are_a_fair_sample_of_data_sorted_by_class(make_training, run, examples):
    mixed = examples(45)
    order = mixed.targets.argsort()
    train = Examples.of(mixed.inputs[order], mixed.targets[order], np.arange(45))
    always_first = nn.Linear(4, 3)
    nn.init.zeros_(always_first.weight)
    with torch.no_grad():
        always_first.bias.copy_(torch.tensor([1.0, 0.0, 0.0]))
    training = run(make_training(model=always_first, train=train, lr=1e-9, steps=1))
    share = (train.targets == 0).double().mean().item()
    judged = next(line["accuracy"] for line in training.record.lines if line["split"] == "train-sample")
    assert judged == pytest.approx(share, abs=0.3)


def test_an_empty_validation_split_is_none_at_all(make_training, run):
    training = run(make_training(validation=0))
    assert {line["split"] for line in training.record.lines} == {"train"}
    assert training.best_weights is None


def test_progress_goes_through_json(make_training, run, save_at):
    saver = save_at(7)
    run(make_training(observers=[saver]))
    assert json.loads(json.dumps(saver.checkpoint.state)) == saver.checkpoint.state


class Script(Observer):
    """Writes down every call."""

    def __init__(self, every=None):
        self.every, self.calls = every, []

    def start(self, training):
        self.calls.append(("start", training.progress.step))

    def step(self, training):
        self.calls.append(("step", training.progress.step))

    def log(self, training, line):
        self.calls.append((f"log {line['split']}", line["step"]))

    def evaluation(self, training, line):
        self.calls.append(("evaluation", line["step"]))

    def end(self, training):
        self.calls.append(("end", training.progress.step))


def test_observers_are_called_in_the_documented_order(make_training, run):
    script = Script(every=3)
    run(make_training(observers=[script], steps=7, log_every=2, evaluate_every=6))
    judged = [("log train-sample", 0), ("log validation", 0), ("evaluation", 0)]
    assert script.calls == [
        ("start", 0),
        *judged,
        ("log train", 2),
        ("step", 3),
        ("log train", 4),
        ("log train", 6),
        *((call, 6) for call, _ in judged),
        ("step", 6),
        ("log train", 7),
        *((call, 7) for call, _ in judged),
        ("end", 7),
    ]


@pytest.mark.parametrize("every", [1, 2, 5, 18, 19, None])
def test_each_observer_is_called_at_its_own_interval_and_not_in_between(make_training, run, every):
    script, other = Script(every), Script(7)
    run(make_training(observers=[script, other], log_every=100, validation=None))
    assert [s for call, s in script.calls if call == "step"] == (list(range(every, 19, every)) if every else [])
    assert [s for call, s in other.calls if call == "step"] == [7, 14]


def test_an_observer_that_fails_is_heard_and_all_are_told_of_the_end(make_training, run):
    class Fails(Observer):
        every = 2

        def step(self, training):
            raise RuntimeError("the disk is full")

    script = Script()
    with pytest.raises(RuntimeError, match="the disk is full"):
        run(make_training(observers=[Fails(), script]))
    assert script.calls[-1] == ("end", 2)


def test_an_interrupted_training_stops_after_its_step_and_goes_on_when_restored(make_training, run):
    class Interrupts(Observer):
        every = 5

        def step(self, training):
            training.request("stop")

        def end(self, training):
            self.checkpoint = training.checkpoint()

    observer = Interrupts()
    stopped = run(make_training(observers=[observer]))
    assert (stopped.progress.ended, stopped.progress.step) == ("interrupted", 5)
    whole, resumed = run(make_training()), run(make_training(), observer.checkpoint)
    assert resumed.progress.ended == "finished"
    assert_same_bits(weights(resumed), weights(whole))
