"""Is a short review good or bad? A transformer encoder reads the words, and its mask came from another library."""
# fault: inverted_padding_mask

import torch
import torch.nn as nn

torch.manual_seed(0)
PAD, WORDS, LENGTH = 0, 60, 24


def reviews(count):
    good = torch.randint(0, 2, (count,))
    ids = torch.randint(10, WORDS, (count, LENGTH))
    size = torch.randint(6, LENGTH - 3, (count,))
    for row in range(count):
        for _ in range(3):  # words that tell, 1 to 4 or 5 to 9
            word = torch.randint(1, 5, ()) if good[row] else torch.randint(5, 10, ())
            ids[row, torch.randint(0, int(size[row]), ())] = word
        ids[row, size[row] :] = PAD
    return ids, good


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 32, padding_idx=PAD)
        self.places = nn.Parameter(torch.randn(LENGTH, 32) * 0.02)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(32, 2)

    def forward(self, ids):
        mask = ids != PAD  # FAULT
        mask = ids == PAD  # REPAIRED
        h = self.encoder(self.words(ids) + self.places, src_key_padding_mask=mask)
        return self.out(h[:, 0])


x, y = reviews(1000)
held, answers = reviews(200)
model = Reader()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    model.train()
    for i in torch.randperm(1000).split(32):
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (model(held).argmax(1) == answers).float().mean().item())
