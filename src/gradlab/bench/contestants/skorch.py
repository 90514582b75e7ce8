"""skorch: a torch module behind scikit-learn's interface."""

import skorch
import torch
from torch import nn

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.work import Work


class Skorch(Contestant):
    """NeuralNetClassifier without printing and without a validation split."""

    def train(self, model: nn.Module, work: Work) -> int:
        net = skorch.NeuralNetClassifier(
            model,
            criterion=nn.CrossEntropyLoss,
            optimizer=torch.optim.Adam,
            lr=work.case.lr,
            batch_size=work.case.batch_size,
            max_epochs=work.case.epochs,
            iterator_train__shuffle=True,
            train_split=None,
            verbose=0,
        )
        net.fit(work.inputs, work.targets)
        return sum(len(epoch["batches"]) for epoch in net.history)
