"""A quarter of those of every day, chosen before any was verified."""

from cases import stranger

STRANGERS = [
    stranger(
        "everyday/timm_attn:Attention",
        "attention.multihead",
        ("self.head_dim**-0.5", "dim**-0.5"),
        ("x.transpose(1, 2).reshape(B, N, C)", "x.reshape(B, N, C)"),
        (
            "3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)",
            "3, self.head_dim, self.num_heads).permute(2, 0, 4, 1, 3)",
        ),
    ),
    stranger(
        "everyday/llama_gqa:LlamaAttention",
        "attention.multihead",
        (
            "value = repeat_kv(value, self.num_key_value_groups)",
            "value = value.repeat(1, self.num_key_value_groups, 1, 1)",
        ),
        ("/ math.sqrt(self.head_dim)", "/ math.sqrt(hidden_states.size(-1))"),
        ("w = w + attention_mask[..., : key.shape[-2]]", "pass"),
        mask="added",
    ),
    stranger(
        "everyday/rope_complex:Rope",
        "position.rotary",
        ("xq_ * freqs_cis)", "xq_ * freqs_cis.conj())"),
        ("[start_pos : start_pos + seqlen]", "[:seqlen]"),
        ("theta ** (torch.arange", "theta**(2 * torch.arange"),
    ),
    stranger(
        "everyday/lstm_d2l_gates:LSTM",
        "recurrent.lstm_cell",
        ("F * C + I * C_tilde", "I * C + F * C_tilde"),
        ("torch.matmul(H, self.W_ho)", "torch.matmul(C, self.W_ho)"),
        ("H = O * torch.tanh(C)\n        return H, C", "H = O * torch.tanh(C_tilde)\n        return H, C"),
    ),
    stranger(
        "everyday/lstm_layers:StackedLSTM",
        "recurrent.lstm",
        ("cell(inp, (h[l], c[l]))", "cell(inp, (h[l], c[0]))"),
        ("(torch.stack(h), torch.stack(c))", "(torch.stack(c), torch.stack(h))"),
        ("cell(inp, (h[l], c[l]))", "self.cells[-1](inp, (h[l], c[l])) if l else cell(inp, (h[l], c[l]))"),
    ),
    stranger(
        "everyday/rms_llama:LlamaRMSNorm",
        "norm.rms",
        ("hidden_states.pow(2).mean(-1, keepdim=True)", "hidden_states.pow(2).sum(-1, keepdim=True)"),
        (
            "variance = hidden_states.pow(2).mean(-1, keepdim=True)",
            "variance = hidden_states.var(-1, keepdim=True, unbiased=False)",
        ),
        ("* torch.rsqrt(variance + self.variance_epsilon)", "* torch.sqrt(variance + self.variance_epsilon)"),
        eps=1e-6,
    ),
    stranger(
        "everyday/maxpool_loop:MaxPool2d",
        "pool.max2d",
        ('value=float("-inf")', "value=0."),
        ("stride if stride is not None else kernel_size", "stride or 1"),
        ("w.amax(dim=(-2, -1))", "w.mean(dim=(-2, -1))"),
    ),
    stranger(
        "everyday/vae_kl:kl_loss",
        "divergence.kl_gaussian",
        ("-0.5 * torch.sum", "0.5 * torch.sum"),
        ("- logvar.exp()", "- (0.5 * logvar).exp()"),
        ("torch.sum(1 + logvar", "torch.mean(1 + logvar"),
    ),
    stranger(
        "everyday/huber_where:HuberLoss",
        "loss.huber",
        ("+ self.delta * lin", "+ lin"),
        ("0.5 * quad**2", "quad**2"),
        ("(y_true - y_pred).abs()", "(y_true - y_pred).relu()"),
    ),
    stranger(
        "everyday/swiglu_fused:SwiGLU",
        "transformer.gated_mlp",
        ("F.silu(x1) * x2", "F.sigmoid(x1) * x2"),
        ("F.silu(x1) * x2", "F.silu(x1 * x2)"),
        ("F.silu(x1) * x2", "F.silu(x1) + x2"),
    ),
    stranger(
        "everyday/decoder_postnorm:TransformerDecoderLayer",
        "transformer.decoder",
        ("self.multihead_attn(tgt, memory, memory,", "self.multihead_attn(tgt, tgt, memory,"),
        ("attn_mask=causal, need", "need"),
        ("tgt = self.norm2(tgt + self.dropout2(tgt2))", "tgt = self.norm2(self.dropout2(tgt2))"),
        cross=True,
        norm_first=False,
        mask="hidden",
    ),
    stranger(
        "everyday/gelu_new:NewGELU",
        "activation.gelu",
        ("0.044715", "0.44715"),
        ("torch.pow(x, 3.0)", "torch.pow(x, 2.0)"),
        ("math.sqrt(2.0 / math.pi)", "math.sqrt(math.pi / 2.0)"),
        approximate="tanh",
    ),
]
