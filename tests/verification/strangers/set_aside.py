"""A third of the strangers, judged once when the verification was done."""

from cases import stranger

STRANGERS = [
    stranger(
        "set_aside_modules:ViTLayerNorm",
        "norm.layer",
        ("pow(2)", "abs()"),
        ("self.weight * x + self.bias", "self.weight * (x + self.bias)"),
    ),
    stranger(
        "set_aside_modules:T5LayerNorm",
        "norm.rms",
        (".mean(-1, keepdim=True) + self.eps", ".sum(-1, keepdim=True) + self.eps"),
        ("rsqrt", "sqrt"),
    ),
    stranger(
        "set_aside_modules:BertSelfAttention",
        "attention.multihead",
        ("math.sqrt(self.head_size)", "math.sqrt(self.num_attention_heads * self.head_size)"),
        ("scores = scores + attention_mask", "scores = scores * attention_mask"),
        (".permute(0, 2, 1, 3).contiguous()", ".contiguous()"),
        mask="added",
    ),
    stranger(
        "set_aside_modules:D2LMultiHead",
        "attention.multihead",
        ("math.sqrt(q.shape[-1])", "math.sqrt(q.shape[1])"),
        ("self.W_v(values)", "self.W_v(keys)"),
    ),
    stranger(
        "set_aside_modules:PositionwiseFeedForward",
        "transformer.mlp",
        ("F.gelu", "F.relu"),
        ("self.w_2(F.gelu(self.w_1(x)))", "x + self.w_2(F.gelu(self.w_1(x)))"),
    ),
    stranger(
        "set_aside_modules:SwiGLU",
        "transformer.gated_mlp",
        ("F.silu(self.w1(x)) * self.w3(x)", "F.silu(self.w3(x)) * self.w1(x)"),
        (" * self.w3(x)", " + self.w3(x)"),
    ),
    stranger(
        "set_aside_modules:D2LRNNScratch",
        "recurrent.rnn_cell",
        (" + self.b_h", ""),
        ("torch.matmul(state, self.W_hh)", "torch.matmul(state, self.W_hh.T)"),
    ),
    stranger(
        "set_aside_modules:GatesApartGRU",
        "recurrent.gru_cell",
        ("(1 - z) * n + z * h", "(1 - z) * h + z * n"),
        ("r * self.W_hn(h)", "self.W_hn(r * h)"),
    ),
    stranger(
        "set_aside_modules:ManualConv2d",
        "conv.conv2d",
        ("+ self.bias[:, None]", ""),
        ("padding=self.padding)", "padding=0)"),
    ),
    stranger("set_aside_modules:LearnedPReLU", "activation.prelu", ("+ a *", "- a *")),
    stranger(
        "set_aside_modules:TokenEmbedding",
        "dense.embedding",
        ("self.lut(x)", "self.lut(x) * self.lut.embedding_dim ** 0.5"),
    ),
    stranger("set_aside_modules:mish_free_elu", "activation.elu", ("max=0)) - 1", "max=0))")),
    stranger(
        "set_aside_modules:label_cross_entropy",
        "loss.cross_entropy",
        ("dim=-1", "dim=0"),
        reduction="mean",
        label_smoothing=0.0,
    ),
    stranger(
        "set_aside_modules:bce",
        "loss.binary_cross_entropy",
        ("F.softplus(logits)", "F.softplus(-logits)"),
        ("- logits * targets", "+ logits * targets"),
    ),
    stranger(
        "set_aside_modules:MeanOfNeighbours",
        "graph.sage",
        ("count.clamp(min=1)[:, None]", "count.sum().clamp(min=1)"),
        ("index_add(0, receiver, x[sender])", "index_add(0, sender, x[receiver])"),
        aggregate="mean",
    ),
    stranger(
        "set_aside_modules:SmoothedLoss",
        "loss.cross_entropy",
        ("logs.mean(-1)", "logs.sum(-1)"),
        ("(1 - self.smoothing) * picked", "picked"),
        label_smoothing=0.1,
    ),
    stranger(
        "set_aside_modules:RelativeTable",
        "position.relative",
        ("torch.arange(n) + m - n", "torch.arange(n)"),
        ("torch.arange(m) - (", "-torch.arange(m) + ("),
    ),
    stranger("set_aside_modules:margin_loss", "loss.hinge", ("1 - y", "1 + y"), ("min=0", "min=-1")),
]
