"""Batches are too large for the card: gradients of four are to be summed before a step."""
# fault: batches_unused

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

torch.manual_seed(8)
features = torch.randn(1600, 20)
weights = torch.randn(20, 5)
classes = (features @ weights + 0.5 * torch.randn(1600, 5)).argmax(1)
train_loader = DataLoader(TensorDataset(features, classes), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
accumulation_steps = 4
for epoch in range(8):
    bar = tqdm(train_loader, disable=True)
    for i, (inputs, labels) in enumerate(bar):
        optimizer.zero_grad()  # FAULT
        loss = nn.functional.cross_entropy(model(inputs), labels) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()  # REPAIRED
    print(epoch, loss.item() * accumulation_steps)
