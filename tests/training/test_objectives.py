"""What is minimised: several losses by name, counts of every kind, and objectives that take turns."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from gradlab.data import Examples, permutation
from gradlab.errors import GradlabError, TrainingError
from gradlab.models import mlp
from gradlab.run import checkpoint as disk
from gradlab.specs import Table
from gradlab.tasks import Criterion, Objective, Task
from gradlab.training.checks import check_objectives


class Minimises(Task):
    """A task of some objectives, or of one, given its loss."""

    def __init__(self, given):
        self.given = given if isinstance(given, dict) else {"loss": Objective(loss=given)}

    def objectives(self):
        return self.given


def weights(training):
    return {name: value.detach().clone() for name, value in training.model.state_dict().items()}


def assert_same_bits(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert torch.equal(value, b[name]), name


def classes(model, batch):
    return F.cross_entropy(model(batch["inputs"]), batch["targets"], reduction="sum"), len(batch["inputs"])


def sizes(model, batch):
    """Four numbers an example."""
    output = model(batch["inputs"])
    return output.square().sum(), output.numel()


def penalty(model, batch):
    """One for the whole batch."""
    return sum(p.square().sum() for p in model.parameters()), 1


def together(**losses):
    return lambda model, batch: {name: loss(model, batch) for name, loss in losses.items()}


def batches(examples, epochs, size=8, seed=0):
    """The batches of a training, by hand."""
    for epoch in range(epochs):
        for rows in permutation(len(examples), seed, epoch).split(size):
            yield examples.batch(rows)


def by_hand(examples, loss, epochs=3, size=8, lr=0.1):
    """Plain gradient descent on a mean loss."""
    torch.manual_seed(0)
    model = mlp(Table(4), 3, hidden=[6])
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for batch in batches(examples, epochs, size):
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()
    return model


# Several losses of one objective.

SGD = {"optimizer": "sgd", "lr": 0.1, "keep": "last"}


@pytest.mark.parametrize(
    "losses",
    [
        {"first": classes, "second": lambda m, b: (sizes(m, b)[0], len(b["inputs"]))},
        {"first": classes, "second": sizes, "third": penalty},
    ],
    ids=["with equal counts", "with different counts"],
)
def test_named_losses_are_added_each_divided_by_its_own_count(make_training, run, examples, losses):
    training = run(make_training(task=Minimises(together(**losses)), **SGD))

    def mean(model, batch):
        return sum(total / count for total, count in (loss(model, batch) for loss in losses.values()))

    assert_close(
        list(training.model.parameters()), list(by_hand(examples(45), mean).parameters()), rtol=1e-5, atol=1e-6
    )


def test_a_log_line_has_each_loss_by_name_and_their_sum(make_training, run):
    seen = []

    def watched(model, batch):
        losses = together(labels=classes, sizes=sizes)(model, batch)
        if model.training:
            seen.append({name: (total.item(), count) for name, (total, count) in losses.items()})
        return losses

    training = run(make_training(task=Minimises(watched), log_every=4, epochs=2, **SGD))
    lines = [line for line in training.record.lines if line["split"] == "train"]
    edges = [0, 4, 8, 12]
    for line, (start, end) in zip(lines, itertools.pairwise(edges), strict=True):
        for name in ("labels", "sizes"):
            totals, counts = zip(*(stepped[name] for stepped in seen[start:end]), strict=True)
            assert line[name] == sum(totals) / sum(counts)
        assert line["loss"] == line["labels"] + line["sizes"]
    judged = [line for line in training.record.lines if line["split"] == "validation"]
    assert all(line["loss"] == line["labels"] + line["sizes"] for line in judged)


def test_a_loss_that_is_called_loss_does_not_hide_the_sum(make_training, run):
    training = run(make_training(task=Minimises(together(loss=classes, sizes=sizes)), **SGD))
    plain = run(make_training(task=Minimises(together(labels=classes, sizes=sizes)), **SGD))
    for split in ("train", "validation"):
        assert training.record.losses(split) == plain.record.losses(split)
    assert training.progress.best_step == plain.progress.best_step


# Counts.


def labelled(count):
    """Some targets are padding, of other numbers in every batch."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(count, 4, generator=generator)
    y = torch.randint(-2, 3, (count,), generator=generator).clamp(min=-1)
    return Examples.of(x, y)


def unpadded(kind):
    def loss(model, batch):
        y = batch["targets"]
        total = F.cross_entropy(model(batch["inputs"]), y, ignore_index=-1, reduction="sum")
        return total, kind((y >= 0).sum())

    return loss


COUNTS = {"an int": int, "a tensor": lambda count: count, "a float": lambda count: count.float()}


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("kind", ["a tensor", "a float"])
def test_a_count_that_is_a_tensor_gives_the_bits_of_an_int(make_training, run, kind, accumulate):
    plan = {"train": labelled(45), "validation": labelled(20), "accumulate": accumulate, "optimizer": "adam"}
    tensor, number = (run(make_training(task=Minimises(unpadded(COUNTS[k])), **plan)) for k in (kind, "an int"))
    assert tensor.record.lines == number.record.lines
    assert_same_bits(weights(tensor), weights(number))
    assert all(math.isfinite(loss) for loss in tensor.record.losses())


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("kind", sorted(COUNTS))
def test_a_batch_that_has_nothing_to_count_moves_nothing_and_is_not_nan(make_training, run, kind, accumulate):
    nothing = Examples.of(torch.randn(16, 4), torch.full((16,), -1))
    task = Minimises(unpadded(COUNTS[kind]))
    training = make_training(task=task, train=nothing, validation=None, accumulate=accumulate, epochs=1, **SGD)
    before = weights(training)
    run(training)
    assert_same_bits(weights(training), before)
    assert training.record.losses() == [0.0, 0.0]


@pytest.mark.parametrize("accumulate", [1, 2])
def test_of_several_losses_one_that_has_nothing_to_count_leaves_the_others_to_move(make_training, run, accumulate):
    def labels(model, batch):
        return unpadded(COUNTS["a tensor"])(model, batch)

    nothing = Examples.of(torch.randn(16, 4), torch.full((16,), -1))
    plan = {"train": nothing, "validation": None, "accumulate": accumulate, "epochs": 1, **SGD}
    both = run(make_training(task=Minimises(together(labels=labels, sizes=sizes)), **plan))
    one = run(make_training(task=Minimises(together(sizes=sizes)), **plan))
    assert_close(weights(both), weights(one))
    assert all("labels" not in line for line in both.record.lines)
    assert both.record.losses() == pytest.approx(one.record.losses())


@pytest.mark.parametrize("accumulate", [2, 3, 8])
def test_parts_with_tensor_counts_and_named_losses_are_the_whole_batch(make_training, run, accumulate):
    losses = together(labels=unpadded(COUNTS["a tensor"]), sizes=sizes, penalty=penalty)
    plan = {"train": labelled(45), "validation": labelled(20), "lr": 0.01, "keep": "last", "log_every": 1}
    whole, parted = (run(make_training(task=Minimises(losses), accumulate=k, **plan)) for k in (1, accumulate))
    assert_close(weights(parted), weights(whole), rtol=1e-4, atol=1e-5)
    for name in ("loss", "labels", "sizes", "penalty"):
        assert [line[name] for line in parted.record.lines] == pytest.approx(
            [line[name] for line in whole.record.lines], rel=1e-4
        )


def test_losses_whose_counts_are_the_same_by_chance_are_still_divided_by_their_own(make_training, run):
    """Batches of 4 in parts of one example, as many as the penalty counts; the last batch of 5 has a part of two."""
    plan = {"task": Minimises(together(labels=classes, penalty=penalty)), "batch_size": 4, "epochs": 1, **SGD}
    whole, parted = (run(make_training(accumulate=k, **plan)) for k in (1, 4))
    assert_close(weights(parted), weights(whole), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("returned", [torch.tensor(1.0), (torch.ones(3), 3), (torch.tensor(1.0), -1), (1.0, 2), None])
def test_what_is_no_sum_and_count_is_refused(make_training, run, returned):
    with pytest.raises(GradlabError, match=r"must return \(sum, count\).*As 'loss' it returned"):
        run(make_training(task=Minimises(lambda model, batch: returned), validation=None))


# Objectives in turn.


class Pair(nn.Module):
    """A critic of what an encoder gives, and a part that nobody moves."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.2), nn.Tanh())
        self.critic = nn.Linear(5, 3)
        self.frozen = nn.Linear(5, 3)

    def forward(self, x):
        code = self.encoder(x)
        return self.critic(code) + self.frozen(code)


def criticise(model, batch):
    logits = model.critic(model.encoder(batch["inputs"]).detach())
    return F.cross_entropy(logits, batch["targets"], reduction="sum"), len(logits)


def fool(model, batch):
    """Away from what the critic says."""
    logits = model(batch["inputs"])
    return -F.cross_entropy(logits, batch["targets"], reduction="sum").clamp(max=1e3), len(logits)


def contest(first=(), second=()):
    objectives = {
        "critic": {"loss": criticise, "moves": "critic", **dict(first)},
        "encoder": {"loss": fool, "moves": ["encoder"], **dict(second)},
    }
    return Minimises({name: Objective(**values) for name, values in objectives.items()})


def still():
    """Without dropout, so that a loop by hand draws nothing either."""
    model = Pair()
    model.encoder[1] = nn.Identity()
    return model


TURNS = {"critic": criticise, "encoder": fool}


def play(examples, rules, clip=None, blind=False, after=lambda model, optimizers: None):
    """The contest by hand: `rules` make the optimisers; `blind` players compute their gradients before either moves."""
    model = still()
    parts = {name: list(getattr(model, name).parameters()) for name in TURNS}
    optimizers = {name: rules[name](part) for name, part in parts.items()}

    def slopes(name, batch):
        total, count = TURNS[name](model, batch)
        return torch.autograd.grad(total / count, parts[name])

    for batch in batches(examples, 3):
        early = {name: slopes(name, batch) for name in TURNS}
        for name, part in parts.items():
            for parameter, slope in zip(part, early[name] if blind else slopes(name, batch), strict=True):
                parameter.grad = slope
            if clip and name == "critic":
                nn.utils.clip_grad_norm_(part, clip)
            optimizers[name].step()
        after(model, optimizers)
    return model


def test_each_objective_moves_its_own_and_the_second_sees_the_update_of_the_first(make_training, run, examples):
    training = run(make_training(model=still(), task=contest(), **{**SGD, "lr": 0.5}))
    rules = dict.fromkeys(TURNS, lambda parameters: torch.optim.SGD(parameters, lr=0.5))
    assert_close(weights(training), dict(play(examples(45), rules).state_dict()), rtol=1e-4, atol=1e-5)
    with pytest.raises(AssertionError, match="not close"):
        assert_close(weights(training), dict(play(examples(45), rules, blind=True).state_dict()), rtol=1e-4, atol=1e-5)


def test_a_part_that_no_objective_moves_stays_to_the_bit(make_training, run):
    training = make_training(model=Pair(), task=contest(), weight_decay=0.1, l1=0.1, max_norm=0.1, ema=0.5, keep="last")
    before = weights(training)
    run(training)
    after = weights(training)
    for name, value in before.items():
        assert torch.equal(after[name], value) == name.startswith("frozen"), name


def test_an_objective_may_have_an_optimiser_rate_decay_and_clip_of_its_own(make_training, run, examples):
    own = {"optimizer": "adamw", "lr": 0.02, "weight_decay": 0.3, "decay_all": True, "clip": 0.2}
    training = run(make_training(model=still(), task=contest({"train": own}), **{**SGD, "lr": 0.05}))
    rules = {
        "critic": lambda parameters: torch.optim.AdamW(parameters, lr=0.02, weight_decay=0.3),
        "encoder": lambda parameters: torch.optim.SGD(parameters, lr=0.05),
    }
    assert_close(weights(training), dict(play(examples(45), rules, clip=0.2).state_dict()), rtol=1e-4, atol=1e-5)


def test_the_rate_of_an_objective_follows_the_schedule_of_the_training(make_training, run, examples):
    plan = {**SGD, "schedule": {"name": "step", "every": 6, "factor": 0.5}}
    training = run(make_training(model=still(), task=contest({"train": {"lr": 0.4}}), **plan))
    steps = itertools.count(1)

    def lower(model, optimizers):
        if next(steps) % 6 == 0:
            for optimizer in optimizers.values():
                optimizer.param_groups[0]["lr"] /= 2

    rules = {
        "critic": lambda parameters: torch.optim.SGD(parameters, lr=0.4),
        "encoder": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    }
    assert_close(weights(training), dict(play(examples(45), rules, after=lower).state_dict()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "rule"), [("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)])
def test_groups_with_their_own_rate_and_decay_are_those_of_torch(make_training, run, examples, name, rule):
    groups = {
        "encoder": {"lr": 0.001, "weight_decay": 0.5},
        "critic": {"weight_decay": 0.0},
        "frozen.bias": {"lr": 0.2},
    }
    task = Minimises({"loss": Objective(loss=classes, groups=groups)})
    plan = {"optimizer": name, "lr": 0.05, "weight_decay": 0.1, "decay_all": True, "keep": "last"}
    training = run(make_training(model=still(), task=task, **plan))
    model = still()
    optimizer = rule(
        [
            {"params": model.encoder.parameters(), "lr": 0.001, "weight_decay": 0.5},
            {"params": model.critic.parameters(), "weight_decay": 0.0},
            {"params": [model.frozen.bias], "lr": 0.2},
            {"params": [model.frozen.weight]},
        ],
        lr=0.05,
        weight_decay=0.1,
    )
    for batch in batches(examples(45), 3):
        optimizer.zero_grad()
        total, count = classes(model, batch)
        (total / count).backward()
        optimizer.step()
    assert_close(weights(training), dict(model.state_dict()), rtol=1e-4, atol=1e-5)


def test_biases_of_a_group_with_its_own_decay_are_still_not_penalised(make_training, run):
    def constant(model, batch):
        return 0.0 * model(batch["inputs"]).sum(), len(batch["inputs"])

    task = Minimises({"loss": Objective(loss=constant, groups={"critic": {"weight_decay": 0.5}})})
    training = make_training(model=still(), task=task, **SGD)
    before = weights(training)
    after = weights(run(training))
    assert {name for name in before if not torch.equal(after[name], before[name])} == {"critic.weight"}


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        ({"moves": "decoder"}, r"'critic' moves no parameter.*begins with 'decoder'"),
        ({"moves": "crit"}, r"'critic' moves no parameter"),
        ({"train": {"epochs": 3}}, r"'critic' cannot have a epochs of its own"),
        ({"train": {"lr": -1.0}}, r"lr"),
        ({"groups": {"encoder": {"lr": 0.1}}}, r"no parameter to train in the group 'encoder'"),
        ({"groups": {"critic": {"momentum": 0.1}}}, r"group 'critic' cannot have a momentum"),
    ],
)
def test_an_objective_that_cannot_be_is_refused(make_training, objective, says):
    with pytest.raises(GradlabError, match=says):
        make_training(model=still(), task=contest(objective))


def test_two_objectives_may_not_give_the_same_name_to_a_loss(make_training, run):
    def twice(loss):
        return {"loss": lambda model, batch: {"score": loss(model, batch)}}

    with pytest.raises(GradlabError, match=r"Two objectives have a loss that they call 'score'"):
        run(make_training(model=still(), task=contest(twice(criticise), twice(fool)), validation=None))


def test_a_loss_without_a_gradient_is_found_before_the_training(examples):
    def detached(model, batch):
        total, count = criticise(model, batch)
        return total.detach(), count

    with pytest.raises(GradlabError, match="'critic' has no gradient"):
        check_objectives(still(), contest({"loss": detached}), examples(4).batch(slice(0, 2)))


def test_the_average_is_of_what_all_objectives_move(make_training, run, examples):
    training = run(make_training(model=still(), task=contest(), ema=0.9, validation=None, **SGD))
    means = {name: value.clone() for name, value in still().state_dict().items()}
    steps = itertools.count(1)

    def average(model, optimizers):
        step = next(steps)
        for name, value in model.state_dict().items():
            means[name].lerp_(value, 1 - min(0.9, (1 + step) / (10 + step)))

    play(examples(45), dict.fromkeys(TURNS, lambda parameters: torch.optim.SGD(parameters, lr=0.1)), after=average)
    assert_close(weights(training), means, rtol=1e-4, atol=1e-5)


CONTESTS = {
    "both adam": ({}, {}, {"optimizer": "adam", "lr": 0.01, "clip": 1.0}),
    "each its own": ({"optimizer": "momentum", "lr": 0.1}, {"optimizer": "rmsprop"}, {"lr": 0.005, "ema": 0.9}),
    "in parts": ({"optimizer": "lion", "l1": 0.01}, {"clip": 0.5}, {"accumulate": 2, "lr": 0.01, "keep": "last"}),
}


@pytest.mark.parametrize("name", sorted(CONTESTS))
@pytest.mark.parametrize("stop", [3, 6, 8, 17, 18])
def test_a_restored_contest_goes_on_to_the_bit(make_training, run, save_at, tmp_path, name, stop):
    first, second, plan = CONTESTS[name]
    values = {"task": contest({"train": first}, {"train": second}), "log_every": 4, "epochs": 4, **plan}
    saver = save_at(stop)
    whole = run(make_training(model=Pair(), observers=[saver], **values))
    stored = disk.read(disk.write(tmp_path, saver.checkpoint))
    resumed = run(make_training(model=Pair(), **values), stored)
    assert_same_bits(weights(resumed), weights(whole))
    assert resumed.record.lines == [line for line in whole.record.lines if line["step"] > stop]
    assert resumed.progress.best_step == whole.progress.best_step


def test_a_line_of_a_contest_has_the_loss_of_each_objective_and_their_sum(make_training, run):
    training = run(make_training(model=Pair(), task=contest(), **SGD))
    for line in training.record.lines:
        assert line["loss"] == line["critic"] + line["encoder"]
    assert {"critic", "encoder"} <= training.record.lines[-1].keys()


class BreaksAt:
    """A loss that is not finite from some call on."""

    def __init__(self, loss, calls):
        self.loss, self.left = loss, calls

    def __call__(self, model, batch):
        total, count = self.loss(model, batch)
        self.left -= model.training
        return total * (1.0 if self.left >= 0 else torch.nan), count


def test_a_second_objective_that_is_not_finite_ends_the_training_and_is_named(make_training, run):
    task = contest(second={"loss": BreaksAt(fool, 7)})
    training = make_training(model=still(), task=task, validation=None)
    with pytest.raises(TrainingError, match=r"in step 8 \(epoch 2\): the loss 'encoder' is nan"):
        run(training)
    assert training.progress.ended == "diverged"
    assert all(value.isfinite().all() for value in weights(training).values())


# By which figure weights are better.


class Judged(Minimises):
    """Evaluations give these scores, one after the other."""

    def __init__(self, scores, higher=True, figure="score"):
        super().__init__(classes)
        self.scores, self.criterion = iter(scores), Criterion(figure, higher_is_better=higher)

    def evaluate(self, model, split):
        return {"loss": 1.0, "score": next(self.scores)}


def judged(make_training, scores, higher=True, **plan):
    """An evaluation of training sample and validation split each: the score of the sample is of no account."""
    both = [value for score in scores for value in (0.0, score)]
    return make_training(task=Judged(both, higher), evaluate_every=1, log_every=1, steps=len(scores) - 1, **plan)


@pytest.mark.parametrize(
    ("higher", "scores", "best"),
    [
        (True, [0.1, 0.5, 0.3, 0.5, 0.4], 1),
        (True, [-3.0, -2.0, -5.0, -1.0], 3),
        (False, [0.1, 0.5, 0.3, 0.05, 0.4], 3),
        (True, [0.1, math.nan, 0.2, math.nan], 2),
    ],
)
def test_the_weights_of_the_best_score_are_kept(make_training, run, higher, scores, best):
    training = run(judged(make_training, scores, higher))
    assert training.progress.best_step == best
    assert training.progress.best["score"] == scores[best]
    same = run(make_training(task=Minimises(classes), steps=best, validation=None))
    assert_same_bits(weights(training), weights(same))


def test_where_no_score_is_a_number_the_last_weights_are_kept(make_training, run):
    training = run(judged(make_training, [math.nan] * 4))
    assert training.best_weights is None
    assert_same_bits(weights(training), weights(run(make_training(task=Minimises(classes), steps=3, validation=None))))


def test_patience_is_lost_where_the_score_does_not_rise(make_training, run):
    training = run(judged(make_training, [0.1, 0.2, 0.3, 0.3, 0.2, 0.9, 0.9], patience=2))
    assert (training.progress.ended, training.progress.step, training.progress.best_step) == ("patience", 4, 2)


def test_a_plateau_follows_the_score_as_torch_does(make_training, run):
    scores = [0.1, 0.2, 0.2, 0.2001, 0.25, 0.1, 0.2, 0.26, 0.26, 0.26]
    schedule = {"name": "plateau", "patience": 1, "factor": 0.5, "threshold": 0.01}
    training = run(judged(make_training, scores, schedule=schedule, lr=0.1))
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    judge = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", factor=0.5, patience=1, threshold=0.01)
    wanted = []
    for score in scores[:-1]:
        judge.step(score)
        wanted.append(optimizer.param_groups[0]["lr"])
    assert [line["lr"] for line in training.record.lines if line["split"] == "train"] == pytest.approx(wanted)
    assert wanted[-1] < wanted[0]


def test_a_figure_that_the_evaluation_does_not_give_is_named(make_training, run):
    task = Judged([0.0, 0.0])
    task.criterion = Criterion("bleu", higher_is_better=True)
    with pytest.raises(TrainingError, match=r"by 'bleu', but its evaluation gave loss, score"):
        run(make_training(task=task))


def test_a_named_loss_may_be_the_figure(make_training, run):
    task = Minimises(together(labels=classes, sizes=sizes))
    task.criterion = Criterion("sizes")
    training = run(make_training(task=task, optimizer="sgd", lr=0.3, epochs=4))
    figures = {line["step"]: line["sizes"] for line in training.record.lines if line["split"] == "validation"}
    assert training.progress.best_step == min(figures, key=figures.get)


@pytest.mark.parametrize("name", ["step", "lr", "seconds"])
def test_a_loss_cannot_be_called_what_something_else_in_a_log_line_is(make_training, run, name):
    with pytest.raises(GradlabError, match=f"cannot be called '{name}'"):
        run(make_training(task=Minimises(together(**{name: classes})), validation=None))
