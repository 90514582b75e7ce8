"""skorch: a network as a scikit-learn estimator, in a pipeline, with a search over its settings."""

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, LRScheduler
from torch import nn


class Classes(nn.Module):
    def __init__(self, num_units=16, dropout=0.2):
        super().__init__()
        self.dense, self.dropout, self.output = nn.Linear(30, num_units), nn.Dropout(dropout), nn.Linear(num_units, 2)

    def forward(self, X):
        return self.output(self.dropout(torch.relu(self.dense(X))))


def main():
    torch.manual_seed(8)
    np.random.seed(8)
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X.astype("float32"), y.astype("int64"), random_state=8)
    net = NeuralNetClassifier(
        Classes,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.01,
        max_epochs=10,
        batch_size=32,
        iterator_train__shuffle=True,
        verbose=0,
        callbacks=[EarlyStopping(patience=5)],
    )
    pipe = make_pipeline(StandardScaler(), net)
    pipe.fit(X_train, y_train)
    print([value.hex() for value in net.history[:, "train_loss"]])
    print([value.hex() for value in net.history[:, "valid_loss"]], pipe.score(X_test, y_test))
    search = GridSearchCV(pipe, {"neuralnetclassifier__module__num_units": [8, 24]}, cv=2, scoring="accuracy")
    search.fit(X_train, y_train)
    print(search.best_params_, search.cv_results_["mean_test_score"], search.predict_proba(X_test[:3]).tolist())

    X, y = load_diabetes(return_X_y=True)
    X, y = (X / X.std(0)).astype("float32"), ((y - y.mean()) / y.std()).astype("float32")[:, None]
    regressor = NeuralNetRegressor(
        nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1)),
        optimizer=torch.optim.SGD,
        optimizer__momentum=0.9,
        lr=0.01,
        max_epochs=20,
        batch_size=32,
        iterator_train__shuffle=True,
        verbose=0,
        callbacks=[LRScheduler("CosineAnnealingLR", T_max=20)],
    )
    regressor.fit(X, y)
    print([value.hex() for value in regressor.history[:, "train_loss"]])


if __name__ == "__main__":
    main()
