"""Arguments of `fit`: names that it does not have, and values of the wrong kind, refused before data are read."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn
from torch.nn.parameter import is_lazy

from gradlab.errors import GradlabError, unknown
from gradlab.files import check_path
from gradlab.registry import shortly
from gradlab.tasks import Criterion
from gradlab.training.observers import Observer
from gradlab.training.plan import plan_schema

_SAME = {
    "observers": "callbacks callback",
    "validation": "validation_data val_data valid_data validation_set eval_dataset eval_set val_loader val_dataloaders",
    "lr": "learning_rate eta step_size",
    "epochs": "epochs_ num_epochs max_epochs num_train_epochs n_epochs nb_epoch n_epoch",
    "steps": "max_steps num_steps n_steps num_training_steps max_iter steps_per_epoch limit_train_batches",
    "batch_size": "batchsize batch bs train_batch_size per_device_train_batch_size",
    "weight_decay": "weight_decay_ wd l2",
    "seed": "random_state random_seed manual_seed rng",
    "loss": "loss_fn loss_function loss_func compute_loss_func",
    "metrics": "compute_metrics scoring metric",
    "optimizer": "optim optimizers optimiser",
    "schedule": "scheduler lr_scheduler lr_scheduler_type lr_schedule warmup_steps warmup_ratio",
    "clip": "max_grad_norm gradient_clip_val clip_norm clipnorm grad_clip gradient_clip clip_grad_norm",
    "accumulate": "accumulate_grad_batches gradient_accumulation_steps",
    "patience": "early_stopping early_stopping_patience",
    "out": "output_dir default_root_dir save_dir log_dir logdir checkpoint_dir dirpath resume resume_from_checkpoint",
    "device": "accelerator devices gpus use_cuda use_cpu",
    "log_every": "logging_steps log_every_n_steps log_interval",
    "evaluate_every": "eval_steps val_check_interval eval_every validation_freq",
    "checkpoint_every": "save_steps save_every",
    "precision": "fp16 bf16 amp mixed_precision use_amp",
    "compile": "torch_compile jit_compile",
    "ema": "ema_decay use_ema",
}
_REMARKS = {
    "validation_split": "The share of the data to hold out is validation=0.2",
    "val_split": "The share of the data to hold out is validation=0.2",
    "train_split": "The share of the data to hold out is validation=0.2",
    "verbose": "It prints nothing while it trains: an observer may, and history has every line",
    "progress_bar": "It prints nothing while it trains: an observer may, and history has every line",
    "shuffle": "Arrays and Datasets are shuffled in each epoch, by seed; a DataLoader keeps its own order",
    "num_workers": "Workers read the batches of a DataLoader: give one as the data",
    "sample_weight": "Weights of examples are the third part of the data: (X, y, weights)",
    "class_weight": "Weights of classes are those of a loss: loss=nn.CrossEntropyLoss(weight=…)",
    "momentum": "It belongs to an optimizer: optimizer={'name': 'momentum', 'momentum': 0.9}",
    "betas": "They belong to an optimizer: optimizer={'name': 'adam', 'beta1': 0.9, 'beta2': 0.999}",
    "dropout": "It is a part of the module: nn.Dropout",
} | dict.fromkeys(
    ("X", "x", "y", "train_data", "train_dataset", "dataset", "dataloader", "train_loader", "train_dataloaders"),
    "The data are the second argument: (X, y), a Dataset or a DataLoader",
)


def check_names(values: Collection[str], function: Callable[..., Any]) -> None:
    """Refuse keywords that neither the function nor the training plan has, with the name that is meant."""
    own = {name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY}
    ours = {name: key for key, names in _SAME.items() for name in names.split()}
    for name in values:
        if name in plan_schema.knobs or name in own:
            continue
        if name in _REMARKS:
            raise GradlabError(f"There is no key in fit, {name!r}. {_REMARKS[name]}.")
        if name in ours:
            raise GradlabError(f"There is no key in fit, {name!r}: here it is called {ours[name]}.")
        raise unknown("key in fit,", name, {*plan_schema.knobs, *own})


def check_model(model: Any) -> None:
    """Refuse what is no module, or one that cannot be trained as it is."""
    if not isinstance(model, nn.Module):
        instance = " Give an instance of it." if isinstance(model, type) else ""
        raise GradlabError(f"The model must be a torch.nn.Module, got {shortly(model)}.{instance}")
    tensors = dict([*model.named_parameters(), *model.named_buffers()])
    for name, tensor in tensors.items():
        if is_lazy(tensor):
            raise GradlabError(f"{name} has no shape yet: call the model once on a batch, as lazy modules need it.")
        if tensor.is_meta:
            raise GradlabError(f"{name} is on the device meta, without values: model.to_empty, and initialise it.")
        if tensor.is_inference():
            raise GradlabError(
                f"{name} was made under torch.inference_mode(), so that nothing can be learned: build the model "
                "outside of it."
            )
    if not any(p.requires_grad for p in model.parameters()) and not hasattr(model, "learn_without_gradients"):
        raise GradlabError("The model has no parameter to train.")


def check_observers(observers: Any) -> None:
    """Refuse what is no sequence of observers."""
    if not isinstance(observers, Sequence) or not all(isinstance(one, Observer) for one in observers):
        raise GradlabError(
            f"observers must be a list of instances of gradlab.Observer, got {shortly(observers)}. A subclass of it "
            "overrides the methods that it needs."
        )


def check_metrics(metrics: Any) -> None:
    """Refuse what is no dictionary of functions."""
    if metrics is None or (isinstance(metrics, Mapping) and all(map(callable, metrics.values()))):
        return
    raise GradlabError(
        "metrics must be a dictionary of functions by name, as in {'hits': lambda output, target: …}, got "
        f"{shortly(metrics)}."
    )


def check_criterion(criterion: Any) -> None:
    """Refuse what names no figure."""
    figure = criterion.figure if isinstance(criterion, Criterion) else criterion
    if callable(criterion):
        raise GradlabError(
            f"criterion names the figure by which weights are kept; a loss is loss={shortly(criterion)}."
        )
    if criterion is not None and not (isinstance(figure, str) and figure):
        raise GradlabError(
            "criterion must be the name of a figure of the evaluation: 'accuracy' for one that should rise, '-error' "
            f"for one that should fall; got {shortly(criterion)}."
        )


def check_progress(progress: Any) -> None:
    if not isinstance(progress, bool):
        raise GradlabError(f"progress must be True or False, got {shortly(progress)}.")


def check_folder(out: Any) -> None:
    """Refuse what cannot name a folder."""
    if out is None:
        return
    if not isinstance(out, str | Path) or not str(out):
        raise GradlabError(f"out must be the name of a folder, got {shortly(out)}.")
    check_path(out, "out")
