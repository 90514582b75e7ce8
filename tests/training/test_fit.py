import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.training.observers import Observer

X, Y = torch.randn(100, 4), torch.arange(100) % 3
T = X.sum(1)


class WithUnused(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(4, 3), nn.Linear(7, 7)

    def forward(self, x):
        return self.used(x)


class Squeezed(nn.Module):
    """One number for each example, without an axis for it."""

    def __init__(self):
        super().__init__()
        self.map = nn.Linear(4, 1)

    def forward(self, x):
        return self.map(x).squeeze(-1)


def refused(*arguments, **keywords):
    with pytest.raises(GradlabError) as caught:
        gl.fit(*arguments, **{"epochs": 1, **keywords})
    return str(caught.value)


def test_a_module_is_trained_in_place_and_its_loss_falls():
    model = nn.Linear(4, 3)
    before = model.weight.clone()
    fitted = gl.fit(model, (X, X.argmax(1).clamp(max=2)), epochs=20, lr=0.05)
    losses = [line["loss"] for line in fitted.history if line["split"] == "train"]
    assert fitted.model is model
    assert not torch.equal(model.weight, before)
    assert losses[-1] < 0.7 * losses[0]
    assert fitted.steps == 80
    assert fitted.seconds > 0


def test_a_parameter_that_the_loss_does_not_reach_stays():
    model = WithUnused()
    before = model.unused.weight.clone()
    gl.fit(model, (X, Y), epochs=2, weight_decay=0.1)
    assert torch.equal(model.unused.weight, before)


def test_arrays_lists_and_tensors_are_the_same():
    results = []
    for x, y in [(X, Y), (X.numpy(), Y.numpy()), (X.tolist(), Y.tolist()), (X.double().numpy(), Y.numpy())]:
        torch.manual_seed(0)
        results.append(gl.fit(nn.Linear(4, 3), (x, y), epochs=1).model.weight.detach())
    assert all(torch.equal(r, results[0]) for r in results)


@pytest.mark.parametrize("kind", [torch.int32, torch.int16, torch.uint8, torch.int8])
def test_class_indices_of_any_integer_type_are_taken(kind):
    models = []
    for labels in (Y, Y.to(kind)):
        torch.manual_seed(0)
        models.append(gl.fit(nn.Linear(4, 3), (X, labels), epochs=1, validation=0.2))
    assert_close(models[0].model.weight, models[1].model.weight)
    assert models[0].validation == models[1].validation


def test_arrays_that_may_not_be_written_to_are_taken_without_complaint():
    x = X.numpy().copy()
    x.flags.writeable = False
    assert gl.fit(nn.Linear(4, 3), (x, Y.numpy()), epochs=1).steps == 4


@pytest.mark.parametrize("model", [nn.Linear, lambda *_: Squeezed()], ids=["(n, 1)", "(n,)"])
@pytest.mark.parametrize("target", [T, T[:, None]], ids=["(n,)", "(n, 1)"])
def test_squared_error_pairs_each_output_with_its_own_target(model, target):
    fitted = gl.fit(model(4, 1), (X, target), loss="mse", epochs=60, lr=0.05)
    assert fitted.history[-1]["loss"] < 1e-3  # T is linear in X; an (n, n) table of differences would end near var(T)


def test_squared_error_takes_targets_of_any_shape():
    model = nn.Sequential(nn.Linear(4, 4), nn.Unflatten(1, (2, 2)))
    fitted = gl.fit(model, (X, X.reshape(100, 2, 2)), loss="mse", epochs=60, lr=0.05)
    assert fitted.history[-1]["loss"] < 1e-2


def test_a_loss_of_ones_own_is_a_mean_over_the_batch():
    ours, theirs = nn.Linear(4, 3), nn.Linear(4, 3)
    theirs.load_state_dict(ours.state_dict())
    judged = (X[:30], Y[:30])  # given, since only the classes of cross_entropy are held out in equal shares
    first = gl.fit(ours, (X, Y), loss=nn.CrossEntropyLoss(), epochs=2, validation=judged)
    second = gl.fit(theirs, (X, Y), loss="cross_entropy", epochs=2, validation=judged)
    assert_close(ours.weight, theirs.weight, rtol=1e-4, atol=1e-6)
    assert first.validation["loss"] == pytest.approx(second.validation["loss"], rel=1e-5)


def test_validation_may_be_a_pair_or_a_share():
    pair = gl.fit(nn.Linear(4, 3), (X, Y), validation=(X[:30].numpy(), Y[:30].numpy()), epochs=2)
    share = gl.fit(nn.Linear(4, 3), (X, Y), validation=0.25, epochs=2)
    figures = {"loss", "accuracy", "balanced_accuracy", "f1", "auroc", "ece"}
    assert figures == pair.validation.keys() == share.validation.keys()
    assert (pair.steps, share.steps) == (8, 6)


def test_without_validation_there_are_no_figures_of_it():
    assert gl.fit(nn.Linear(4, 3), (X, Y), epochs=1).validation == {}


@pytest.mark.parametrize("share", [0, 0.0])
def test_a_share_of_nothing_holds_out_nothing(share):
    assert gl.fit(nn.Linear(4, 3), (X, Y), validation=share, epochs=1).steps == 4


@pytest.mark.parametrize("share", [1.0, 1, 1.5, -0.2])
def test_a_share_that_leaves_nothing_to_train_on_or_none_at_all_is_refused(share):
    assert "validation" in refused(nn.Linear(4, 3), (X, Y), validation=share)


def test_modes_set_by_the_user_are_restored_after_each_evaluation():
    seen = []

    class Modes(Observer):
        def evaluation(self, training, line):
            seen.append([m.training for m in training.model.modules()])

    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 3))
    gl.fit(model, (X, Y), validation=0.2, epochs=2, observers=[Modes()])
    assert seen == [[True] * 4] * 3


def test_the_generator_of_the_caller_is_left_alone_and_seeds_repeat():
    state = torch.get_rng_state()
    start = nn.Linear(4, 3).state_dict()
    torch.set_rng_state(state)
    models = [nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 3)) for _ in range(2)]
    for model in models:
        model[1].load_state_dict(start)
    state = torch.get_rng_state()
    histories = [gl.fit(m, (X, Y), epochs=2, seed=4).history for m in models]
    assert torch.equal(torch.get_rng_state(), state)
    assert [line["loss"] for line in histories[0]] == [line["loss"] for line in histories[1]]


def test_the_plan_is_that_of_a_recipe():
    fitted = gl.fit(nn.Linear(4, 3), (X, Y), batch_size="full", optimizer="lbfgs", lr=1.0, steps=3)
    assert fitted.steps == 3
    assert "There is no key in fit, 'epoch'. Did you mean 'epochs'" in refused(nn.Linear(4, 3), (X, Y), epoch=3)
    assert "fit.lr=-1 is not valid" in refused(nn.Linear(4, 3), (X, Y), lr=-1)


@pytest.mark.parametrize(
    ("model", "data", "options", "says"),
    [
        (nn.Linear(4, 3), (X, Y[:50]), {}, "got shapes (100, 4), (50,)"),
        (nn.Linear(4, 3), (X[:0], Y[:0]), {}, "same number of examples"),
        (nn.Linear(5, 3), (X, Y), {}, "The model does not take inputs of shape (4,)"),
        (nn.Linear(5, 3), (X, Y), {"loss": nn.CrossEntropyLoss()}, "The model does not take inputs of shape (4,)"),
        (nn.Linear(4, 2), (X, Y), {}, "y has classes from 0 to 2, but the model has 2 outputs"),
        (nn.Linear(4, 3), (X, Y - 1), {}, "y has classes from -1 to 1"),
        (nn.Linear(4, 3), (X, T), {}, "cross_entropy needs class indices"),
        (nn.Linear(4, 3), (X, Y[:, None]), {}, "cross_entropy needs class indices"),
        (nn.Linear(4, 3), (X, T), {"loss": "mse"}, "The model has 3 outputs, but each target has 1 numbers"),
        (nn.Linear(4, 3), (X, Y), {"loss": "hinge"}, "There is no loss 'hinge'"),
        (nn.Linear(4, 3), (X, Y), {"validation": (X, Y[:5])}, "got shapes (100, 4), (5,)"),
        (nn.Linear(4, 3), (X, Y), {"validation": (X, Y + 1)}, "classes from 1 to 3"),
        (nn.Linear(4, 3), (X, Y), {"validation": (X[:, :3], Y)}, "(3,)"),
        (nn.Linear(4, 3).requires_grad_(False), (X, Y), {}, "no parameter"),
        (nn.Flatten(), (X, Y), {}, "no parameter"),
        (nn.Linear(4, 3), (np.array([["a"] * 4]), [0]), {}, "numbers"),
    ],
)
def test_what_does_not_fit_is_told_before_the_first_step(model, data, options, says):
    assert says in refused(model, data, **options)


def test_a_value_that_is_not_finite_is_named_by_row_and_column():
    x, t = X.clone(), T.clone()
    x[17, 2], t[5] = torch.nan, torch.inf
    assert "hold nan in row 17, column 2" in refused(nn.Linear(4, 3), (x, Y))
    assert "hold inf in row 5, column 'target'" in refused(nn.Linear(4, 1), (X, t), loss="mse")
    assert "hold nan in row 17, column 2" in refused(nn.Linear(4, 3), (X, Y), validation=(x, Y))


def test_a_last_batch_of_one_example_does_not_stop_batch_normalisation():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    try:
        gl.fit(model, (X[:33], Y[:33]), epochs=1, batch_size=32)
    except GradlabError as error:
        assert "batch_size" in str(error)  # noqa: PT017


def test_functions_called_with_arguments_by_name_are_trained_too():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 4))

        def forward(self, x):
            return nn.functional.linear(x, weight=self.weight)

    assert gl.fit(Named(), (X, Y), epochs=1).steps == 4


def test_a_loss_of_ones_own_is_logged_as_its_mean():
    fitted = gl.fit(
        nn.Linear(4, 3), (X, Y), loss=lambda output, target: output.sum() * 0 + 2.5, epochs=1, validation=0.2
    )
    assert {line["loss"] for line in fitted.history} == {2.5}


def test_a_seed_too_large_for_the_generators_is_refused():
    assert "fit.seed" in refused(nn.Linear(4, 3), (X, Y), seed=2**70)


def test_tied_weights_stay_tied():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 3))
    model[2].weight = model[0].weight
    gl.fit(model, (X, Y), epochs=2, validation=0.2)
    assert model[2].weight is model[0].weight


def test_the_result_says_that_the_module_is_in_evaluation_mode():
    fit = gl.fit(nn.Linear(4, 3), (torch.randn(20, 4), torch.arange(20) % 3), epochs=1)
    assert not fit.model.training
    assert "module in evaluation mode" in repr(fit)
