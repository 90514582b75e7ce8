"""The command `gradlab bench` and its benchmarks."""

from typing import Any

import cyclopts

from gradlab.cli.benchmarks.attention import attention
from gradlab.cli.benchmarks.cuda import cuda
from gradlab.cli.benchmarks.decode import decode
from gradlab.cli.benchmarks.diffusion import diffusion
from gradlab.cli.benchmarks.doctor import doctor
from gradlab.cli.benchmarks.graph import graph
from gradlab.cli.benchmarks.language import context, language
from gradlab.cli.benchmarks.memory import memory
from gradlab.cli.benchmarks.rl import rl
from gradlab.cli.benchmarks.seq2seq import seq2seq
from gradlab.cli.benchmarks.steps import compile_, precision, start
from gradlab.cli.benchmarks.tables import tables
from gradlab.cli.benchmarks.train import train
from gradlab.cli.benchmarks.vae import vae
from gradlab.cli.benchmarks.vision import vision

bench = cyclopts.App(
    name="bench",
    sort_key=100,  # the last
    help="""Measure gradlab beside its peers on this machine, as ratios in one run.

    Examples to copy:

    - `gradlab bench train`: the same training by gradlab, the usual PyTorch loop, Lightning, Keras and skorch
    - `gradlab bench train gpt --rounds 15`: a small GPT beside nanoGPT's loop
    - `gradlab bench train digits gpt --against ../before`: beside another checkout of gradlab
    - `gradlab bench start`: from the start of the process to the first training step
    - `gradlab bench decode`: how fast a model writes, beside Hugging Face
    - `gradlab bench attention`: how time and memory grow with the length of a text
    - `gradlab bench context`: a GPT trained at long contexts, by softmax, linear and performer attention
    - `gradlab bench language`: which language model predicts best after two minutes of training
    - `gradlab bench vision`: pictures drawn anew on the device beside a DataLoader, and what each augmentation costs
    - `gradlab bench seq2seq`: with and without attention, by the length of the source; training beside the usual loop
    - `gradlab bench vae`: a variational autoencoder beside the usual loop
    - `gradlab bench diffusion`: samples beside a pipeline of diffusers; of a run, how good they are in fewer steps
    - `gradlab bench graph`: what a step over a graph costs, by its edges
    - `gradlab bench rl`: PPO, DQN and SAC beside Stable-Baselines3
    - `gradlab bench memory`: how long an RNN, an LSTM, a GRU and a transformer remember
    - `gradlab bench tables`: a table by default beside scikit-learn's methods, over folds
    - `gradlab bench cuda`: attention, training, long contexts and writing on a GPU
    - `gradlab bench compile`: what compiling the step costs and saves
    - `gradlab bench precision`: a step in bf16 beside one in float32, on this CPU
    - `gradlab bench doctor`: how often the doctor names the fault of a training script

    `gradlab bench` alone is `gradlab bench train`.
    """,
)

bench.default(train)
commands: list[Any] = [train, start, attention, context, decode, vision, cuda]
commands += [language, seq2seq, vae, diffusion, rl, memory, graph, compile_, tables, precision, doctor]
for order, command in enumerate(commands):
    bench.command(command, sort_key=order)
