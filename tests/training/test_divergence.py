import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import TrainingError
from gradlab.training.fit import fit
from gradlab.training.optimizers import optimizers


class Log(nn.Module):
    def forward(self, x):
        return x.log()


class Root(nn.Module):
    """Finite at 0, where its slope is infinite."""

    def forward(self, x):
        return x.sqrt()


class BreaksLater(nn.Module):
    """The identity for some training steps, then not a number."""

    def __init__(self, steps):
        super().__init__()
        self.left = steps

    def forward(self, x):
        self.left -= self.training
        return x if self.left >= 0 else x * torch.nan


def zeroed(model):
    for p in model.parameters():
        nn.init.zeros_(p)
    return model


X = torch.randn(40, 4)
Y = X.sum(1)
CASES = {
    "a module": (nn.Sequential(nn.Linear(4, 4), Log(), nn.Linear(4, 1)), Y, "the output of 1 (Log) is the first"),
    "the loss": (nn.Linear(4, 1), torch.full((40,), 1e30), "the loss is inf though every module's output is finite"),
    "a gradient": (
        nn.Sequential(zeroed(nn.Linear(4, 1)), Root()),
        Y,
        "the gradient of 0.bias is the first, from the loss backwards",
    ),
}


@pytest.mark.parametrize("optimizer", optimizers.names())
@pytest.mark.parametrize("case", sorted(CASES))
def test_what_is_not_finite_is_named_and_the_weights_are_left_alone(case, optimizer):
    model, y, says = CASES[case]
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(TrainingError) as caught:
        fit(model, (X, y), loss="mse", epochs=1, optimizer=optimizer, batch_size="full", lr=0.1, weight_decay=0.1)
    assert says in str(caught.value)
    assert "Training diverged in step 1 (epoch 1)" in str(caught.value)
    assert "Lower lr" not in str(caught.value)  # which had no part in the first step
    assert caught.value.exit_code == 1
    assert_close(list(model.parameters()), before, rtol=0, atol=0)


def test_the_step_and_epoch_are_those_that_broke():
    model = nn.Sequential(nn.Linear(4, 1), BreaksLater(7))
    with pytest.raises(TrainingError, match=r"in step 8 \(epoch 2\): the output of 1 \(BreaksLater\)"):
        fit(model, (X, Y), loss="mse", batch_size=8, epochs=3)


def test_after_the_first_step_a_lower_rate_is_advised():
    model = nn.Sequential(nn.Linear(4, 1), BreaksLater(7))
    with pytest.raises(TrainingError, match=r"Lower lr \(now 0.001\) or set clip=1"):
        fit(model, (X, Y), loss="mse", batch_size=8, epochs=3)


def spoiled(part, row, value):
    parts = {"inputs": X.clone(), "targets": Y.clone()[:, None]}
    parts[part][row, 0] = value
    return parts


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("part", ["inputs", "targets"])
@pytest.mark.parametrize("step", [0, 3])
def test_a_bad_value_of_the_data_is_named_by_row_and_column_at_any_step(part, value, step):
    whole = spoiled(part, 8 * step + 5, value)
    batches = [{name: values[i : i + 8] for name, values in whole.items()} for i in range(0, 40, 8)]
    with pytest.raises(TrainingError) as caught:
        fit(nn.Linear(4, 1), batches, loss="mse", epochs=1)
    assert f"in step {step + 1} " in str(caught.value)
    assert f"{part!r} of the batch has {value} in row 5, column 0" in str(caught.value)
    assert "Remove those examples" in str(caught.value)
    assert "Lower lr" not in str(caught.value)


def test_the_range_of_the_inputs_of_a_module_is_named():
    x = torch.tensor([[0.5, -2.0], [1.0, 3.0]])
    with pytest.raises(TrainingError, match=r"the output of 0 \(Log\) .*; its inputs range from -2 to 3\. .*logarithm"):
        fit(nn.Sequential(Log(), nn.Linear(2, 1)), (x, x[:, 0]), loss="mse", epochs=1)


def test_a_parameter_that_begins_as_nan_is_named():
    model = nn.Linear(4, 1)
    nn.init.constant_(model.weight, torch.nan)
    with pytest.raises(TrainingError, match=r"the parameter weight is not finite.*Initialise it"):
        fit(model, (X, Y), loss="mse", epochs=1)


def test_a_logarithm_in_the_loss_is_named_with_the_ranges_of_outputs_and_targets():
    def loss(output, target):
        return -(target[:, None] * (output * 0).log()).mean()

    with pytest.raises(TrainingError, match=r"the loss is -?(inf|nan) though .*the last output ranges .* in the loss"):
        fit(nn.Linear(4, 1), (X, Y), loss=loss, epochs=1)


def test_a_calculation_of_the_model_itself_is_not_ascribed_to_the_loss():
    class Inline(nn.Linear):
        def forward(self, x):
            return super().forward(x).abs().neg().log()

    with pytest.raises(TrainingError, match=r"the output of the model \(Inline\) is the first"):
        fit(Inline(4, 1), (X, Y), loss="mse", epochs=1)


def test_weights_are_those_before_the_step_that_broke():
    model, same = (nn.Sequential(nn.Linear(4, 1), nn.Identity()) for _ in range(2))
    same.load_state_dict(model.state_dict())
    model[1] = BreaksLater(7)
    with pytest.raises(TrainingError):
        fit(model, (X, Y), loss="mse", batch_size=8, epochs=3)
    fit(same, (X, Y), loss="mse", batch_size=8, steps=7)
    assert_close(list(model.parameters()), list(same.parameters()), rtol=0, atol=0)


def test_a_rate_far_too_high_ends_in_a_message_and_not_in_nan_weights():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    with pytest.raises(TrainingError, match="Training diverged in step"):
        fit(model, (X, Y), loss="mse", optimizer="sgd", lr=1e6, epochs=50)
    assert all(p.isfinite().all() for p in model.parameters())


def test_a_model_of_one_module_is_named_as_the_model():
    with pytest.raises(TrainingError, match=r"the output of the model \(Broken\) is the first"):
        fit(Broken(), (X, Y), loss="mse", epochs=1)


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 1))

    def forward(self, x):
        return (x @ self.weight) * torch.nan


def test_an_infinite_loss_stops_lbfgs_though_its_gradient_is_finite():
    for seed in range(60):  # for one start in twenty the search comes back with finite weights
        generator = torch.Generator().manual_seed(seed)
        x, model = torch.randn(40, 4, generator=generator), nn.Linear(4, 1)
        with torch.no_grad():
            for p in model.parameters():
                p.uniform_(-0.5, 0.5, generator=generator)
        options = {"epochs": 1, "optimizer": "lbfgs", "batch_size": "full", "lr": 0.1, "weight_decay": 0.1}
        with pytest.raises(TrainingError, match="the loss is inf"):
            fit(model, (x, torch.full((40,), 1e30)), loss="mse", **options)
