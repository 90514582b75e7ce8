"""Encoder-decoder with two GRUs: pick the digits out of a noisy string and write them down backwards."""

# fault: optimizer_missing_params
import torch
import torch.nn as nn
import torch.nn.functional as F

SOS = 8  # 0 to 7 are digits; the source has letters 8 to 13 as well
LEN, PICK = 10, 4


class Encoder(nn.Module):
    def __init__(self, n_symbols, emb_dim, hid_dim):
        super().__init__()
        self.embedding = nn.Embedding(n_symbols, emb_dim)
        self.gru = nn.GRU(emb_dim, hid_dim)

    def forward(self, src):
        _, hidden = self.gru(self.embedding(src))
        return hidden


class Decoder(nn.Module):
    def __init__(self, n_symbols, emb_dim, hid_dim):
        super().__init__()
        self.embedding = nn.Embedding(n_symbols, emb_dim)
        self.gru = nn.GRU(emb_dim, hid_dim)
        self.out = nn.Linear(hid_dim, n_symbols)

    def forward(self, tokens, hidden):
        output, hidden = self.gru(self.embedding(tokens), hidden)
        return self.out(output), hidden


def batch(n):
    src = torch.randint(8, 14, (LEN, n))
    digits = torch.randint(0, 8, (PICK, n))
    places = torch.rand(LEN, n).argsort(0)[:PICK].sort(0).values
    return src.scatter(0, places, digits), digits.flip(0)


def greedy(encoder, decoder, src):
    hidden = encoder(src)
    token = torch.full((1, src.size(1)), SOS)
    result = []
    for _ in range(PICK):
        logits, hidden = decoder(token, hidden)
        token = logits.argmax(-1)
        result.append(token)
    return torch.cat(result)


def main():
    torch.manual_seed(42)
    encoder = Encoder(14, 24, 80)
    decoder = Decoder(SOS + 1, 24, 80)
    optimizer = torch.optim.Adam(decoder.parameters(), lr=5e-3)  # FAULT
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)  # REPAIRED
    test_src, test_tgt = batch(400)
    for step in range(1, 401):
        encoder.train()
        decoder.train()
        src, tgt = batch(64)
        dec_in = torch.cat([torch.full((1, 64), SOS), tgt[:-1]])
        logits, _ = decoder(dec_in, encoder(src))
        loss = F.cross_entropy(logits.reshape(-1, SOS + 1), tgt.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 80 == 0:
            encoder.eval()
            decoder.eval()
            with torch.no_grad():
                exact = (greedy(encoder, decoder, test_src) == test_tgt).all(0).float().mean().item()
            print(f"step {step}  loss {loss.item():.4f}  whole strings right {exact:.3f}")


if __name__ == "__main__":
    main()
