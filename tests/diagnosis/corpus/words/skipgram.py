"""word2vec (skip-gram with negative sampling) on an artificial corpus whose words belong to hidden topics."""

# fault: lr_too_low
import numpy as np
import torch

rng = np.random.default_rng(5)
torch.manual_seed(5)

n_words, n_topics, window, dim, K = 240, 12, 3, 32, 5
topic_of = rng.permutation(n_words) % n_topics
members = [np.flatnonzero(topic_of == t) for t in range(n_topics)]
sentences = []
for _ in range(2400):
    t = rng.integers(n_topics)
    noise = rng.random(10) < 0.1
    sentences.append(np.where(noise, rng.integers(n_words, size=10), rng.choice(members[t], 10)))

pairs = []
for s in sentences:
    for i in range(10):
        for j in range(max(0, i - window), min(10, i + window + 1)):
            if i != j:
                pairs.append((s[i], s[j]))
pairs = torch.tensor(np.array(pairs))
pairs = pairs[torch.randperm(len(pairs))]
print(len(pairs), "pairs")

# input and output vectors
U = torch.nn.Parameter(torch.randn(n_words, dim) / dim**0.5)
V = torch.nn.Parameter(torch.randn(n_words, dim) / dim**0.5)
opt = torch.optim.Adagrad([U, V], lr=5e-6)  # FAULT
opt = torch.optim.Adagrad([U, V], lr=0.2)  # REPAIRED


def sgns_loss(center, context, negative):
    u = U[center]
    good = torch.sigmoid((u * V[context]).sum(-1))
    bad = torch.sigmoid(-(V[negative] @ u.unsqueeze(-1)).squeeze(-1))
    return -(torch.log(good + 1e-7) + torch.log(bad + 1e-7).sum(-1)).mean()


def purity(top=5):
    """how many of the nearest neighbours share the topic"""
    with torch.no_grad():
        e = U / U.norm(dim=1, keepdim=True)
        sim = e @ e.T
        sim.fill_diagonal_(-2)
        nn_ids = sim.topk(top, dim=1).indices.numpy()
    return (topic_of[nn_ids] == topic_of[:, None]).mean()


avg = None
for step, batch in enumerate(pairs.split(256)):
    neg = torch.randint(n_words, (len(batch), K))
    loss = sgns_loss(batch[:, 0], batch[:, 1], neg)
    opt.zero_grad()
    loss.backward()
    opt.step()
    avg = loss.item() if avg is None else 0.98 * avg + 0.02 * loss.item()
    if step % 100 == 0:
        print(f"step {step:4d}  loss {avg:.4f}  neighbour purity {purity():.3f}")

print("final purity", round(float(purity()), 3))
