"""Two moons with a two-layer network."""

# fault: softmax_of_one
import torch
from sklearn.datasets import make_moons

torch.manual_seed(0)
points, side = make_moons(600, noise=0.15, random_state=1)
points = torch.FloatTensor(points)
labels = torch.FloatTensor(side).view(-1, 1)
xtr, xva, ytr, yva = points[:450], points[450:], labels[:450], labels[450:]

H = 20
model = torch.nn.Sequential()
model.add_module("hidden", torch.nn.Linear(2, H))
model.add_module("act", torch.nn.Tanh())
model.add_module("output", torch.nn.Linear(H, 1))
loss_func = torch.nn.CrossEntropyLoss()  # FAULT
loss_func = torch.nn.BCEWithLogitsLoss()  # REPAIRED
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

for step in range(300):
    pick = torch.randint(0, 450, (64,))
    out = model(xtr[pick])
    loss = loss_func(out, ytr[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        with torch.no_grad():
            acc = ((model(xva) > 0).float() == yva).float().mean()
        print("step", step + 1, "loss", loss.item(), "acc", acc.item())
