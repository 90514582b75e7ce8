"""Support vector machines as models: steps that go on, what is saved, and the memory they take."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_moons
from sklearn.svm import SVC
from torch.testing import assert_close

from gradlab.data import Examples
from gradlab.errors import GradlabError
from gradlab.maths.kernel_functions import NotPositiveDefinite, kernel_function
from gradlab.maths.support_vectors import KernelColumns, separate
from gradlab.models.support_vectors import (
    SupportVectorClassification,
    SupportVectorRegression,
    SupportVectorSettings,
    votes,
)

X, Y = (torch.from_numpy(part) for part in make_moons(120, noise=0.2, random_state=1))


def test_many_small_steps_reach_the_optimum_of_one_solve():
    settings = SupportVectorSettings(updates=7, tol=1e-7)
    stepped, solved = (SupportVectorClassification(2, 2, settings) for _ in range(2))
    train, steps = Examples.of(X, Y), 0
    while not stepped.optimal:
        stepped.learn_without_gradients(train, None)
        steps += 1
    solved.fit(X, Y)
    assert steps > 5
    assert stepped.rows.tolist() == solved.rows.tolist()
    assert_close(stepped(X), solved(X), atol=1e-5, rtol=0)


def test_a_step_from_saved_state_is_the_same_to_the_last_bit():
    settings, train = SupportVectorSettings(updates=20, tol=1e-9), Examples.of(X, Y)
    whole, again = (SupportVectorClassification(2, 2, settings) for _ in range(2))
    for _ in range(2):
        whole.learn_without_gradients(train, None)
    again.load_state_dict({name: value.clone() for name, value in whole.state_dict().items()})
    for model in (whole, again):
        model.learn_without_gradients(train, None)
        assert not model.optimal
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_few_columns_in_memory_give_the_same():
    kernel = kernel_function("rbf", gamma=0.5)
    few, many = KernelColumns(kernel, X, megabytes=0.005), KernelColumns(kernel, X)
    signs, bounds = 2.0 * Y.numpy() - 1, np.ones(len(Y))
    solutions = [separate(columns, np.arange(len(Y)), signs, bounds) for columns in (few, many)]
    assert len(few.kept) == few.most == 5
    assert len(many.kept) > 20
    assert (solutions[0].coefficients == solutions[1].coefficients).all()


def test_negative_curvature_is_met_where_no_eigenvalue_was_asked():
    columns = KernelColumns(lambda a, b: -(a @ b.T), X, name="own")
    with pytest.raises(NotPositiveDefinite, match=r"own kernel is not positive definite.*k\(x,x\)"):
        separate(columns, np.arange(len(Y)), 2.0 * Y.numpy() - 1, np.ones(len(Y)))


def test_outputs_of_several_classes_are_the_votes_of_svc_stretched():
    labels = Y + (X[:, 0] > 0.5) * (Y == 0) * 2
    model = SupportVectorClassification(2, 3, SupportVectorSettings(tol=1e-8)).fit(X, labels)
    fitted = SVC(tol=1e-8, break_ties=True).fit(X, labels)
    wanted = torch.from_numpy(fitted.decision_function(X))
    assert_close(votes(model.values(X), 3), wanted, atol=1e-4, rtol=0)
    assert_close(model(X), 2 * (wanted - 3) + 3, atol=1e-3, rtol=0)
    assert (model(X).argmax(1).numpy() == fitted.predict(X)).all()


def test_several_targets_are_several_functions():
    targets = torch.stack([X[:, 0].sin(), X[:, 1]], 1)
    both = SupportVectorRegression(2, 2).fit(X, targets)
    for k in range(2):
        one = SupportVectorRegression(2, 1).fit(X, targets[:, k])
        assert_close(both(X)[:, k], one(X)[:, 0])


def test_a_class_without_examples_is_refused():
    with pytest.raises(GradlabError, match="2 of 3 classes are in the training examples"):
        SupportVectorClassification(2, 3).fit(X, Y)


def test_a_kernel_that_is_no_inner_product_is_refused_before_the_first_step():
    model = SupportVectorClassification(2, 2, SupportVectorSettings(kernel="sigmoid", gamma=1.0))
    with pytest.raises(GradlabError, match="The sigmoid kernel is not positive definite on these examples"):
        model.fit_inputs(X)
