"""A transformer of pairs in training, by gradlab or by the usual loop: JSON lines in and out, as in `bench/worker.py`.

The first line has the work, and whether it is ours; the answer says where it is done. Each further line is answered by
the figures of one training.
"""

import json
import os
import sys

from gradlab.process import prepare


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    ours = request.pop("ours")
    if ours:
        prepare()  # before torch, as the command does
    from gradlab.bench.seq2seq.work import Seq2SeqWork, by_gradlab, by_the_usual_loop

    work = Seq2SeqWork(**request)
    answers.write(json.dumps(work.about) + "\n")
    for _ in sys.stdin:
        answers.write(json.dumps(by_gradlab(work) if ours else by_the_usual_loop(work)) + "\n")


if __name__ == "__main__":
    main()
