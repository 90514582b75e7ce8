"""An autoencoder in training, by gradlab or by the usual loop: JSON lines in and out, as in `bench/worker.py`.

The first line has the work, and the threads of the usual loop, or null for gradlab; the answer says where it is done.
Each further line is answered by the figures of one training.
"""

import json
import os
import sys

from gradlab.process import prepare


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    threads = request.pop("threads")
    if threads is None:
        prepare()  # before torch, as the command does
    from gradlab.bench.vae.work import VAEWork, by_gradlab, by_the_usual_loop

    work = VAEWork(**request)
    answers.write(json.dumps(work.about) + "\n")
    for _ in sys.stdin:
        answers.write(json.dumps(by_gradlab(work) if threads is None else by_the_usual_loop(work, threads)) + "\n")


if __name__ == "__main__":
    main()
