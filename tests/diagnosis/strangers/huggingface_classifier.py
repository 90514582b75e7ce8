"""Hugging Face: the Trainer with a small BERT that learns which of two words is the commoner one in a text."""

import tempfile
import warnings

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback, TrainerCallback

warnings.filterwarnings("ignore")


class Texts(torch.utils.data.Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(2, (count,), generator=g)
        self.tokens = torch.randint(7, 60, (count, 16), generator=g)
        chosen = torch.rand(count, 16, generator=g)
        self.tokens[chosen < 0.35] = (5 + self.labels[:, None].expand(-1, 16))[chosen < 0.35]
        self.tokens[chosen > 0.9] = (6 - self.labels[:, None].expand(-1, 16))[chosen > 0.9]
        self.tokens[:, 0] = 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {
            "input_ids": self.tokens[i],
            "attention_mask": torch.ones_like(self.tokens[i]),
            "labels": self.labels[i],
        }


def accuracy(prediction):
    return {"accuracy": float(np.mean(prediction.predictions.argmax(1) == prediction.label_ids))}


class Told(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        kept = {k: v for k, v in sorted(logs.items()) if "runtime" not in k and "per_second" not in k}
        print(state.global_step, kept)


def main():
    set_seed(11)
    config = BertConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=16,
        num_labels=2,
    )
    model = BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=3,
            per_device_train_batch_size=32,
            per_device_eval_batch_size=64,
            learning_rate=2e-3,
            warmup_steps=15,
            weight_decay=0.01,
            eval_strategy="epoch",
            logging_steps=25,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            seed=11,
        )
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=Texts(2000, 0),
            eval_dataset=Texts(400, 1),
            compute_metrics=accuracy,
            callbacks=[Told()],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        print(trainer.evaluate()["eval_accuracy"], trainer.predict(Texts(8, 2)).predictions.tolist())


if __name__ == "__main__":
    main()
