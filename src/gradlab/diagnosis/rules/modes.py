"""Training in evaluation mode, and the other way round; batch norm that has nothing to average over."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import stuck
from gradlab.diagnosis.record import Module, Record
from gradlab.diagnosis.rules.base import Seen, rule

_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LazyBatchNorm1d", "LazyBatchNorm2d")
_DROPOUTS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
_RECURRENT = ("RNN", "LSTM", "GRU")


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


@rule(
    "train_in_eval_mode",
    title="the model is trained in evaluation mode",
    meaning="Dropout does nothing and batch norm keeps its old statistics: it is not the network that was meant.",
)
def train_in_eval_mode(record: Record) -> Iterator[Seen]:
    """Steps before which a whole root ran in evaluation mode. Parts of it alone are put there on purpose."""
    for root in record.roots:
        steps, slept = root.stepped, root.stepped_in_eval
        if not record.optimizers:
            steps, slept = root.trained, root.trained_in_eval
        # One of five: with two epochs, and an evaluation after the first, it is half of them.
        if slept < max(5, 0.2 * steps):
            continue
        modal = [m for m in record.modules.values() if m.root == root.name and _modal(m)]
        asleep = [m for m in modal if m.trained_in_eval]
        if not asleep or all(_meant(record, m) for m in asleep):
            continue
        site = root.eval_site
        yield Seen(
            severity="error",
            confidence=0.95,
            where=", ".join(m.path for m in asleep[:3]) + (f"; eval() called at {site}" if site else ""),
            since=root.eval_since,
            evidence=(
                f"{root.name} was in evaluation mode in {slept} of {steps} steps, with {len(asleep)} "
                f"layer{'s' * (len(asleep) > 1)} of dropout or batch norm in it."
            ),
            fix="model.train()  # at the start of every epoch, after each evaluation",
        )
        return


def _meant(record: Record, module: Module) -> bool:
    """Fine-tuning leaves the statistics, or the dropout, of what was loaded as they are."""
    theirs = [p for p in record.parameters.values() if p.name.startswith(f"{module.path}.")]
    part = module.path.rpartition(".")[0]
    theirs = theirs or [p for p in record.parameters.values() if part and p.name.startswith(f"{part}.")]
    return bool(theirs) and all(p.loaded or p.inherited or not p.requires_grad for p in theirs)


@rule(
    "eval_in_train_mode",
    title="the model is evaluated in training mode",
    meaning=(
        "Dropout still drops and batch norm uses (and learns from) the test batch: the figures are not the model's."
    ),
)
def eval_in_train_mode(record: Record) -> Iterator[Seen]:
    for root in record.roots:
        if not root.judged or root.judged_in_train < 0.9 * root.judged or not root.trained:
            continue
        if root.judged < 2 and not _compared(record):
            continue
        # No-grad passes in almost every step belong to the training: targets, generators, teachers.
        if root.judged_steps > 0.3 * max(1, record.steps) or _turns(record):
            continue
        if root.judged_again > 1.5 * root.judged:  # one input, many draws: how unsure the model is
            continue
        yield Seen(
            severity="warning" if not _compared(record) else "error",
            confidence=0.85 if not _compared(record) else 0.93,
            where=f"{root.name}, called at {root.judged_site}",
            since=0,
            evidence=(
                f"All {root.judged_in_train} calls of {root.name} with gradients off ran with training=True, and it "
                "has "
                "dropout or batch norm."
            ),
            fix="model.eval()  # before the evaluation, and model.train() after it",
        )
    yield from _always_drops(record)


def _always_drops(record: Record) -> Iterator[Seen]:
    """Dropout as a function that is not told the mode."""
    for module in record.modules.values():
        root = next((r for r in record.roots if r.name == module.root), None)
        if root is None or module.kind not in _DROPOUTS or "(F." not in module.path or not _modal(module):
            continue
        in_eval = root.judged - root.judged_in_train
        if in_eval < 2 or not module.judged or module.judged_in_train < module.judged or not root.stepped:
            continue
        if root.judged_again > 1.5 * root.judged or root.judged_steps > 0.3 * max(1, record.steps):
            continue
        yield Seen(
            severity="warning",
            confidence=0.85,
            where=module.path,
            since=0,
            evidence=(
                f"{module.path} dropped in all {module.judged} calls with gradients off that were looked at, although "
                f"{root.name} was in evaluation mode in {in_eval} of them."
            ),
            fix="F.dropout(x, p, training=self.training)  # or nn.Dropout(p), which knows its mode",
        )
        return


def _turns(record: Record) -> bool:
    """Whether optimisers take turns, as those of a generator and its discriminator do."""
    spans = [(o.rate.steps[0], o.rate.steps[-1]) for o in record.optimizers if len(o.rate) > 1]
    return any(a[0] < b[1] and b[0] < a[1] for i, a in enumerate(spans) for b in spans[:i])


def _compared(record: Record) -> bool:
    """Whether what came out with gradients off was compared with targets by one of torch's losses."""
    return any(not judged.training and judged.count for judged in record.judged)


@rule(
    "batchnorm_tiny_batch",
    title="batch norm has almost nothing to average over",
    meaning="Mean and variance of a handful of values are noise, and running statistics made of them are too.",
)
def batchnorm_tiny_batch(record: Record) -> Iterator[Seen]:
    tiny = [m for m in record.modules.values() if len(m.per_channel) >= 5 and m.per_channel.median() <= 4]
    if not tiny:
        return
    values = tiny[0].per_channel.median()
    yield Seen(
        severity="error" if values <= 2 or stuck(record) else "warning",
        confidence=0.9,
        where=", ".join(m.path for m in tiny[:3]),
        since=tiny[0].per_channel.steps[0],
        evidence=(
            f"{tiny[0].kind} {tiny[0].path} makes its statistics of {values:g} values per channel in a typical step."
        ),
        fix="DataLoader(…, batch_size=32)  # or nn.GroupNorm / nn.LayerNorm, which need no batch",
        series=tiny[0].per_channel,
    )
