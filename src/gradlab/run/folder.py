"""A run: its folder, its trained model, and both on data: its own splits or new examples."""

import secrets
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gradlab.data import Dataset, Examples, load
from gradlab.data.dataset import split_size
from gradlab.data.frames import data_path, is_frame
from gradlab.data.moved import is_same, moved
from gradlab.errors import GradlabError, notice
from gradlab.files import check_path
from gradlab.registry import Part
from gradlab.run.columns import Effect, Importance, effect_of, importance_of
from gradlab.run.new_examples import new_examples
from gradlab.run.results import BaselineFigures, Metrics
from gradlab.run.thresholds import best_threshold, rankings_of
from gradlab.run.trained import TrainedRun
from gradlab.tasks import Ranking, compare, wants
from gradlab.tasks.finite import check_losses
from gradlab.tasks.views import Tta

BRING_BACK = "Bring those back, or say where they are now: --data PATH."


class Run(TrainedRun):
    """A run folder. `run.test["accuracy"]`, `run.predict(x)`, `run.metrics`; nothing is read before it is asked for.

    `data` is where its data are now, if that is not where they were.
    """

    def __init__(self, path: Path, data: Any = None):
        super().__init__(path, data_path(data))
        self._new: dict[str, Examples] = {}
        self._frames: dict[str, Any] = {}
        """New data that are frames, by the files of the cache that have their content."""

    @property
    def source(self) -> Part:
        """What the recipe says of the data, and where they are now."""
        return self.recipe.data if self._data_path is None else moved(self.recipe.data, self._data_path)

    @cached_property
    def dataset(self) -> Dataset:
        """The data of the run, read again and prepared as they were; refused if they have changed."""
        self._tell_of_code()
        # What was taken over from another run is not fitted to these data.
        preparation = self.preprocessing if self.recipe.train.get("from_run") else None
        dataset = load(self.source, wants(self.recipe.task), preparation)
        if dataset.raw.fingerprint() != self.data["fingerprint"]:
            raise GradlabError(f"The data of {self.path} are not the ones it was trained on. {BRING_BACK}")
        return dataset

    def evaluate(
        self,
        split: str | None = None,
        *,
        data: Any = None,
        threshold: float | None = None,
        tta: Tta | None = None,
    ) -> Metrics:
        """Loss and metrics on a split, default test, or on all of other `data` (a path or a frame), computed again.

        Data with the content of the run's own are those at another place. With a `threshold`, the rarer of two classes
        is predicted where its probability is at least that; with `tta`, outputs are means over views of a picture.
        """
        data = self._path_of_new(data)
        task, examples = self._task_at(threshold), self.as_read(self.examples(split, data))
        if tta is not None:
            task = task.with_tta(tta)
            task.check(self.model, examples)
        figures = self.figures_on(task, examples)
        where = str(data) if self.is_new(data) else f"{split or 'test'} split"
        check_losses(figures, self.model, task, examples, where)
        return Metrics(figures)

    def baselines(self, split: str | None = None, *, data: Any = None) -> BaselineFigures:
        """The figures of trivial predictors, and of other methods on a table, by name, the strongest last.

        They are made of the training examples; where only new data are left, there are none.
        """
        data = self._path_of_new(data)
        examples = self.examples(split, data)
        try:
            train = self.task.encoded(self.dataset.train)
        except GradlabError as error:
            if not self.is_new(data):
                raise
            notice(f"There are no baselines, which are made of the training examples: {error}")
            return BaselineFigures()
        others = {**self.task.baselines(train, self.model), **self.task.references(train)}
        return BaselineFigures(compare(others, self.with_judge(self.task), examples))

    def is_new(self, data: Any) -> bool:
        """Whether these are other examples than the run's own; its own, at another place, are read from there then."""
        data = self._path_of_new(data)
        if data is None or data == self._data_path:
            return False
        if data in self._new:
            return True
        self._tell_of_code()
        if is_same(self.recipe.data, data, self.data["fingerprint"], wants(self.recipe.task)):
            self._data_path = data
            return False
        return True

    def examples(self, split: str | None = None, data: Any = None) -> Examples:
        """A split, or all of new data, with targets as the loss takes them."""
        data = self._path_of_new(data)
        if data is None or not self.is_new(data):
            return self._encoded(split or "test")
        if split is not None:
            raise GradlabError(
                f"{data} has other examples than {self.path} was made of: all of them are evaluated. Leave out --split."
            )
        if data not in self._new:
            self._new[data] = self.task.encoded(new_examples(self, data, self._frames.get(data)))
        return self._new[data]

    def _path_of_new(self, data: Any) -> str | None:
        """Where new data are: for a frame, the file of the cache with its content."""
        path = data_path(data)
        if path is not None and is_frame(data):
            self._frames[path] = data
        return path

    def importance(self, columns: Sequence[str] | None = None) -> Importance:
        """How much worse the model is on held-out rows where a column of its table is permuted, of each or of some."""
        return importance_of(self, columns)

    def effect(self, column: str) -> Effect:
        """How the mean prediction follows a column of its table, all others being as they are."""
        return effect_of(self, column)

    def rankings(self, split: str = "test") -> dict[str, Ranking]:
        """A classification at every threshold, by class; of two classes the positive one alone, which is the rarer."""
        return rankings_of(self, split)

    @property
    def threshold(self) -> float:
        """Of two classes, the probability from which on the positive one has the best F1 on the validation split."""
        return best_threshold(self)

    def _encoded(self, split: str) -> Examples:
        """A split with its targets as the loss takes them."""
        examples = self.dataset.split(split)
        if split_size(examples) == 0:
            raise GradlabError(f"{self.path} has no examples in its {split} split.")
        encoded: Examples = self.task.encoded(examples)
        return encoded

    def as_read(self, examples: Examples) -> Examples:
        """Examples as the model reads them: in order, where it was trained with `train.carry`."""
        return examples.carried() if self.recipe.train.get("carry", False) else examples


def open_run(path: str | Path, data: Any = None) -> Run:
    """The run in a folder, and where its data are if they have moved."""
    check_path(path, "run")
    folder = Path(path)
    if not folder.is_dir():
        raise GradlabError(f"{path} is not a folder. `gradlab runs` lists the runs here.")
    if not (folder / "recipe.toml").is_file():
        raise GradlabError(f"{path} is not a run: it has no recipe.toml. `gradlab runs` lists the runs here.")
    return Run(folder, data)


def new_path(name: str) -> Path:
    """A free folder under runs/ in the working directory."""
    if Path(name).name != name:
        raise GradlabError(f"The recipe's name {name!r} cannot name a folder. Give one: --out FOLDER.")
    while (path := Path("runs") / f"{name}-{secrets.token_hex(2)}").exists():
        pass
    return path
