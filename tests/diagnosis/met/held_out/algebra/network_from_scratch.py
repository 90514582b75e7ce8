"""A network with one hidden layer from plain tensors, as a first lesson has it."""
# fault: init_too_large

import torch
from sklearn.datasets import load_digits

torch.manual_seed(50)
data = load_digits(return_X_y=True)
X, Y = torch.tensor(data[0], dtype=torch.float32) / 16, torch.tensor(data[1])
hidden, lr = 128, 0.1
W1 = torch.randn(64, hidden)  # FAULT
W1 = torch.randn(64, hidden) / 64**0.5  # REPAIRED
W2 = torch.randn(hidden, 10)  # FAULT
W2 = torch.randn(hidden, 10) / hidden**0.5  # REPAIRED
b1, b2 = torch.zeros(hidden), torch.zeros(10)
params = [W1, b1, W2, b2]
for p in params:
    p.requires_grad_()
for step in range(300):
    i = torch.randint(1400, (64,))
    h = torch.tanh(X[i] @ W1 + b1)
    logits = h @ W2 + b2
    loss = torch.nn.functional.cross_entropy(logits, Y[i])
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad.zero_()
    if step % 60 == 0:
        print(step, loss.item())
