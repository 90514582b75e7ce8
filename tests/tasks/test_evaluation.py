import pytest
import torch
from torch import nn

from gradlab.data import Targets
from gradlab.tasks import Classify, Regress, evaluate, predict
from gradlab.tasks.evaluation import score

CLASSIFY = Classify(Targets(classes=["a", "b", "c"]))
REGRESS = Regress(Targets(mean=[1.0], std=[2.0]))


def problem(task, count=23):
    target = torch.arange(count) % 3
    return torch.randn(count, 4), target if task is CLASSIFY else REGRESS.encode(target.float())


@pytest.mark.parametrize("task", [CLASSIFY, REGRESS])
@pytest.mark.parametrize("rows", [1, 4, 22, 23, 4096])
def test_a_split_judged_in_parts_is_judged_as_a_whole(task, rows):
    model, (x, y) = nn.Linear(4, task.outputs), problem(task)
    whole = score(task, model(x).detach(), y)
    assert evaluate(model, task, x, y, rows) == pytest.approx(whole, rel=1e-5)


def test_predictions_in_parts_are_those_of_the_whole():
    model, x = nn.Linear(4, 3), torch.randn(10, 4)
    torch.testing.assert_close(predict(model, x, rows=3), model(x).detach())


def test_dropout_is_off_and_batch_statistics_are_not_moved():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    x, y = problem(CLASSIFY)
    assert evaluate(model, CLASSIFY, x, y) == evaluate(model, CLASSIFY, x, y)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


@pytest.mark.parametrize("fails", [False, True])
def test_every_module_is_left_in_the_mode_it_had(fails):
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.BatchNorm1d(8), nn.Linear(8, 3))
    model[2].eval()  # frozen on purpose, as in fine-tuning
    modes = [m.training for m in model.modules()]
    x = torch.randn(5, 3 if fails else 4)
    if fails:
        with pytest.raises(RuntimeError):
            predict(model, x)
    else:
        predict(model, x)
    assert [m.training for m in model.modules()] == modes
