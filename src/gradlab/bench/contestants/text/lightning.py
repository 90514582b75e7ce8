"""Lightning with its defaults, less what writes or draws: the setting most favourable to it."""

from typing import Any

import lightning
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gradlab.bench.cases import Case
from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.contestants.lightning import quiet
from gradlab.bench.contestants.text.plain import plain
from gradlab.bench.work import Work


class Lightning(Contestant):
    """A LightningModule around the model, and a Trainer."""

    def __init__(self) -> None:
        quiet()

    def build(self, work: Work) -> nn.Module:
        return plain(work)

    def train(self, model: nn.Module, work: Work) -> int:
        data = TensorDataset(torch.from_numpy(work.inputs), torch.from_numpy(work.targets))
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_epochs=work.case.epochs,
            gradient_clip_val=work.case.clip,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(_Module(model, work.case), DataLoader(data, batch_size=work.case.batch_size, shuffle=True))
        return int(trainer.global_step)


class _Module(lightning.LightningModule):  # type: ignore[misc, unused-ignore]  # untyped where it is not installed
    def __init__(self, model: nn.Module, case: Case):
        super().__init__()
        self.model, self.case = model, case

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Any:
        x, y = batch
        return F.cross_entropy(self.model(x).flatten(0, 1), y.flatten())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        optimizer: torch.optim.Optimizer = getattr(torch.optim, self.case.optimizer)(
            self.model.parameters(), lr=self.case.lr, weight_decay=self.case.weight_decay
        )
        return optimizer
