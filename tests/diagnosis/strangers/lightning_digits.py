"""Lightning: a module with its own losses, optimiser and schedule; the trainer has the loop."""

import logging
import warnings

import lightning as L
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class LitDigits(L.LightningModule):
    def __init__(self, hidden=64, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, 10))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.log_dict(
            {"val_loss": nn.functional.cross_entropy(logits, y), "val_acc": (logits.argmax(1) == y).float().mean()}
        )

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)]


class Table(L.Callback):
    def on_validation_epoch_end(self, trainer, module):
        figures = {name: value.item() for name, value in sorted(trainer.callback_metrics.items())}
        print(trainer.current_epoch, {name: value.hex() for name, value in figures.items()})


def main():
    L.seed_everything(3, workers=True, verbose=False)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    parts = train_test_split(x, torch.tensor(digits.target), test_size=0.25, random_state=3)
    train_set, val_set = TensorDataset(parts[0], parts[2]), TensorDataset(parts[1], parts[3])
    trainer = L.Trainer(
        max_epochs=12,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=1.0,
        callbacks=[Table()],
    )
    model = LitDigits()
    trainer.fit(model, DataLoader(train_set, 64, shuffle=True), DataLoader(val_set, 256))
    print(trainer.validate(model, DataLoader(val_set, 256), verbose=False))


if __name__ == "__main__":
    main()
