"""What a page of the documentation shows: its blocks, its commands, and the lines that stand under them."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli_helpers import Finished, fresh, gradlab

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

    def check_commands(self, folder: Path) -> None:
        """Each prints the lines that stand under it, with figures as near as another processor comes to them."""
        for command, lines in self.shown():
            ended = run(command, folder)
            assert ended.code == (2 if lines and lines[0].startswith("gradlab: ") else 0), f"{command}: {ended.err}"
            printed: dict[str, list[list[float]]] = {}
            for line in (ended.out + ended.err).replace(f"{folder}/", "").splitlines():
                printed.setdefault(shape(line), []).append(figures(line))
            for line in lines:
                assert shape(line) in printed, f"{command} does not print: {line}\n{ended.out}{ended.err}"
                if not line.startswith("done"):  # its seconds are this machine's
                    close = [pytest.approx(values, abs=0.03, rel=0.1) for values in printed[shape(line)]]
                    assert figures(line) in close, f"{command} prints other figures than: {line}"


def run(command: str, folder: Path) -> Finished:
    """`gradlab …`; a script under the doctor has a process of its own."""
    _, *arguments = shlex.split(command)
    return (fresh if arguments[0] == "doctor" else gradlab)(*arguments, cwd=folder)


def shape(line: str) -> str:
    """A line with its numbers, and the spaces that align them, taken out."""
    return " ".join(_NUMBER.sub("#", line).split())


def figures(line: str) -> list[float]:
    return [float(n.replace(",", "")) for n in _NUMBER.findall(line)]
