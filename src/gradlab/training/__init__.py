"""How it is learned: the loop, the step, optimisers, schedules, checkpoints and observers."""
