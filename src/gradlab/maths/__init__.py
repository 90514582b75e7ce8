"""The mathematics under the course: small functions of tensors or arrays, which laws of `verification` check."""
