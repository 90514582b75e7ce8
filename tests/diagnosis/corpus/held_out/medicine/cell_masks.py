"""Segment drawn cells (bright noisy discs) with a small convolutional encoder-decoder."""

# fault: graph_growth
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)
SIZE = 24
ys, xs = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")


def draw_cells(n):
    masks = torch.zeros(n, 1, SIZE, SIZE)
    for _ in range(3):
        cx, cy = torch.rand(2, n, 1, 1) * (SIZE - 6) + 3
        r = torch.rand(n, 1, 1) * 2.5 + 2.0
        disc = ((xs - cx) ** 2 + (ys - cy) ** 2 <= r**2).float().unsqueeze(1)
        masks = torch.maximum(masks, disc)
    images = 0.9 * masks + 0.5 * torch.randn_like(masks) - 0.2
    return images, masks


def soft_dice(prob, mask):
    overlap = (prob * mask).sum(dim=(1, 2, 3))
    return (2 * overlap / (prob.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3)) + 1e-6)).mean()


class CellNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(1, 12, 3, padding=1)
        self.down2 = nn.Conv2d(12, 24, 3, padding=1, stride=2)
        self.mid = nn.Conv2d(24, 24, 3, padding=1)
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.last = nn.Conv2d(24, 1, 3, padding=1)

    def forward(self, img):
        a = F.relu(self.down1(img))
        b = F.relu(self.down2(a))
        b = F.relu(self.mid(b))
        c = F.relu(self.up(b))
        return self.last(torch.cat([a, c], dim=1))


train_img, train_mask = draw_cells(640)
val_img, val_mask = draw_cells(128)
net = CellNet()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)

dice_total, steps = 0.0, 0
for epoch in range(8):
    for idx in torch.randperm(640).split(32):
        logits = net(train_img[idx])
        loss = F.binary_cross_entropy_with_logits(logits, train_mask[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        dice = soft_dice(logits.sigmoid(), train_mask[idx])
        dice_total += dice  # FAULT
        dice_total += dice.item()  # REPAIRED
        steps += 1
    net.eval()
    with torch.no_grad():
        val_dice = soft_dice((net(val_img) > 0).float(), val_mask).item()
    net.train()
    print(f"epoch {epoch}: bce {loss.item():.3f}  train dice so far {dice_total / steps:.3f}  val dice {val_dice:.3f}")
