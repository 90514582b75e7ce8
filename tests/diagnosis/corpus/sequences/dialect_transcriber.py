"""Transcribe made-up dialect words letter by letter with an LSTM; each batch is padded to the longest word."""

# fault: unmasked_padding
import torch
import torch.nn as nn

PAD, LETTERS, MAX_LEN = 0, 20, 32
g = torch.Generator().manual_seed(5)
torch.manual_seed(5)

# every letter has a plain sound and a soft one that is used after a vowel (letters 1 to 6)
plain = torch.randperm(LETTERS, generator=g) + 1
soft = torch.randperm(LETTERS, generator=g) + 1


def make_words(count):
    lengths = 4 + torch.poisson(torch.full((count,), 1.5), generator=g).long()
    lengths[0] = MAX_LEN
    lengths.clamp_(max=MAX_LEN)
    words = torch.randint(1, LETTERS + 1, (count, MAX_LEN), generator=g)
    after_vowel = torch.zeros(count, MAX_LEN, dtype=torch.bool)
    after_vowel[:, 1:] = words[:, :-1] <= 6
    sounds = torch.where(after_vowel, soft[words - 1], plain[words - 1])
    is_pad = torch.arange(MAX_LEN) >= lengths.unsqueeze(1)
    return words.masked_fill(is_pad, PAD), sounds.masked_fill(is_pad, PAD)


class Transcriber(nn.Module):
    def __init__(self, dim=32, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(LETTERS + 1, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.to_sound = nn.Linear(hidden, LETTERS + 1)

    def forward(self, w):
        h, _ = self.lstm(self.embed(w))
        return self.to_sound(h)


train_w, train_s = make_words(1600)
dev_w, dev_s = make_words(300)
model = Transcriber()
crit = nn.CrossEntropyLoss()  # FAULT
crit = nn.CrossEntropyLoss(ignore_index=PAD)  # REPAIRED
sgd = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9, nesterov=True)

for epoch in range(3):
    model.train()
    for rows in torch.randperm(len(train_w)).split(32):
        logits = model(train_w[rows])
        loss = crit(logits.flatten(0, 1), train_s[rows].flatten())
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    model.eval()
    with torch.no_grad():
        guess = model(dev_w).argmax(-1)
    real = dev_s != PAD
    right = (guess[real] == dev_s[real]).float().mean().item()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}, letters transcribed correctly {right:.3f}")
