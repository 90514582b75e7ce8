"""Training in evaluation mode, and the other way round; batch norm that has nothing to average over."""

from collections.abc import Iterator

from gradlab.diagnosis.record import Module, Record
from gradlab.diagnosis.rules.base import Seen, rule

_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LazyBatchNorm1d", "LazyBatchNorm2d")
_DROPOUTS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")


def _modal(module: Module) -> bool:
    """Whether a module acts differently in training."""
    if module.kind in _DROPOUTS:
        return bool(module.settings.get("p", 0.0))
    return module.kind in _NORMS or bool(module.settings.get("track_running_stats"))


@rule(
    "train_in_eval_mode",
    title="the model is trained in evaluation mode",
    meaning="Dropout does nothing and batch norm keeps its old statistics: it is not the network that was meant.",
)
def train_in_eval_mode(record: Record) -> Iterator[Seen]:
    modal = [m for m in record.modules.values() if _modal(m) and m.trained >= 5]
    asleep = [m for m in modal if m.trained_in_eval > 0.5 * m.trained]
    if not asleep:
        return
    # Fine-tuning freezes batch norm alone, or a part that was loaded: somebody meant it.
    if len(asleep) < len(modal) and all(m.kind in _NORMS for m in asleep):
        return
    parts = {m.path.rpartition(".")[0] for m in asleep}
    theirs = [p for p in record.parameters.values() if any(p.name.startswith(f"{part}.") for part in parts)]
    if theirs and all(p.loaded or not p.requires_grad for p in theirs):
        return
    root = next((r for r in record.roots if r.name == asleep[0].root), None)
    site = root.eval_site if root else None
    yield Seen(
        severity="error",
        confidence=0.95,
        where=", ".join(m.path for m in asleep[:3]) + (f"; eval() called at {site}" if site else ""),
        since=0 if asleep[0].trained == asleep[0].trained_in_eval else 1,
        evidence=(
            f"{asleep[0].kind} {asleep[0].path} was in evaluation mode in {asleep[0].trained_in_eval} of "
            f"{asleep[0].trained} training steps looked at; {len(asleep)} of {len(modal)} such layers were."
        ),
        fix="model.train()  # at the start of every epoch, after each evaluation",
    )


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
        if root.judged_steps > 0.3 * max(1, record.steps) or len(record.optimizers) > 1:
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
        severity="error" if values <= 2 or record.stuck() else "warning",
        confidence=0.9,
        where=", ".join(m.path for m in tiny[:3]),
        since=tiny[0].per_channel.steps[0],
        evidence=(
            f"{tiny[0].kind} {tiny[0].path} makes its statistics of {values:g} values per channel in a typical step."
        ),
        fix="DataLoader(…, batch_size=32)  # or nn.GroupNorm / nn.LayerNorm, which need no batch",
        series=tiny[0].per_channel,
    )
