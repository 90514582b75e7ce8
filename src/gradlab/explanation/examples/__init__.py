"""The worked examples, a file for each part of the course, which enters them when it is imported."""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
