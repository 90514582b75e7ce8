"""Runs commands in forked children of this process, which has torch loaded. Reads requests as lines of JSON: a job to
start, answered with its process number, or a process number, answered with its exit code or null. See `ForkServer`."""

import json
import os
import resource
import signal
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
    os.environ.clear()
    os.environ.update(job["environment"])
    for descriptor, path in enumerate([os.devnull, *job["streams"]]):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(path, flags, 0o644), descriptor)
    if job["stdout"] is not None:
        os.dup2(os.open(job["stdout"], os.O_WRONLY), 1)
    if job["file_size"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"],) * 2)
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
    running = set()
    for line in sys.stdin:
        request = json.loads(line)
        answer = None
        if isinstance(request, int):
            ended, status = os.waitpid(request, os.WNOHANG)
            if ended:
                running.remove(request)
                answer = os.waitstatus_to_exitcode(status)
        elif (answer := os.fork()) == 0:
            child(request)
        else:
            running.add(answer)
        print(json.dumps(answer), flush=True)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
