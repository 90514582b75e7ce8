"""Shot chart: does a basketball player score from a spot on the court, given the spot and the arm angle."""

# fault: missing_activation
import torch
import torch.nn as nn

torch.manual_seed(13)

# this player is good from a ring around the three-point line
n = 3000
spot = torch.rand(n, 2) * 2 - 1
angle = torch.randn(n, 1)
radius = spot.norm(dim=1)
hot = (radius > 0.5) & (radius < 0.95)
lucky = torch.rand(n) < 0.03
scored = (hot ^ lucky).long()
inputs = torch.cat([spot * 1.7, angle], dim=1)

train_in, train_out = inputs[:2400], scored[:2400]
test_in, test_out = inputs[2400:], scored[2400:]


class ShotNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(3, 64)
        self.layer2 = nn.Linear(64, 64)
        self.layer3 = nn.Linear(64, 2)

    def forward(self, x):
        x = self.layer1(x)  # FAULT
        x = self.layer2(x)  # FAULT
        x = torch.relu(self.layer1(x))  # REPAIRED
        x = torch.relu(self.layer2(x))  # REPAIRED
        return self.layer3(x)


net = ShotNet()
opt = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=1e-3)
decay = torch.optim.lr_scheduler.StepLR(opt, step_size=8, gamma=0.5)

for epoch in range(20):
    shuffled = torch.randperm(2400)
    for start in range(0, 2400, 80):
        rows = shuffled[start : start + 80]
        log_p = net(train_in[rows]).log_softmax(dim=1)
        nll = -log_p[torch.arange(len(rows)), train_out[rows]].mean()
        opt.zero_grad()
        nll.backward()
        opt.step()
    decay.step()
    if epoch % 4 == 3 or epoch == 0:
        with torch.no_grad():
            train_acc = (net(train_in).argmax(1) == train_out).float().mean()
            test_acc = (net(test_in).argmax(1) == test_out).float().mean()
        print(f"epoch {epoch + 1} nll {nll.item():.3f} train acc {train_acc:.3f} test acc {test_acc:.3f}")
