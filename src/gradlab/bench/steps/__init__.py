"""gradlab's own step: until the first one, compiled, and in bf16."""
