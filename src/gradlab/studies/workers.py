"""The processes that work on a sweep: this one, or several that it starts."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

import optuna
import torch
from optuna.trial import FrozenTrial

from gradlab import owners, process
from gradlab.errors import GradlabError, Interrupted, TrainingError, notice
from gradlab.studies.search import ENDED, SearchPlan, claim_trial, count_ended, open_search, storage_errors
from gradlab.studies.trial import run_trial
from gradlab.training.environment import find_device
from gradlab.training.observers import Observer

_LOOK = 0.2  # seconds between looks at what the workers have done

NotifyTrial = Callable[[FrozenTrial, optuna.Study], None]


def work(plan: SearchPlan, observers: Sequence[Observer] = (), notify: NotifyTrial | None = None) -> None:
    """Take trials until there are enough."""
    study, device = open_search(plan), find_device(plan.device)
    while (claimed := claim_trial(plan, study)) is not None:
        trial, claim = claimed
        try:
            ended = run_trial(plan, study, trial, device, observers)
        finally:
            claim.drop()
        if notify is not None:
            notify(ended, study)


def work_together(plan: SearchPlan, jobs: int, notify: NotifyTrial | None = None) -> None:
    """Start so many workers and wait for them, telling what they do."""
    study = open_search(plan)
    shown = {trial.number for trial in study.get_trials(deepcopy=False, states=ENDED)}
    workers = _start(plan, jobs)
    try:
        while any(worker.is_alive() for worker in workers):
            time.sleep(_LOOK)
            for trial in study.get_trials(deepcopy=False, states=ENDED):
                if trial.number not in shown:
                    shown.add(trial.number)
                    if notify is not None:
                        notify(trial, study)
    except KeyboardInterrupt:
        raise Interrupted("Stopped.") from None
    finally:
        _end(workers)
    codes = [worker.exitcode for worker in workers if worker.exitcode]
    if codes and count_ended(study) < plan.trials:
        raise TrainingError(f"{len(codes)} of {jobs} workers ended early (exit codes {', '.join(map(str, codes))}).")
    if codes:
        notice(f"{len(codes)} of {jobs} workers ended early; the others did their work.")


def _start(plan: SearchPlan, jobs: int) -> list[BaseProcess]:
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=_worker, args=(plan, jobs, list(owners.loaded)), daemon=False) for _ in range(jobs)
    ]
    with _ignoring_interrupts():
        for worker in workers:
            worker.start()
    return list(workers)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ctrl-C reaches the whole group of processes. Workers that are still loading would die of it with a traceback:
    they inherit that it is ignored, and are stopped by this process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(workers: Sequence[BaseProcess]) -> None:
    """Workers that are still there save what they have, and end."""
    for worker in workers:
        if worker.is_alive():
            worker.terminate()
    for worker in workers:
        worker.join()


def _worker(plan: SearchPlan, jobs: int, codes: Sequence[str]) -> None:
    process.prepare()
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))
    threading.Thread(target=_stop_with_the_parent, daemon=True).start()
    try:
        for code in codes:  # files of the user's own, whose names the recipe may have
            owners.load(code)
        with storage_errors(plan.storage, TrainingError):
            work(plan)
    except GradlabError as error:
        if not isinstance(error, Interrupted):
            notice(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:  # before there was a training to save
        sys.exit(Interrupted.exit_code)


def _stop_with_the_parent() -> None:
    """A worker whose parent was killed stops too, saved: nobody would know of it otherwise."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
