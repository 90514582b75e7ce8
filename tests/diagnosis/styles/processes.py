"""Trains in processes of its own, forked and spawned, and in a thread."""

import multiprocessing as mp
import threading

import torch
from torch import nn


def train(seed):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(30):
        x = torch.randn(16, 2)
        loss = (net(x) - x.prod(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item().hex()


def send(queue, seed):
    queue.put(train(seed))


if __name__ == "__main__":
    print(train(0))
    with mp.get_context("fork").Pool(2) as pool:
        print(pool.map(train, range(3)))
    context = mp.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=send, args=(queue, 1))
    process.start()
    print(queue.get())
    process.join()
    print(process.exitcode)
    found = []
    thread = threading.Thread(target=lambda: found.append(train(2)))
    thread.start()
    thread.join()
    print(found)
