"""Writing a plugin distribution that works: ``ha plugin new``.

The templates below ``templates/`` are whole distributions: ``common`` and one folder per kind.
``{{name}}`` and the like are replaced in them, ``__module__`` in their paths; each ends in
``.tmpl``, so that no tool takes it for a part of this package.
"""

from __future__ import annotations

import keyword
import os
import re
import shutil
import tempfile
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.plugins import API_VERSION, Plugins, canonical

KINDS = ("guard", "harness", "task", "reward")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LONGEST = 40
_SUFFIX = ".tmpl"


def write_distribution(kind: str, name: str, into: Path) -> Path:
    """Write ``ha-KIND-NAME`` below ``into``: whole or not at all.

    :returns: the new folder.
    :raises BadInput: no such kind, no usable or a taken name, the folder exists, or nothing can
        be written there.
    """
    values = _values(kind, name)
    folder = into / values["distribution"]
    if os.path.lexists(folder):
        raise BadInput(f"{folder} exists already; nothing was written")
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=into))
        try:
            templates = files(__name__) / "templates"
            for source in (templates / "common", templates / kind):
                _fill(source, draft, values)
            draft.chmod(0o777 & ~_umask())
            draft.rename(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise BadInput(f"cannot write {folder}: {error.strerror or error}") from error
    return folder


def _values(kind: str, name: str) -> dict[str, str]:
    """What stands for each placeholder."""
    if kind not in KINDS:
        raise BadInput(f"no kind {kind!r}{did_you_mean(kind, KINDS)} (kinds: {', '.join(KINDS)})")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise BadInput(
            f"{name!r} is no name for a plugin: use small letters and digits with single dashes "
            f"between, at most {_LONGEST} characters"
        )
    component = canonical(name)
    if keyword.iskeyword(component):
        raise BadInput(f"{name!r} is a word of Python's; take another name")
    plugins = Plugins.load()
    registries = dict(
        zip(("harness", "task", "guard", "reward"), plugins.registries(), strict=True)
    )
    if taken := registries[kind].components.get(component):
        raise BadInput(f"{kind} {name!r} is offered by {taken.distribution!r} already")
    if name in {info.name for info in plugins.infos}:
        raise BadInput(f"a plugin {name!r} is installed already; take another name")
    from harness_adapters import __version__

    major, minor = (int(part) for part in __version__.split(".")[:2])
    return {
        "kind": kind,
        "name": name,
        "component": component,
        "distribution": f"ha-{kind}-{name}",
        "module": f"ha_{kind}_{component}",
        "Class": "".join(word.capitalize() for word in name.split("-")),
        "api_version": str(API_VERSION),
        "versions": f">={major}.{minor},<{major}.{minor + 1}",
    }


def _fill(source: Traversable, target: Path, values: dict[str, str]) -> None:
    for entry in source.iterdir():
        name = entry.name.replace("__module__", values["module"])
        if entry.is_dir():
            (target / name).mkdir(exist_ok=True)
            _fill(entry, target / name, values)
        elif name.endswith(_SUFFIX):
            text = entry.read_text(encoding="utf-8")
            for key, value in values.items():
                text = text.replace("{{" + key + "}}", value)
            (target / name.removesuffix(_SUFFIX)).write_text(text, encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
