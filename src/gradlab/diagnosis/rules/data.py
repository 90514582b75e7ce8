"""What goes in: scales, columns that say nothing, labels in order, rows that are in both parts."""

import math
from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor

from gradlab.diagnosis.progress import constant_loss, left, poor, self_made
from gradlab.diagnosis.record import Inputs, Judged, Record, Root, Shared
from gradlab.diagnosis.rules.base import ANY, Seen, rule
from gradlab.wording import number


def _tables(record: Record) -> Iterator[tuple[Root, Inputs]]:
    """Inputs of real numbers, with figures of their columns."""
    for root in record.roots:
        for inputs in root.inputs:
            if root.trained and inputs.std and inputs.dtype.startswith(("float", "bfloat")):
                yield root, inputs


@rule(
    "unnormalized_input",
    title="inputs are on very different or very large scales",
    meaning="The largest column drowns the others, and the slope along it is so steep that no rate suits all.",
)
def unnormalized_input(record: Record) -> Iterator[Seen]:
    loss = record.main
    for root, inputs in _tables(record):
        scales = [max(abs(m), s) for m, s in zip(inputs.mean, inputs.std, strict=True) if s > 0]
        if not scales or loss is None:
            continue
        largest, smallest = max(scales), min(scales)
        apart = largest / smallest > 1e3 and largest > 10 and len(scales) > 1
        if not (apart or largest > 50):
            continue
        normed = _normalised_first(record, root)
        constant = constant_loss(record)
        rough = math.isfinite(constant) and loss.start > 10 * constant
        bad = poor(record, 0.5)
        harm = (bad or rough) and not normed
        worst = max(range(len(inputs.mean)), key=lambda i: max(abs(inputs.mean[i]), inputs.std[i]))
        yield Seen(
            severity="error" if harm else "note",
            confidence=0.94 if harm else 0.4,
            where=f"the input of {root.name}, called at {root.site}",
            since=0,
            evidence=(
                f"Column {worst} has mean {number(inputs.mean[worst])} and deviation {number(inputs.std[worst])}; "
                "the scales of the "
                f"{len(scales)} columns that vary lie between {number(smallest)} and {number(largest)}. The first "
                f"loss was {number(loss.values.first)}."
            ),
            fix="x = (x - x_train.mean(0)) / x_train.std(0)  # with the training part's figures, for all parts",
            series=loss.values,
        )
        return


def _normalised_first(record: Record, root: Root) -> bool:
    """Whether the first module that runs in a root is a normalisation."""
    first = next((m for m in record.modules.values() if m.root == root.name and m.leaf), None)
    return first is not None and "Norm" in first.kind


@rule(
    "constant_feature",
    title="many input columns are constant",
    meaning="A column that never changes says nothing: something before the model has wiped it out.",
)
def constant_feature(record: Record) -> Iterator[Seen]:
    for root, inputs in _tables(record):
        columns = len(inputs.std)
        flat = [i for i, (low, high) in enumerate(zip(inputs.low, inputs.high, strict=True)) if low == high]
        if len(flat) < 0.3 * columns:
            flat = _nearly(inputs)
        if columns < 3 or inputs.rows < 100 or len(flat) < 0.3 * columns:
            continue
        bad = poor(record, 0.5)
        share = len(flat) / columns
        yield Seen(
            severity="error" if bad and share >= 0.5 else "warning" if bad else "note",
            confidence=min(0.95, 0.6 + 0.35 * share) if bad else 0.4,
            where=f"the input of {root.name}, called at {root.site}",
            since=0,
            evidence=(
                f"{len(flat)} of {columns} columns have one value in (nearly) all rows looked at, such as column "
                f"{flat[0]}: mean "
                f"{number(inputs.mean[flat[0]])}, deviation {number(inputs.std[flat[0]])}."
            ),
            fix="print(x.std(0))  # find where they become constant: an integer division, a wrong fill, a cast",
        )
        return


def _nearly(inputs: Inputs) -> list[int]:
    """Columns in which one value stands in all but a fiftieth of the rows, if nearly all columns are such."""
    sample = inputs.sample
    if sample is None or sample.ndim != 2 or len(sample) < 50:
        return []
    same = (sample == sample.mode(0).values).float().mean(0)
    found = [i for i, share in enumerate(same.tolist()) if share > 0.98]
    # Words of a bag are rare, each of them; a table of measurements is not like that.
    return found if len(found) >= 0.8 * len(same) else []


@rule(
    "duplicated_feature",
    title="input columns are copies of each other",
    meaning="A copy adds nothing and makes the weights of both arbitrary.",
)
def duplicated_feature(record: Record) -> Iterator[Seen]:
    for root, inputs in _tables(record):
        columns, copies = len(inputs.std), len({b for _, b in inputs.duplicated})
        if columns < 4 or not copies or inputs.rows < 50:
            continue
        bad = poor(record, 0.5) and copies >= min(0.4 * columns, 9)
        first, second = inputs.duplicated[0]
        yield Seen(
            severity="warning" if bad else "note",
            confidence=0.75 if bad else 0.5,
            where=f"the input of {root.name}, called at {root.site}",
            since=0,
            evidence=(
                f"Columns {first} and {second} were equal in all {inputs.rows:,} rows looked at; there are {copies} "
                "such copies."
            ),
            fix="x = x[:, keep]  # each column once",
        )
        return


def _entropy(counts: Counter[int]) -> float:
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values()) if total else 0.0


@rule(
    "unshuffled_data",
    title="the training data comes sorted by label",
    meaning="Each batch teaches one class and unteaches the others.",
)
def unshuffled_data(record: Record) -> Iterator[Seen]:
    for judged in record.judged:
        batches = [b for b in judged.batch_labels if len(b) >= 4]
        if not judged.training or len(batches) < 5 or len(judged.target_shape) != 1 or not _one_per_row(record, judged):
            continue
        # The first batches may all be of one class, while later ones are not: all that was seen counts.
        everything = judged.targets or sum(map(Counter, batches), Counter())
        overall = _entropy(everything)
        within = sum(_entropy(Counter(b)) for b in batches) / len(batches)
        few = min(len(b) for b in batches)
        expected = overall * (1 - 1 / few) if few > 1 else 0.0
        if len(everything) < 2 or overall < 0.3 or within > 0.35 * expected:
            continue
        run = ", ".join(str(Counter(b).most_common(1)[0][0]) for b in batches[:8])
        yield Seen(
            severity="error",
            confidence=0.94,
            where=f"the training batches; loss at {judged.site}",
            since=0,
            evidence=(
                f"The labels of a batch have an entropy of {within:.2f} nats, those of all batches {overall:.2f}: "
                "the commonest labels of "
                f"consecutive batches are {run}, …"
            ),
            fix="DataLoader(dataset, batch_size=…, shuffle=True)  # or a new torch.randperm in every epoch",
            series=record.main.values if record.main else None,
        )
        return


def _one_per_row(record: Record, judged: Judged) -> bool:
    """Whether targets are labels of examples, not of the places of a sequence."""
    rows = {inputs.shape[0] for root in record.roots for inputs in root.inputs if inputs.shape}
    return not rows or judged.target_shape[0] in rows


@rule(
    "class_imbalance",
    title="only the common class is ever predicted",
    meaning="The loss is small because rare cases are rare, and the model has learnt to ignore them.",
    topic="loss.cross_entropy",
)
def class_imbalance(record: Record) -> Iterator[Seen]:
    for judged in record.judged:
        counts, recent = judged.targets, judged.recent_targets
        if not judged.training or len(counts) < 2 or len(counts) > 50 or record.steps < 50:
            continue
        common, most = counts.most_common(1)[0]
        total, rare = sum(counts.values()), sum(n for c, n in counts.items() if c != common)
        if most < 5 * rare or rare < 10 or any(judged.settings.get(k) for k in ("weight", "pos_weight")):
            continue
        missed = sum(recent[c] for c in recent if c != common)
        found = sum(judged.recent_right[c] for c in recent if c != common)
        said = judged.recent_predicted[common] / max(1, sum(judged.recent_predicted.values()))
        if missed < 3 or found > 0.2 * missed or said < 0.97:
            continue
        yield Seen(
            severity="error",
            confidence=0.92,
            where=f"loss at {judged.site}",
            since=judged.values.steps[0],
            evidence=(
                f"{most / total:.1%} of the targets are class {common}; in the last looks {said:.1%} of the "
                "predictions were, and "
                f"{found} of {missed} others were recognised."
            ),
            fix=(
                "nn.CrossEntropyLoss(weight=total / (classes * counts))  # or pos_weight, or a "
                "WeightedRandomSampler; and report recall"
            ),
        )
        return


@rule(
    "data_leak",
    title="the model is tested on rows it was trained on",
    meaning="The figure says how well it remembers, not how well it would do.",
)
def data_leak(record: Record) -> Iterator[Seen]:
    if self_made(record):  # what an agent acts on, it learns from
        return
    for one in record.shared:
        # Everything, looked at batch by batch: all that was trained on is there, and never by itself.
        everything = one.all_there and not one.known
        # Rows of a few whole numbers meet by chance; real numbers do not.
        chance = one.by_chance if one.stream or not one.continuous else 0.0
        meet = one.values < (2 if one.continuous else 16) or one.shared < 5 * chance * one.rows
        if one.shared >= 20 and one.shared >= 0.05 * one.rows and not everything and not meet:
            yield from _leaked(one)
            return


def _leaked(one: Shared) -> Iterator[Seen]:
    # Where training rows are changed at random (mixed, cropped, moved), those that come again are the ones that were
    # left as they are; an evaluation that has all of these is of the training rows, and says so.
    changed = one.again > 0.9
    sure = one.continuous and not changed
    yield Seen(
        severity="error" if sure else "note" if changed else "warning",
        confidence=0.93 if sure else 0.4 if changed else 0.7,
        where="rows of the evaluation",
        since=0,
        evidence=(
            f"{one.shared:,} of {one.rows:,} rows ({one.shared / one.rows:.0%}) in {one.batches} batches with "
            f"gradients off are rows that the model was trained on; {one.clear} other batches had none."
        ),
        fix="split first, then oversample or augment the training part only",
    )


@rule(
    "unmasked_padding",
    title="padding counts in the loss",
    meaning="Most of what is learnt, and of what the loss says, is to predict the padding.",
)
def unmasked_padding(record: Record) -> Iterator[Seen]:
    for judged in record.judged:
        targets = judged.first_targets
        if (
            not judged.training
            or targets is None
            or targets.is_floating_point()
            or judged.settings.get("reduction") == "none"
        ):
            continue
        rows = _rows(record, targets)
        if rows is None:
            continue
        value, share, varied = _trailing(rows)
        ignored = int(judged.settings.get("ignore_index", -100))
        if value is None or value == ignored or share < 0.25 or not varied or judged.settings.get("weight"):
            continue
        yield Seen(
            severity="error",
            confidence=0.9,
            where=f"loss at {judged.site}",
            since=0,
            evidence=(
                f"{share:.0%} of the targets are a run of {value} that ends the row, of different lengths in "
                "different rows, and all of "
                "them are counted."
            ),
            fix=f"nn.CrossEntropyLoss(ignore_index={value})",
            series=judged.values,
        )
        return


def _rows(record: Record, targets: Tensor) -> Tensor | None:
    """Targets as sequences; a flat list has the rows of the model's input."""
    if targets.ndim == 2:
        return targets
    if targets.ndim == 1:
        for root in record.roots:
            for inputs in root.inputs:
                if len(inputs.shape) >= 2 and inputs.shape[0] * inputs.shape[1] == len(targets) and inputs.shape[1] > 1:
                    return targets.reshape(inputs.shape[0], inputs.shape[1])
    return None


def _trailing(rows: Tensor) -> tuple[int | None, float, bool]:
    """The value that ends most rows, the share of all places that its runs take, and whether they differ in length."""
    if len(rows) < 4 or rows.shape[1] < 3:
        return None, 0.0, False
    value = int(torch.mode(rows[:, -1]).values)
    runs = (rows.flip(1) == value).long().cumprod(1).sum(1)
    ended = runs > 0
    if float(ended.float().mean()) < 0.5:
        return None, 0.0, False
    # Runs of chance are short: of a padding, many rows have at least two.
    padded = float((runs >= 2).float().mean())
    return (
        (value, float(runs.sum()) / rows.numel(), len(torch.unique(runs)) > 2) if padded > 0.4 else (None, 0.0, False)
    )


@rule(
    "slow_data_loader",
    title="the training waits for its data",
    meaning="Most of the time goes into making batches, while the model stands idle.",
)
def slow_data_loader(record: Record) -> Iterator[Seen]:
    waited, worked = record.waited.median(), record.worked.median()
    if len(record.waited) < 20 or not math.isfinite(waited) or not math.isfinite(worked):
        return
    # Below a few milliseconds it is the loop's own Python, not a dataset that is slow.
    if waited < 5e-3 or waited < 2 * worked:
        return
    starved = waited > 0.02 and waited > 4 * worked
    share = waited / (waited + worked)
    yield Seen(
        severity="warning" if starved else "note",
        confidence=min(0.92, 0.5 + 0.45 * share) if starved else 0.4,
        where=f"between the steps (DataLoader: {record.loader_seconds:.1f} s of {record.seconds:.1f} s)",
        since=record.waited.steps[0],
        evidence=(
            f"A typical step waits {waited * 1e3:.0f} ms for its batch and works {worked * 1e3:.1f} ms: {share:.0%} "
            "of the time is waiting."
        ),
        fix="DataLoader(…, num_workers=4, persistent_workers=True)  # or prepare the data once, before the loop",
        series=record.waited,
    )


@rule(
    "label_misalignment",
    title="labels have nothing to do with their inputs",
    meaning="There is nothing to learn: rows and labels were shuffled or shifted apart, or labels are noise.",
    follows=ANY,
)
def label_misalignment(record: Record) -> Iterator[Seen]:
    if not poor(record, 0.8) or record.steps < 50 or not any(j.training for j in record.judged):
        return
    bad = poor(record, 0.93)
    x, y, kind = _gathered(record)
    if x is None or y is None or len(x) < 100:
        if bad:
            yield from _only_by_heart(record)
        return
    told, chance, sigma = _neighbours(x, y, kind)
    # Of a table with few columns, neighbours tell as well as anything; then a training may also have learnt by heart.
    few = x.shape[1] <= _COLUMNS and len(x) >= 500
    if told > chance + (3 if bad else 1) * sigma or not (bad or few):
        return
    what = "recognise {:.1%} of the labels; always saying the commonest gives {:.1%}" if kind == "classes" else (
        "explain {:.1%} of the targets' variance"
    )  # fmt: skip
    yield Seen(
        severity="warning",
        confidence=0.72,
        where=f"the pairs of inputs and targets; loss at {record.judged[0].site}",
        since=0,
        evidence=(
            f"The nearest neighbours among {len(x):,} examples {what.format(told, chance)}; "
            f"{left(record):.0%} of a constant prediction's loss was left at the end."
        ),
        fix="order = torch.randperm(n); x, y = x[order], y[order]  # one permutation for both; check the files' order",
        series=record.main.values if record.main else None,
    )


_COLUMNS = 40


def _only_by_heart(record: Record) -> Iterator[Seen]:
    """Without examples to compare: one batch can be learnt by heart, all of them cannot be learnt."""
    probed = record.probed.by_heart
    if probed is None or probed[1] > 0.3 * probed[0] or record.main is None:
        return
    yield Seen(
        severity="warning",
        confidence=0.6,
        where=f"the pairs of inputs and targets; backward() at {record.main.site}",
        since=0,
        evidence=(
            f"A copy learnt one batch by heart (from {number(probed[0])} to {number(probed[1])} in {probed[2]} "
            "steps), but the training "
            f"stayed at {number(record.main.end)}: what is true of one batch is not of the next."
        ),
        fix="order = torch.randperm(n); x, y = x[order], y[order]  # one permutation for both; check the files' order",
        series=record.main.values,
    )


def _gathered(record: Record) -> tuple[Tensor | None, Tensor | None, str]:
    if not record.examples:
        return None, None, ""
    shapes = Counter((x.shape[1:], y.shape[1:], y.dtype) for x, y in record.examples)
    (wanted, count) = shapes.most_common(1)[0]
    if count < 2:
        return None, None, ""
    pairs = [(x, y) for x, y in record.examples if (x.shape[1:], y.shape[1:], y.dtype) == wanted]
    x = torch.cat([x.reshape(len(x), -1).float() for x, _ in pairs])
    y = torch.cat([y.reshape(len(y), -1) for _, y in pairs])
    if y.shape[1] != 1 or x.shape[1] > 20_000:
        return None, None, ""
    rows = torch.cat([x, y.float()], 1)
    _, first = _unique_rows(rows)
    x, y = x[first][:1500], y[first][:1500, 0]
    return x, y, "classes" if not y.is_floating_point() or len(torch.unique(y)) <= 10 else "numbers"


def _unique_rows(rows: Tensor) -> tuple[int, Tensor]:
    keep: dict[bytes, int] = {}
    for i, row in enumerate(rows.numpy()):
        keep.setdefault(row.tobytes(), i)
    return len(keep), torch.tensor(sorted(keep.values()))


def _neighbours(x: Tensor, y: Tensor, kind: str) -> tuple[float, float, float]:
    """How well nine neighbours tell a left-out example; what chance gives; and the deviation of chance."""
    x = (x - x.mean(0)) / x.std(0).clamp(min=1e-6)
    distances = torch.cdist(x, x).fill_diagonal_(math.inf)
    near = distances.topk(min(9, len(x) - 1), largest=False).indices
    if kind == "classes":
        told = torch.mode(y[near], 1).values
        share = float((told == y).float().mean())
        chance = float(torch.bincount(y.long() - y.long().min()).max()) / len(y)
        return share, chance, math.sqrt(chance * (1 - chance) / len(y))
    guess = y.float()[near].mean(1)
    explained = 1 - float((guess - y).square().mean() / y.float().var().clamp(min=1e-12))
    return explained, 0.0, 1.5 / math.sqrt(len(y))
