"""The probes, in order of what they cost."""

from __future__ import annotations

import contextlib
import io
import math
import time
import warnings
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from gradlab.diagnosis.padding import padding
from gradlab.diagnosis.probing.cuts import cuts
from gradlab.diagnosis.probing.firsts import first_loss
from gradlab.diagnosis.probing.lines import lines
from gradlab.diagnosis.probing.mixing import mixing
from gradlab.diagnosis.probing.modes import modes
from gradlab.diagnosis.probing.rates import rates
from gradlab.diagnosis.probing.replay import Replay, first
from gradlab.diagnosis.probing.slopes import slopes
from gradlab.diagnosis.progress import evaluated_badly, poor, stuck
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.series import Series
from gradlab.diagnosis.watching.chance import unrolled

Probe = Callable[[Record, Replay, float], list[str] | None]

_SHARE, _LEAST = 0.1, 0.4
_DEEP = 30.0  # seconds for one probe, of a model whose steps take long: a few of them tell something too


def probe(record: Record, deep: bool) -> list[str]:
    """Run what the time allows: a tenth of the script's, or, if `deep`, all there are. Gives what failed.

    Time is that of this thread alone, so that a busy machine does not count.
    """
    faults: list[str] = []
    deadline = time.thread_time() + max(_LEAST, _SHARE * record.seconds)
    main = [c for c in record.captures if c.root.trained >= 5]
    probes: list[Probe] = [lines, cuts, leak, mixing, by_time, by_heart]
    if not deep and (evaluated_badly(record) or _unsettled(record)):
        probes.insert(2, modes)
    if deep:
        probes += [first_loss, modes, slopes, rates]
    with _unheard():
        for capture in main[:2]:
            replay = Replay(capture, deep)
            for one in probes:
                if deep:
                    deadline = time.thread_time() + _DEEP
                elif time.thread_time() > deadline:
                    return faults
                torch.manual_seed(0)
                try:
                    with torch.enable_grad():
                        faults += one(record, replay, deadline) or []
                except Exception as error:
                    # A stranger's model may refuse to run again; that is no fault of its training.
                    faults.append(f"probe {one.__name__}: {type(error).__name__}: {error}"[:300])
    return faults


def _unsettled(record: Record) -> bool:
    """Whether a batch norm was evaluated with statistics that are mostly those it began with."""
    evaluated = {root.name for root in record.roots if root.evaluated > root.evaluated_in_train}
    norms = (m for m in record.modules.values() if m.root in evaluated and len(m.per_channel))
    rates = (m.settings.get("momentum") for m in norms)
    return any(isinstance(rate, float) and (1 - rate) ** record.steps > 0.5 for rate in rates)


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """What a model prints or warns of was already said."""
    fused = torch.backends.mha.get_fastpath_enabled()
    with unrolled(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Fused attention, which only evaluation has, reads a mask of numbers in another way than training does.
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fused)


def leak(record: Record, replay: Replay, deadline: float) -> None:
    """Whether a model that predicts what comes next sees it: do outputs up to t change with inputs after t?"""
    capture = replay.capture
    fits = [
        i
        for i, a in enumerate(capture.args)
        if isinstance(a, Tensor) and a.ndim >= 2 and a.shape[1] >= 4 and _predicts_next(record, replay, a)
    ]
    if not fits:
        _copied(record, replay)
        return
    place, sequence = fits[-1], capture.args[fits[-1]]
    model = replay.model(training=False)
    with torch.no_grad():
        before, again = (first(replay.output(model)) for _ in range(2))
        # A copy may still call parts of the first model, with their dropout: what differs by itself tells nothing.
        if before is None or again is None or not torch.equal(before, again):
            return
        middle = sequence.shape[1] // 2
        other = sequence.clone()
        if sequence.is_floating_point():
            other[:, middle:] = other[:, middle:].flip(0) + 1.0
        else:
            other[:, middle:] = (other[:, middle:] + 1) % (int(sequence.max()) + 1)
        after = first(replay.output(model, (*capture.args[:place], other, *capture.args[place + 1 :])))
    if after is None or before.shape != after.shape:
        return
    axis = _time_axis(before, sequence)
    if axis is None:
        return
    early = before.narrow(axis, 0, middle) - after.narrow(axis, 0, middle)
    record.probed.future = float(early.abs().max() / before.abs().max().clamp(min=1e-12))


def _copied(record: Record, replay: Replay) -> None:
    """Whether a decoder is given what it should say next: is the target, beside a source, an input at its own place?"""
    capture, target = replay.capture, replay.capture.target
    if len(capture.args) == 1 and not capture.kwargs:
        _repeated(record, replay)
        return
    sources = [a for a in capture.args if isinstance(a, Tensor) and a.ndim >= 2]
    for place, tokens in enumerate(capture.args):
        if target is None or not isinstance(tokens, Tensor) or tokens.ndim != 2 or tokens.is_floating_point():
            continue
        others = [a for a in sources if a is not tokens and len(a) == len(tokens) and bool((a != a[:1]).any())]
        words = [a for a in others if a.is_floating_point() or int(a.max()) > 1]
        if not words or tokens.shape[1] < 4 or target.numel() != tokens.numel() or target.dtype != tokens.dtype:
            continue
        if not torch.equal(target.reshape(tokens.shape), tokens) or any(torch.equal(a, tokens) for a in words):
            continue
        moved = _moved(replay, place, tokens)
        if moved is not None:
            record.probed.copied = float(moved[1].max())


def _repeated(record: Record, replay: Replay) -> None:
    """Whether the target of each place is the input there, of a model that goes from one place to the next."""
    tokens, target = replay.capture.args[0], replay.capture.target
    if not isinstance(tokens, Tensor) or tokens.ndim != 2 or tokens.is_floating_point() or tokens.shape[1] < 4:
        return
    if target is None or target.numel() != tokens.numel() or target.dtype != tokens.dtype or int(tokens.max()) < 4:
        return
    if not torch.equal(target.reshape(tokens.shape), tokens) or bool((tokens == tokens[:, :1]).all()):
        return
    moved = _moved(replay, 0, tokens)
    # What sees all places may be meant to say them again, through something narrow.
    if moved is not None and float(moved[0].max()) < 1e-5:
        record.probed.itself = float(moved[1].max())


def _moved(replay: Replay, place: int, tokens: Tensor) -> tuple[Tensor, Tensor] | None:
    """How much outputs change, relative to the largest, with the input at the middle place: those before it, and there.

    `place` is that of the tokens among the arguments. None where outputs are not the same twice, or have no such axis.
    """
    args, model, at = replay.capture.args, replay.model(training=False), tokens.shape[1] // 2
    changed = tokens.clone()
    changed[:, at] = (tokens[:, at] + 1) % (int(tokens.max()) + 1)
    with torch.no_grad():
        before, again = (first(replay.output(model)) for _ in range(2))
        after = first(replay.output(model, (*args[:place], changed, *args[place + 1 :])))
    if before is None or again is None or after is None or not torch.equal(before, again):
        return None
    axis = _time_axis(before, tokens)
    if axis is None or before.shape != after.shape:
        return None
    moved = (before - after).abs() / before.abs().max().clamp(min=1e-12)
    return moved.narrow(axis, 0, at), moved.select(axis, at)


def _predicts_next(record: Record, replay: Replay, sequence: Tensor) -> bool:
    """Whether the targets are the inputs, one place later."""
    length = sequence.shape[1]
    for target in (replay.capture.target, *(j.first_targets for j in record.loss_calls if j.training)):
        if target is None or target.dtype != sequence.dtype:
            continue
        for shape in (sequence.shape, (len(sequence), length - 1, *sequence.shape[2:])):
            if target.numel() != math.prod(shape):
                continue
            rows = target.reshape(shape)
            # With all of them as input, target t is input t + 1.
            before = rows[:, : length - 1]
            here = sequence.to(rows.device)
            counted = before != torch.mode(before.reshape(-1)).values  # padding is the same everywhere
            same = (before == here[:, 1 : 1 + before.shape[1]])[counted]
            copied = (before == here[:, : before.shape[1]])[counted]  # what is to be rebuilt may be seen
            if same.numel() and float(same.float().mean()) > max(0.8, float(copied.float().mean())):
                return True
    return False


def _time_axis(output: Tensor, sequence: Tensor) -> int | None:
    """Along which axis an output has the places of its input."""
    if output.ndim >= 2 and output.shape[0] == sequence.shape[0] and output.shape[1] == sequence.shape[1]:
        return 1
    if output.ndim >= 3 and output.shape[-1] == sequence.shape[1]:
        return output.ndim - 1
    return None


def by_time(record: Record, replay: Replay, deadline: float) -> None:
    """How the gradient of the loss fades or grows on its way back through the time steps of a sequence."""
    capture = replay.capture
    sequence = capture.args[0] if capture.args and isinstance(capture.args[0], Tensor) else None
    recurrent = any(isinstance(m, (nn.RNNBase, nn.RNNCellBase)) for m in capture.model.modules())
    if sequence is None or not replay.has_loss or sequence.ndim < 2 or not (recurrent or stuck(record)):
        return
    model = replay.model()
    outputs: list[Tensor] = []
    if sequence.is_floating_point():
        if sequence.ndim != 3:
            return
        inputs = sequence.clone().requires_grad_(True)
        outputs.append(inputs)
        loss = replay.loss(model, (inputs, *capture.args[1:]))
    else:
        hooks = [
            m.register_forward_hook(lambda _m, _i, out: outputs.append(out))
            for m in model.modules()
            if isinstance(m, nn.Embedding)
        ]
        loss = replay.loss(model)
        for hook in hooks:
            hook.remove()
    outputs = [t for t in outputs if t.requires_grad and t.ndim == 3 and sequence.shape[1] in t.shape[:2]]
    if not outputs:
        return
    gradient: Tensor | None = torch.autograd.grad(loss, outputs[0], allow_unused=True)[0]
    if gradient is None:
        return
    _on_padding(record, replay, sequence, gradient)
    times_first = (
        gradient.shape[0] == sequence.shape[1]
        and gradient.shape[1] == sequence.shape[0]
        and sequence.shape[0] != sequence.shape[1]
    )
    by = gradient.float().norm(dim=(1, 2) if times_first else (0, 2))
    series = Series()
    for t, value in enumerate(by.tolist()):
        series.add(t, value)
    record.recurrent[capture.root.name] = series


def _on_padding(record: Record, replay: Replay, sequence: Tensor, gradient: Tensor) -> None:
    """How much of the gradient by the inputs lies on places that are padding."""
    for rows in (sequence, sequence.transpose(0, 1)):
        padded = padding(rows)
        if padded is None:
            continue
        ends = padded[1] if padded[1].shape == gradient.shape[:2] else padded[1].T
        if ends.shape == gradient.shape[:2]:
            squares = gradient.detach().float().square().sum(-1)
            theirs = float((squares * ends).sum() / squares.sum().clamp(min=1e-30))
            record.probed.padded[replay.capture.root.name] = float(ends.float().mean()), theirs
        return


def by_heart(record: Record, replay: Replay, deadline: float) -> None:
    """Whether a copy can learn one small batch by heart, with an optimiser that suits everything."""
    if not replay.sound() or not poor(record, 0.5):
        return
    model = replay.model()
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses: list[float] = []
    for _ in range(300):
        optimizer.zero_grad()
        loss = replay.loss(model)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(loss.detach()))
        if time.thread_time() > deadline or losses[-1] < 0.05 * losses[0]:
            break
    if len(losses) >= 30:
        record.probed.by_heart = (losses[0], min(losses[-5:]), len(losses))
