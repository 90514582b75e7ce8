"""A network of pictures in training, by gradlab or by the usual loop: JSON lines in and out, as in `bench/worker.py`.

The first line has the work, and whether the usual loop has workers, or null for gradlab; the answer says where it is
done. Each further line names an augmentation, and is answered by the figures of one training. The usual loop has flips
and crops, whatever is named.
"""

import json
import os
import sys

from gradlab.process import prepare


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    workers = request.pop("workers")
    if workers is None:
        prepare()  # before torch, as the command does
    from gradlab.bench.vision.work import VisionWork, by_gradlab, by_the_usual_loop

    work = VisionWork(**request)
    answers.write(json.dumps(work.about) + "\n")
    for line in sys.stdin:
        augment = json.loads(line)["augment"]
        answer = by_gradlab(work, augment) if workers is None else by_the_usual_loop(work, workers)
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
