"""How fast models write: small ones on a CPU, GPT-2 on a GPU, and with a draft."""
