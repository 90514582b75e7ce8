"""What goes in: scales that drown each other, columns that say nothing, columns that say the same."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.finding import Spot
from gradlab.diagnosis.progress import HALF, MOST, constant_loss, moving_targets, poor
from gradlab.diagnosis.record import Inputs, Record, Root
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, at

_TINY = 0.02  # scales below which an input is as good as none beside the biases


def _tables(record: Record) -> Iterator[tuple[Root, Inputs]]:
    """Inputs of real numbers, with figures of their columns."""
    for root in record.roots:
        for inputs in root.inputs:
            if root.trained and inputs.std and inputs.dtype.startswith(("float", "bfloat")):
                yield root, inputs


def _input_of(root: Root) -> Spot:
    return at(f"the input of {root.name}", root.site, ", called at ")


@Rule(
    slug="unnormalized_input",
    title="inputs are on very different, very large or very small scales",
    meaning="The largest column drowns the others, or all drown beside the biases: no rate suits all slopes.",
    evidence=(
        "Column {column} has mean {mean} and deviation {deviation}; the scales of the {columns} columns that vary lie "
        "between {smallest} and {largest}. The first loss was {first_loss}."
    ),
    remedy="x = (x - x_train.mean(0)) / x_train.std(0)  # with the training part's figures, for all parts",
)
def unnormalized_input(record: Record) -> Iterator[Case]:
    loss = record.main
    for root, inputs in _tables(record):
        scales = [max(abs(m), s) for m, s in zip(inputs.mean, inputs.std, strict=True)]
        varied = [scale for scale, s in zip(scales, inputs.std, strict=True) if s > 0]
        if not varied or loss is None:
            continue
        largest, smallest = max(varied), min(varied)
        apart = largest / smallest > 1e3 and largest > 10 and len(varied) > 1
        # Words of a text, as shares of it, are seldom there, but are not small where they are.
        reach = max((max(-low, high) for low, high in zip(inputs.low, inputs.high, strict=True)), default=0.0)
        tiny = max(largest, reach) < _TINY and poor(record, MOST)
        if not (apart or largest > 50 or tiny):
            continue
        constant = constant_loss(record)
        rough = math.isfinite(constant) and loss.start > 10 * constant
        harm = (poor(record, HALF) or rough) and not _normalised_first(record, root, apart)
        worst = scales.index(max(scales))
        yield Case(
            ("error", 0.94) if harm else ("note", 0.4),
            _input_of(root),
            series=loss.values,
            column=worst,
            mean=inputs.mean[worst],
            deviation=inputs.std[worst],
            columns=len(varied),
            smallest=smallest,
            largest=largest,
            first_loss=loss.values.first,
        )
        return


def _normalised_first(record: Record, root: Root, apart: bool) -> bool:
    """Whether a normalisation runs first in a root, or right after a first layer: then it takes away the scale that
    all columns have in common, but not that of one beside the others."""
    leaves = [m for m in record.modules.values() if m.root == root.name and m.leaf]
    return any("Norm" in m.kind for m in (leaves[:1] if apart else leaves[:2]))


@Rule(
    slug="evaluation_scale",
    title="evaluation inputs are not scaled as training inputs are",
    meaning="What the model is judged on lies where it was never trained: its figures say nothing of new examples.",
    evidence=(
        "{apart} of {columns} input columns have another mean or another deviation in evaluation (column {column}: "
        "mean {mean}, deviation {deviation}) than in training (mean {train_mean}, deviation {train_deviation}); the "
        "loss was {evaluated} there and {trained} in training."
    ),
    remedy="x_test = scaler.transform(x_test)  # the same steps, with the training part's figures, for all parts",
)
def evaluation_scale(record: Record) -> Iterator[Case]:
    worse = _judged_worse(record)
    if worse is None or moving_targets(record):
        return
    judged_loss, trained_loss = worse
    for root, trained in _tables(record):
        evaluated = root.evaluation_inputs
        # What another root has made moves with that one's weights, and evaluations see later ones.
        derived = root.from_root is not None
        if (
            derived
            or evaluated is None
            or len(evaluated.std) != len(trained.std)
            or min(evaluated.rows, trained.rows) < 20
        ):
            continue
        if evaluated.dtype != trained.dtype or len(evaluated.shape) != len(trained.shape):
            continue
        columns = [i for i, s in enumerate(trained.std) if s > 0]
        away = {i: _apart(trained, evaluated, i) for i in columns}
        apart = [i for i in columns if away[i] > _APART]
        if not columns or len(apart) < 0.5 * len(columns):
            continue
        worst = max(apart, key=away.__getitem__)
        yield Case(
            ("error", 0.93),
            _input_of(root),
            apart=len(apart),
            columns=len(columns),
            column=worst,
            mean=evaluated.mean[worst],
            deviation=evaluated.std[worst],
            train_mean=trained.mean[worst],
            train_deviation=trained.std[worst],
            evaluated=judged_loss,
            trained=trained_loss,
        )
        return


_APART = 3.0  # deviations between means, or as many times the deviation: no split of one data set differs so


def _apart(trained: Inputs, evaluated: Inputs, column: int) -> float:
    """How far a column of evaluations is from that of training: in deviations, or by how many times it is as wide."""
    width, other = trained.std[column], evaluated.std[column]
    wider = max(other / width, width / other) if other > 0 else 1.0
    if len(trained.std) < 3:  # a series may have gone on to where it never was
        return wider
    return max(abs(evaluated.mean[column] - trained.mean[column]) / width, wider)


def _judged_worse(record: Record) -> tuple[float, float] | None:
    """The losses of evaluations and of training at the end, where the first is far above the second."""
    for trained in (j for j in record.loss_calls if j.training and len(j.values) >= LOOKS):
        for evaluated in (j for j in record.loss_calls if not j.training and j.kind == trained.kind and j.values):
            if evaluated.values.tail() > 2 * trained.values.tail() > 0:
                return evaluated.values.tail(), trained.values.tail()
    return None


@Rule(
    slug="constant_feature",
    title="many input columns are constant",
    meaning="A column that never changes says nothing: something before the model has wiped it out.",
    evidence=(
        "{constant} of {columns} columns have one value in (nearly) all rows looked at, such as column {column}: mean "
        "{mean}, deviation {deviation}."
    ),
    remedy="print(x.std(0))  # find where they become constant: an integer division, a wrong fill, a cast",
)
def constant_feature(record: Record) -> Iterator[Case]:
    for root, inputs in _tables(record):
        columns = len(inputs.std)
        flat = [i for i, (low, high) in enumerate(zip(inputs.low, inputs.high, strict=True)) if low == high]
        if len(flat) < 0.3 * columns:
            flat = _nearly_constant(inputs)
        if columns < 3 or inputs.rows < 100 or len(flat) < 0.3 * columns:
            continue
        share = len(flat) / columns
        # A border of pictures, a level that never occurs: some columns of zeros are what data really have.
        empty = share < _WIPED and all(inputs.low[i] == inputs.high[i] == 0 for i in flat)
        bad = poor(record, HALF) and not empty
        yield Case(
            ("error" if share >= 0.5 else "warning", min(0.95, 0.6 + 0.35 * share)) if bad else ("note", 0.4),
            _input_of(root),
            constant=len(flat),
            columns=columns,
            column=flat[0],
            mean=inputs.mean[flat[0]],
            deviation=inputs.std[flat[0]],
        )
        return


_WIPED = 0.8  # of the columns: what wipes out measurements wipes out nearly all of them


def _nearly_constant(inputs: Inputs) -> list[int]:
    """Columns in which one value stands in all but a fiftieth of the rows, if nearly all columns are such."""
    sample = inputs.sample
    if sample is None or sample.ndim != 2 or len(sample) < 50:
        return []
    usual = sample == sample.mode(0).values
    columns = usual.float().mean(0) > 0.98
    # Words of a bag are rare, each of them, but every row has some; what was wiped out leaves most rows the same.
    if int(columns.sum()) < 0.8 * len(columns) or float(usual[:, columns].all(1).float().mean()) < 0.5:
        return []
    return [i for i, flat in enumerate(columns.tolist()) if flat]


@Rule(
    slug="duplicated_feature",
    title="input columns are copies of each other",
    meaning="A copy adds nothing and makes the weights of both arbitrary.",
    evidence="Columns {first} and {second} were equal in all {rows:,} rows looked at; there are {copies} such copies.",
    remedy="x = x[:, keep]  # each column once",
)
def duplicated_feature(record: Record) -> Iterator[Case]:
    for root, inputs in _tables(record):
        columns, copies = len(inputs.std), inputs.copies
        if columns < 4 or not copies or inputs.rows < 50:
            continue
        bad = poor(record, HALF) and copies >= 0.4 * columns
        first, second = inputs.duplicated[0]
        yield Case(
            ("warning", 0.75) if bad else ("note", 0.5),
            _input_of(root),
            first=first,
            second=second,
            rows=inputs.rows,
            copies=copies,
        )
        return
