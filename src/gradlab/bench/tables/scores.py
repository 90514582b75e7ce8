"""A table by default beside scikit-learn: the same folds, a score and the seconds of a fit."""

import json
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.processes import call
from gradlab.errors import GradlabError, unknown

TABLES = ("iris", "wine", "breast-cancer", "diabetes", "churn", "sales", "faults")
_ROWS = 15_000  # of the generated ones


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One method on one table."""

    table: str
    rows: int
    metric: str
    method: str
    score: float
    standard_error: float
    seconds: float
    """Of a fit; gradlab's with an evaluation each epoch, the others' with their preprocessing."""


def bench_tables(tables: Sequence[str], folds: int, progress: Progress) -> list[Scored]:
    """Each method on each table by cross-validation; gradlab as `gradlab train csv` comes, the others as they come."""
    for name in tables:
        if name not in TABLES:
            raise unknown("table in this benchmark", name, TABLES)
    if folds < 2:
        raise GradlabError(f"--folds must be at least 2, got {folds}.")
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        return [row for name in tables for row in _on(name, folds, progress, Path(folder))]


def _on(name: str, folds: int, progress: Progress, folder: Path) -> list[Scored]:
    import numpy as np

    from gradlab.data.splits import fold_numbers
    from gradlab.data.tables.csv_files import csv

    path = folder / f"{name}.csv"
    target = _write(name, path)
    raw = csv(0, path=str(path), target=target)
    labels = raw.targets if raw.classes is not None else None
    number = fold_numbers(np.arange(len(raw.targets)), folds, 0, labels)
    metric = "r2" if raw.classes is None else "auroc" if len(raw.classes) == 2 else "accuracy"
    progress(f"{name}: gradlab")
    results = {"gradlab": _gradlab(path, target, folds, metric)}
    for fold in range(folds):
        progress(f"{name}: the others, fold {fold + 1} of {folds}")
        train, test = number != fold, number == fold
        for method, make in _methods(raw).items():
            scored = _fitted(make, raw.inputs[train], raw.targets[train], raw.inputs[test], raw.targets[test], metric)
            results.setdefault(method, []).append(scored)
    return [
        Scored(
            table=name,
            rows=len(raw.targets),
            metric=metric,
            method=method,
            score=float(np.mean([score for score, _ in values])),
            standard_error=float(np.std([score for score, _ in values], ddof=1) / folds**0.5),
            seconds=float(np.mean([seconds for _, seconds in values])),
        )
        for method, values in results.items()
    ]


def _write(name: str, path: Path) -> str:
    """The table as a CSV file; the name of its target."""
    import numpy as np
    from sklearn import datasets

    from gradlab.bench.tables.generated import GENERATED, write_table

    if name in GENERATED:
        make, target = GENERATED[name]
        write_table(path, make(_ROWS, np.random.default_rng(0)))
        return target
    bundle: Any = getattr(datasets, f"load_{name.replace('-', '_')}")()
    classes = getattr(bundle, "target_names", None)
    targets = bundle.target if classes is None else [str(classes[i]) for i in bundle.target]
    write_table(path, {**dict(zip(bundle.feature_names, bundle.data.T, strict=True)), "target": targets})
    return "target"


def _gradlab(path: Path, target: str, folds: int, metric: str) -> list[tuple[float, float]]:
    out = path.with_suffix("")
    where = ["--data", str(path), f"data.target={target}", "--device", "cpu", "--out", str(out)]
    call(["-m", "gradlab", "train", "csv", *where, "--folds", str(folds), "--json"])
    results = [json.loads(file.read_text()) for file in sorted(out.glob("*/result.json"))]
    return [(result["test"][metric], result["seconds"]) for result in results]


def _methods(raw: Any) -> dict[str, Callable[[], Any]]:
    """They see numbers standardised, gaps filled and marked, and categories one-hot; trees see all as it is."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    coded = [raw.features.index(name) for name in raw.categorical]
    numbers = [i for i in range(len(raw.features)) if i not in coded]

    def piped(estimator: Any) -> Any:
        filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
        columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), coded), (filled, numbers))
        return make_pipeline(columns, estimator)

    if raw.classes is None:
        return {
            "ridge regression": lambda: piped(Ridge()),
            "MLPRegressor": lambda: piped(MLPRegressor(random_state=0)),
            "boosted trees": lambda: HistGradientBoostingRegressor(random_state=0),
        }
    return {
        "logistic regression": lambda: piped(LogisticRegression(max_iter=1000)),
        "MLPClassifier": lambda: piped(MLPClassifier(random_state=0)),
        "boosted trees": lambda: HistGradientBoostingClassifier(random_state=0),
    }


def _fitted(make: Callable[[], Any], x: Any, y: Any, new_x: Any, new_y: Any, metric: str) -> tuple[float, float]:
    from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of networks that stop before they have converged
        estimator = make().fit(x, y)
    seconds = time.perf_counter() - began
    if metric == "auroc":
        return roc_auc_score(new_y, estimator.predict_proba(new_x)[:, 1]), seconds
    score = accuracy_score if metric == "accuracy" else r2_score
    return score(new_y, estimator.predict(new_x)), seconds
