"""What is inspected: any module on a batch, or a run on the user's input or on examples that it held out."""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.data import Batch, Context, Episodes, Examples, Pairing, Preprocessing, Reading, Tokenizer
from gradlab.data.batch import size
from gradlab.data.pictures.reader import is_picture
from gradlab.errors import GradlabError, one_line, unknown
from gradlab.probes.alignment import alignment_of, token_texts
from gradlab.probes.attention import attention_maps
from gradlab.probes.inspection import Inspection
from gradlab.probes.layers import layer_values
from gradlab.probes.maps import feature_maps
from gradlab.probes.pictures import EXPLAINED, are_classified, are_pictures, explained, unlike_training
from gradlab.probes.recording import LossFunction, Recording, record
from gradlab.probes.recurrence import recurrences
from gradlab.probes.surprise import surprises
from gradlab.run import Run
from gradlab.run.playing import check_acts, moments
from gradlab.tasks import Classify, Language, Losses, MaskedLanguage, Seq2Seq, Supervised, Task
from gradlab.tasks.objective import named
from gradlab.tasks.playing.play import Play
from gradlab.wording import counted

_EXAMPLES, _TEXTS = 32, 8  # of a split, by default
_MOST_EXAMPLES = 256  # of a user's file
_MOST_TOKENS = 512  # of a user's text


def inspect_model(model: nn.Module, x: Any, y: Any = None, loss: str | LossFunction | None = None) -> Inspection:
    """A module on a batch. With targets, the loss is by default cross-entropy for classes and else squared error."""
    if x is None:
        raise GradlabError("To look inside a module, give it a batch: probe(model, x), or probe(model, x, y).")
    x, y = (torch.from_numpy(value) if isinstance(value, np.ndarray) else value for value in (x, y))
    seen = record(model, x, y, _loss(y, loss))
    notes, more = list[str](), dict[str, Any]()
    if are_classified(seen.output, x, y):
        try:
            more = {"attributions": explained(seen, x, x.detach().cpu().numpy(), y)}
        except Exception as error:  # of a stranger's module, which need not take other batches than this one
            notes = [f"What speaks for the classes is left out: {one_line(error)}"]
    return _inspection(seen, type(model).__name__, "one batch", x, notes, **more)


def inspect_run(run: Run, inputs: Any = None, split: str | None = None, examples: int | None = None) -> Inspection:
    """A run on raw inputs (for a language model, on a text), or on examples of a split: default validation."""
    if examples is not None and examples < 1:
        raise GradlabError(f"At least one example is needed, got {examples}.")
    if inputs is not None and split is not None:
        raise GradlabError("An input and a split are two things to look at: give one of them.")
    if inputs is None:
        return _on_split(run, split, examples)
    if isinstance(run.preprocessing, Pairing):
        return _on_sources(run, inputs)
    is_language = isinstance(run.task, (Language, MaskedLanguage))
    return _on_text(run, inputs) if is_language else _on_inputs(run, inputs, examples)


def _on_split(run: Run, split: str | None, examples: int | None) -> Inspection:
    dataset, task = run.dataset, run.task
    name = split or next((name for name in ("validation", "test") if len(dataset.split(name))), "train")
    if isinstance(task, Play):
        return _on_episodes(run, name, examples or _EXAMPLES)
    is_text = isinstance(run.preprocessing, Context)
    batch, rows = _some(dataset.split(name), examples or (_TEXTS if is_text else _EXAMPLES), task)
    if batch is None:
        raise GradlabError(f"{run.path} has no examples in its {name} split.")
    what = f"{counted(size(batch), 'text' if is_text else 'example')} of the {name} split"
    if not isinstance(task, Supervised):
        losses = partial(_training_losses, task, run.model, batch)
        seen = record(run.model, batch, loss=_mean_of, call=losses)
        return _inspection(seen, run.names[0], what, batch, [])
    if isinstance(task, Seq2Seq):
        return _on_pair(run, batch, what, [], None if rows is None else dataset.raw.inputs[rows[:1]])
    x, y = batch["inputs"], batch["targets"]
    pictures = np.asarray(dataset.raw.inputs[rows[:EXPLAINED]]) if rows is not None and are_pictures(x) else None
    return _of_run(run, record(run.model, x, y, _loss_of(run)), what, x, [], pictures, y)


def _training_losses(task: Task, model: nn.Module, batch: Batch) -> list[Losses]:
    """The loss of each objective of a task that does not compare outputs with targets."""
    return [objective.loss(model, batch) for objective in task.objectives().values()]


def _on_episodes(run: Run, name: str, count: int) -> Inspection:
    """A policy on the observations of held-out episodes, which it plays."""
    policy, episodes = check_acts(run), run.dataset.split(name)
    if not isinstance(episodes, Episodes):
        raise GradlabError(f"{run.path} acts in an environment: its {name} split has no examples. Use test instead.")
    with closing(moments(run, len(episodes), render=False, split=episodes)) as played:
        observations = [moment.observations for moment in islice(played, count)]
    x = torch.as_tensor(np.concatenate(observations))
    seen = record(policy, x, call=lambda: policy.act(x))
    notes = ["The loss of a policy is that of episodes, not of observations: there is no loss, and so no gradient."]
    return _inspection(seen, run.names[0], f"{counted(len(x), 'observation')} of the {name} episodes", x, notes)


def _some(split: Any, count: int, task: Task) -> tuple[Batch | None, npt.NDArray[np.int64] | None]:
    """Examples of a split, evenly spread, and where they lie in the source; or the first of one read batch by batch."""
    if not len(split):
        return None, None
    if isinstance(split, Examples):
        some = split.sample(count)
        return task.encoded(some).batch(slice(None)), some.rows
    return {name: part[:count] for name, part in next(iter(split.batches(count))).items()}, None


def _on_text(run: Run, text: Any) -> Inspection:
    if not isinstance(text, str):
        raise GradlabError(f"{run.path} is a language model: its input is a text, got {type(text).__name__}.")
    if is_picture(Path(text)) and isfile(text):
        raise GradlabError(f"{text} is a picture, but {run.path} was trained on text.")
    tokens = torch.from_numpy(run.tokenizer.encode(text, unknown="refuse"))
    if not len(tokens):
        raise GradlabError("The text is empty. Give at least one character.")
    notes = []
    most = min(getattr(run.model, "limit", None) or _MOST_TOKENS, _MOST_TOKENS)
    if len(tokens) > most:
        notes.append(f"The text has {len(tokens):,} tokens; the model was shown the last {most}.")
    x = tokens[-most:][None]
    following = x[:, 1:]
    loss = _loss_of(run) if following.numel() and isinstance(run.task, Language) else None
    if not isinstance(run.task, Language):
        notes.append("No token of it is hidden: there is nothing to fill in, no loss, and so no gradient.")
    elif loss is None:
        notes.append("One token foretells nothing that could be checked: there is no loss, and so no gradient.")
    seen = record(run.model, x, following, loss)
    return _of_run(run, seen, f"a text of {counted(x.shape[1], 'token')}", x, notes)


def _on_sources(run: Run, inputs: Any) -> Inspection:
    """What is written for the first of some sources, and a pass over both."""
    reading = run.reader.read(str(inputs)) if isinstance(inputs, (str, Path)) else Reading(np.asarray(inputs))
    notes = [*reading.notes, "The loss, and so the gradient, is that of the text it writes: the true one is not known."]
    if len(reading.values) > 1:
        notes.append(f"There are {len(reading.values):,} sources; the model was shown the first.")
    batch = {"inputs": run.preprocessing(reading.values[:1])[:]}
    on = "a source" if reading.names is None else reading.names[0]
    return _on_pair(run, batch, on, notes, reading.values)


def _on_pair(run: Run, batch: Batch, on: str, notes: list[str], raw: npt.NDArray[Any] | None = None) -> Inspection:
    """A pass over pairs, whose targets are what is written where they are not known; the first is looked at closely."""
    task, pairing = run.task, run.preprocessing
    assert isinstance(task, Seq2Seq)
    assert isinstance(pairing, Pairing)
    first = batch["inputs"][:1]
    written = task.write(run.model, first)[0]
    targets = batch.get("targets", torch.tensor([written.tokens]))
    before, x = targets[:, :-1], batch["inputs"]
    seen = record(run.model, (x, before), targets, lambda output, y: _mean_of([task.loss(output, y)]))
    picture = np.asarray(raw[0]) if raw is not None and are_pictures(first) else None
    more = {"written": written.text, "alignment": alignment_of(run.model, pairing, first, written, picture)}
    return _inspection(seen, run.names[0], on, (x, before), notes, **more)


def _on_inputs(run: Run, inputs: Any, examples: int | None) -> Inspection:
    preprocessing = run.preprocessing
    reading = run.reader.read(str(inputs)) if isinstance(inputs, (str, Path)) else Reading(np.asarray(inputs))
    values, notes = reading.values, [*reading.notes]
    outputs = run.outputs(values[: examples or _MOST_EXAMPLES])  # which refuses what cannot be an input
    x = preprocessing(values[: len(outputs)])[:]
    if isinstance(preprocessing, Preprocessing):
        notes += unlike_training(preprocessing, values[: len(outputs)])
    if len(values) > len(outputs):
        notes.append(f"There are {len(values):,} inputs; the model was shown the first {len(outputs)}.")
    if isinstance(run.task, Classify):
        notes.append("The loss, and so the gradient, is that of the classes it predicts: the true ones are not known.")
        seen = record(run.model, x, run.task.class_logits(outputs).argmax(1), _loss_of(run))
    else:
        notes.append("The true values are not known: there is no loss, and so no gradient.")
        seen = record(run.model, x)
    on = counted(len(x), "given input") if reading.names is None else _listed(reading.names[: len(x)])
    return _of_run(run, seen, on, x, notes, values if are_pictures(x) else None)


def _of_run(
    run: Run,
    seen: Recording,
    on: str,
    x: Tensor,
    notes: list[str],
    pictures: npt.NDArray[Any] | None = None,
    y: Tensor | None = None,
) -> Inspection:
    """`pictures` are the inputs as they are in the world, where they are pictures."""
    more: dict[str, Any] = {}
    if isinstance(run.task, Language):
        tokens, following = surprises(seen.output[0].detach(), x[0], partial(_token_text, run.tokenizer))
        more = {"tokens": tokens, "following": following}
    elif isinstance(run.task, Classify) and pictures is not None:
        more = {"attributions": explained(seen, x, pictures, y, run.task.classes)}
    return _inspection(seen, run.names[0], on, x, notes, **more)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{counted(len(names), 'picture')}, the first of them {names[0]}"


def _inspection(seen: Recording, name: str, on: str, x: Any, notes: list[str], **more: Any) -> Inspection:
    layers = layer_values(seen)
    maps = attention_maps(seen)
    hidden = {f"The attention {a.name} has no weights to show: {a.reason}." for a in maps if a.weights is None}
    if not layers:
        notes = [*notes, "The model has no layers that compute: there are no activations to show."]
    return Inspection(
        name=name,
        on=on,
        inputs=x,
        loss=seen.loss,
        layers=layers,
        attention=maps,
        recurrences=recurrences(seen),
        feature_maps=feature_maps(seen),
        notes=[*notes, *sorted(hidden)],
        **more,
    )


def _mean_of(losses: list[Losses]) -> Tensor:
    """The sum of the mean losses of all objectives."""
    pairs = [pair for one in losses for pair in named(one, "loss").values()]
    return torch.stack([total / count for total, count in pairs]).sum()


def _loss_of(run: Run) -> LossFunction | None:
    """The mean loss of a task that compares outputs with targets; of a text, where the next token is known."""
    task = run.task
    if not isinstance(task, Supervised):
        return None

    def loss(output: Tensor, y: Tensor) -> Tensor:
        known = output[:, : y.shape[1]] if isinstance(task, Language) else output
        total, count = task.loss(known, y)
        return total / count

    return loss


def _loss(y: Any, loss: str | LossFunction | None) -> LossFunction | None:
    by_name: dict[str, LossFunction] = {"cross_entropy": _cross_entropy, "mse": F.mse_loss}
    if loss is None and isinstance(y, Tensor):
        return F.mse_loss if y.is_floating_point() else _cross_entropy
    if isinstance(loss, str):
        if loss not in by_name:
            raise unknown("loss", loss, by_name)
        return by_name[loss]
    return loss


def _cross_entropy(output: Tensor, y: Tensor) -> Tensor:
    """Classes on the last axis, as models of sequences give them too."""
    return F.cross_entropy(output.reshape(-1, output.shape[-1]), y.reshape(-1))


def _token_text(tokenizer: Tokenizer, token: int) -> str:
    return token_texts(tokenizer, [token])[0]
