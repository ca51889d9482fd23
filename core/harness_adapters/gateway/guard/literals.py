"""Texts that programs in other languages put together from literals: joined, held in a name, made
a path, decoded. Not a language's semantics: what an agent writes in a line or two."""

from __future__ import annotations

import base64
import binascii
import itertools
import re

_MAX_INLINE = 16 * 1024  # characters of a program that is looked through
_MAX_CONSTANTS = 32
_MAX_ROUNDS = 4  # a name may stand for what is joined, and be joined itself
_LITERAL = r"(?:'[^'\n]{0,512}'|\"[^\"\n]{0,512}\"|`[^`\n$]{0,512}`)"
# One blank is as good as many, and many take patterns the square of their number.
_BLANKS = re.compile(r"[^\S\n]{2,}+")
_LINE_ENDS = re.compile(r"[^\S\n]?\n\s*+")
# Strings side by side, or joined by the operators of these languages, are one; ``('.')`` is none.
_OPERATOR = r"\s*(?:\+|\.(?!\d)|\.\.|<>|\|\||,\s*(?=['\"`][^'\"`]*['\"`]\s*\)\s*\.join))\s*"
_GLUE = re.compile(
    rf"(?<![(\[,=])(?<![(\[,=]\s)(['\"`]){_OPERATOR}\1"
    rf"|(?:(?<=[(\[,=])|(?<=[(\[,=]\s))(['\"`]){_OPERATOR}\2(?!\s*(?:[)\],;.]|\Z))"
)
# Perl's ways to put a value into a string: ``${\\ "x"}``, ``@{[ "x" ]}``.
_INTERPOLATED = re.compile(r"[$@]\{\s*+(?:\\\s*+|\[\s*+)(['\"])([^'\"\n]{0,256})\1\s*+\]?+\s*+\}")
# A name that is given one literal: ``const f = 'x'``, ``my $f = "x"``, ``f = 'x'``.
_CONSTANT = re.compile(
    r"(?:^|[;{(\n]|\b(?:const|let|var|my|our|local|val|static|final)[ \t])[ \t]{0,40}"
    r"[$@]?(\w{1,64})[ \t]{0,40}:?=[ \t]{0,40}(['\"`])([^'\"`\n$]{1,256})\2"
    r"[ \t]{0,40}(?=[;,\n)]|\Z)"
)
# By the numbers of its characters: ``[47, 116].pack("C*")``, ``String.fromCharCode(47, 116)``.
_NUMBERS = r"((?:\d{1,3}\s?,\s?){1,255}\d{1,3})"
_CHARACTERS = re.compile(
    rf"\[\s?{_NUMBERS}\s?\]\.pack\(\s?['\"][CcUW]\*['\"]\s?\)|\bString\.fromCharCode\(\s?{_NUMBERS}\s?\)"
)
# What stands for a text by itself.
_KNOWN = (
    (re.compile(r"(?:require\(['\"](?:node:)?os['\"]\)|\bos)\.homedir\(\)|\bhomedir\(\)"), '"~"'),
    (re.compile(r"\bDir\.home\b|\bos\.UserHomeDir\(\)"), '"~"'),
    (re.compile(r"string\(os\.PathSeparator\)|\bpath\.sep\b|\bFile\.[Ss]eparator\b"), '"/"'),
    (
        re.compile(
            r"\b(?:env::)?var(?:_os)?\(\"CARGO_MANIFEST_DIR\"\)(?:\.unwrap\(\)|\?|\.expect\(\"[^\"\n]{0,80}\"\))?"
            r"|\benv!\(\"CARGO_MANIFEST_DIR\"\)"
        ),
        '"."',
    ),
)
# The folder that a source lies in, and a place told from there.
_OWN_FOLDER = re.compile(
    r"\b__dirname\b|\bimport\.meta\.dirname\b|\b__DIR__\b|\b__dir__\b|\bFile\.dirname\(__FILE__\)"
    r"|(?:\bpath\.)?\bdirname\(\s?(?:url\.)?fileURLToPath\(\s?import\.meta\.url\s?\)\s?\)"
)
_BESIDE_URL = re.compile(rf"\bnew\s+URL\(\s?({_LITERAL})\s?,\s?import\.meta\.url\s?\)")
_FILE_URL = re.compile(
    r"\bnew\s+URL\(\s*(['\"`])file://(/[^'\"`\n]{1,512})\1\s*(?:,[^()\n]{0,80})?\)"
)
_JOINED = re.compile(
    r"(?:\brequire\(['\"][\w:]{1,20}['\"]\)\.|\b\w{1,40}\.){0,3}"
    r"\b(?:join|Join|resolve|file\.path|catfile|catdir|Paths\.get|Path\.of|joinpath|Combine)"
    rf"\(\s*({_LITERAL}(?:\s*,\s*{_LITERAL}){{1,16}})\s*\)"
)
_LIST_JOINED = re.compile(
    rf"\[\s*+({_LITERAL}(?:\s*,\s*{_LITERAL}){{0,32}})\s*+,?+\s*+\]\.join\(\s*+({_LITERAL})?\s*+\)"
)
# What stands for the text that it is given: ``format!("x")``, ``Path::new("x")``.
_WRAPPED = re.compile(
    rf"(?:\bformat!|\bString::from|\bPath(?:Buf)?::(?:new|from)|\bPath\.of|\bPathname\.new)"
    rf"\(\s*+({_LITERAL})\s*+\)"
)
_DOT_JOINED = re.compile(rf"({_LITERAL})\.(?:join|resolve)\(\s*+({_LITERAL})\s*+\)")
_DOT_JOINED_ANY = re.compile(
    rf"({_LITERAL})\.(?:join|resolve)\(\s*+&?([A-Za-z_][\w.()?]{{0,60}})\s*+\)"
)
_REPLACED = re.compile(
    rf"({_LITERAL})\.(?:replace|sub|gsub)(?:All)?\(\s*({_LITERAL})\s*,\s*({_LITERAL})\s*\)"
)
_REVERSED = re.compile(
    rf"(?:\[\s*\.\.\.\s*({_LITERAL})\s*\]|({_LITERAL})\.(?:split\(\s*(?:''|\"\")\s*\)|chars))"
    rf"\.(?:reverse\(\)|reverse)\.join(?:\(\s*+(?:''|\"\")?+\s*+\))?|({_LITERAL})\.reverse\b(?!\()"
)
# Ruby's and Perl's lists of words: ``%w[logs verifier]``, ``qw(a b)``.
_WORDS = re.compile(r"\*?(?:%[wW]|\bqw)\s?([\[({<|/])([\w./ -]{1,256}+)[\])}>|/]")
# Any function that is given packed text, in a program that unpacks it.
_OWN_PLACE_SIGNS = re.compile(r"__[dD]|import\.meta|__FILE__")
_UNPACKS = re.compile(r"base64|atob|unpack|decode64")
_GIVEN_PACKED = re.compile(r"\b\w{1,24}\(\s*+(['\"`])([A-Za-z0-9+/]{8,512}={0,2})\1\s*+\)")
_EACH = re.compile(_LITERAL)
_DECODED = re.compile(
    r"(?:(?:atob|base64_decode|decode_base64|Base64\.(?:strict_|urlsafe_)?decode64|decodeString)\(\s*"
    r"|Buffer\.from\(\s*)(['\"`])([A-Za-z0-9+/=_-]{12,8192})\1"
    r"|(['\"])([A-Za-z0-9+/=]{12,8192})\3\.unpack1?\(\s*['\"]m0?['\"]"
)


_ENCODED = re.compile(
    r"(?:\batob|\bBuffer\.from|\bbase64_decode|\bdecode_base64)\(\s*+(['\"`])([A-Za-z0-9+/=_-]{8,1024})\1"
    r"\s*+(?:,\s*+['\"]base64(?:url)?['\"]\s*+)?\)"
    r"(?:\.toString\(\s*+(?:['\"][\w-]{1,12}['\"]\s*+)?\))?"
)
# ``'test/' + name``, ```test/${name}```: any file there.
_BEGUN = re.compile(r"(['\"`])([^'\"`\n$]{1,256}/)\1\s*+\+\s*+[A-Za-z_$][\w.$]{0,64}+(?![\w(])")
_BEGUN_TEMPLATE = re.compile(r"`([^`\n$]{1,256}/)\$\{[^{}`\n]{1,80}\}([^`\n$]{0,64})`")


def put_together(code: str, folder: str = ".") -> str:
    """A program with the texts that it puts together written out.

    :param folder: where the program lies, by what it is asked for its own place.
    """
    if _OWN_PLACE_SIGNS.search(code):
        code = _BESIDE_URL.sub(lambda found: f"'{folder}/{found.group(1)[1:-1]}'", code)
        code = _OWN_FOLDER.sub(lambda _: f"'{folder}'", code)
    code = _LINE_ENDS.sub("\n", _BLANKS.sub(" ", code))
    text = _GLUE.sub("", _INTERPOLATED.sub(r"\2", code))
    if len(text) > _MAX_INLINE:
        return text
    text = _CHARACTERS.sub(_spelled, _WORDS.sub(_each_word, text))
    if _UNPACKS.search(text):
        text = _GIVEN_PACKED.sub(_told_place, text)
    text = _BEGUN_TEMPLATE.sub(r"'\1*\2'", _BEGUN.sub(r"\1\2*\1", _ENCODED.sub(_told, text)))
    for _ in range(_MAX_ROUNDS):
        before = text
        for pattern, value in _KNOWN:
            text = pattern.sub(value, text)
        text = _FILE_URL.sub(r"'\2'", text)
        text = _WRAPPED.sub(r"\1", text)
        text = _DOT_JOINED.sub(_two, _JOINED.sub(_path, text))
        text = _DOT_JOINED_ANY.sub(_one_below, text)
        text = _LIST_JOINED.sub(_list, text)
        text = _REPLACED.sub(_replaced, text)
        text = _REVERSED.sub(_reversed, text)
        text = _GLUE.sub("", _with_constants(text))
        if text == before:
            break
    return text


def glued(text: str) -> str:
    """Strings that stand side by side, or are joined by an operator, as one."""
    return _GLUE.sub("", text)


def decoded(code: str) -> list[str]:
    """Texts that stand encoded in a program that decodes them."""
    found: list[str] = []
    for one in itertools.islice(_DECODED.finditer(code), _MAX_CONSTANTS):
        packed = one.group(2) or one.group(4)
        try:
            raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=None)
        except (binascii.Error, ValueError):
            continue
        found.append(raw.decode(errors="replace"))
    return found


def _told(found: re.Match[str]) -> str:
    """An encoded text written out, where that makes a literal."""
    packed = found.group(2)
    try:
        text = base64.b64decode(packed + "=" * (-len(packed) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        return found.group()
    return f"'{text}'" if text.isprintable() and not set("'\"`") & set(text) else found.group()


def _told_place(found: re.Match[str]) -> str:
    """The same, where it is a path or an address."""
    told = _told(found)
    return told if told != found.group() and set("/.") & set(told) else found.group()


def _each_word(found: re.Match[str]) -> str:
    return ", ".join(f"'{word}'" for word in found.group(2).split())


def _spelled(found: re.Match[str]) -> str:
    codes = [int(one) for one in (found.group(1) or found.group(2)).split(",")]
    text = "".join(map(chr, codes))
    return f"'{text}'" if text.isprintable() and not set("'\"`") & set(text) else found.group()


def _path(found: re.Match[str]) -> str:
    pieces = [one[1:-1] for one in _EACH.findall(found.group(1))]
    path = "/".join(piece.rstrip("/") if piece != "/" else "" for piece in pieces)
    return f"'{path or '/'}'"


def _two(found: re.Match[str]) -> str:
    one, other = found.group(1)[1:-1], found.group(2)[1:-1]
    return f"'{other}'" if other.startswith("/") else f"'{one.rstrip('/')}/{other}'"


def _one_below(found: re.Match[str]) -> str:
    """Some file of a folder."""
    folder = found.group(1)[1:-1]
    return f"'{folder.rstrip('/')}/*'" if "/" in folder else found.group()


def _list(found: re.Match[str]) -> str:
    between = (found.group(2) or "''")[1:-1]
    return "'" + between.join(one[1:-1] for one in _EACH.findall(found.group(1))) + "'"


def _reversed(found: re.Match[str]) -> str:
    literal = found.group(1) or found.group(2) or found.group(3)
    return f"'{literal[-2:0:-1]}'"


def _replaced(found: re.Match[str]) -> str:
    text, old, new = (one[1:-1] for one in found.groups())
    return f"'{text.replace(old, new, 1)}'" if old else found.group()


def _with_constants(text: str) -> str:
    """Names that stand for one literal replaced by that: in calls and in strings."""
    known: dict[str, str] = {}
    for found in itertools.islice(_CONSTANT.finditer(text), _MAX_CONSTANTS):
        name, value = found.group(1, 3)
        known[name] = "" if known.get(name, value) != value else value  # another one: either
    names = "|".join(re.escape(name) for name, value in known.items() if value)
    if not names:
        return text
    argument = (
        rf"(?<=[(\[:,+.\s])[$&]?({names})(?=\s{{0,8}}[,)+;]|\s{{0,8}}\.\s{{0,8}}(?:['\"]|join\())"
    )
    text = re.sub(argument, lambda found: f"'{known[found.group(1)]}'", text)
    # ``${name}``, ``#{name}``, ``{name}`` as Rust and C# write it, and ``$name``.
    within = rf"[$#]?\{{({names})\}}|\$({names})(?![\w(\[{{])"
    return re.sub(within, lambda found: known[found.group(1) or found.group(2)], text)
