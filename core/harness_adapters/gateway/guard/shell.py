"""Shell programs, followed statement by statement through a real grammar (tree-sitter-bash)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness_adapters.gateway.guard.environment import listing
from harness_adapters.gateway.guard.errors import (
    MAX_NESTING,
    MAX_RAW,
    MAX_SHELL,
    MAX_SHELL_TOKENS,
    MAX_WORDS,
    Unjudgeable,
)
from harness_adapters.gateway.guard.grammar import parser
from harness_adapters.gateway.guard.heredocs import take_out
from harness_adapters.gateway.guard.hosts import host_of_operand
from harness_adapters.gateway.guard.launch import index_runs, launch
from harness_adapters.gateway.guard.lists import (
    ELEMENT,
    element,
    elements,
    joined,
    with_element,
)
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.spans import Places
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.weight import tokens
from harness_adapters.gateway.guard.words import Words

if TYPE_CHECKING:
    from tree_sitter import Node

_PRIVATE = re.compile("[\ue000-\ue004\ue006-\ue008]")  # what ``words`` marks things with
# Words that stand for themselves, and what must not be in them; or wholly in plain quotes.
_WORDS = frozenset(("word", "command_name", "number", "concatenation", "raw_string", "string"))
_SPECIAL = re.compile(r"[\\'\"$`{(]")
_QUOTED = re.compile(r"'[^']*+'\Z|\"[^\"$`\\]*+\"\Z")
# A command of nothing but such words, one blank or more between them; in double quotes also ``$x``.
_PLAIN_WORD = r"[\w./:,@%+^-][\w./:,@%+^=-]*+"
_PLAIN_STRING = r"'[^']*+'|\"(?:[^\"$`\\{},]|\$(?:[A-Za-z_][A-Za-z0-9_]*+|[0-9]))*+\""
_PLAIN_COMMAND = re.compile(
    rf"[\w./:,@%+^-]++(?:[ \t]++(?:{_PLAIN_WORD}|{_PLAIN_STRING})(?=[ \t]|\Z))*+\Z"
)
_PLAIN_PIECE = re.compile(rf"{_PLAIN_WORD}|{_PLAIN_STRING}")
_STRING = re.compile(r"\\.|'[^']*+'|\"(?:[^\"$`\\]|\\.)*+\"", re.DOTALL)
_NOT_ASCII = re.compile(r"[^\x01-\x7f]")
# What these are set to runs sooner or later.
PROGRAM_VARIABLES = names(
    """
    PROMPT_COMMAND PAGER MANPAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR LESSOPEN
    GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SUDO_ASKPASS BROWSER
    """
)
# Where programs go instead of where they are sent.
_HOST_VARIABLE = re.compile(
    r"(?:https?|all|ftp|socks)_proxy|(?:PIP|UV)_(?:EXTRA_)?(?:DEFAULT_)?INDEX(?:_URL)?|GOPROXY"
    r"|PGHOST(?:ADDR)?|MYSQL_HOST|DOCKER_HOST|OLLAMA_HOST|VAULT_ADDR|CONSUL_HTTP_ADDR|KUBE_SERVER"
    r"|CARGO_REGISTRIES_\w+_INDEX|(?:OPENAI|ANTHROPIC)_(?:API_)?BASE(?:_URL)?|GIT_PROXY_COMMAND"
    r"|npm_config_registry|HF_ENDPOINT|AWS_ENDPOINT_URL\w*|RUSTUP_DIST_SERVER|KAGGLE_API_ENDPOINT",
    re.IGNORECASE,
)
_CALLED_BY_SHELL = frozenset(("command_not_found_handle", "command_not_found_handler"))
_READ_WRITE = re.compile(r"(?<![<>'\"])<>(?![>'\"])")
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/")
_PATTERNS = frozenset(("word", "concatenation", "extglob_pattern", "variable_name"))
_BODIES = frozenset(("do_group", "compound_statement"))
_OTHER_BRANCHES = frozenset(("else_clause", "elif_clause", "case_item"))
_NO_WORDS = frozenset(("comment", "ERROR"))
_SAY_NOTHING = frozenset(("comment", "heredoc_body", "file_descriptor"))
_BACKGROUND = re.compile(r"&(?<![&><]&)(?![&>])")
_KEY_ENDS = re.compile(r"[\[+=]")
_HARD_EXPANSION = re.compile(r"[`\\]|\$[^\s\w]")  # any but ``$name``
_MAX_TURNS = 64  # of a loop over words, each followed by itself


def load_grammar() -> None:
    """Load it now rather than at the first program."""
    parser()


def run_shell(
    rec: Recorder,
    state: State,
    program: str,
    pipe: Pipe | None = None,
    *,
    places: Places | None = None,
) -> str | None:
    """Follow a shell program in ``state``, which it changes.

    :param places: from positions in the program to the call's raw text; without it everything
        keeps the span of the command that started the program.
    :returns: what it writes to standard output, where that is known.
    :raises Unjudgeable: it is beyond a limit.
    """
    return Shell(rec, state, program, places).run(pipe)


class Shell:
    def __init__(
        self,
        rec: Recorder,
        state: State,
        program: str,
        places: Places | None = None,
    ) -> None:
        self._rec = rec
        self._state = state
        self._program = program
        taken = take_out(program)
        self._text = taken.text
        self._docs, self._strings = taken.docs, taken.strings
        self._place = Places(0, taken.shifts) if taken.shifts else None
        self._places = places
        self._plain = taken.text.isascii() or _PRIVATE.search(taken.text) is None
        self._forks = "&" in taken.text and _BACKGROUND.search(taken.text) is not None
        self._shifts = "shift" in taken.text
        self._expander: Words | None = None

    def run(self, pipe: Pipe | None) -> str | None:
        with self._rec.program(self._text, limit=MAX_SHELL):
            if (
                len(self._text) > MAX_SHELL_TOKENS // 2
                and tokens(self._text) > MAX_SHELL_TOKENS
                and tokens(_STRING.sub(";", self._text)) > MAX_SHELL_TOKENS
            ):
                raise Unjudgeable(f"a shell program of more than {MAX_SHELL_TOKENS} tokens")
            if self._text.count("${") > self._text.count("}") + MAX_NESTING and _opens_many(
                self._text
            ):
                raise Unjudgeable(f"expansions inside expansions, more than {MAX_NESTING} deep")
            # One byte for each character, so that bytes count as characters.
            # The grammar does not know ``<>``, which writes as ``>>`` does.
            text = self._text if _is_plain(self._text) else _NOT_ASCII.sub("x", self._text)
            text = _READ_WRITE.sub(">>", text) if "<>" in text else text
            root = self._rec.effort.tree(text.encode("ascii"))
            if root.has_error or "\0" in self._text:
                broken = [one for one in root.children if one.has_error or one.is_missing]
                for one in broken or [root]:
                    self._at(one)
                    self._rec.unparsed(self._source(one).replace("\0", ""))
            return self._sequence(root.named_children, pipe)

    def call(self, body: Node, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
        """Run a function that this program defined, in the caller's state."""
        before, self._state = self._state, state
        kept = state.variables.get("@")
        state.variables["@"] = joined(words[1:])
        try:
            return self._statement(body, pipe)
        finally:
            self._state = before
            if kept is None:
                del state.variables["@"]
            else:
                state.variables["@"] = kept

    def _source(self, node: Node) -> str:
        return self._text[node.start_byte : node.end_byte]

    def _at(self, node: Node) -> None:
        if self._places is not None:
            start, end = node.start_byte, node.end_byte
            if self._place is not None:
                start, end = self._place.span(start, end)
            self._rec.span = self._places.span(start, end)

    def _words(self) -> Words:
        words = self._expander
        if words is None or words.state is not self._state:
            words = Words(self._text, self._state, self._substitute, self._rec.value)
            self._expander = words
        return words

    # --- statements -----------------------------------------------------------------------------

    def _sequence(self, nodes: Sequence[Node], pipe: Pipe | None) -> str | None:
        out: list[str] = []
        known = True
        follow = self._statement if self._forks else self._foreground
        for node in nodes:
            text = follow(node, pipe)
            if text is None:
                known = False
            else:
                out.append(text)
        return "".join(out) if known else None

    def _statement(self, node: Node, pipe: Pipe | None) -> str | None:
        rec = self._rec
        if self._forks and (after := node.next_sibling) is not None and after.type == "&":
            with rec.background():
                return self._foreground(node, pipe)
        return self._foreground(node, pipe)

    def _foreground(self, node: Node, pipe: Pipe | None) -> str | None:
        kind = node.type
        if kind == "command":
            return self._command(node, pipe)
        if kind in _SAY_NOTHING:
            return ""
        out: str | None = None
        rec = self._rec
        rec.enter()
        if follow := _STATEMENTS.get(kind):
            out = follow(self, node, pipe)
        elif kind.endswith(("_substitution", "expansion", "string")):
            self._words().value(node)
        rec.leave()
        return out

    def _block(self, node: Node, pipe: Pipe | None) -> str | None:
        return self._sequence(node.named_children, pipe)

    def _list(self, node: Node, pipe: Pipe | None) -> str | None:
        return self._sequence(_flat(node, "list"), pipe)

    def _declare(self, node: Node, pipe: Pipe | None) -> str | None:
        given = self._assignments(node)
        if node.type != "declaration_command":
            return ""
        self._at(node)
        for text in given.values():
            index_runs(self._rec, self._state, text)
        words = tuple(self._source(node).split()[:8])
        if not given:
            self._rec.run(words)
        return listing(words) or ""

    def _unset(self, node: Node, pipe: Pipe | None) -> str | None:
        for child in node.named_children:
            self._state.variables.pop(self._source(child), None)
        return ""

    def _inside(self, node: Node, pipe: Pipe | None) -> str | None:
        """In a subshell: folder and variables are its own."""
        before, self._state = self._state, self._state.fork()
        try:
            return self._sequence(node.named_children, pipe)
        finally:
            self._state = before

    def _branches(self, node: Node, pipe: Pipe | None) -> str | None:
        """Every branch is followed, since which one is taken is not known; what one of them
        shifts is shifted for it alone."""
        follow = self._statement if self._forks else self._foreground
        given = self._state.variables.get("@") if self._shifts else None
        for child in node.named_children:
            kind = child.type
            if kind in _PATTERNS:
                self._words().value(child)
                continue
            if given is not None and kind in _OTHER_BRANCHES:
                self._shift_back(given)
            follow(child, pipe)
        if given is not None:
            self._shift_back(given)
        return None

    def _shift_back(self, given: str) -> None:
        if given.endswith(self._state.variables.get("@", given)):
            self._state.variables["@"] = given

    def _while(self, node: Node, pipe: Pipe | None) -> str | None:
        """A loop that reads gets one line in each turn, where they are known."""
        if self._shifts and "shift" in self._source(node):
            given = elements(self._state.variables.get("@"))
            if given:
                return self._while_shifting(node, pipe, given)
        lines = pipe.text.splitlines() if pipe is not None and pipe.text else []
        condition = node.child_by_field_name("condition")
        if condition is None or "read" not in self._source(condition):
            self._rec.loop()
        if condition is None or "read" not in self._source(condition) or len(lines) < 2:
            return self._branches(node, pipe)
        if len(lines) > _MAX_TURNS:
            lines[_MAX_TURNS:] = [" ".join(lines[_MAX_TURNS:])]
        for line in lines:
            self._branches(node, Pipe(line))
        return None

    def _while_shifting(self, node: Node, pipe: Pipe | None, given: list[str]) -> str | None:
        """A loop over a program's arguments; behind it those are left that are no options."""
        for turn in range(min(len(given), _MAX_TURNS)):
            self._state.variables["@"] = rest = joined(given[turn:])
            self._rec.value(8 * len(rest))
            self._branches(node, pipe)
        self._state.variables["@"] = joined([one for one in given if one[:1] != "-"])
        return None

    def _for(self, node: Node, pipe: Pipe | None) -> str | None:
        name = ""
        values: list[str] = []
        words = node.named_children
        body: Node | None = words.pop() if words and words[-1].type in _BODIES else None
        if words and words[0].type == "variable_name":
            name = self._source(words.pop(0))
        for one in words:
            if one.type in _NO_WORDS:
                continue
            values += self._words().fields(one)
            if one.type == "word" and values and "*" in values[-1] and "/" in values[-1]:
                self._at(one)
                self._rec.read(self._state, values[-1])
        if body is None:
            return None
        if not values and all(one.type != "in" for one in node.children):
            values = elements(self._state.variables.get("@"))
        if len(values) > _MAX_TURNS:  # the rest in one turn, split where the loop uses it unquoted
            values[_MAX_TURNS:] = [" ".join(values[_MAX_TURNS:])]
        for value in values or [""]:
            if values:
                self._state.variables[name] = value
            self._statement(body, pipe)
        return None

    def _define(self, node: Node, pipe: Pipe | None) -> str | None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self._state.functions[self._source(name)] = (self, body)
            self._state.definitions[self._source(name)] = self._source(node)
            if self._source(name) in _CALLED_BY_SHELL:
                self._statement(body, None)
        return ""

    def _test(self, node: Node, pipe: Pipe | None) -> str | None:
        self._at(node)
        words: list[str] = []
        stack = [node]
        while stack:
            child = stack.pop()
            if child.type in (
                "unary_expression",
                "binary_expression",
                "parenthesized_expression",
                "negation_expression",
                "test_command",
            ):
                stack += reversed(child.named_children)
            elif child.type not in ("test_operator", "regex"):
                words += self._words().fields(child)
            elif child.type == "test_operator":
                words.append(self._source(child))
        return launch(self._rec, self._state, ["test", *words], None)

    def _assignments(self, node: Node) -> dict[str, str]:
        """Set variables; ``x=1``, ``export x=1``, ``declare -x x=1``."""
        given: dict[str, str] = {}
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        for one in nodes:
            if one.type != "variable_assignment":
                continue
            name, value = one.child_by_field_name("name"), one.child_by_field_name("value")
            if name is None:
                continue
            key = _KEY_ENDS.split(self._source(name), maxsplit=1)[0]
            old = given.get(key, self._state.variables.get(key, ""))
            if value is None:
                text = ""
            elif value.type == "array":
                text = self._words().array(value)
                self._rec.value(8 * len(old))
                if self._adds(name, value):
                    text = joined(elements(old)) + text
            else:
                text = self._words().value(value)
                index = ""
                if name.type == "subscript":  # ``a[$(command)]=1``
                    index = "".join(map(self._words().value, name.named_children[1:]))
                elif ELEMENT in old:
                    index = "0"
                if self._adds(name, value):
                    text = ((element(old, index) if index else old) or "") + text
                if index:
                    self._rec.value(8 * len(old))
                    text = with_element(old, index, text)
            given[key] = text[:65536]
            if key in PROGRAM_VARIABLES:
                run_shell(self._rec, self._state.fork(), text)
            elif _HOST_VARIABLE.fullmatch(key):
                self._rec.connect(host_of_operand(text), address=text)
        self._state.variables.update(given)
        return given

    def _adds(self, name: Node, value: Node) -> bool:
        """Whether it is ``name+=value``."""
        return "+" in self._text[name.end_byte : value.start_byte]

    def _pipeline(self, node: Node, pipe: Pipe | None) -> str | None:
        out: str | None = None
        stages = _flat(node, "pipeline")
        start = stages[0].start_byte if stages else 0
        for i, stage in enumerate(stages):
            before, self._state = self._state, self._state.fork()
            try:
                out = self._statement(stage, pipe)
            finally:
                self._state = before
            if i + 1 < len(stages):
                # Where bodies were taken out, the source is the whole program.
                source = self._program if self._docs else self._text[start : stage.end_byte]
                pipe = Pipe(out, source)
        return out

    # --- commands -------------------------------------------------------------------------------

    def _command(
        self, node: Node, pipe: Pipe | None, more_words: Sequence[Node] = ()
    ) -> str | None:
        if self._plain and not more_words and (easy := self._plain_words(node)):
            return self._launch(node, easy, pipe)
        if node.named_child_count > MAX_WORDS:
            raise Unjudgeable(f"a command of more than {MAX_WORDS} words")
        words: list[str] = []
        redirects: list[Node] = []
        prefix: list[Node] = []
        expand: Words | None = None
        text, plain = self._text, self._plain
        for child in (*node.named_children, *more_words) if more_words else node.named_children:
            kind = child.type
            if kind in _WORDS and plain:
                raw = text[child.start_byte : child.end_byte]
                if _SPECIAL.search(raw) is None:
                    words.append(raw)
                    if "*" in raw and "/" in raw:  # the shell itself looks what there is
                        self._at(child)
                        self._rec.read(self._state, raw)
                    continue
                if _QUOTED.match(raw):
                    words.append(raw[1:-1])
                    continue
            if kind == "variable_assignment":
                prefix.append(child)
            elif kind.endswith("_redirect"):
                redirects.append(child)
            elif kind == "ERROR":
                self._sequence(child.named_children, pipe)
            elif kind != "comment":
                expand = expand or self._words()
                words += expand.fields(child)
                if len(words) > MAX_WORDS:
                    raise Unjudgeable(f"a command of more than {MAX_WORDS} words")
        if not prefix and not redirects:
            return self._launch(node, words, pipe)
        state = self._state
        before = dict(state.variables) if prefix else {}
        given = [name for one in prefix for name in self._assignments(one)]
        try:
            return self._with_redirects(
                redirects, pipe, lambda stdin: self._launch(node, words, stdin)
            )
        finally:
            for name in given:  # ``X=1 command`` sets X for that command alone
                if name in before:
                    state.variables[name] = before[name]
                else:
                    state.variables.pop(name, None)

    def _plain_words(self, node: Node) -> list[str] | None:
        """The words of a command that is as plain as most are; without a look at its nodes."""
        source = self._text[node.start_byte : node.end_byte]
        if not _PLAIN_COMMAND.match(source):
            return None
        words: list[str] = []
        for word in (
            _PLAIN_PIECE.findall(source) if "'" in source or '"' in source else source.split()
        ):
            if word[0] == "'":
                word = word[1:-1]
            elif word[0] == '"':
                word = self._words().quoted(word[1:-1]) if "$" in word else word[1:-1]
            words.append(word)
        if len(words) > MAX_WORDS:
            raise Unjudgeable(f"a command of more than {MAX_WORDS} words")
        return words

    def _launch(self, node: Node, words: list[str], pipe: Pipe | None) -> str | None:
        if self._places is not None:
            self._at(node)
        return launch(self._rec, self._state, words, pipe) if words else ""

    def _redirected(self, node: Node, pipe: Pipe | None) -> str | None:
        children = node.named_children
        redirects = [child for child in children if child.type.endswith("_redirect")]
        first = children[0] if children else None
        body = None if first is None or first in redirects else first
        if body is not None and body.type == "list":  # ``a && b > out``: of the last one's output
            *before, body = _flat(body, "list")
            self._sequence(before, pipe)
        # ``ls > out /tests``: the grammar takes the words that follow for more destinations.
        more = [
            one
            for redirect in redirects
            if redirect.named_child_count > 1
            for one in redirect.children_by_field_name("destination")[1:]
        ]

        def run(given: Pipe | None) -> str | None:
            if body is not None and body.type == "command":
                return self._command(body, given, more)
            if body is not None:
                return self._statement(body, given)
            return self._launch(node, [w for one in more for w in self._words().fields(one)], given)

        return self._with_redirects(redirects, pipe, run)

    def _with_redirects(
        self,
        redirects: Sequence[Node],
        pipe: Pipe | None,
        run: Callable[[Pipe | None], str | None],
    ) -> str | None:
        outputs: list[tuple[str, bool]] = []
        errors: list[str] = []
        for redirect in redirects:
            self._at(redirect)
            match redirect.type:
                case "file_redirect":
                    pipe = self._file_redirect(redirect, pipe, outputs, errors)
                case _:  # taken out before; what is left is no here-document
                    pipe = Pipe(None, self._source(redirect))
        out = run(pipe)
        for target, append in outputs:
            content = out
            if append and out is not None:
                content = (self._state.text(self._state.path(target)) or "") + out
            self._at(redirects[0])
            self._rec.write(self._state, target, content)
        for target in errors:
            self._rec.write(self._state, target)
        return "" if outputs else out

    def _file_redirect(
        self,
        node: Node,
        pipe: Pipe | None,
        outputs: list[tuple[str, bool]],
        errors: list[str],
    ) -> Pipe | None:
        destination: Node | None = None
        sign: Node | None = None
        descriptor: Node | None = None
        for child in node.children:
            if not child.is_named:
                sign = sign or child
            elif child.type == "file_descriptor":
                descriptor = child
            else:
                destination = destination or child
        if destination is None:
            return pipe
        operator = sign.type if sign is not None else ">"
        if sign is not None and sign.start_byte in self._strings:
            return Pipe(self._words().value(destination) + "\n", self._source(destination))
        if sign is not None and (doc := self._docs.get(sign.start_byte)):
            return Pipe(doc.body if doc.quoted else self._expanded(doc.body), doc.body)
        target = self._words().value(destination)
        if target.startswith("/dev/") and (device := _DEVICE.match(target)):
            self._rec.connect(device.group(1), sends=operator == ">>")  # ``<>``, and what follows
            return pipe
        if operator in (">&", "<&") and (target.isdigit() or target == "-"):
            return pipe
        if operator.startswith("<") and operator != "<>":
            self._rec.read(self._state, target)
            return Pipe(self._state.text(self._state.path(target)), f"< {target}")
        if descriptor is not None and self._source(descriptor) != "1" and "&" not in operator:
            errors.append(target)
        else:
            outputs.append((target, ">>" in operator))
        return pipe

    def _expanded(self, body: str) -> str:
        """A here-document's body with its expansions; substitutions in it do run."""
        if "$" not in body and "`" not in body and "\\" not in body:
            return body
        if _HARD_EXPANSION.search(body) is None:
            return self._words().quoted(body)
        end = "END"
        while end in body:
            end += "_"
        inner = Shell(self._rec, self._state, "")
        inner._text = f"cat <<{end}\n{body.removesuffix(chr(10))}\n{end}\n"
        with self._rec.program(body, limit=MAX_RAW):
            raw = _NOT_ASCII.sub("x", inner._text).encode("ascii")
            root = self._rec.effort.tree(raw, probe=False)
            stack = [root]
            while stack:
                node = stack.pop()
                if node.type == "heredoc_body":
                    return inner._words().heredoc(node)
                stack += node.named_children
        return body

    def _substitute(self, node: Node) -> str | None:
        """``$(...)`` and ``<(...)``; the latter becomes a file name."""
        self._rec.enter()
        before, self._state = self._state, self._state.fork()
        span = self._rec.span
        try:
            if node.children and node.children[0].type.startswith(">("):
                self._sequence(node.named_children, Pipe(None, self._source(node)))
                out: str | None = None
            else:
                out = self._with_redirects(
                    [c for c in node.named_children if c.type.endswith("_redirect")],
                    None,
                    lambda given: self._substituted(node, given),
                )
        finally:
            self._state = before
            self._rec.span = span
        self._rec.leave()
        if node.type == "process_substitution":
            name = f"/dev/fd/{63 + len(self._state.files)}"
            self._state.files[name] = out
            return name
        return out

    def _substituted(self, node: Node, pipe: Pipe | None) -> str | None:
        inside = [c for c in node.named_children if not c.type.endswith("_redirect")]
        if not inside:  # ``$(<file)``
            return pipe.text if pipe else ""
        return self._sequence(inside, pipe)


Follow = Callable[[Shell, "Node", "Pipe | None"], "str | None"]
_STATEMENTS: dict[str, Follow] = {
    "pipeline": Shell._pipeline,
    "list": Shell._list,
    "redirected_statement": Shell._redirected,
    "variable_assignment": Shell._declare,
    "variable_assignments": Shell._declare,
    "declaration_command": Shell._declare,
    "subshell": Shell._inside,
    "compound_statement": Shell._block,
    "do_group": Shell._block,
    "program": Shell._block,
    "ERROR": Shell._block,
    "negated_command": Shell._block,
    "else_clause": Shell._block,
    "function_definition": Shell._define,
    "for_statement": Shell._for,
    "while_statement": Shell._while,
    "test_command": Shell._test,
    "unset_command": Shell._unset,
    "case_statement": Shell._branches,
    "case_item": Shell._branches,
    "if_statement": Shell._branches,
    "elif_clause": Shell._branches,
    "c_style_for_statement": Shell._branches,
}


def _opens_many(text: str) -> bool:
    """Whether that holds outside of strings and comments, too."""
    bare = _COMMENT.sub("", _STRING.sub(";", text))
    return bare.count("${") > bare.count("}") + MAX_NESTING


_COMMENT = re.compile(r"(?:(?<=\s)|\A)#[^\n]*+")


def _is_plain(text: str) -> bool:
    return text.isascii() and "\0" not in text


def _flat(node: Node, kind: str) -> list[Node]:
    """``a && b || c`` and ``a | b | c`` without the grammar's nesting to the left."""
    found: list[Node] = []
    stack = [node]
    while stack:
        one = stack.pop()
        if one.type == kind:
            stack += reversed(one.named_children)
        else:
            found.append(one)
    return found
