"""Set transformer that counts the clusters (1 to 4) in an unordered set of points in the plane."""

# fault: unregistered_params
import torch
import torch.nn as nn
import torch.nn.functional as F


class SAB(nn.Module):
    """set attention block"""

    def __init__(self, d, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        B, N, D = x.shape
        q, k, v = self.qkv(self.n1(x)).view(B, N, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, N, D)
        x = x + self.proj(a)
        return x + self.ff(self.n2(x))


class ClusterCounter(nn.Module):
    def __init__(self, d=32, depth=2, classes=4):
        super().__init__()
        self.lift = nn.Linear(2, d)
        self.blocks = [SAB(d) for _ in range(depth)]  # FAULT
        self.blocks = nn.ModuleList(SAB(d) for _ in range(depth))  # REPAIRED
        self.readout = nn.Linear(d, classes)

    def forward(self, pts):
        x = self.lift(pts)
        for b in self.blocks:
            x = b(x)
        return self.readout(x.mean(1))


def sample_sets(n, points=12):
    k = torch.randint(1, 5, (n,))
    cell = torch.rand(n, 9).argsort(1)[:, :4]  # four different cells of a 3 x 3 grid
    centres = torch.stack([cell % 3, cell // 3], -1) - 1 + 0.1 * torch.randn(n, 4, 2)
    owner = (torch.rand(n, points) * k[:, None]).long()
    owner[:, :4] = torch.minimum(torch.arange(4).expand(n, 4), k[:, None] - 1)
    pts = centres.gather(1, owner.unsqueeze(-1).expand(-1, -1, 2)) + 0.08 * torch.randn(n, points, 2)
    return pts, k - 1


def main():
    torch.manual_seed(30)
    model = ClusterCounter()
    optim = torch.optim.Adam(model.parameters(), lr=3e-3)
    x_test, y_test = sample_sets(400)
    for it in range(330):
        x, y = sample_sets(32)
        loss = F.cross_entropy(model(x), y)
        optim.zero_grad(set_to_none=True)
        loss.backward()
        optim.step()
        if (it + 1) % 60 == 0:
            with torch.no_grad():
                pred = model(x_test).argmax(-1)
            print(f"{it + 1:4d}: loss={loss.item():.3f} test_acc={(pred == y_test).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
