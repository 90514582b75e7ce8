"""Slot tagging of short travel requests (city, day, number, other) with a convolutional tagger on padded batches."""

# fault: unmasked_padding
import numpy as np
import torch
from torch import nn

rng = np.random.RandomState(11)
torch.manual_seed(11)

PAD = 0
TAGS = ["O", "FROM", "TO", "DAY", "NUM"]
N_CITY, N_DAY, N_NUM, N_FILL = 150, 7, 20, 250
CITY0, DAY0, NUM0, FILL0 = 3, 3 + N_CITY, 3 + N_CITY + N_DAY, 3 + N_CITY + N_DAY + N_NUM
VOCAB = FILL0 + N_FILL  # 1 = "from", 2 = "to"


def request():
    """the tag of a city depends on the word in front of it"""
    pieces = [([1, CITY0 + rng.randint(N_CITY)], [0, 1]), ([2, CITY0 + rng.randint(N_CITY)], [0, 2])]
    pieces.append(([DAY0 + rng.randint(N_DAY)], [3]))
    pieces.append(([NUM0 + rng.randint(N_NUM)], [4]))
    n_fill = rng.randint(1, 4) if rng.rand() < 0.93 else rng.randint(25, 50)
    pieces += [([FILL0 + rng.randint(N_FILL)], [0]) for _ in range(n_fill)]
    rng.shuffle(pieces)
    keep = pieces[: rng.randint(4, 8)] if n_fill < 10 else pieces
    return [w for p in keep for w in p[0]], [t for p in keep for t in p[1]]


def collate(items):
    longest = max(len(w) for w, _ in items)
    words = torch.full((len(items), longest), PAD)
    tags = torch.zeros(len(items), longest, dtype=torch.long)
    for i, (w, t) in enumerate(items):
        words[i, : len(w)] = torch.tensor(w)
        tags[i, : len(t)] = torch.tensor(t)
    return words, tags, (words != PAD).float()


class ConvTagger(nn.Module):
    def __init__(self, dim=32, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.conv = nn.Conv1d(dim, hidden, kernel_size=3, padding=1)
        self.out = nn.Linear(hidden, len(TAGS))

    def forward(self, words):
        h = torch.relu(self.conv(self.emb(words).transpose(1, 2)))
        return torch.log_softmax(self.out(h.transpose(1, 2)), dim=-1)


train = [request() for _ in range(2000)]
valid = [request() for _ in range(400)]
loader = torch.utils.data.DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
tagger = ConvTagger()
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.15)

for epoch in range(5):
    tagger.train()
    running = 0.0
    for words, tags, mask in loader:
        log_p = tagger(words)
        nll = -log_p.gather(2, tags.unsqueeze(2)).squeeze(2)
        loss = nll.mean()  # FAULT
        loss = (nll * mask).sum() / mask.sum()  # REPAIRED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()

    tagger.eval()
    with torch.no_grad():
        words, tags, mask = collate(valid)
        slot = mask.bool() & (tags > 0)
        hits = tagger(words).argmax(-1) == tags
    print(
        f"epoch {epoch + 1}  loss {running / len(loader):.4f}  word acc {hits[mask.bool()].float().mean():.3f}"
        f"  slot acc {hits[slot].float().mean():.3f}"
    )
