"""Teach a transformer encoder to sort eight digits from 0 to 7: position i of the output is the i-th smallest one."""

# fault: wrong_loss_axis
import torch
from torch import nn

torch.manual_seed(2024)
LENGTH = 8
DIGITS = 8


def sample(batch):
    digits = torch.randint(DIGITS, (batch, LENGTH))
    return digits, digits.sort(dim=1).values


class Sorter(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.digit = nn.Embedding(DIGITS, width)
        self.place = nn.Parameter(0.1 * torch.randn(LENGTH, width))
        layer = nn.TransformerEncoderLayer(width, 4, 128, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, DIGITS))

    def forward(self, digits):
        return self.head(self.body(self.digit(digits) + self.place))


net = Sorter()
criterion = nn.CrossEntropyLoss()
optim = torch.optim.NAdam(net.parameters(), lr=1.5e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=280)
test_digits, test_sorted = sample(1000)

for step in range(1, 281):
    digits, target = sample(48)
    out = net(digits)
    loss = criterion(out, target)  # FAULT
    loss = criterion(out.transpose(1, 2), target)  # REPAIRED
    optim.zero_grad()
    loss.backward()
    optim.step()
    sched.step()
    if step % 40 == 0:
        net.eval()
        with torch.no_grad():
            hit = net(test_digits).argmax(dim=2) == test_sorted
        net.train()
        digit_acc, row_acc = hit.float().mean(), hit.all(1).float().mean()
        print(f"{step:4d} loss={loss.item():.3f} digit_acc={digit_acc:.3f} row_acc={row_acc:.3f}")
