"""Targets: in order, of one class only, padding, or nothing to do with their inputs."""

import math
from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor

from gradlab.diagnosis.padding import padding
from gradlab.diagnosis.progress import MOST, falling, left, poor
from gradlab.diagnosis.record import LossCall, Record
from gradlab.diagnosis.rules.base import ANY, LOOKS, STEPS, Case, Grade, Rule, at
from gradlab.diagnosis.shapes import flatten_rows


@Rule(
    slug="unshuffled_data",
    title="the training data comes sorted by label",
    meaning="Each batch teaches one class and unteaches the others.",
    evidence=(
        "The labels of a batch have an entropy of {within:.2f} nats, those of all batches {overall:.2f}: the commonest "
        "labels of consecutive batches are {commonest}, …"
    ),
    remedy="DataLoader(dataset, batch_size=…, shuffle=True)  # or a new torch.randperm in every epoch",
)
def unshuffled_data(record: Record) -> Iterator[Case]:
    for call in record.loss_calls:
        batches = [b for b in call.batch_labels if len(b) >= 4]
        of_rows = len(call.target_shape) == 1 and _one_per_row(record, call)
        if not call.training or len(batches) < LOOKS or not of_rows:
            continue
        # The first batches may all be of one class, while later ones are not: all that was seen counts.
        everything = call.targets or sum(map(Counter, batches), Counter())
        overall = _entropy(everything)
        within = sum(_entropy(Counter(b)) for b in batches) / len(batches)
        expected = overall * (1 - 1 / min(len(b) for b in batches))
        if len(everything) < 2 or overall < 0.3 or within > 0.35 * expected:
            continue
        yield Case(
            ("error", 0.94),
            "the training batches",
            at("loss", call.site),
            series=record.main.values if record.main else None,
            within=within,
            overall=overall,
            commonest=", ".join(str(Counter(b).most_common(1)[0][0]) for b in batches[:8]),
        )
        return


def _entropy(counts: Counter[int]) -> float:
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values()) if total else 0.0


def _one_per_row(record: Record, call: LossCall) -> bool:
    """Whether targets are labels of examples, not of the places of a sequence."""
    rows = {inputs.shape[0] for root in record.roots for inputs in root.inputs if inputs.shape}
    return not rows or call.target_shape[0] in rows


@Rule(
    slug="class_imbalance",
    title="only the common class is ever predicted",
    meaning="The loss is small because rare cases are rare, and the model has learnt to ignore them.",
    evidence=(
        "{targets:.1%} of the targets are class {common}; in the last looks {predicted:.1%} of the predictions were, "
        "and {recognised} of {others} others were recognised."
    ),
    remedy=(
        "nn.CrossEntropyLoss(weight=total / (classes * counts))  # or pos_weight, or a WeightedRandomSampler; and "
        "report recall"
    ),
    topic="loss.cross_entropy",
)
def class_imbalance(record: Record) -> Iterator[Case]:
    for call in record.loss_calls:
        counts, recent = call.targets, call.recent_targets
        if not call.training or not 2 <= len(counts) <= 50 or record.steps < STEPS:
            continue
        common, most = counts.most_common(1)[0]
        rare = counts.total() - most
        weights = _weights(call)
        gain = _of_others(counts, common, weights) / weights.get(common, 1.0) if weights else 1.0
        # What a weight takes from rare classes makes them rarer still.
        upside_down = gain < 0.9
        weighted = (call.settings.get("weight") or call.settings.get("pos_weight")) and not upside_down
        if most < 5 * rare * min(1.0, gain) or rare < 10 or weighted:
            continue
        others = recent.total() - recent[common]
        recognised = sum(call.recent_right[c] for c in recent if c != common)
        predicted = call.recent_predicted[common] / max(1, call.recent_predicted.total())
        if others < 3 or recognised > 0.2 * others or predicted < 0.97:
            continue
        yield Case(
            ("error", 0.92),
            at("loss", call.site),
            since=call.values.steps[0],
            besides=" The loss's weights make them count for less still: {gain:.3g} times." if upside_down else "",
            remedy=_MORE_WHERE_RARE if upside_down else "",
            gain=gain,
            targets=most / counts.total(),
            common=common,
            predicted=predicted,
            recognised=recognised,
            others=others,
        )
        return


_MORE_WHERE_RARE = (
    "weight=total / (classes * counts), or pos_weight=negatives / positives  # more than 1 where a class is rare"
)


def _weights(call: LossCall) -> dict[int, float]:
    """What the loss counts an example of each class with; empty where that is not known."""
    weight, positive = call.settings.get("weight"), call.settings.get("pos_weight")
    if isinstance(positive, float) and positive > 0 and not weight:
        return {0: 1.0, 1: positive}
    if isinstance(weight, tuple) and len(weight) == _classes_of(call) and min(weight) > 0:
        return dict(enumerate(weight))
    return {}


def _classes_of(call: LossCall) -> int | None:
    """How many classes the predictions have, where targets are numbers of classes."""
    shape = call.input_shape
    return shape[1] if call.kind in ("cross_entropy", "nll_loss") and len(shape) > 1 else None


def _of_others(counts: Counter[int], common: int, weights: dict[int, float]) -> float:
    """The mean weight of all examples but those of the commonest class."""
    others = {c: n for c, n in counts.items() if c != common}
    return sum(n * weights.get(c, 1.0) for c, n in others.items()) / max(1, sum(others.values()))


@Rule(
    slug="unmasked_padding",
    title="padding counts in the loss",
    meaning="Most of what is learnt, and of what the loss says, is to predict the padding.",
    evidence=(
        "{share:.0%} of the targets are a run of {value} that ends the row, of different lengths in different rows, "
        "and all of them are counted."
    ),
    remedy="nn.CrossEntropyLoss(ignore_index={value})",
)
def unmasked_padding(record: Record) -> Iterator[Case]:
    for call in record.loss_calls:
        targets, settings = call.first_targets, call.settings
        if not call.training or targets is None or targets.is_floating_point() or settings.get("reduction") == "none":
            continue
        rows = _as_sequences(record, targets)
        padded = None if rows is None else padding(rows)
        if padded is None or padded[0] == int(settings.get("ignore_index", -100)) or settings.get("weight"):
            continue
        value, share = padded[0], float(padded[1].float().mean())
        if share >= 0.25:
            yield Case(("error", 0.9), at("loss", call.site), series=call.values, share=share, value=value)
            return


def _as_sequences(record: Record, targets: Tensor) -> Tensor | None:
    """Targets by rows; a flat list has the rows of the model's input."""
    if targets.ndim == 2:
        return targets
    shapes = (inputs.shape[:2] for root in record.roots for inputs in root.inputs if len(inputs.shape) >= 2)
    fits = (shape for shape in shapes if math.prod(shape) == len(targets) and shape[1] > 1)
    shape = next(fits, None) if targets.ndim == 1 else None
    return None if shape is None else targets.reshape(shape)


@Rule(
    slug="ignored_class",
    title="a class is left out of the loss",
    meaning="Its examples teach nothing, and no example is ever predicted to be of it.",
    evidence=(
        "{share:.1%} of the targets are {ignored}, which is one of the {classes} classes and also the ignore_index of "
        "the loss."
    ),
    remedy="nn.CrossEntropyLoss(ignore_index=-100), with -100 for padding  # a number that is no class",
)
def ignored_class(record: Record) -> Iterator[Case]:
    grade: Grade
    for call in record.loss_calls:
        targets, classes = call.first_targets, _classes_of(call)
        ignored = call.settings.get("ignore_index", -100)
        if not call.training or targets is None or targets.is_floating_point() or classes is None:
            continue
        if not 0 <= ignored < classes <= _FEW:
            continue
        rows = _as_sequences(record, targets)
        if any(inputs.shape[:1] == call.target_shape for root in record.roots for inputs in root.inputs):
            share, least, grade = float((targets == ignored).float().mean()), 0.02, ("warning", 0.8)
        elif rows is not None:
            # Who leaves out places on purpose, to predict some of them, leaves out most.
            share, least, grade = _inside(rows, int(ignored)), 0.3 / classes, ("note", 0.6)
            share = share if share < 0.7 else 0.0
        else:
            continue
        if share > least:
            yield Case(grade, at("loss", call.site), series=call.values, share=share, ignored=ignored, classes=classes)
            return


_FEW = 50  # classes; more are words


def _inside(rows: Tensor, value: int) -> float:
    """The share of a value among places that are not in its run at either end of a row."""
    same = rows == value
    ends = same.long().cumprod(1).bool() | same.flip(1).long().cumprod(1).bool().flip(1)
    return float((same & ~ends).sum()) / max(1, int((~ends).sum()))


_ONE_ORDER = "order = torch.randperm(n); x, y = x[order], y[order]  # one permutation for both; check the files' order"
_COLUMNS = 40


@Rule(
    slug="label_misalignment",
    title="labels have nothing to do with their inputs",
    meaning="There is nothing to learn: rows and labels were shuffled or shifted apart, or labels are noise.",
    remedy=_ONE_ORDER,
    follows=ANY,
)
def label_misalignment(record: Record) -> Iterator[Case]:
    yield from _too_far_ahead(record)
    if not poor(record, MOST) or record.steps < STEPS or not any(j.training for j in record.loss_calls):
        return
    bad = poor(record, 0.93)
    pairs = _examples(record)
    if pairs is None or len(pairs[0]) < 100:
        if bad:
            yield from _only_by_heart(record)
        return
    x, y, classes = pairs
    if len(torch.unique(y)) < 2:
        return
    recognised, chance, sigma = _neighbours(x, y, classes)
    # Of a table with few columns, neighbours tell as well as anything; then a training may also have learnt by heart.
    few = x.shape[1] <= _COLUMNS and len(x) >= 500
    if recognised > chance + (3 if bad else 1) * sigma or not (bad or few) or _linear(x, y, classes):
        return
    what = (
        "recognise {recognised:.1%} of the labels; always saying the commonest gives {chance:.1%}"
        if classes
        else "explain {recognised:.1%} of the targets' variance"
    )
    yield Case(
        ("warning", 0.72),
        "the pairs of inputs and targets",
        at("loss", record.loss_calls[0].site),
        series=record.main.values if record.main else None,
        evidence=(
            f"The nearest neighbours among {{examples:,}} examples {what}; {{left:.0%}} of a constant prediction's "
            "loss was left at the end."
        ),
        examples=len(x),
        recognised=recognised,
        chance=chance,
        left=left(record),
    )


def _too_far_ahead(record: Record) -> Iterator[Case]:
    """Targets of a model of sequences that are its inputs, two places or more ahead: shifted by hand, and once more."""
    ahead = [(_ahead(record, call), call) for call in record.loss_calls if call.training]
    known = [(places, call) for places, call in ahead if places is not None]
    # Who predicts the next token too predicts several of them on purpose.
    if not known or any(places < 2 for places, _ in known):
        return
    places, call = known[0]
    yield Case(
        ("error", 0.93),
        at("loss", call.site),
        series=call.values,
        evidence=(
            "The target of each place is the input {places} places later, and never the next one: it was shifted more "
            "than once."
        ),
        remedy="labels=input_ids  # models with a loss of their own shift labels by one themselves",
        places=places,
    )


def _ahead(record: Record, call: LossCall) -> int | None:
    """By how many places targets are ahead of the tokens that a root was given; None where they are none of them."""
    targets = call.first_targets
    if targets is None or targets.is_floating_point():
        return None
    ignored = int(call.settings.get("ignore_index", -100))
    for tokens in (inputs.sample for root in record.roots for inputs in root.inputs):
        if tokens is None or tokens.ndim != 2 or tokens.is_floating_point() or tokens.shape[1] < 5:
            continue
        length = next((n for n in (tokens.shape[1], tokens.shape[1] - 1) if len(tokens) * n == targets.numel()), None)
        if length is None or len(torch.unique(tokens)) < 5:
            continue
        rows = targets.reshape(len(tokens), length)
        shares = []
        for places in range(4):
            ends = min(length, tokens.shape[1] - places)
            here, there = rows[:, :ends], tokens[:, places : places + ends]
            counted = (here != ignored) & (here != torch.mode(here.reshape(-1)).values)
            shares.append(float((here == there)[counted].float().mean()) if bool(counted.any()) else 0.0)
        best = max(range(4), key=shares.__getitem__)
        if shares[best] > 0.99 and sorted(shares)[-2] < 0.9:
            return best
    return None


def _only_by_heart(record: Record) -> Iterator[Case]:
    """Without examples to compare: one batch can be learnt by heart, all of them cannot be learnt."""
    probed = record.probed.by_heart
    if probed is None or probed[1] > 0.3 * probed[0] or record.main is None:
        return
    if falling(record.main.values, len(record.main.values) // 2):  # it has not ended
        return
    start, end, steps = probed
    yield Case(
        ("warning", 0.6),
        "the pairs of inputs and targets",
        at("backward()", record.main.site),
        series=record.main.values,
        evidence=(
            "A copy learnt one batch by heart (from {batch_start} to {batch_end} in {steps} steps), but the training "
            "stayed at {end}: what is true of one batch is not of the next."
        ),
        batch_start=start,
        batch_end=end,
        steps=steps,
        end=record.main.end,
    )


def _examples(record: Record) -> tuple[Tensor, Tensor, bool] | None:
    """Different inputs with a target each, of the commonest shape; and whether the targets are classes."""
    shapes = Counter((x.shape[1:], y.shape[1:], y.dtype) for x, y in record.examples)
    wanted, count = shapes.most_common(1)[0] if shapes else (None, 0)
    if count < 2:
        return None
    pairs = [(x, y) for x, y in record.examples if (x.shape[1:], y.shape[1:], y.dtype) == wanted]
    x = torch.cat([flatten_rows(x).float() for x, _ in pairs])
    y = torch.cat([flatten_rows(y) for _, y in pairs])
    if y.shape[1] != 1 or x.shape[1] > 20_000:
        return None
    first: dict[bytes, int] = {}
    for i, row in enumerate(torch.cat([x, y.float()], 1).numpy()):
        first.setdefault(row.tobytes(), i)
    rows = torch.tensor(list(first.values()))[:1500]
    x, y = x[rows], y[rows, 0]
    return x, y, not y.is_floating_point() or len(torch.unique(y)) <= 10


def _linear(x: Tensor, y: Tensor, classes: bool) -> bool:
    """Whether a linear map of one half tells something of the other: a weak relation that neighbours do not see."""
    x = (x - x.mean(0)) / x.std(0).clamp(min=1e-6)
    if x.shape[1] > len(x) // 4 or not bool(x.isfinite().all()):  # it would be by heart
        return False
    answers = torch.nn.functional.one_hot(y.long() - y.long().min()).float() if classes else y.float()[:, None]
    answers = answers - answers.mean(0)
    half = torch.arange(len(x)) % 2 == 0
    predicted = torch.zeros_like(answers)
    for known, other in ((half, ~half), (~half, half)):
        ridge = x[known].T @ x[known] + 1e-2 * len(x) * torch.eye(x.shape[1])
        predicted[other] = x[other] @ torch.linalg.solve(ridge, x[known].T @ answers[known])
    predicted = predicted - predicted.mean(0)
    correlation = (predicted * answers).sum() / (predicted.norm() * answers.norm()).clamp(min=1e-12)
    return float(correlation) > 4 / math.sqrt(len(x))


def _neighbours(x: Tensor, y: Tensor, classes: bool) -> tuple[float, float, float]:
    """How well nine neighbours tell a left-out example; what chance gives; and the deviation of chance."""
    x = (x - x.mean(0)) / x.std(0).clamp(min=1e-6)
    distances = torch.cdist(x, x).fill_diagonal_(math.inf)
    near = distances.topk(min(9, len(x) - 1), largest=False).indices
    if classes:
        share = float((torch.mode(y[near], 1).values == y).float().mean())
        chance = float(torch.bincount(y.long() - y.long().min()).max()) / len(y)
        return share, chance, math.sqrt(chance * (1 - chance) / len(y))
    guess = y.float()[near].mean(1)
    explained = 1 - float((guess - y).square().mean() / y.float().var().clamp(min=1e-12))
    return explained, 0.0, 1.5 / math.sqrt(len(y))
