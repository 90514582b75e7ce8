"""Texts larger than the memory that is left, from the file to batches and counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").is_file(), reason="how much memory is taken is read there"
)

MB = 2**20
WORK = """
import re, resource, sys
import numpy as np, torch, tokenizers
from gradlab.data.text.corpus import text_files
from gradlab.data.text.stream import tokenised
from gradlab.data.text.tokenizer import Tokenizer
from gradlab.data.text.windows import Windows
from gradlab.models.ngram import NGram

torch.set_num_threads(1)
NGram(9, 2).fit(np.arange(9))  # so that whatever is loaded late is there
taken = int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (taken + ROOM, taken + ROOM))
try:
    bytearray(ROOM + 2**23)
    sys.exit("there is no limit")
except MemoryError:
    pass
corpus = text_files("large.txt")
tokenizer = Tokenizer.train(KIND, corpus.pieces(), sample=10**6)
train, validation, test = corpus.divide(0.1, 0.1)
tokens = tokenised(train, tokenizer)
assert tokens.ids.nbytes > ROOM or KIND == "bpe"
inputs = Windows(tokens.ids, 128)
for epoch in range(3):
    rows = torch.randint(len(inputs), (64,))
    assert inputs.for_epoch(0, epoch)[rows].shape == (64, 128)
model = NGram(len(tokenizer), 2).fit(tokens.ids)
log_prob = model.log_prob(inputs[:99], inputs.targets[:99])
print(len(train) == 1, tokens.statistics.bytes == train.size, bool((log_prob > -20).all()))
"""


def run(tmp_path, kind, size, room):
    """All of the work on a text of this size, with this much memory beside what Python and its libraries take."""
    line = "".join(f"Line {i} of a text with é and € in it, and so on to its end.\n" for i in range(5000))
    with (tmp_path / "large.txt").open("w") as file:
        for _ in range(size // len(line) + 1):
            file.write(line)
    assert (tmp_path / "large.txt").stat().st_size > size
    code = WORK.replace("ROOM", str(room)).replace("KIND", repr(kind))
    env = {**os.environ, "GRADLAB_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout == "True True True\n", done.stderr[-2000:]


def test_a_text_larger_than_memory_is_encoded_cut_into_windows_and_counted(tmp_path):
    run(tmp_path, "char", 60 * MB, room=40 * MB)


@pytest.mark.slow
def test_a_text_larger_than_memory_is_encoded_in_byte_pairs(tmp_path):
    run(tmp_path, "bpe", 80 * MB, room=64 * MB)
