"""How tools of known harnesses and servers are named, and by which keys they are given what."""

from __future__ import annotations

import re

SHELL_KEYS = (
    "command",
    "cmd",
    "script",
    "argv",
    "commands",
    "bash",
    "shell_command",
    "chars",
    "stdin",
    "keystrokes",
    "command_line",
    "commandLine",
    "bash_command",
)
CODE_KEYS = ("code", "python", "python_code", "source_code")
FOLDER_KEYS = ("workdir", "cwd", "working_directory", "working_dir", "workingDirectory")
PATH_KEYS = (
    "path", "file_path", "filePath", "filepath", "file", "filename", "file_name", "target_file",
    "notebook_path", "absolute_path", "relative_path", "relative_workspace_path", "dir",
    "directory", "folder", "root", "uri", "target", "source", "paths", "files", "old_path",
    "oldPath", "src", "from", "from_path", "source_path", "sourcePath", "file_paths",
    "filePaths", "filenames",
    "notebook", "document", "resource", "output_path", "outputPath", "output_file", "save_path",
    "module_path", "target_notebook", "buffer", "link_path",
)  # fmt: skip
# A key of some tool's own that names a file: ``pathInProject``, ``test_file``, ``outputDir``.
PATH_KEY = re.compile(
    r"(?:(?:[a-z]+|[a-zA-Z]+_)?(?:path|file|filename|dir|directory|folder|document)s?"
    r"|[a-z]+(?:Path|File|FileName|Dir|Directory|Folder|Document)s?)(?:_?[iI]n_?[A-Z]?\w+|_?name)?\Z"
)
# Keys that say what is to be done with the file that stands beside them.
ALSO_TEXT = ("source", "src", "from", "target", "root", "document")  # keys that may hold no path
VERB_KEYS = ("op", "operation", "action", "type", "method", "kind", "mode", "verb", "change_type")
ADDRESS_KEYS = ("host", "hostname", "server", "address", "domain", "addr", "remote_host")
CONTENT_KEYS = ("content", "contents", "file_text", "fileText", "new_source", "text", "body")
OLD_KEYS = ("oldText", "old_string", "oldString", "old_str", "old_text", "search", "oldStr")
NEW_KEYS = (
    "newText",
    "new_string",
    "newString",
    "new_str",
    "new_text",
    "replace",
    "newStr",
    "insert_text",
    "insert_line",
    "edits",
    "replacement",
)
PATCH_KEYS = ("patch", "patchText", "patch_text", "diff", "input", "unified_diff")
PATCH_KEY = re.compile(r"patch|diff", re.IGNORECASE)
URL_KEYS = ("url", "urls", "uri", "href", "link")
EDITOR_VERBS = (
    "view",
    "create",
    "str_replace",
    "insert",
    "undo_edit",
    "delete",
    "rename",
    "write",
    "read",
    "append",
)
WRITING_NAME = re.compile(
    r"write|create|edit|save|append|patch|delete|remove|move|rename|insert|replace|update|put"
    r"|checkout|restore|revert|apply|undo|modify|refactor|rewrite|format_file|sed_file"
    r"|upload|unlink|truncate|chmod|chown|erase|trash|overwrite|unzip|set_?file|touch|(?:sym|hard)_?link"
    r"|\blink\b|codemod|comby|lint_?fix|autofix|\bsed\b|download|export|screenshot|extract_?archive"
    r"|unpack|unarchive|permission|code_action|reformat|\bformat(?:\b|_code)",
    re.IGNORECASE,
)
TEXT_KEYS = ("query", "regex", "prompt", "description", "message", "title", "reason", "thought")
PROGRAM_KEYS = ("input", "js", "javascript", "expression", "snippet", "program", "function")
RUNNING_NAME = re.compile(r"exec|eval|run|js|node|repl|console|script|code", re.IGNORECASE)
REMOTE_PLACE = re.compile(r"(?:[\w.-]+@)?(?:[\w-]+\.)+[a-z]{2,24}:[/~]")
GLOBBING_NAME = re.compile(r"glob|find|list", re.IGNORECASE)
MOVING_TARGETS = (
    "destination", "dest", "target", "to", "new_path", "newPath", "dst", "new_name", "to_path",
    "destination_path", "destinationPath", "target_path", "new_file_path", "output", "out",
    "outfile", "remote", "save_to", "save_as", "link", "dest_path",
)  # fmt: skip
MOVING_NAME = re.compile(r"move|rename|mv\b", re.IGNORECASE)
SHELL_NAME = re.compile(
    r"(?:.*[_.:-])?(?:ba|z)?sh(?:ell)?|terminal|(?:run_|exec(?:ute)?_)?(?:terminal_)?(?:cmd"
    r"|command)"
    r"|local_shell|execute_bash|exec_command|process|console",
    re.IGNORECASE,
)
TERMINAL = re.compile(
    r"terminal|shell|bash|console|process|stdin|(?:\b|_)(?:term|tmux|pty|tty)(?:\b|_)|send_?keys",
    re.IGNORECASE,
)
TYPED_KEYS = ("chars", "stdin", "keystrokes")
STARTED_KEYS = ("program", "executable", "exe", "binary")
JAVASCRIPT_NAME = re.compile(
    r"(?:\b|_)(?:js|javascript|node|deno|bun|puppeteer|playwright|evaluate|browser)(?:\b|_)",
    re.IGNORECASE,
)
PYTHON_NAME = re.compile(
    r"python|jupyter|notebook|ipython|execute_code|code_interpreter", re.IGNORECASE
)
BACKGROUND_KEYS = ("run_in_background", "background", "is_background", "isBackground", "detach")
ENDING_NAME = re.compile(r"kill|terminate|signal|stop_?process|end_?process", re.IGNORECASE)
ENDING_VERBS = ("kill", "terminate", "stop", "signal", "close")
PROCESS_KEYS = (
    "pid", "process_id", "processId", "pids", "name", "process_name", "processName", "pattern",
    "session_id", "shell_id", "bash_id", "id", "process",
)  # fmt: skip
# Tools that start another agent, and the keys that hold what it is told.
AGENT_NAME = re.compile(
    r"(?:.*(?:__|[.:/]))?(?:task|agent|sub_?agent|delegate(?:_task)?|spawn_agent|dispatch_agent|new_task"
    r"|run_agent|launch_agent)s?",
    re.IGNORECASE,
)
PROMPT_KEYS = ("prompt", "goal", "message", "instructions", "task", "context", "request")
OWNER_KEYS = ("owner", "org", "organization", "namespace", "user")
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+\Z")
# A call within a call: what tools are named by, and what they are given.
TOOL_KEYS = (
    "tool", "tool_name", "toolName", "recipient_name", "function_name", "name", "method", "fn",
    "function", "func", "operation", "action",
)  # fmt: skip
PARAMETER_KEYS = (
    "arguments", "args", "parameters", "params", "input", "tool_input", "toolInput", "payload",
)  # fmt: skip
CELL_KEYS = ("source", "cell", "cell_source", "new_source")
EXECUTES_KEYS = ("execute", "run", "run_immediately", "autorun")
LANGUAGE_KEYS = ("language", "lang", "interpreter", "kernel")
NOTEBOOK_NAME = re.compile(r"notebook|jupyter|cell", re.IGNORECASE)
WRITING_CELL = re.compile(r"edit|add|insert|write|append|create", re.IGNORECASE)
#: Tools for git alone: its name, or with the verb in the tool's name.
GIT_NAME = re.compile(
    r"(?:.*[_.:/-])?git(?:[_-](checkout|restore|reset|stash|clean|revert|switch|rm|mv|pull|merge"
    r"|rebase|cherry_?pick))?\Z",
    re.IGNORECASE,
)
INERT_KEYS = frozenset((*FOLDER_KEYS, *OLD_KEYS, *NEW_KEYS, *TEXT_KEYS))
REVISION_KEYS = (
    "action", "subcommand", "ref", "target", "branch", "branch_name", "commit", "revision",
    "start_point", "tree_ish", "source",
)  # fmt: skip
