"""How to solve a task honestly with the harness's own tools."""

from __future__ import annotations

from harness_adapters.serve.scripted.material import ANSWER, Material
from harness_adapters.serve.scripted.replacements import replacements
from harness_adapters.serve.scripted.vocabulary import Edit, Intent, Read, Shell, Write

SCRIPT = "solve.py"
HEAD_LINES = 20


def solve(material: Material) -> list[Intent]:
    """Read, change, check: at least three calls."""
    return _repair(material) if material.solved else _answer(material)


def detours(material: Material) -> list[Intent]:
    """Looks around that change nothing."""
    look: list[Intent] = [Shell("ls -la"), Shell("find . -type f")]
    for path in [*material.changed, *material.visible_tests, *material.data_files][:3]:
        look += [Read(path), Read(path)]
    return look


def run_tests() -> Shell:
    return Shell("python3 -m pytest -q")


def _repair(material: Material) -> list[Intent]:
    intents: list[Intent] = []
    if not material.changed:  # all is new: first the contract that says what to write
        intents += [Read(path) for path in material.data_files[:1]] or [Shell("ls -la")]
    for path, after in material.solved.items():
        if path not in material.original:
            intents.append(Write(path, after))
            continue
        intents.append(Read(path))
        pairs = replacements(material.before(path), after)
        intents.append(Edit(path, pairs) if pairs else Write(path, after))
    return [*intents, run_tests()]


def _answer(material: Material) -> list[Intent]:
    assert material.script is not None
    look: list[Intent] = [Read(path, HEAD_LINES) for path in material.data_files[:2]]
    return [
        *(look or [Shell("ls -la")]),
        Write(SCRIPT, material.script),
        Shell(f"python3 {SCRIPT}"),
        Read(ANSWER),
    ]
