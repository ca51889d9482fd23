"""Reading a recipe file, and saying in one line what is wrong with it."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from harness_adapters.errors import BadInput, did_you_mean

MAX_BYTES = 256 * 1024
SHIPPED = Path(__file__).parent / "recipes"
COMPONENTS = ("guards", "rewards", "harness")
USE = "use"


def shipped_recipes() -> list[str]:
    """Names of the recipes that ship with this package."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def shipped_path(path: Path | str) -> Path:
    """The file that is meant: ``path`` itself, or the shipped recipe of that name.

    :raises BadInput: there is neither; names a near match.
    """
    file = Path(path)
    name = str(path)
    if file.is_file():
        return file
    if name in shipped_recipes():
        return SHIPPED / f"{name}.toml"
    if file.exists():
        raise BadInput(f"{file}: not a file")
    hint = did_you_mean(name, shipped_recipes())
    raise BadInput(
        f"{file}: there is no such file, nor a shipped recipe of that name{hint} "
        f"(shipped: {', '.join(shipped_recipes())})"
    )


def read_tables(file: Path) -> dict[str, Any]:
    """The file's content as fields of a ``Recipe``: options of components taken out of the tables
    that name them, and paths made relative to the file.

    :raises BadInput: it cannot be read or is no TOML; one line.
    """
    tables = _toml(file)
    options: dict[str, dict[str, Any]] = {}
    for kind in COMPONENTS:
        table = tables.get(kind)
        if not isinstance(table, dict):
            continue
        use = table.pop(USE, None)
        for name, given in table.items():
            if not isinstance(given, dict):
                raise BadInput(
                    f"{file}: [{kind}] {name}: unknown key{did_you_mean(name, [USE])} "
                    f"(options of one stand in [{kind}.NAME])"
                )
        if table:
            options[kind] = table
        del tables[kind]
        if use is not None:
            tables[kind] = use
        elif kind == "harness":
            raise BadInput(f"{file}: [harness] {USE}: missing; it says which harness is trained in")
    if "options" in tables:
        raise BadInput(f"{file}: options: unknown key (options stand in [guards.NAME] and so on)")
    tables["options"] = options
    _resolve(file, tables)
    return tables


def write_toml(fields: Mapping[str, Any]) -> str:
    """The fields of a recipe as a file that reads back as the same recipe."""
    tables = {name: value for name, value in fields.items() if name != "options"}
    components: dict[str, Any] = {}
    for kind in COMPONENTS:
        if given := fields.get("options", {}).get(kind):
            use = tables.pop(kind, None)
            components[kind] = {**({} if use is None else {USE: use}), **given}
    return "".join(_table_lines({**tables, **components}))


def _table_lines(table: Mapping[str, Any], *names: str) -> Iterator[str]:
    plain = {name: value for name, value in table.items() if not isinstance(value, Mapping)}
    if names and (plain or not table):
        yield f"\n[{'.'.join(map(_toml_key, names))}]\n"
    for name, value in plain.items():
        if value is not None:
            yield f"{_toml_key(name)} = {_toml_value(value)}\n"
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _table_lines(value, *names, name)


def _toml_key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _toml_value(name)


def _toml_value(value: object) -> str:
    """Strings and keys: TOML's basic strings are JSON's, but for DEL."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_toml_key(name)} = {_toml_value(one)}" for name, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def explain(error: ValidationError, recipe: type[BaseModel], source: str) -> BadInput:
    """One fault as one line: ``file: [table] key: what is wrong``. An unknown key comes first,
    since it often explains why another one is missing."""
    faults = error.errors(include_url=False, include_context=False)
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    path = [str(part) for part in first["loc"] if not _is_branch(part)]
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = f"unknown key{did_you_mean(path[-1], _fields(recipe, path[:-1]))}"
    elif first["type"] in ("model_type", "dict_type"):
        message = "must be a table"
    elif first["type"] == "missing":
        message = "missing"
    if first["type"] == "value_error" and ": " in message:  # found by the table, about one key
        key, message = message.split(": ", 1)
        path += key.split(".")
    *tables, key = path or [""]
    where = f"[{'.'.join(tables)}] " if tables else ""
    return BadInput(f"{source}: {where}{key}: {message}")


def _toml(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise BadInput(f"{file}: larger than {MAX_BYTES} bytes")
        return tomllib.loads(content.decode())
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: not UTF-8 at byte {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{file}: not valid TOML: {error or 'nested too deep'}") from None


def _resolve(file: Path, tables: dict[str, Any]) -> None:
    folder = file.absolute().parent
    model = tables.get("model")
    if isinstance(model, str) and model.startswith((".", "~")):
        tables["model"] = os.path.normpath(folder / Path(model).expanduser())
    tasks = tables.get("tasks")
    if isinstance(tasks, dict) and isinstance(path := tasks.get("path"), str):
        tasks["path"] = os.path.normpath(folder / Path(path).expanduser())


def _is_branch(part: int | str) -> bool:
    """Pydantic names the branch of a union it was in, and places in a list; a key is neither."""
    return isinstance(part, int) or "[" in part


def _fields(model: type[BaseModel], tables: list[str]) -> Mapping[str, Any]:
    """The keys of a table inside the recipe."""
    for table in tables:
        field = model.model_fields.get(table)
        inner = field.annotation if field else None
        for one in (inner, *get_args(inner)):
            if isinstance(one, type) and issubclass(one, BaseModel):
                model = one
                break
        else:
            return {}
    return model.model_fields
