"""What is known of each family of blocks: a file or a folder for each, which enters its checks when it is imported."""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
