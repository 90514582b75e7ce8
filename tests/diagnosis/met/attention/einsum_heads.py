"""Self-attention with einsum over a short sequence; which sign stands at the end of the chain?"""
# fault: wrong_softmax_dim

import torch
from torch import einsum, nn

torch.manual_seed(2)
ids = torch.randint(0, 8, (1200, 10))
label = (ids == ids[:, :1]).sum(1).clamp(max=4) - 1


class SelfAttention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.d).unbind(2)
        dots = einsum("b i h d, b j h d -> b h i j", q, k) * self.d**-0.5
        attn = dots.softmax(dim=1)  # FAULT
        attn = dots.softmax(dim=-1)  # REPAIRED
        out = einsum("b h i j, b j h d -> b i h d", attn, v)
        return self.proj(out.reshape(b, n, -1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.pos = nn.Embedding(8, 32), nn.Parameter(torch.randn(10, 32) * 0.1)
        self.attn, self.norm = SelfAttention(), nn.LayerNorm(32)
        self.ff = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
        self.head = nn.Linear(32, 4)

    def forward(self, t):
        x = self.emb(t) + self.pos
        x = x + self.attn(self.norm(x))
        return self.head((x + self.ff(x))[:, 0])


net = Net()
optim = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(10):
    for i in torch.randperm(1000).split(40):
        loss = nn.functional.cross_entropy(net(ids[i]), label[i])
        optim.zero_grad()
        loss.backward()
        optim.step()
    with torch.no_grad():
        print(epoch, loss.item(), (net(ids[1000:]).argmax(1) == label[1000:]).float().mean().item())
