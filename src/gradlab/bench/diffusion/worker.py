"""Samples of a diffusion network, by gradlab or by a pipeline: JSON lines in and out, as in `bench/worker.py`.

The first line has the work, and the precision of the pipeline, or null for gradlab; the answer says where it is done.
Each further line has a guidance, and is answered by the time of samples with it; with a new one they are drawn once
before, since libraries allocate, choose their kernels and record in their first call.
"""

import json
import os
import sys

from gradlab.process import prepare


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    precision = request.pop("precision")
    if precision is None:
        prepare()  # before torch, as the command does
    from gradlab.bench.diffusion.work import DiffusionWork

    work = DiffusionWork(**request)
    draw = work.by_gradlab() if precision is None else work.by_diffusers(precision)
    answers.write(json.dumps(work.about) + "\n")
    warm = None
    for line in sys.stdin:
        guidance = json.loads(line)["guidance"]
        if guidance != warm:
            work.answer(draw, guidance)
            warm = guidance
        answers.write(json.dumps(work.answer(draw, guidance)) + "\n")


if __name__ == "__main__":
    main()
