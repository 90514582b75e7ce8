"""The figures of the metrics log for TensorBoard: `tensorboard --logdir runs`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.errors import GradlabError, TrainingError
from gradlab.files import REMEDY, write_errors
from gradlab.training.loop import Training
from gradlab.training.observers import Line, Observer

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_PLACE = {"step", "epoch", "split", "seconds"}  # where a line stands, which is no figure


class TensorBoard(Observer):
    """Event files in a folder of the run, with the scalars of each line of the log as soon as it is there.

    A resumed run writes another file, which says from which step on those before it no longer hold.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.writer: SummaryWriter | None = None

    def start(self, training: Training) -> None:
        from torch.utils.tensorboard import SummaryWriter  # which takes seconds

        # The lines of the step that is resumed from are kept; at step 0 the first evaluation is written again.
        after = training.progress.step + 1 if training.progress.step else 0
        with self._errors():
            self.writer = SummaryWriter(self.folder, purge_step=after)

    def log(self, training: Training, line: Line) -> None:
        assert self.writer is not None
        with self._errors():
            for tag, value in scalars(line):
                self.writer.add_scalar(tag, value, line["step"])
            self.writer.flush()

    def rewind(self, training: Training) -> None:
        self.end(training)
        self.start(training)

    def end(self, training: Training) -> None:
        if self.writer is not None:
            with self._errors():
                self.writer.close()

    def _errors(self) -> Any:
        return write_errors(self.folder, f"{REMEDY}, then: gradlab resume {self.folder.parent}", TrainingError)


def scalars(line: Line) -> Iterator[tuple[str, float]]:
    """The figures of a line, each by its name and its split, so that the splits of a figure stand side by side.

    >>> list(scalars({"step": 20, "epoch": 1.5, "split": "train", "loss": 0.5, "update_ratio": {"0.weight": 0.001}}))
    [('loss/train', 0.5), ('update_ratio/0.weight', 0.001)]
    """
    for name, value in line.items():
        if name in _PLACE:
            continue
        if isinstance(value, dict):
            yield from ((f"{name}/{part}", each) for part, each in value.items())
        elif value is not None:
            yield f"{name}/{line['split']}", value


def check_installed() -> None:
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        raise GradlabError(
            'train.log=tensorboard needs TensorBoard, which is not installed: pip install "gradlab[tensorboard]"'
        ) from None
