"""A small transformer decides whether a sequence of words holds more good than bad ones."""

# fault: inverted_padding_mask
import torch
from torch import nn

torch.manual_seed(27)
MAXLEN, PAD = 24, 0


def sample(n):
    length = torch.randint(4, 13, (n,))
    tokens = torch.randint(1, 40, (n, MAXLEN))
    real = torch.arange(MAXLEN)[None] < length[:, None]
    tokens = tokens.masked_fill(~real, PAD)
    score = ((tokens < 12) & real).sum(1) - ((tokens > 28) & real).sum(1)
    return tokens, (score > 0).long()


class Scorer(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(40, d)
        self.pos = nn.Parameter(torch.zeros(1, MAXLEN, d))
        layer = nn.TransformerEncoderLayer(d, nhead=2, dim_feedforward=48, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1, enable_nested_tensor=False)
        self.out = nn.Linear(d, 2)

    def forward(self, tokens):
        mask = tokens != PAD  # FAULT
        mask = tokens == PAD  # REPAIRED
        h = self.encoder(self.emb(tokens) + self.pos, src_key_padding_mask=mask)
        return self.out(h[:, 0])


tokens, label = sample(800)
test_tokens, test_label = sample(300)
net = Scorer()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(10):
    net.train()
    for rows in torch.randperm(800).split(40):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(tokens[rows]), label[rows])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(test_tokens).argmax(1) == test_label).float().mean()
    print(epoch, "loss", round(loss.item(), 3), "test accuracy", round(acc.item(), 3))
