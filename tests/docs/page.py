"""What a page of the documentation shows: its blocks, its commands, and the lines that stand under them."""

import re
from dataclasses import dataclass
from pathlib import Path

_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Page:
    path: Path

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)^```", self.path.read_text(), flags=re.M | re.S)

    def shown(self) -> list[tuple[str, list[str]]]:
        """Each command of the page with the lines that stand under it."""
        commands: list[tuple[str, list[str]]] = []
        for line in "".join(self.blocks("console")).splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif line.strip() and line.strip() != "...":
                commands[-1][1].append(line)
        return commands


def shape(line: str) -> str:
    """A line with its numbers, and the spaces that align them, taken out."""
    return " ".join(_NUMBER.sub("#", line).split())


def figures(line: str) -> list[float]:
    return [float(n.replace(",", "")) for n in _NUMBER.findall(line)]
