"""What Python's own functions and methods give, of values that are known: only such that have no
effect, and within bounds.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import itertools
import posixpath
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from harness_adapters.gateway.guard.filters import as_text, unpacked
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.state import State

MAX_STRING = 64 * 1024
MAX_ITEMS = 256
UNTOLD = "/$untold"  # a folder that the text does not tell
UNTOLD_REST = "$unknown"  # what follows the told beginning of a path or an address
_ENDS_HOST = re.compile(
    r"\.(?:[\w-]+\.)+(?:com|org|net|io|dev|app|ai|co|info|xyz|cloud|site|online|top|me|ru|cn)"
    r"(?:[:/].*)?\Z"
)
_NO_PLACE = re.compile(r"[\s'\"<>|;]")
SITE_PACKAGES = "/usr/lib/python3/site-packages"
_JSON_STRING = re.compile(r"\"[^\"\\]*+\"\Z")
_PLAIN_LITERAL = re.compile(r"'[^'\\]*+'\Z|\"[^\"\\]*+\"\Z")
_WIDEST = 1000
_WIDE = re.compile(r"\d{4}|\*")  # in a format: would make something huge
_HOLE = re.compile(r"\{(\w*)(?:![rsa])?(?::[^{}]*)?\}")
_PLAIN_METHODS = names(
    """
    upper lower title capitalize swapcase strip lstrip rstrip removeprefix removesuffix split
    rsplit splitlines partition rpartition startswith endswith find index count isdigit
    """
)


class PathValue(str):
    """A string that the program holds as a ``pathlib.Path``."""

    __slots__ = ()


class FileValue:
    """An opened file.

    :ivar text: what stands in it, where that is known.
    """

    __slots__ = ("path", "text", "writes")

    def __init__(self, path: str, text: str | None, *, writes: bool) -> None:
        self.path = path
        self.text = text
        self.writes = writes


class ModuleValue:
    """A module that is given around as a value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def constant(value: object) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return value if isinstance(value, (str, int)) else None


def begun(text: Any) -> str | None:
    """A path or an address of which only the beginning is told; ``None`` for any other text, of
    which a part tells nothing."""
    if not isinstance(text, str) or "/" not in text or text.endswith("://"):
        return None
    return None if _NO_PLACE.search(text) else text + UNTOLD_REST


def ended(text: str) -> str | None:
    """A path or a host of which only the end is told; ``None`` for any other text."""
    if text.startswith("/"):
        return UNTOLD + text
    return f"untold{text}" if _ENDS_HOST.match(text) else None


def _written(value: Any) -> str:
    """As text. A list is not: what holds a list twice may hold it a million times."""
    return str(value) if isinstance(value, (str, int)) else UNTOLD_REST


def _placed(text: str) -> str:
    """A path whose first folder is not told is one that may lie anywhere."""
    if text.startswith(f"{UNTOLD_REST}/"):
        text = UNTOLD + text.removeprefix(UNTOLD_REST)
    return text[:MAX_STRING]


def percent(form: str, values: Any) -> str | None:
    if _WIDE.search(form):
        return None
    if values is None:
        return begun(form.partition("%")[0])
    given: Any = values
    if isinstance(values, list):
        given = tuple(one if isinstance(one, (str, int)) else UNTOLD_REST for one in values)
    elif isinstance(values, dict):
        given = {k: v if isinstance(v, (str, int)) else UNTOLD_REST for k, v in values.items()}
    try:
        return _placed(str(form % given))
    except (TypeError, ValueError, KeyError):
        return None


def of_string(own: str, method: str, args: list[Any], named: Mapping[str, Any]) -> Any:
    if method in _PLAIN_METHODS and all(isinstance(a, (str, int)) for a in args):
        found = getattr(own, method)(*args)
        return list(found)[:MAX_ITEMS] if isinstance(found, (list, tuple)) else found
    match method:
        case "join" if args and isinstance(args[0], (list, str)):
            if all(isinstance(part, str) for part in args[0]):
                return own.join(args[0])[:MAX_STRING]
            told = list(itertools.takewhile(lambda part: isinstance(part, str), args[0]))
            return begun(own.join([*told, ""]))
        case "replace" if len(args) >= 2 and all(isinstance(a, str) for a in args[:2]):
            return own.replace(args[0], args[1])[:MAX_STRING] if args[0] else own
        case "decode" | "encode":
            codec = args[0] if args and isinstance(args[0], str) else "utf-8"
            return _recoded(own, codec)
        case "format" | "format_map" if "{" in own:
            if method == "format_map":
                named, args = args[0], []
            rest = iter(args)

            def fill(hole: re.Match[str]) -> str:
                at = hole.group(1)
                if at.isdigit():
                    return _written(args[int(at)])
                return _written(named.get(at) if at else next(rest, ""))

            return _placed(_HOLE.sub(fill, own))
        case "translate" if args and isinstance(args[0], dict):
            return own.translate(args[0])[:MAX_STRING]
        case "hex":
            return own.encode().hex()
        case "zfill" | "ljust" | "rjust" | "center" if args and args[0] < _WIDEST:
            return getattr(own, method)(*args)
        case "tobytes" | "getvalue" | "expandtabs" | "__str__":
            return own
    return None


def _recoded(text: str, codec: str) -> str | None:
    codec = codec.lower().replace("-", "_")
    if codec in ("rot13", "rot_13"):
        return codecs.decode(text, "rot13")
    if codec in ("hex", "hex_codec"):
        return _unhexed(text)
    if codec in ("base64", "base64_codec"):
        return _unbased(text)
    if codec in ("unicode_escape", "string_escape"):
        return text.encode("latin-1", "replace").decode("unicode_escape")
    return text


def _unhexed(text: str) -> str:
    return as_text(bytes.fromhex(text))


def _unbased(text: str) -> str | None:
    packed = "".join(text.split())
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=None)
    except (binascii.Error, ValueError):
        return None
    return as_text(raw)


def _unzipped(state: State, args: list[Any]) -> Any:
    return [list(one) for one in zip(*[list(a)[:MAX_ITEMS] for a in args], strict=False)]


def _in_order(args: list[Any]) -> list[str]:
    given = args[0] if len(args) == 1 else args
    return sorted(given) if all(isinstance(one, str) for one in given) else []


def _range(state: State, args: list[Any]) -> list[int]:
    return list(range(*args)[:MAX_ITEMS])


def _int(state: State, args: list[Any]) -> int | None:
    return int(*args) if len(str(args[0])) <= 64 else None


FUNCTIONS: dict[str, Callable[[State, list[Any]], Any]] = {
    "chr": lambda _, a: chr(a[0]),
    "ord": lambda _, a: ord(a[0]),
    "repr": lambda _, a: repr(str(a[0])) if isinstance(a[0], str) else str(int(a[0])),
    "next": lambda _, a: a[0][0],
    "max": lambda _, a: _in_order(a)[-1],
    "min": lambda _, a: _in_order(a)[0],
    "hex": lambda _, a: hex(a[0]),
    "int": _int,
    "len": lambda _, a: len(a[0]),
    "range": _range,
    "zip": _unzipped,
    "enumerate": lambda _, a: [[i, v] for i, v in enumerate(list(a[0])[:MAX_ITEMS])],
    "str.maketrans": lambda _, a: str.maketrans(*a),
    "bytes.maketrans": lambda _, a: str.maketrans(*a),
    # Of nothing it would read standard input.
    "shlex.split": lambda _, a: shlex.split(a[0])[:MAX_ITEMS] if isinstance(a[0], str) else None,
    "shlex.join": lambda _, a: shlex.join(a[0]),
    "shlex.quote": lambda _, a: shlex.quote(a[0]),
    "glob.glob": lambda _, a: [a[0]],
    "glob.iglob": lambda _, a: [a[0]],
    "os.listdir": lambda _, a: ["*"],
    "os.scandir": lambda _, a: ["*"],
    "os.walk": lambda _, a: [[posixpath.join(a[0], "**"), ["*"], ["*"]]],
    "os.path.dirname": lambda _, a: posixpath.dirname(a[0]),
    "os.path.basename": lambda _, a: posixpath.basename(a[0]),
    "os.path.split": lambda _, a: list(posixpath.split(a[0])),
    "os.path.splitext": lambda _, a: list(posixpath.splitext(a[0])),
    "os.getcwd": lambda s, _: PathValue(s.cwd),
    "os.getpid": lambda s, _: "$$",
    "os.getppid": lambda s, _: "$PPID",
    "pathlib.Path.cwd": lambda s, _: PathValue(s.cwd),
    "pathlib.Path.home": lambda s, _: PathValue(s.home),
    "shutil.which": lambda _, a: f"/usr/bin/{a[0]}" if isinstance(a[0], str) else None,
    "site.getsitepackages": lambda _, a: [SITE_PACKAGES],
    "site.getusersitepackages": lambda s, _: f"{s.home}/.local{SITE_PACKAGES[4:]}",
    "sysconfig.get_path": lambda _, a: SITE_PACKAGES,
    "sysconfig.get_paths": lambda _, a: {"purelib": SITE_PACKAGES, "platlib": SITE_PACKAGES},
    "base64.b64encode": lambda _, a: base64.b64encode(a[0].encode()).decode(),
    "base64.b64decode": lambda _, a: _unbased(a[0]),
    "base64.standard_b64decode": lambda _, a: _unbased(a[0]),
    "base64.urlsafe_b64decode": lambda _, a: _unbased(a[0].translate({45: "+", 95: "/"})),
    "base64.decodebytes": lambda _, a: _unbased(a[0]),
    "base64.b32decode": lambda _, a: base64.b32decode(a[0]).decode("utf-8", "replace"),
    "base64.b16decode": lambda _, a: _unhexed(a[0]),
    "base64.b85decode": lambda _, a: base64.b85decode(a[0]).decode("utf-8", "replace"),
    "base64.a85decode": lambda _, a: base64.a85decode(a[0]).decode("utf-8", "replace"),
    "binascii.a2b_base64": lambda _, a: _unbased(a[0]),
    "binascii.unhexlify": lambda _, a: _unhexed(a[0]),
    "binascii.a2b_hex": lambda _, a: _unhexed(a[0]),
    "bytes.fromhex": lambda _, a: _unhexed(a[0]),
    "bytearray.fromhex": lambda _, a: _unhexed(a[0]),
    "codecs.decode": lambda _, a: _recoded(a[0], a[1] if len(a) > 1 else "utf-8"),
    "codecs.encode": lambda _, a: _recoded(a[0], a[1]) if "13" in str(a[1]) else a[0],
    "urllib.parse.unquote": lambda _, a: unquote(a[0]),
    "gzip.decompress": lambda _, a: unpacked(a[0]),
    "zlib.decompress": lambda _, a: unpacked(a[0]),
    "bz2.decompress": lambda _, a: unpacked(a[0]),
    "lzma.decompress": lambda _, a: unpacked(a[0]),
    "json.loads": lambda _, a: a[0][1:-1] if _JSON_STRING.match(a[0]) else None,
    "json.dumps": lambda _, a: f'"{a[0]}"' if _JSON_STRING.match(f'"{a[0]}"') else None,
    "ast.literal_eval": lambda _, a: a[0][1:-1] if _PLAIN_LITERAL.match(a[0]) else None,
    "operator.add": lambda _, a: (a[0] + a[1])[:MAX_STRING],
    "os.environ.get": lambda s, a: s.variables.get(a[0], a[1] if len(a) > 1 else None),
    "os.environ.setdefault": lambda s, a: s.variables.get(a[0], a[1]),
    "os.getenv": lambda s, a: s.variables.get(a[0], a[1] if len(a) > 1 else None),
}
