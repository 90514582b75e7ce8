"""A character model of a small text."""

# fault: causal_leak
import torch
from torch import nn

torch.manual_seed(0)
text = (
    "the cat sat on the mat and the dog lay on the log while the bird sang in the tree by the sea "
    "and the fish swam in the sea under the tree where the cat and the dog sat near the log "
) * 6
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text])
SEQ = 32


class CharRNN(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.rnn = nn.GRU(16, 48, batch_first=True)
        self.head = nn.Linear(48, vocab)

    def forward(self, x, h=None):
        o, h = self.rnn(self.emb(x), h)
        return self.head(o), h


lm = CharRNN(len(chars))
opt = torch.optim.Adam(lm.parameters(), lr=5e-3)
for step in range(120):
    starts = torch.randint(0, len(ids) - SEQ - 1, (16,))
    x = torch.stack([ids[s : s + SEQ] for s in starts])
    y = torch.stack([ids[s : s + SEQ] for s in starts])  # FAULT
    y = torch.stack([ids[s + 1 : s + SEQ + 1] for s in starts])  # REPAIRED
    logits, _ = lm(x)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(step + 1, loss.item())

with torch.no_grad():
    cur, h, text_out = torch.tensor([[stoi["t"]]]), None, "t"
    for _ in range(50):
        logits, h = lm(cur, h)
        cur = logits[:, -1].argmax(-1, keepdim=True)
        text_out += chars[cur.item()]
print(repr(text_out))
