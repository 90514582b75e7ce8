"""Strangers' modules: what each is like, and one realistic fault at a time as a change of its text.

A module that is right stands for the mended twin of each of its faults.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradlab.verification.results import Verification
from gradlab.verification.running import verify_like

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Stranger:
    """A class or function of a file, the block that it is like, and the changes that make it wrong."""

    where: str
    like: str
    faults: tuple[tuple[str, str], ...]
    values: dict[str, Any] = field(default_factory=dict)

    def text(self, change: tuple[str, str] | None = None) -> str:
        """Its source, changed within the class or the function itself, or anywhere in a file of its own."""
        file, _, name = self.where.partition(":")
        text = (FOLDER / f"{file}.py").read_text()
        if change is None:
            return text
        if "/" in file:
            assert change[0] in text, f"{name} has no {change[0]!r}"
            return text.replace(*change, 1)
        start = min(i for word in ("class ", "def ") if (i := text.find(f"\n{word}{name}")) >= 0)
        old, new = change
        at = text.find(old, start)
        ends = (text.find(word, start + 1) for word in ("\n\n\nclass ", "\n\n\ndef "))
        end = min((i for i in ends if i >= 0), default=len(text))
        assert start <= at < end, f"{name} has no {old!r}"
        return text[:at] + new + text[at + len(old) :]

    def verify(self, change: tuple[str, str] | None = None, cases: int = 12) -> Verification:
        name = self.where.partition(":")[2]
        space: dict[str, Any] = {"__name__": "stranger"}
        exec(compile(self.text(change), f"{name}.py", "exec"), space)
        return verify_like(space[name], self.like, self.values, name, cases)


def stranger(where: str, like: str, *faults: tuple[str, str], **values: Any) -> Stranger:
    return Stranger(where, like, faults, values)


STRANGERS = [
    stranger(
        "norms:AnnotatedLayerNorm",
        "norm.layer",
        ("unbiased=False", "unbiased=True"),
        ("torch.sqrt(var + self.eps)", "(torch.sqrt(var) + self.eps)"),
        ("mean = x.mean(-1", "mean = x.mean(1 if x.dim() > 2 else -1"),
    ),
    stranger(
        "norms:HFRMSNorm",
        "norm.rms",
        (".pow(2).mean", ".var"),
        ("torch.rsqrt(variance + self.variance_epsilon)", "1 / (torch.sqrt(variance) + self.variance_epsilon)"),
        ("return self.weight * hidden", "return (1 + self.weight) * hidden"),
    ),
    stranger("norms:LucidRMSNorm", "norm.rms", (" * self.scale", ""), ("dim=-1", "dim=0")),
    stranger(
        "norms:D2LBatchNorm",
        "norm.batch",
        (
            "(1 - self.momentum) * self.moving_mean + self.momentum *",
            "self.momentum * self.moving_mean + (1 - self.momentum) *",
        ),
        ("* n / (n - 1)", ""),
        ("mean, var = self.moving_mean, self.moving_var", "mean, var = X.mean(0).mean(), X.var()"),
    ),
    stranger("norms:TimmGroupNorm", "norm.group", ("unbiased=False", "unbiased=True"), ("g.mean(-1", "g.mean(1")),
    stranger(
        "attentions:TimmAttention",
        "attention.multihead",
        ("(dim // num_heads) ** -0.5", "dim ** -0.5"),
        ("softmax(dim=-1)", "softmax(dim=1)"),
        (".transpose(1, 2).reshape(B, N, C)", ".reshape(B, N, C)"),
        ("q, k, v = qkv", "q, v, k = qkv"),
    ),
    stranger(
        "attentions:AnnotatedAttention",
        "attention.multihead",
        ("/ math.sqrt(self.d_k)", ""),
        ("mask == 0", "mask == 1"),
        ("softmax(dim=-1)", "softmax(dim=-2)"),
        ("(query, key, value), strict", "(query, key, key), strict"),
    ),
    stranger(
        "attentions:LucidAttention",
        "attention.multihead",
        ("~mask", "mask"),
        ("(k, v) = self", "(v, k) = self"),
        (".permute(0, 2, 1, 3).reshape(b, n, d)", ".reshape(b, n, d)"),
    ),
    stranger(
        "attentions:GPTAttention",
        "attention.multihead",
        ("math.sqrt(k.size(-1))", "math.sqrt(C)"),
        ("att = att + attention_mask", "att = att"),
        ("q, k, v = self", "k, q, v = self"),
        mask="added",
    ),
    stranger("attentions:D2LDotProduct", "attention.scaled_dot", (" / math.sqrt(d)", ""), ("dim=-1", "dim=1")),
    stranger(
        "attentions:D2LAdditive", "attention.additive", ("torch.tanh", "torch.relu"), (".softmax(-1)", ".softmax(1)")
    ),
    stranger(
        "networks:TimmMlp",
        "transformer.mlp",
        ("nn.GELU()", "nn.ReLU()"),
        ("return self.fc2(x)", "return self.act(self.fc2(x))"),
    ),
    stranger(
        "networks:LlamaMLP",
        "transformer.gated_mlp",
        ("F.silu(self.gate_proj(x)) * self.up_proj(x)", "self.gate_proj(x) * F.silu(self.up_proj(x))"),
        ("F.silu", "F.gelu"),
    ),
    stranger(
        "networks:TutorialRNNCell",
        "recurrent.rnn_cell",
        ("self.x2h(x) + ", "self.x2h(x) * "),
        ("torch.tanh", "torch.sigmoid"),
    ),
    stranger(
        "networks:TutorialLSTMCell",
        "recurrent.lstm_cell",
        ("i, f, g, o = gates", "f, i, g, o = gates"),
        ("h = o * torch.tanh(c)", "h = o * c"),
        ("torch.tanh(g)", "torch.sigmoid(g)"),
    ),
    stranger(
        "networks:TutorialGRUCell",
        "recurrent.gru_cell",
        ("(1 - z) * n + z * h", "z * n + (1 - z) * h"),
        ("x_n + r * h_n", "r * (x_n + h_n)"),
    ),
    stranger(
        "networks:D2LLSTMScratch",
        "recurrent.lstm_cell",
        ("F_ * C + I_ * C_tilde", "I_ * C + F_ * C_tilde"),
        ("O_ * torch.tanh(C)", "O_ * C"),
    ),
    stranger(
        "networks:D2LLinear", "dense.linear", (" + self.bias", ""), in_units=3, units=4, in_features=3, out_features=4
    ),
    stranger(
        "networks:SpatialDropout",
        "regularisation.dropout",
        (" / (1.0 - self.dropout)", ""),
        ("> self.dropout", "< self.dropout"),
        ("not self.training or ", ""),
    ),
    stranger(
        "networks:TimmDropPath",
        "regularisation.stochastic_depth",
        ("(x.shape[0],) + (1,) * (x.ndim - 1)", "x.shape"),
        (".div_(keep_prob)", ""),
    ),
    stranger(
        "networks:NewGELU",
        "activation.gelu",
        ("0.044715", "0.44715"),
        ("2.0 / math.pi", "math.pi / 2"),
        approximate="tanh",
    ),
    stranger("networks:swish", "activation.silu", ("torch.sigmoid(x)", "torch.sigmoid(2 * x)")),
    stranger(
        "networks:relu",
        "activation.relu",
        ("torch.max", "torch.min"),
        ("torch.zeros_like(X)", "torch.zeros_like(X) + 1e-3"),
    ),
    stranger(
        "networks:StableSoftmax",
        "activation.softmax",
        ("x - x.max(dim=-1, keepdim=True).values", "x"),
        ("e.sum(dim=-1", "e.sum(dim=0"),
    ),
    stranger("networks:StableSoftplus", "activation.softplus", ("-x.abs()", "x")),
    stranger(
        "networks:SinusoidalPE",
        "position.sinusoidal",
        ("0::2] = torch.sin", "0::2] = torch.cos"),
        ("x.size(1)", "x.size(0)"),
        ("arange(0, max_len)", "arange(1, max_len + 1)"),
    ),
    stranger(
        "networks:LlamaRotary",
        "position.rotary",
        ("(-x2, x1)", "(x2, x1)"),
        ("torch.cat((freqs, freqs), dim=-1)", "freqs.repeat_interleave(2, -1)"),
        layout="halves",
    ),
    stranger(
        "networks:GPTPosition", "position.learned", ("x + self.wpe", "x * self.wpe"), ("start_pos, start_pos +", "0,")
    ),
    stranger("networks:huber", "loss.huber", ("0.5 * delta)", "delta)"), ("err <= delta", "err <= 1.0")),
    stranger(
        "networks:focal_free_cross_entropy",
        "loss.cross_entropy",
        ("dim=-1, keepdim=True)\n    return", "dim=0, keepdim=True)\n    return"),
        reduction="mean",
        label_smoothing=0.0,
    ),
    stranger(
        "habits:MaskOfExamples",
        "attention.multihead",
        ("== 0, -1e9", "== 1, -1e9"),
        ("(query, key, value), strict", "(query, key, key), strict"),
        (".unsqueeze(1) == 0", ".unsqueeze(1).mT == 0"),
    ),
    stranger(
        "habits:GroupedHeads",
        "attention.multihead",
        (
            "t.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)",
            "t.repeat(1, self.n_heads // self.n_kv_heads, 1, 1)",
        ),
        ("torch.where(mask, scores, torch.finfo(scores.dtype).min)", "torch.where(mask, scores, 0)"),
        bias=False,
        num_heads=4,
        num_key_value_heads=2,
    ),
    stranger(
        "habits:FloatRMSNorm",
        "norm.rms",
        ("keepdim=True) + self.eps)", "keepdim=True)) + self.eps"),
        ("* self.scale", "* (1 + self.scale)"),
        ("x.float()", "x.bfloat16()"),
    ),
    stranger(
        "habits:CausalLinearAttention",
        "attention.linear",
        ("weights = k.cumsum(-2)", "weights = k.sum(-2, keepdim=True)"),
        ("F.elu(q) + 1, F.elu(k) + 1", "F.elu(q) + 1, F.relu(k) + 1"),
    ),
    stranger(
        "habits:PlainStateBatchNorm",
        "norm.batch",
        ("0.9 * self.moving_mean + 0.1 * mean", "0.1 * self.moving_mean + 0.9 * mean"),
        ("* count / (count - 1)", ""),
        ("torch.sqrt(var + 1e-5)", "(torch.sqrt(var) + 1e-5)"),
    ),
    stranger(
        "habits:ComplexRotary",
        "position.rotary",
        ("pairs * self.turns", "pairs * self.turns.conj()"),
        ("unflatten(-1, (-1, 2))", "unflatten(-1, (2, -1)).mT"),
    ),
    stranger(
        "habits:BucketedBias", "position.bucketed", ("(apart > 0)", "(apart < 0)"), ("max=half - 1", "max=half - 2")
    ),
    stranger(
        "habits:LoopedLSTM",
        "recurrent.lstm",
        ("outputs.append(h)", "outputs.append(c)"),
        ("h @ self.U", "h @ self.U.detach()"),
        ("g.tanh()", "g.sigmoid()"),
        batch_first=True,
        bias="one",
    ),
]
