"""Writes to stdout in every way there is, in an order that must be kept."""

import logging
import os
import subprocess
import sys

import torch
from torch import nn

logging.basicConfig(
    stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(name)s %(funcName)s:%(lineno)d %(message)s"
)
torch.manual_seed(26)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(25):
    loss = net(torch.ones(3, 2)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("printed", step, end="; ", flush=True)
    os.write(1, b"written; ")
    sys.stdout.write(f"{loss.item().hex()}\n")
    sys.stdout.flush()
    if step % 8 == 0:
        logging.info("logged %d", step)
        sys.stdout.flush()
        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
print("ä \udcff".encode("utf-8", "surrogateescape"), sys.stdout.isatty(), sys.stdout.encoding, sys.stdout.fileno())
sys.stdout.buffer.write(b"\xff\x00 no newline")
