"""The trained model of a run, and what it makes of raw inputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from gradlab.data import Context, Preparation, Reader, Tokenizer, preparation_of, reader_of
from gradlab.data.examples import Column
from gradlab.data.frame_rows import read_frame
from gradlab.data.frames import build_frame, is_frame
from gradlab.errors import GradlabError, notice, one_line
from gradlab.files import interpreting, new_file
from gradlab.files.tensors import save_tensors
from gradlab.models import build_model
from gradlab.run import checkpoint
from gradlab.run.files import RunFiles
from gradlab.run.forecast_rows import forecast_rows
from gradlab.run.judge import read_judge
from gradlab.run.samples import Drawing, Drawn, Wish
from gradlab.specs import Array
from gradlab.tasks import Generative, Task, evaluate, predict, tasks
from gradlab.tasks.evaluation import device_of
from gradlab.tasks.finite import check_outputs


class TrainedRun(RunFiles):
    """A run whose model is used, wherever its data are."""

    @cached_property
    def preprocessing(self) -> Preparation:
        with interpreting(self.path / "data.json"):
            return preparation_of(self.data["inputs"], self.data["targets"], self.read_text)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """How text becomes tokens."""
        if not isinstance(self.preprocessing, Context):
            raise GradlabError(f"{self.path} is no language model: it has no tokenizer.")
        return Tokenizer.from_json(self.preprocessing.tokenizer, str(self.path / "tokenizer.json"))

    @cached_property
    def reader(self) -> Reader:
        """How files become raw inputs, as they did for training."""
        if self.task.use != "predict":
            raise GradlabError(f"{self.path} {self.task.instead.format(run=self.path)}")
        with interpreting(self.path / "data.json"):
            spec = self.preprocessing.spec
            shape = tuple(self.data["inputs"].get("shape", spec.shape if isinstance(spec, Array) else ()))
            return reader_of(self.data.get("reader"), shape)

    @cached_property
    def task(self) -> Task:
        self._tell_of_code()
        return tasks.build(tasks.resolve(self.recipe.task, "task"), self.preprocessing.complete(self.targets))

    def with_judge(self, task: Task) -> Task:
        """A task of the run; one that draws, with that by which its finished training was judged."""
        if isinstance(task, Generative) and task.judge is None:
            task.judge = read_judge(self.path / "features", self.preprocessing.spec, task.compared)
        return task

    @cached_property
    def model(self) -> nn.Module:
        """The trained model on the CPU, in evaluation mode: the newest sound checkpoint's chosen weights."""
        weights = self.chosen_weights()
        with torch.random.fork_rng(devices=[]):  # fresh weights are drawn, and the caller's generator left alone
            inputs, data = self.preprocessing.spec, self.recipe.data.name
            model = build_model(self.recipe.model, inputs, self.task.outputs, data=data)
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise GradlabError(f"{self.path}: its weights do not fit its recipe. {one_line(error)}") from None
        return model.eval()

    def chosen_weights(self) -> dict[str, Tensor]:
        """The weights that the run ended with, or would end with if it were stopped at its newest checkpoint."""
        return self.newest_checkpoint().chosen

    def newest_checkpoint(self) -> checkpoint.Checkpoint:
        """The newest one that is sound."""
        newest, complaints = checkpoint.newest_sound(self.checkpoints)
        if newest is None:
            reason = complaints[0] if complaints else "it has no checkpoint yet."
            raise GradlabError(f"{self.path} has no model to use: {reason}")
        for complaint in complaints:
            notice(f"{complaint} Using step {newest.step} instead.")
        return newest

    @property
    def weights_file(self) -> Path:
        """The file of those weights, in the newest checkpoint."""
        return self.checkpoints / self.newest_checkpoint().chosen_file

    def save_weights(self, path: str | Path) -> Path:
        """Write those weights to a file of safetensors under their plain names; pruned ones too are whole there."""
        with new_file(Path(path)) as file:
            save_tensors(file, self.chosen_weights())
        return Path(path)

    def outputs(self, raw: Any) -> Tensor:
        """What the model gives for raw inputs (one row per example, a frame, or a file): logits, or standardised
        numbers."""
        return check_outputs(self.evaluated(self.prepared(self._read(raw))))

    def _read(self, raw: Any) -> npt.NDArray[Any]:
        reader = self.reader
        if is_frame(raw):
            return read_frame(reader, raw, features=getattr(self.preprocessing, "features", [])).values
        return reader.read(str(raw)).values if isinstance(raw, (str, Path)) else np.asarray(raw)

    def evaluated(self, inputs: Column) -> Tensor:
        """What the model gives for prepared inputs, over the views of its task."""
        with self._model_at_work() as model:
            return predict(self.task.at_test(model), inputs)

    def figures_on(self, task: Task, split: Any) -> dict[str, float]:
        """What a task's evaluation says of the model on some examples."""
        self.with_judge(task)
        with self._model_at_work() as model:
            return evaluate(model, task, split.to(device_of(model)) if hasattr(split, "to") else split, finished=True)

    @contextmanager
    def _model_at_work(self) -> Iterator[nn.Module]:
        """On the GPU if this process is at work there: what follows a training would else take longer than it."""
        at_work = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
        try:
            yield self.model.cuda() if at_work else self.model
        finally:
            if at_work:
                self.model.cpu()

    def prepared(self, values: npt.NDArray[Any]) -> Any:
        """Raw inputs as the model takes them, with values that training knew."""
        x = self.preprocessing(values)
        # Where a reader knows the categories by name, it has told of unknown ones itself.
        named = [c["name"] for c in (self.data.get("reader") or {}).get("columns", [])]
        with interpreting(self.path / "recipe.toml"):
            coded = [c for c in self.recipe.data.values.get("one_hot", []) if c not in named]
            self.preprocessing.check_known(values, coded)
        return x

    @property
    def temperature(self) -> float:
        """What logits are divided by to make probabilities that are as sure as they are right."""
        calibration = self.finished.get("calibration")
        if calibration is None:
            raise GradlabError(
                f"{self.path} has no temperature to calibrate with: only a classification that held out a validation "
                "split has one (data.validation)."
            )
        return float(calibration["temperature"])

    def describe(
        self,
        raw: Any,
        calibrated: bool = False,
        threshold: float | None = None,
        *,
        beam: int | None = None,
        prefix: str | None = None,
    ) -> list[dict[str, Any]]:
        """Predictions in full: label and probabilities, value, or text, one dictionary per example.

        `raw` has one row per example, and is a path, an array, or a frame, whose columns are taken by their names.

        With a `threshold`, the label is the rarer of two classes where its probability is at least that. Texts are
        searched with `beam` hypotheses, and begin with `prefix`.
        """
        task = self._task_at(threshold)  # which refuses it before anything is computed
        if beam is not None or prefix:
            task = task.writing(beam, prefix)
        return self.answers(task, raw, self.temperature if calibrated else 1.0)

    def answers(self, task: Task, raw: Any, temperature: float = 1.0) -> list[dict[str, Any]]:
        """What a task says of raw inputs by the model, one dictionary per example."""
        values = self._read(raw)
        inputs = self.prepared(values)
        with self._model_at_work() as model:
            return self.preprocessing.in_units(values, task.answers(model, inputs, temperature))

    def predict(self, raw: Any, calibrated: bool = False, threshold: float | None = None) -> Any:
        """Predicted labels, values or texts for raw inputs, one per row: an array, or of a frame a frame like it.

        A frame's columns are taken by their names; others than the inputs, such as the target, may be there.
        """
        described = self.describe(raw, calibrated, threshold)
        values = [next(p[key] for key in ("label", "value", "text") if key in p) for p in described]
        if not is_frame(raw):
            return np.array(values)
        if "times" in described[0]:
            rows, headings = list(forecast_rows(described)), self.reader.headings  # type: ignore[attr-defined]
            return build_frame(raw, {headings[key]: [row[key] for row in rows] for key in rows[0]}, same_rows=False)
        name = self.reader.target or "prediction"
        if not isinstance(values[0], list):
            return build_frame(raw, {name: values})
        return build_frame(raw, {f"{name} {i}": column for i, column in enumerate(zip(*values, strict=True))})

    def sample(self, count: int, **wish: Any) -> Drawn:
        """So many examples that the model of a generative run draws: `x` in raw units, and `y` their classes.

        Wishes: class_name, guidance, steps, sampler, pixel_noise, seed.
        """
        with self.drawing(**wish) as drawing:
            return drawing.whole(count)

    @contextmanager
    def drawing(self, **wish: Any) -> Iterator[Drawing]:
        """What draws samples part by part, on ways between noises, and from noise to end."""
        with self._model_at_work() as model:
            yield Drawing(self, model, Wish(**wish))

    def _task_at(self, threshold: float | None) -> Task:
        return self.task if threshold is None else self.task.at_threshold(threshold)
