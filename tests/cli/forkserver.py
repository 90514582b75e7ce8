"""Reads jobs as lines of JSON, runs each in a forked child, answers with its exit code. See `ForkServer`."""

import json
import os
import sys
import traceback
import warnings
from typing import Any, NoReturn

import PIL.Image  # noqa: F401
import sklearn.datasets  # noqa: F401

import gradlab.api  # noqa: F401
from gradlab.cli import main


def child(job: dict[str, Any]) -> NoReturn:
    os.chdir(job["cwd"])
    os.environ.update(job["environment"])
    for descriptor, path in enumerate([os.devnull, *job["streams"]]):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(path, flags, 0o644), descriptor)
    sys.argv = ["gradlab", *job["arguments"]]
    code: Any = 0
    try:
        main(job["arguments"])
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)  # of forking: the threads of BLAS are asleep
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            child(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
