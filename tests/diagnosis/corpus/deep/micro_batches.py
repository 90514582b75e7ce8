"""Robot-arm forward kinematics by an MLP, trained in micro-batches because of a (pretended) small memory."""
# fault: unscaled_accumulation

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(1234)

LINKS = torch.tensor([1.0, 0.8, 0.5])
MICRO_BATCH, ACCUM_STEPS = 16, 16

angles = (torch.rand(4096, 3) - 0.5) * 3.0
absolute = angles.cumsum(dim=1)
tip = torch.stack([(LINKS * absolute.cos()).sum(1), (LINKS * absolute.sin()).sum(1)], dim=1)
tip = (tip - tip.mean(0)) / tip.std(0)
inputs = angles / angles.std()

train_set, test_set = random_split(TensorDataset(inputs, tip), [3584, 512])
train_loader = DataLoader(train_set, batch_size=MICRO_BATCH, shuffle=True)
test_loader = DataLoader(test_set, batch_size=512)

model = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
criterion = nn.SmoothL1Loss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)

updates = 0
for epoch in range(16):
    model.train()
    optimizer.zero_grad()
    seen = 0.0
    for i, (xb, yb) in enumerate(train_loader):
        loss = criterion(model(xb), yb)
        seen += loss.item()
        loss.backward()  # FAULT
        (loss / ACCUM_STEPS).backward()  # REPAIRED
        if (i + 1) % ACCUM_STEPS == 0:
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
    model.eval()
    with torch.no_grad():
        test = sum(criterion(model(xb), yb).item() for xb, yb in test_loader) / len(test_loader)
    print(f"epoch {epoch:2d} updates {updates:3d} train loss {seen / len(train_loader):.4f} test loss {test:.4f}")
