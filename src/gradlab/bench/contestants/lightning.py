"""Lightning with its defaults, less what writes or draws: the setting most favourable to it."""

import logging
import warnings
from typing import Any

import lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.work import Work


class Lightning(Contestant):
    """A LightningModule around the model, and a Trainer."""

    def __init__(self) -> None:
        quiet()

    def train(self, model: nn.Module, work: Work) -> int:
        data = TensorDataset(torch.from_numpy(work.inputs), torch.from_numpy(work.targets))
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_epochs=work.case.epochs,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(_Module(model, work.case.lr), DataLoader(data, batch_size=work.case.batch_size, shuffle=True))
        return int(trainer.global_step)


def quiet() -> None:
    """Without its advice."""
    warnings.filterwarnings("ignore", module="lightning")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class _Module(lightning.LightningModule):  # type: ignore[misc, unused-ignore]  # untyped where it is not installed
    def __init__(self, model: nn.Module, lr: float):
        super().__init__()
        self.model, self.lr = model, lr
        self.criterion = nn.CrossEntropyLoss()

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Any:
        x, y = batch
        return self.criterion(self.model(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.model.parameters(), lr=self.lr)
