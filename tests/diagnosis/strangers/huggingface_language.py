"""Hugging Face: a small GPT-2 learns to count on, by the Trainer with accumulated gradients, then by a bare loop."""

import tempfile
import warnings

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
    get_cosine_schedule_with_warmup,
    set_seed,
)
from transformers.trainer_callback import PrinterCallback

warnings.filterwarnings("ignore")
set_seed(5)


def sequences(count):
    """Numbers that grow by a step of 1 to 4, now and then with a slip, until there is no more room: then padding."""
    start, step = torch.randint(20, (count, 1)), torch.randint(1, 5, (count, 1))
    numbers = (start + step * torch.arange(20)) % 23 + 1
    slips = torch.rand(count, 20) < 0.02
    numbers[slips] = torch.randint(1, 24, (int(slips.sum()),))
    lengths = torch.randint(12, 21, (count, 1))
    return numbers.masked_fill(torch.arange(20) >= lengths, 0)


def collate(rows):
    tokens = torch.stack(rows)
    return {
        "input_ids": tokens,
        "attention_mask": (tokens != 0).long(),
        "labels": tokens.masked_fill(tokens == 0, -100),
    }


config = GPT2Config(
    vocab_size=24, n_positions=20, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0, pad_token_id=0
)
train_rows, val_rows = list(sequences(1600)), list(sequences(200))

model = GPT2LMHeadModel(config)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=120,
        per_device_train_batch_size=16,
        gradient_accumulation_steps=2,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        warmup_steps=10,
        logging_steps=20,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = Trainer(
        model=model, args=arguments, data_collator=collate, train_dataset=train_rows, eval_dataset=val_rows
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    print([entry["loss"] for entry in trainer.state.log_history if "loss" in entry], trainer.evaluate()["eval_loss"])
print(model.generate(torch.tensor([[3, 5, 7]]), max_new_tokens=8, do_sample=False).tolist())

model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scheduler = get_cosine_schedule_with_warmup(optimizer, 10, 100)
loader = torch.utils.data.DataLoader(train_rows, 16, shuffle=True, collate_fn=collate)
model.train()
for step, batch in enumerate(loader):
    loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    if step % 20 == 0:
        print(step, loss.item().hex())
