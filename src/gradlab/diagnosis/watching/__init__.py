"""Watching: what is seen of a training, without changing a bit of it.

Hooks and wrappers are put into torch while a `Watch` is open and taken out afterwards. They draw no random numbers,
write to no tensor of the user's, and keep no graph. Most of what they gather is gathered at *looks*: some of the steps.
"""

from gradlab.diagnosis.watching.watch import Enough, Watch

__all__ = ["Enough", "Watch"]
