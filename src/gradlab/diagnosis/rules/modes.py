"""Training in evaluation mode, and the other way round; layers that are not the same in both."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import adversarial, evaluated_often, stuck
from gradlab.diagnosis.record import Module, Probed, Record, Root
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, at, named
from gradlab.wording import counted

_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LazyBatchNorm1d", "LazyBatchNorm2d")
_DROPOUTS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
_RECURRENT = ("RNN", "LSTM", "GRU")
_SETTLED = 0.99  # of the first statistics of batch norm are forgotten


def _modal(module: Module) -> bool:
    """Whether a module acts differently in training."""
    if module.kind in _DROPOUTS:
        return bool(module.settings.get("p", 0.0))
    if module.kind in _RECURRENT and not module.settings.get("num_layers", 1) > 1:
        return False
    between = module.settings.get("dropout", 0.0)
    if isinstance(between, float) and between > 0:
        return True
    return module.kind in _NORMS or bool(module.settings.get("track_running_stats"))


@Rule(
    slug="train_in_eval_mode",
    title="the model is trained in evaluation mode",
    meaning="Dropout does nothing and batch norm keeps its old statistics: it is not the network that was meant.",
    evidence=(
        "{root} was in evaluation mode in {in_eval} of {steps} steps, with {layers} of dropout or batch norm in it."
    ),
    remedy="model.train()  # at the start of every epoch, after each evaluation",
)
def train_in_eval_mode(record: Record) -> Iterator[Case]:
    """Steps before which a whole root ran in evaluation mode. Parts of it alone are put there on purpose."""
    for root in record.roots:
        steps, in_eval = root.stepped, root.stepped_in_eval
        if not record.optimizers:
            steps, in_eval = root.trained, root.trained_in_eval
        # One of five: with two epochs, and an evaluation after the first, it is half of them.
        if in_eval < max(LOOKS, 0.2 * steps):
            continue
        layers = [m for m in record.modules.values() if m.root == root.name and _modal(m) and m.trained_in_eval]
        if not layers or all(_meant(record, m) for m in layers):
            continue
        yield Case(
            ("error", 0.95),
            named([m.path for m in layers]),
            *([at("eval()", root.eval_site, " called at ")] if root.eval_site else []),
            since=root.eval_since,
            root=root.name,
            in_eval=in_eval,
            steps=steps,
            layers=counted(len(layers), "layer"),
        )
        return


def _meant(record: Record, module: Module) -> bool:
    """Fine-tuning leaves the statistics, or the dropout, of what was loaded as they are."""
    theirs = [p for p in record.parameters.values() if p.name.startswith(f"{module.path}.")]
    part = module.path.rpartition(".")[0]
    theirs = theirs or [p for p in record.parameters.values() if part and p.name.startswith(f"{part}.")]
    return bool(theirs) and all(p.loaded or p.inherited or not p.requires_grad for p in theirs)


@Rule(
    slug="eval_in_train_mode",
    title="the model is evaluated in training mode",
    meaning=(
        "Dropout still drops and batch norm uses (and learns from) the test batch: the figures are not the model's."
    ),
    evidence=(
        "All {calls} calls of {root} with gradients off ran with training=True, and it has dropout or batch norm."
    ),
    remedy="model.eval()  # before the evaluation, and model.train() after it",
)
def eval_in_train_mode(record: Record) -> Iterator[Case]:
    compared = _compared(record)
    for root in record.roots:
        if not root.evaluated or root.evaluated_in_train < 0.9 * root.evaluated or not root.trained:
            continue
        if (root.evaluated < 2 and not compared) or _turns(record) or _part_of_training(record, root):
            continue
        yield Case(
            ("error", 0.93) if compared else ("warning", 0.85),
            at(root.name, root.evaluated_site, ", called at "),
            calls=root.evaluated_in_train,
            root=root.name,
        )
    yield from _always_drops(record)


def _always_drops(record: Record) -> Iterator[Case]:
    """Dropout as a function that is not told the mode."""
    for module in record.modules.values():
        root = next((r for r in record.roots if r.name == module.root), None)
        if root is None or module.kind not in _DROPOUTS or "(F." not in module.path or not _modal(module):
            continue
        in_eval = root.evaluated - root.evaluated_in_train
        if in_eval < 2 or not module.evaluated or module.evaluated_in_train < module.evaluated or not root.stepped:
            continue
        if _part_of_training(record, root):
            continue
        yield Case(
            ("warning", 0.85),
            module.path,
            evidence=(
                "{module} dropped in all {calls} calls with gradients off that were looked at, although {root} was in "
                "evaluation mode in {in_eval} of them."
            ),
            remedy="F.dropout(x, p, training=self.training)  # or nn.Dropout(p), which knows its mode",
            module=module.path,
            calls=module.evaluated,
            root=root.name,
            in_eval=in_eval,
        )
        return


def _part_of_training(record: Record, root: Root) -> bool:
    """Whether calls with gradients off are no evaluations: made in most steps, or many draws for one input, which
    tell how unsure the model is."""
    return evaluated_often(record, root.evaluated_steps) or root.evaluated_again > 1.5 * root.evaluated


def _turns(record: Record) -> bool:
    """Whether optimisers take turns, as those of a generator and its discriminator do."""
    spans = [(o.rate.steps[0], o.rate.steps[-1]) for o in record.optimizers if len(o.rate) > 1]
    return any(a[0] < b[1] and b[0] < a[1] for i, a in enumerate(spans) for b in spans[:i])


def _compared(record: Record) -> bool:
    """Whether what came out with gradients off was compared with targets by one of torch's losses."""
    return any(not call.training and call.count for call in record.loss_calls)


@Rule(
    slug="batchnorm_tiny_batch",
    title="batch norm has almost nothing to average over",
    meaning="Mean and variance of a handful of values are noise, and running statistics made of them are too.",
    evidence="{kind} {module} makes its statistics of {values:g} values per channel in a typical step.",
    remedy="DataLoader(…, batch_size=32)  # or nn.GroupNorm / nn.LayerNorm, which need no batch",
)
def batchnorm_tiny_batch(record: Record) -> Iterator[Case]:
    tiny = [m for m in record.modules.values() if len(m.per_channel) >= LOOKS and m.per_channel.median() <= 4]
    if not tiny:
        return
    first, values = tiny[0], tiny[0].per_channel.median()
    yield Case(
        ("error" if values <= 2 or stuck(record) else "warning", 0.9),
        named([m.path for m in tiny]),
        since=first.per_channel.steps[0],
        series=first.per_channel,
        kind=first.kind,
        module=first.path,
        values=values,
    )


_FIXES = {
    "noise": "x * mask / (1 - p)  # scaled while training, so that evaluation needs no change; or nn.Dropout(p)",
    "norm": "nn.BatchNorm1d(n, momentum=0.1)  # larger, to follow sooner; or a smaller rate towards the end",
}


@Rule(
    slug="train_eval_gap",
    title="evaluation mode undoes what was learnt",
    meaning="The model that is evaluated is not the one that was trained: a layer does something else in each mode.",
    evidence=(
        "With the weights of the end, one training batch has a loss of {train} in training mode and {evaluated} in "
        "evaluation mode; before any step it was {first}."
    ),
    topic="norm.batch",
    follows=(
        "batchnorm_tiny_batch unshuffled_data train_in_eval_mode lr_too_high nan_loss gan_imbalance "
        "unnormalized_input exploding_gradient"
    ),
)
def train_eval_gap(record: Record) -> Iterator[Case]:
    for modes in record.probed.modes:
        learnt = modes.start - modes.train
        # Nothing learnt is nothing to lose, and dropout makes training mode the worse one.
        if not learnt > 0.2 * abs(modes.start) or not modes.evaluated > 1.5 * modes.train:
            continue
        lost = (modes.evaluated - modes.train) / learnt
        if lost < 0.3 or (modes.cause not in _FIXES and modes.agree > 0.9):
            continue
        # Models may act otherwise in evaluation on purpose, as those that are fed their own words do; and running
        # statistics lag behind weights that move fast. Noise that is scaled wrongly has no such excuse.
        failed = modes.cause == "norm" and lost > 0.9 and modes.settled > _SETTLED and _judged_badly(record, modes)
        grave = not adversarial(record) and (failed or (modes.cause == "noise" and lost > 0.5))
        besides = " The mode of {cause} alone makes most of it." if modes.cause else ""
        if modes.settled < _SETTLED:
            besides += " {settled:.0%} of its first statistics are forgotten."
        yield Case(
            ("warning", min(0.85, 0.6 + 0.1 * lost)) if grave else ("note", 0.4),
            ".".join(filter(None, (modes.root, modes.culprit))),
            besides=besides,
            remedy=_FIXES.get(modes.cause, "look at what the model does only `if self.training`"),
            train=modes.train,
            evaluated=modes.evaluated,
            first=modes.start,
            cause="batch norm" if modes.cause == "norm" else modes.culprit,
            settled=modes.settled,
        )


def _judged_badly(record: Record, modes: Probed.Modes) -> bool:
    """Whether the script's own evaluation has come out no better than the start."""
    ends = [j.values.tail() for j in record.loss_calls if not j.training and len(j.values) >= 2]
    return bool(ends) and min(ends) > 0.8 * modes.start
