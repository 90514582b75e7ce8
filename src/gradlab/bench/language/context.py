"""A GPT trained at long contexts: softmax attention beside kinds whose cost grows with the length alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError, unknown

ATTENTIONS = {"softmax": "scaled_dot", "linear": "linear", "performer": "performer"}
_FAR = 0.02  # losses of the same weights before the first step: further apart is other work
_SETTINGS: dict[str, dict[str, Any]] = {
    "cuda": {
        "contexts": (4096, 16384, 65536),
        "tokens": 65536,
        "held_out": 131072,
        "text": None,
        "sizes": {"dim": 512, "layers": 12, "heads": 8},
    },
    "cpu": {
        "contexts": (256, 1024, 4096),
        "tokens": 4096,
        "held_out": 16384,
        "text": 1_000_000,
        "sizes": {"dim": 64, "layers": 2, "heads": 2},
    },
}


@dataclass(frozen=True, kw_only=True)
class ContextRow:
    """One kind of attention at one context, in a process of its own; None where memory did not suffice."""

    attention: str
    context: int
    tokens_per_second: float | None
    """Over the second half of the steps."""
    gibibytes: float | None
    """Of the device, at the peak of the training."""
    before: float | None
    """Seconds until full speed, beyond what the steps took: compiling, recording."""
    initial_loss: float | None
    """Before the first step, on text that is held out; nats a byte, as all losses."""
    training_loss: float | None
    """The mean over the second half of the steps."""
    validation_loss: float | None
    """After the last step, on the same text for all."""


@dataclass(frozen=True, kw_only=True)
class ContextTrained:
    """All kinds at all contexts, each trained on as many tokens."""

    model: str
    device: str
    versions: str
    steps: int
    tokens: int
    """Of all steps of a training."""
    held_out: int
    """Tokens of the validation losses."""
    rows: list[ContextRow]


def bench_context(
    progress: Progress,
    contexts: Sequence[int] = (),
    *,
    attentions: Sequence[str] = (*ATTENTIONS,),
    device: str = "cuda",
    steps: int = 100,
    **settings: Any,
) -> ContextTrained:
    """Train on the source of Python's library, by default settings; `settings` are others than those of the device."""
    from gradlab.training.environment import find_device

    setting = {**_SETTINGS[device], **settings}
    contexts = contexts or setting.pop("contexts")
    setting.pop("contexts", None)
    for name in attentions:
        if name not in ATTENTIONS:
            raise unknown("kind of attention", name, ATTENTIONS)
    if steps < 2 or steps % 2:
        raise GradlabError(f"--steps must be even and at least 2, since speed is that of the second half; got {steps}.")
    for context in contexts:
        if context < 1 or setting["tokens"] % context:
            raise GradlabError(
                f"A context must divide the {setting['tokens']:,} tokens of a step, so that all contexts learn from as "
                f"many; {context:,} does not."
            )
    find_device(device)  # which refuses one that is not there
    answers: dict[tuple[int, str], dict[str, Any]] = {}
    for context in contexts:
        for name in attentions:
            progress(f"{name}: context {context:,}")
            request = {"attention": ATTENTIONS[name], "context": context, "steps": steps, "device": device, **setting}
            try:
                with Worker("gradlab.bench.language.context_worker") as worker:
                    answers[context, name] = worker.ask(request)
            except WorkerFailed as error:
                raise GradlabError(f"The training of {name} at context {context:,} failed: {error}") from None
    check_same_work(answers)
    return ContextTrained(
        **next(iter(answers.values()))["about"],
        steps=steps,
        tokens=steps * setting["tokens"],
        held_out=setting["held_out"],
        rows=[_row(context, name, answer) for (context, name), answer in answers.items()],
    )


def check_same_work(answers: dict[tuple[int, str], dict[str, Any]]) -> None:
    """Refuse to compare trainings of other batches, of another number of tokens, or from other weights."""
    ended = {key: answer for key, answer in answers.items() if answer["work"] is not None}
    firsts: dict[int, tuple[str, dict[str, Any]]] = {}
    for (context, name), answer in ended.items():
        first, other = firsts.setdefault(context, (name, answer))
        where, pairs = f"{name} at context {context:,} does other work than", (answer["work"], other["work"])
        if pairs[0]["batches"] != pairs[1]["batches"]:
            raise GradlabError(f"{where} {first}: its batches are not the same. They cannot be compared.")
        ours, theirs = answer["losses"]["initial"], other["losses"]["initial"]
        if abs(ours - theirs) > _FAR * theirs:
            raise GradlabError(
                f"{where} {first}: its loss before the first step is {ours:.4f}, not {theirs:.4f}. They cannot be "
                "compared."
            )
    for what, verb in (("tokens", "read"), ("held_out", "are evaluated on")):
        counts = {answer["work"][what] for answer in ended.values()}
        if len(counts) > 1:
            many = " and ".join(f"{count:,}" for count in sorted(counts))
            raise GradlabError(f"The trainings {verb} {many} tokens. They cannot be compared.")


def _row(context: int, name: str, answer: dict[str, Any]) -> ContextRow:
    row, losses = answer["row"] or {}, answer["losses"] or {}
    return ContextRow(
        attention=name,
        context=context,
        tokens_per_second=row.get("examples_per_second"),
        gibibytes=row.get("gibibytes"),
        before=row.get("before"),
        initial_loss=losses.get("initial"),
        training_loss=losses.get("training"),
        validation_loss=losses.get("validation"),
    )
