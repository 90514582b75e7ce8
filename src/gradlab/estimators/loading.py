"""A saved estimator of either kind."""

from pathlib import Path

from gradlab.errors import GradlabError
from gradlab.estimators.classifier import Classifier
from gradlab.estimators.regressor import Regressor
from gradlab.estimators.saving import describe, load


def load_estimator(folder: str | Path) -> Classifier | Regressor:
    """The Classifier or Regressor that was saved in a folder."""
    path = Path(folder)
    kinds: dict[str, type[Classifier | Regressor]] = {k.__name__: k for k in (Classifier, Regressor)}
    kind = describe(path).get("kind")
    if kind not in kinds:
        raise GradlabError(f"{folder} holds a {kind}, which is none of {', '.join(kinds)}: load it by its own class.")
    return load(kinds[kind], path)
