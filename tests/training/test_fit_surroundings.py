"""`fit` inside other contexts, threads and trainings, and on batches that differ."""

import threading

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import gradlab as gl
from gradlab.errors import GradlabError, TrainingError
from gradlab.training.environment import exclusive

X = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
Y = X[:, :3].argmax(1)


def net():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))


def weights(model):
    return [p.detach().clone() for p in model.parameters()]


def fitted(model=None, data=(X, Y), **options):
    return gl.fit(model or net(), data, **{"epochs": 2, "doctor": False, **options})


def same(some, others):
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


# Gradients and modes.


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_are_computed_where_the_caller_has_turned_them_off(mode):
    expected, of_batches = weights(fitted().model), weights(fitted(data=[(X, Y)] * 2).model)
    model, other = net(), net()
    with mode():
        x, y = X.clone(), Y.clone()
        assert same(weights(fitted(model, (x, y)).model), expected)
        assert same(weights(fitted(other, [(x, y)] * 2).model), of_batches)
        assert not torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled() == (mode is torch.inference_mode)


def test_parameters_made_in_inference_mode_are_refused():
    with torch.inference_mode():
        model = net()
    with pytest.raises(GradlabError, match=r"0\.weight was made under torch\.inference_mode"):
        fitted(model)


@pytest.mark.parametrize("folder", [False, True])
def test_the_module_is_left_in_evaluation_mode(folder, tmp_path):
    options = {"out": tmp_path / "run"} if folder else {}
    assert not any(module.training for module in fitted(**options).model.modules())
    if folder:  # finished: nothing is trained
        assert not any(module.training for module in fitted(net().train(), **options).model.modules())


@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.float64])
def test_weights_of_any_type_count_as_floats(kind):
    weight = torch.tensor([1, 2, 3]).repeat(20)
    assert same(weights(fitted(data=(X, Y, weight.to(kind))).model), weights(fitted(data=(X, Y, weight.float())).model))


@pytest.mark.parametrize("weight", [torch.ones(60, 1), -torch.ones(60), torch.full((60,), torch.nan)])
def test_weights_that_are_none_are_refused(weight):
    with pytest.raises(GradlabError, match=r"weights must be|hold nan in row 0"):
        fitted(data=(X, Y, weight))


def test_weights_with_a_loss_function_are_refused_before_training():
    with pytest.raises(GradlabError, match="cannot be weighted afterwards"):
        fitted(data=(X, Y, torch.ones(60)), loss=nn.CrossEntropyLoss())


# Threads, and trainings inside of trainings.


def test_a_second_thread_is_refused_and_does_not_disturb_the_first():
    expected = weights(fitted().model)
    refused = []

    class Starts(gl.Observer):
        every = 1

        def step(self, training):
            thread = threading.Thread(target=self.train)
            thread.start()
            thread.join()

        def train(self):
            try:
                fitted()
            except GradlabError as error:
                refused.append(str(error))

    assert same(weights(fitted(observers=[Starts()]).model), expected)
    assert len(refused) == 4
    assert all("Another thread of this process is training" in message for message in refused)


def test_recipes_are_refused_in_a_second_thread_too(tmp_path):
    errors = []

    def train():
        try:
            gl.train("digits-mlp", {"train.steps": 1}, out=tmp_path / "run")
        except GradlabError as error:
            errors.append(str(error))

    with exclusive():
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
    assert "Another thread" in errors[0]
    assert not (tmp_path / "run").exists()


def test_a_thread_may_train_when_another_has_failed():
    with pytest.raises(GradlabError):
        fitted(lr=-1)
    done = []
    thread = threading.Thread(target=lambda: done.append(fitted().steps))
    thread.start()
    thread.join()
    assert done == [4]


def test_a_training_inside_another_leaves_both_as_they_are_alone():
    expected = weights(fitted(doctor=True).model)
    inner = []

    class Trains(gl.Observer):
        every = 1

        def step(self, training):
            inner.append(weights(fitted(seed=0, doctor=True).model))

    assert same(weights(fitted(doctor=True, observers=[Trains()]).model), expected)
    assert len(inner) == 4
    assert all(same(one, expected) for one in inner)


# Batches that are unlike the first.

UNLIKE = {
    "width": (X[:, :3], Y),
    "type": (X.double(), Y),
    "targets": (X, Y[:, None]),
    "names": {"inputs": X},
    "a tensor alone": X,
}


@pytest.mark.parametrize("where", ["data", "validation"])
@pytest.mark.parametrize("kind", UNLIKE)
def test_a_batch_that_is_unlike_the_first_is_described(kind, where):
    batches = [(X, Y), (X, Y), UNLIKE[kind]]
    options = {"data": batches} if where == "data" else {"data": [(X, Y)], "validation": batches}
    with pytest.raises(TrainingError, match=r"A batch has .*, where the first one has inputs \(60, 4\) float32"):
        fitted(**options)


@pytest.mark.parametrize("kind", UNLIKE)
def test_validation_that_is_unlike_the_data_is_refused_before_training(kind):
    with pytest.raises(GradlabError) as caught:
        fitted(validation=[UNLIKE[kind]])
    assert not isinstance(caught.value, TrainingError)


def test_batches_of_several_lengths_are_trained_where_the_model_takes_them():
    batches = [(torch.randn(6, length, 4), torch.arange(6) % 3) for length in (5, 3, 8)]
    model = nn.Sequential(nn.Linear(4, 3), Mean())
    assert fitted(model, DataLoader(batches, batch_size=None)).steps == 6


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


class Noise(gl.Stream):
    """Batches without end that are no iterable."""

    steps_per_epoch = 3

    def batches(self, step):
        while True:
            generator = torch.Generator().manual_seed(step)
            yield {"x": torch.randn(8, 4, generator=generator)}
            step += 1


def test_a_stream_is_trained_by_an_objective():
    def length(model, batch):
        return model(batch["x"]).square().sum(), len(batch["x"])

    assert fitted(data=Noise(), objective=length).steps == 6
    assert gl.find_lr(nn.Linear(4, 3), [{"x": X}], objective=length, rates=5).losses
    with pytest.raises(GradlabError, match="a stream has none"):
        gl.find_lr(nn.Linear(4, 3), Noise(), objective=length)
