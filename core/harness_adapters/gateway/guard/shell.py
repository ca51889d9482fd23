"""Shell programs, followed statement by statement through a real grammar (tree-sitter-bash)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from harness_adapters.gateway.guard.actions import Span
from harness_adapters.gateway.guard.errors import MAX_RAW, MAX_SHELL, MAX_WORDS, Unjudgeable
from harness_adapters.gateway.guard.heredocs import take_out
from harness_adapters.gateway.guard.launch import launch
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.spans import Places
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.words import Words

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_NOT_ASCII = re.compile(r"[^\x01-\x7f]")
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/")
_MAX_TURNS = 64  # of a loop over words, each followed by itself


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def run_shell(
    rec: Recorder,
    state: State,
    program: str,
    pipe: Pipe | None = None,
    *,
    span_of: Callable[[int, int], Span] | None = None,
) -> str | None:
    """Follow a shell program in ``state``, which it changes.

    :param span_of: from positions in the program to a span of the call; without it everything
        keeps the span of the command that started the program.
    :returns: what it writes to standard output, where that is known.
    :raises Unjudgeable: it is beyond a limit.
    """
    return Shell(rec, state, program, span_of).run(pipe)


class Shell:
    def __init__(
        self,
        rec: Recorder,
        state: State,
        program: str,
        span_of: Callable[[int, int], Span] | None = None,
    ) -> None:
        self._rec = rec
        self._state = state
        self._program = program
        taken = take_out(program)
        self._text = taken.text
        self._docs, self._strings = taken.docs, taken.strings
        self._place = Places(0, taken.shifts) if taken.shifts else None
        self._span_of = span_of

    def run(self, pipe: Pipe | None) -> str | None:
        with self._rec.program(self._text, limit=MAX_SHELL):
            # One byte for each character, so that bytes count as characters.
            tree = _parser().parse(_NOT_ASCII.sub("x", self._text).encode("ascii"))
            root = tree.root_node
            if root.has_error or "\0" in self._text:
                broken = [one for one in root.children if one.has_error or one.is_missing]
                for one in broken or [root]:
                    self._at(one)
                    self._rec.unparsed(self._source(one).replace("\0", ""))
            return self._sequence(root.named_children, pipe)

    def call(self, body: Node, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
        """Run a function that this program defined, in the caller's state."""
        before, self._state = self._state, state
        kept = {name: state.variables.get(name) for name in (*"123456789", "@", "*")}
        _set_positional(state, words[1:])
        try:
            return self._statement(body, pipe)
        finally:
            self._state = before
            for name, value in kept.items():
                if value is None:
                    state.variables.pop(name, None)
                else:
                    state.variables[name] = value

    def _source(self, node: Node) -> str:
        return self._text[node.start_byte : node.end_byte]

    def _at(self, node: Node) -> None:
        if self._span_of is not None:
            start, end = node.start_byte, node.end_byte
            if self._place is not None:
                start, end = self._place(start), self._place(end)
            self._rec.span = self._span_of(start, end)

    def _words(self) -> Words:
        return Words(self._text, self._state, self._substitute)

    # --- statements -----------------------------------------------------------------------------

    def _sequence(self, nodes: Sequence[Node], pipe: Pipe | None) -> str | None:
        out: list[str] = []
        known = True
        for node in nodes:
            text = self._statement(node, pipe)
            if text is None:
                known = False
            else:
                out.append(text)
        return "".join(out) if known else None

    def _statement(self, node: Node, pipe: Pipe | None) -> str | None:
        with self._rec.level():
            match node.type:
                case "command":
                    return self._command(node, pipe)
                case "pipeline":
                    return self._pipeline(_flat(node, "pipeline"), pipe)
                case "list":
                    return self._sequence(_flat(node, "list"), pipe)
                case "redirected_statement":
                    return self._redirected(node, pipe)
                case "variable_assignment" | "declaration_command" | "variable_assignments":
                    self._assignments(node)
                    return ""
                case "subshell":
                    return self._inside(node, pipe)
                case "compound_statement" | "do_group" | "program" | "ERROR":
                    return self._sequence(node.named_children, pipe)
                case "function_definition":
                    return self._define(node)
                case "for_statement":
                    self._for(node, pipe)
                    return None
                case "comment" | "heredoc_body" | "file_descriptor":
                    return ""
                case "negated_command" | "else_clause":
                    return self._sequence(node.named_children, pipe)
                case "test_command":
                    self._test(node)
                    return None
                case "unset_command":
                    for child in node.named_children:
                        self._state.variables.pop(self._source(child), None)
                    return ""
                case "case_statement" | "case_item":
                    self._branches(node, pipe)
                    return None
                case "while_statement":
                    self._while(node, pipe)
                    return None
                case "if_statement" | "elif_clause" | "c_style_for_statement":
                    self._branches(node, pipe)
                    return None
                case kind if kind.endswith(("_substitution", "expansion", "string")):
                    self._words().value(node)
                    return None
                case _:
                    return None

    def _inside(self, node: Node, pipe: Pipe | None) -> str | None:
        """In a subshell: folder and variables are its own."""
        before, self._state = self._state, self._state.fork()
        try:
            return self._sequence(node.named_children, pipe)
        finally:
            self._state = before

    def _branches(self, node: Node, pipe: Pipe | None) -> None:
        """Every branch is followed, since which one is taken is not known."""
        for child in node.named_children:
            if child.type in ("word", "concatenation", "extglob_pattern", "variable_name"):
                self._words().value(child)
            else:
                self._statement(child, pipe)

    def _while(self, node: Node, pipe: Pipe | None) -> None:
        """A loop that reads gets one line in each turn, where they are known."""
        lines = pipe.text.splitlines() if pipe is not None and pipe.text else []
        condition = node.child_by_field_name("condition")
        if condition is None or "read" not in self._source(condition) or len(lines) < 2:
            self._branches(node, pipe)
            return
        if len(lines) > _MAX_TURNS:
            lines[_MAX_TURNS:] = [" ".join(lines[_MAX_TURNS:])]
        for line in lines:
            self._branches(node, Pipe(line))

    def _for(self, node: Node, pipe: Pipe | None) -> None:
        name = ""
        values: list[str] = []
        body: Node | None = node.child_by_field_name("body")
        variable = node.child_by_field_name("variable")
        if variable is not None:
            name = self._source(variable)
        for one in node.children_by_field_name("value"):
            values += self._words().fields(one)
        if body is None:
            return
        if len(values) > _MAX_TURNS:  # the rest in one turn, split where the loop uses it unquoted
            values[_MAX_TURNS:] = [" ".join(values[_MAX_TURNS:])]
        for value in values or [""]:
            if values:
                self._state.variables[name] = value
            self._statement(body, pipe)

    def _define(self, node: Node) -> str:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self._state.functions[self._source(name)] = (self, body)
        return ""

    def _test(self, node: Node) -> None:
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
        launch(self._rec, self._state, ["test", *words], None)

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
            key = re.split(r"[\[+=]", self._source(name), maxsplit=1)[0]
            text = self._words().value(value) if value is not None else ""
            if "+=" in self._source(one)[: len(key) + 4]:
                text = self._state.variables.get(key, "") + text
            given[key] = text[:65536]
        self._state.variables.update(given)
        return given

    def _pipeline(self, stages: Sequence[Node], pipe: Pipe | None) -> str | None:
        out: str | None = None
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
        if node.named_child_count > MAX_WORDS:
            raise Unjudgeable(f"a command of more than {MAX_WORDS} words")
        words: list[str] = []
        redirects: list[Node] = []
        prefix: list[Node] = []
        expand = self._words()
        for child in (*node.named_children, *more_words):
            kind = child.type
            if kind == "variable_assignment":
                prefix.append(child)
            elif kind.endswith("_redirect"):
                redirects.append(child)
            elif kind == "ERROR":
                self._sequence(child.named_children, pipe)
            elif kind != "comment":
                words += expand.fields(child)
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

    def _launch(self, node: Node, words: list[str], pipe: Pipe | None) -> str | None:
        self._at(node)
        if not words:
            return ""
        return launch(self._rec, self._state, words, pipe)

    def _redirected(self, node: Node, pipe: Pipe | None) -> str | None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if child.type.endswith("_redirect")]
        # ``ls > out /tests``: the grammar takes the words that follow for more destinations.
        more = [one for r in redirects for one in r.children_by_field_name("destination")[1:]]

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
        for redirect in redirects:
            self._at(redirect)
            match redirect.type:
                case "file_redirect":
                    pipe = self._file_redirect(redirect, pipe, outputs)
                case _:  # taken out before; what is left is no here-document
                    pipe = Pipe(None, self._source(redirect))
        out = run(pipe)
        for target, append in outputs:
            content = out
            if append and out is not None:
                content = (self._state.text(self._state.path(target)) or "") + out
            self._at(redirects[0])
            self._rec.write(self._state, target, content)
        return "" if outputs else out

    def _file_redirect(
        self, node: Node, pipe: Pipe | None, outputs: list[tuple[str, bool]]
    ) -> Pipe | None:
        destination = node.child_by_field_name("destination")
        if destination is None:
            return pipe
        sign = next((c for c in node.children if not c.is_named), None)
        operator = sign.type if sign is not None else ">"
        if sign is not None and sign.start_byte in self._strings:
            return Pipe(self._words().value(destination) + "\n", self._source(destination))
        if sign is not None and (doc := self._docs.get(sign.start_byte)):
            return Pipe(doc.body if doc.quoted else self._expanded(doc.body), doc.body)
        target = self._words().value(destination)
        if device := _DEVICE.match(target):
            self._rec.connect(device.group(1))
            return pipe
        if operator in (">&", "<&") and (target.isdigit() or target == "-"):
            return pipe
        if operator.startswith("<") and operator != "<>":
            self._rec.read(self._state, target)
            return Pipe(self._state.text(self._state.path(target)), f"< {target}")
        outputs.append((target, ">>" in operator))
        return pipe

    def _expanded(self, body: str) -> str:
        """A here-document's body with its expansions; substitutions in it do run."""
        if "$" not in body and "`" not in body and "\\" not in body:
            return body
        end = "END"
        while end in body:
            end += "_"
        inner = Shell(self._rec, self._state, "")
        inner._text = f"cat <<{end}\n{body.removesuffix(chr(10))}\n{end}\n"
        with self._rec.program(body, limit=MAX_RAW):
            root = _parser().parse(_NOT_ASCII.sub("x", inner._text).encode("ascii")).root_node
            stack = [root]
            while stack:
                node = stack.pop()
                if node.type == "heredoc_body":
                    return inner._words().heredoc(node)
                stack += node.named_children
        return body

    def _substitute(self, node: Node) -> str | None:
        """``$(...)`` and ``<(...)``; the latter becomes a file name."""
        with self._rec.level():
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


def _set_positional(state: State, words: Sequence[str]) -> None:
    for i in range(1, 10):
        if i <= len(words):
            state.variables[str(i)] = words[i - 1]
        else:
            state.variables.pop(str(i), None)
    state.variables["@"] = state.variables["*"] = " ".join(words)
