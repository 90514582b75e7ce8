"""The models of the text cases in plain PyTorch, with the first weights that everybody has."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.bench.work import HEADS, Work


class PlainLSTM(nn.Module):
    """An embedding, PyTorch's LSTM and a linear map."""

    def __init__(self, vocabulary: int, dim: int, layers: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.recurrent = nn.LSTM(dim, dim, layers, batch_first=True)
        self.head = nn.Linear(dim, vocabulary)

    def forward(self, tokens: Int64[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        outputs, _ = self.recurrent(self.embedding(tokens))
        logits: Tensor = self.head(outputs)
        return logits


class PlainGPT(nn.Module):
    """GPT-2 as nanoGPT builds it: one product for queries, keys and values, fused attention, tied embeddings."""

    def __init__(self, vocabulary: int, context: int, dim: int, layers: int, heads: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, dim)
        self.positions = nn.Embedding(context, dim)
        self.dropout = nn.Dropout(0.0)
        self.blocks = nn.ModuleList(_Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Int64[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(places))
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits


class _Block(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.attention = _Attention(dim, heads)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(0.0))

    def forward(self, x: Float[Tensor, "batch length dim"]) -> Float[Tensor, "batch length dim"]:
        x = x + self.attention(self.norm1(x))
        y: Tensor = x + self.mlp(self.norm2(x))
        return y


class _Attention(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.inward, self.outward = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Float[Tensor, "batch length dim"]) -> Float[Tensor, "batch length dim"]:
        batch, length, dim = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
            for part in self.inward(x).split(dim, dim=2)
        )
        pooled = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=True)
        y: Tensor = self.dropout(self.outward(pooled.transpose(1, 2).contiguous().view(batch, length, dim)))
        return y


def plain(work: Work) -> nn.Module:
    """The model of a text case, with the weights of gradlab's, whose parameters come in the same order."""
    case = work.case
    layers, dim = len(case.hidden), case.hidden[0]
    model: nn.Module = (
        PlainLSTM(work.vocabulary, dim, layers)
        if case.model == "lstm"
        else PlainGPT(work.vocabulary, case.length, dim, layers, HEADS)
    )
    with torch.no_grad():
        for mine, theirs in zip(model.parameters(), work.model().parameters(), strict=True):
            assert mine.shape == theirs.shape
            mine.copy_(theirs)
    return model
