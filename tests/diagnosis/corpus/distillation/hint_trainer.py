"""FitNet-style distillation: a deep narrow student copies the hidden features of a wide teacher, then classifies."""
# fault: optimizer_missing_params

import logging

import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("kd")


class Wide(nn.Module):
    def __init__(self, d, classes):
        super().__init__()
        self.feat = nn.Sequential(nn.Linear(d, 160), nn.ReLU())
        self.cls = nn.Linear(160, classes)

    def forward(self, x):
        return self.cls(self.feat(x))


class HintTrainer:
    """Keeps the student's encoder, its head and the projection to the teacher's feature space."""

    def __init__(self, teacher, d, classes, beta=0.5):
        self.teacher = teacher.eval().requires_grad_(False)
        self.encoder = nn.Sequential(nn.Linear(d, 40), nn.GELU(), nn.Linear(40, 40), nn.GELU())
        self.head = nn.Sequential(nn.Linear(40, 40), nn.GELU(), nn.Linear(40, classes))
        self.project = nn.Linear(40, 160)
        self.beta = beta
        self.ce = nn.CrossEntropyLoss()
        weights = list(self.encoder.parameters()) + list(self.project.parameters())
        weights += list(self.head.parameters())  # REPAIRED
        self.opt = torch.optim.AdamW(weights, lr=3e-3, weight_decay=1e-3)

    def training_step(self, xb, yb):
        z = self.encoder(xb)
        with torch.no_grad():
            hint = self.teacher.feat(xb)
        hint_loss = (self.project(z) - hint).pow(2).mean()
        ce_loss = self.ce(self.head(z), yb)
        total = ce_loss + self.beta * hint_loss
        self.opt.zero_grad()
        total.backward()
        self.opt.step()
        return ce_loss.item(), hint_loss.item()

    @torch.no_grad()
    def score(self, x, y):
        return (self.head(self.encoder(x)).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(13)
    x, y = make_classification(
        4000, 24, n_informative=10, n_classes=5, n_clusters_per_class=1, class_sep=1.8, flip_y=0.02, random_state=13
    )
    x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.3, stratify=y, random_state=1)
    scaler = StandardScaler().fit(x_tr)
    x_tr, x_te = (torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (x_tr, x_te))
    y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)
    loader = DataLoader(TensorDataset(x_tr, y_tr), batch_size=70, shuffle=True)

    teacher = Wide(24, 5)
    opt = torch.optim.AdamW(teacher.parameters(), lr=3e-3, weight_decay=1e-2)
    for _ in range(6):
        for xb, yb in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(teacher(xb), yb).backward()
            opt.step()
    with torch.no_grad():
        log.info("teacher accuracy %.3f", (teacher(x_te).argmax(1) == y_te).float().mean().item())

    trainer = HintTrainer(teacher, 24, 5)
    for epoch in range(8):
        parts = [trainer.training_step(xb, yb) for xb, yb in loader]
        ce, hint = (sum(col) / len(col) for col in zip(*parts))
        log.info("epoch %d  ce %.4f  hint %.4f  student accuracy %.3f", epoch, ce, hint, trainer.score(x_te, y_te))


if __name__ == "__main__":
    main()
