"""How probable black and white pixels are under several rows of logits each."""

from gradlab import scratch
from gradlab.nn.bernoulli import bernoulli_log_probability
from gradlab.scratch.gates import Array
from gradlab.scratch.losses import binary_cross_entropy
from gradlab.verification.case import Case
from gradlab.verification.checks import Call
from gradlab.verification.families.kernels.calling import LENGTHS, conform, refuse_float64
from gradlab.verification.subject import subject

KERNEL = "kernel.bernoulli"

subject(KERNEL)(bernoulli_log_probability)


def _call(case: Case) -> Call:
    refuse_float64(case)
    samples, n, numbers = (
        case.integer("samples", 1, 5),
        case.integer("n", 1, 9),
        case.choice("numbers", (*LENGTHS, 784)),
    )
    logits = case.tensor("logits", samples, n, numbers, scale=3.0)
    return Call(case.build(), (logits, case.mask("x", n, numbers).to(logits.dtype)))


def _summed(logits: scratch.Tensor, x: Array) -> scratch.Tensor:
    return -binary_cross_entropy(logits, x, reduction="none").sum(-1)


conform(KERNEL, _call, twin=binary_cross_entropy, twin_call=_summed)
