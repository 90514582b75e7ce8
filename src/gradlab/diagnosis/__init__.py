"""The doctor: what is wrong with a training, ours or a stranger's. Importing this imports no torch."""
