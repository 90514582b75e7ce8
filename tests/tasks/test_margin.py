"""Margins: the linear support vector machine by the ordinary loop is LinearSVC."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris, make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from torch import nn

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.models.support_vectors import SupportVectorClassification
from gradlab.tasks import Margin
from gradlab.training import driver
from gradlab.training.plan import Plan, plan_schema

MOONS = make_moons(150, noise=0.3, random_state=0)
IRIS = StandardScaler().fit_transform(load_iris().data), load_iris().target


def trained(data, squared, C, **plan):
    """A linear model in float64, trained by the driver of all trainings."""
    x, y = torch.from_numpy(data[0]), torch.from_numpy(data[1])
    counts = torch.bincount(y).tolist()
    task = Margin(Targets(classes=[str(c) for c in range(len(counts))], counts=counts), squared=squared, C=C)
    torch.manual_seed(0)
    model = nn.Linear(x.shape[1], task.outputs).double()
    settled = Plan(**plan_schema.resolve({"batch_size": "full", "keep": "last", "doctor": False, **plan}, "train"))
    with driver.training(model, task, Examples.of(x, y), None, settled) as training:
        training.run()
    return model


@pytest.mark.parametrize("data", [MOONS, IRIS], ids=["two classes", "three classes"])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_the_squared_hinge_by_lbfgs_is_linear_svc(data, C):
    optimizer = {"name": "lbfgs", "iterations": 100}
    model = trained(data, True, C, epochs=20, optimizer=optimizer, lr=1.0)
    other = LinearSVC(C=C, tol=1e-10, max_iter=1_000_000).fit(*data)
    with torch.no_grad():
        values = model(torch.from_numpy(data[0])).squeeze(1).numpy()
    assert values == pytest.approx(other.decision_function(data[0]), abs=2e-3)
    assert model.weight.detach().numpy() == pytest.approx(other.coef_, abs=2e-3)


def test_the_hinge_by_subgradients_comes_near_linear_svc():
    plan = {"epochs": 4000, "optimizer": "sgd", "lr": 0.5, "schedule": "polynomial"}
    model = trained(MOONS, False, 0.2, **plan)
    other = LinearSVC(C=0.2, loss="hinge", tol=1e-8, max_iter=1_000_000).fit(*MOONS)
    assert model.weight.detach().numpy() == pytest.approx(other.coef_, abs=0.02)
    assert model.bias.detach().numpy() == pytest.approx(other.intercept_, abs=0.02)


def test_one_decision_value_for_two_classes_and_one_each_for_several():
    two, three = (Margin(Targets(classes=list("abc")[:k], counts=[1] * k)) for k in (2, 3))
    y = torch.tensor([0, 1])
    assert two.signs(y).tolist() == [[-1.0], [1.0]]
    assert three.signs(y).tolist() == [[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]]
    loss, count = three.loss(torch.tensor([[2.0, 0.5, -3.0], [0.0, 0.0, 0.0]]), y, torch.tensor([2.0, 1.0]))
    assert (loss.item(), count) == (2 * 1.5 + 3.0, 2)


def test_answers_have_the_decision_value_whatever_the_temperature():
    task = Margin(Targets(classes=["a", "b"], counts=[1, 1]))
    (answer,) = task.answers(nn.Identity(), torch.tensor([[3.0]]), temperature=2.0)
    assert answer["label"] == "b"
    assert answer["decision"] == 3.0
    assert answer["probability"] == pytest.approx(1 / (1 + np.exp(-1.5)))


def test_one_class_and_a_cost_of_the_wrong_part_are_refused():
    targets = Targets(classes=["a", "b"], counts=[5, 0])
    x = torch.zeros(5, 2)
    with pytest.raises(GradlabError, match="all training examples are of the class 'a'"):
        Margin(targets).check(nn.Linear(2, 1), Examples.of(x, torch.zeros(5, dtype=torch.int64)))
    with pytest.raises(GradlabError, match=r"Set model\.C instead"):
        Margin(targets, C=1.0).check(SupportVectorClassification(2, 2), Examples.of(x, torch.arange(5) % 2))
