"""New data for a trained run, beside its own splits."""

from typing import TYPE_CHECKING, Any

import torch

from gradlab.data import Context, Examples, LeadingTokens, Pairing
from gradlab.data.captions.captioned import new_captions
from gradlab.data.labelled import read_labelled
from gradlab.data.pairs.files import new_pairs
from gradlab.data.pictures.reader import PictureReader
from gradlab.data.series.lookback import Lookback
from gradlab.data.text.sequences import Padded, PaddedExamples
from gradlab.data.text.source import new_text
from gradlab.errors import GradlabError

if TYPE_CHECKING:
    from gradlab.run.folder import Run


def new_examples(run: "Run", data: str, frame: Any = None) -> Examples:
    """Examples with their targets, read and prepared as those that the run was trained on.

    They are in a file or folder; of a `frame`, which that is a file of, a table is read by the types of its columns.
    """
    preparation, classes = run.preprocessing, run.targets.classes
    if isinstance(preparation, Context) and not isinstance(preparation, LeadingTokens):
        return new_text(data, preparation, run.targets.masked, run.recipe.data.values.get("suffixes", [".txt"]))
    if isinstance(preparation, Pairing):
        if isinstance(run.reader, PictureReader):
            return new_captions(data, preparation, run.reader, run.recipe.data.values)
        return new_pairs(data, preparation, run.recipe.data.values)
    if run.task.use != "predict":
        raise GradlabError(f"{run.path} is evaluated on its own data alone, and {data} has other content.")
    if isinstance(preparation, Lookback):
        return preparation.new_examples(run.reader.read(data).values)
    values, targets = read_labelled(run.reader, data, classes, frame)
    inputs = run.prepared(values)
    kind = PaddedExamples if isinstance(inputs, Padded) else Examples
    return kind.of(inputs, torch.from_numpy(targets).to(torch.float32 if classes is None else torch.int64))
