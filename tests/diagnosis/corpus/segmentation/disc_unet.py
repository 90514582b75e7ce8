"""U-Net that finds bright discs in noisy 24x24 pictures."""
# fault: sigmoid_before_bce_logits

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"


def make_images(count, size=24):
    grid = torch.arange(size).float()
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    masks = torch.zeros(count, 1, size, size)
    for _ in range(2):
        cx = torch.rand(count, 1, 1) * (size - 8) + 4
        cy = torch.rand(count, 1, 1) * (size - 8) + 4
        r = 2 + 3 * torch.rand(count, 1, 1)
        inside = (xx - cx) ** 2 + (yy - cy) ** 2 < r**2
        masks[:, 0] = torch.maximum(masks[:, 0], inside.float())
    imgs = masks * 1.2 + 0.8 * torch.randn_like(masks) + 0.3 * torch.randn(count, 1, 1, 1)
    return imgs, masks


def double_conv(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1),
        nn.GroupNorm(4, c_out),
        nn.LeakyReLU(0.1, inplace=True),
        nn.Conv2d(c_out, c_out, 3, padding=1),
        nn.GroupNorm(4, c_out),
        nn.LeakyReLU(0.1, inplace=True),
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = double_conv(1, 8)
        self.down2 = double_conv(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.merge = double_conv(16, 8)
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.merge(torch.cat([a, self.up(b)], dim=1))
        return torch.sigmoid(self.last(c))  # FAULT
        return self.last(c)  # REPAIRED


data = TensorDataset(*make_images(480))
train_set, val_set = random_split(data, [400, 80])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = DataLoader(val_set, batch_size=80)

unet = UNet().to(device)
loss_fn = nn.BCEWithLogitsLoss()
optim = torch.optim.Adam(unet.parameters(), lr=3e-3)

for epoch in range(6):
    unet.train()
    running = 0.0
    for img, msk in train_loader:
        img, msk = img.to(device), msk.to(device)
        optim.zero_grad()
        loss = loss_fn(unet(img), msk)
        loss.backward()
        optim.step()
        running += loss.item()

    unet.eval()
    inter = union = 0
    with torch.no_grad():
        for img, msk in val_loader:
            pred = torch.sigmoid(unet(img.to(device))) > 0.5
            truth = msk.to(device) > 0.5
            inter += (pred & truth).sum().item()
            union += (pred | truth).sum().item()
    print(f"Epoch {epoch + 1}: train loss = {running / len(train_loader):.4f}, val IoU = {inter / union:.3f}")
