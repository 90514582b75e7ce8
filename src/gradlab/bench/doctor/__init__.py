"""How often the doctor names the fault of a script, and what watching costs."""
