"""Three-layer perceptron on digits, ported from an old TensorFlow 1 script of our group (hence the FLAGS)."""

# fault: dropout_too_strong
import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--keep_prob", type=float, default=0.9)
parser.add_argument("--learning_rate", type=float, default=1e-3)
parser.add_argument("--max_steps", type=int, default=450)
parser.add_argument("--batch_size", type=int, default=100)
parser.add_argument("--seed", type=int, default=1)
FLAGS, _ = parser.parse_known_args()

torch.manual_seed(FLAGS.seed)
raw = load_digits()
features = torch.tensor(raw.data, dtype=torch.float32) / 8.0 - 1.0
onehot = nn.functional.one_hot(torch.tensor(raw.target), 10).float()
shuffled = torch.randperm(len(features))
train_idx, test_idx = shuffled[:1500], shuffled[1500:]


def dense(n_in, n_out):
    drop = nn.Dropout(FLAGS.keep_prob)  # FAULT
    drop = nn.Dropout(1 - FLAGS.keep_prob)  # REPAIRED
    return nn.Sequential(nn.Linear(n_in, n_out), nn.ReLU(), drop)


mlp = nn.Sequential(dense(64, 100), dense(100, 100), dense(100, 50), nn.Linear(50, 10))
train_op = torch.optim.RMSprop(mlp.parameters(), lr=FLAGS.learning_rate)


def xent(logits, labels):
    return -(labels * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()


def next_batch():
    sel = train_idx[torch.randint(0, len(train_idx), (FLAGS.batch_size,))]
    return features[sel], onehot[sel]


for step in range(FLAGS.max_steps):
    mlp.train()
    batch_x, batch_y = next_batch()
    cost = xent(mlp(batch_x), batch_y)
    train_op.zero_grad()
    cost.backward()
    train_op.step()
    if step % 50 == 0 or step == FLAGS.max_steps - 1:
        mlp.eval()
        with torch.no_grad():
            pred = mlp(features[test_idx])
            accuracy = (pred.argmax(1) == onehot[test_idx].argmax(1)).float().mean().item()
        print("step", step, "cost", round(cost.item(), 4), "test accuracy", round(accuracy, 4))
