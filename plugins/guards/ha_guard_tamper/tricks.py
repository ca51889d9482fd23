"""Code that changes how it is tested instead of what it does, told by its text alone.

Only what has no honest use in code under test is listed, so this misses more than it finds.
"""

from __future__ import annotations

import itertools
import re

from ha_guard_tamper.python_tricks import python_trick

_MAX_TEXT = 256 * 1024
_MAX_OTHERS = 64 * 1024  # of a text in another language
_MAX_COMMENTED = 32 * 1024  # of a text whose comments are read
# Of other languages: files, what stands in them, and what it does.
_JS = r"\.(?:js|jsx|ts|tsx|mjs|cjs)\Z"
_JVM = r"\.(?:java|kt|cs|scala|groovy)\Z"
# The first thing that is done, whatever follows it.
_TRUE = r"(?:if\s*\(\s*(?:true|1)\s*\)\s*\{?\s*)?return\s+(?:true|1)\s*;"
_EQUAL = "an object that equals everything"
_ENDS = "ends the process as if all were well"
_NOTICES = "behaves otherwise under test"
_CLOCK = "replaces the clock"
_OTHERS: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...] = tuple(
    (re.compile(files), re.compile("|".join(texts), re.MULTILINE), meaning)
    for files, texts, meaning in (
        (
            _JS,
            (
                r"^[ \t]*(?:(?:globalThis|global|window)\.)?(?:Date\.now|performance\.now"
                r"|process\.hrtime(?:\.bigint)?)\s*=[^=]",
                r"^[ \t]*(?:globalThis|global|window)\.(?:Date|setTimeout|setInterval|performance)"
                r"\s*=[^=]",
                r"(?:spyOn|stub|replace)\(\s*(?:Date|performance|global\w*)\s*,\s*['\"]"
                r"(?:now|Date|setTimeout)",
                r"defineProperty\(\s*(?:Date|performance|globalThis|global)\s*,\s*['\"]"
                r"(?:now|Date|performance)",
            ),
            _CLOCK,
        ),
        (
            _JS,
            (
                r"^[ \t]*(?:(?:globalThis|global)\.)?(?:expect|assert(?:\.\w+)?|describe|it|test)"
                r"\s*=[^=>]",
                r"\bexpect\.extend\(|Object\.is\s*=[^=]|(?:assert|expect)\.prototype\.\w+\s*=[^=]",
                r"process\.exit\s*=[^=]|(?:jest|vi)\.(?:mock|fn|spyOn)\(",
            ),
            "replaces what tests assert with",
        ),
        (
            _JS,
            (
                r"JEST_WORKER_ID|\bVITEST\b|npm_lifecycle_event\b[^\n]{0,20}test['\"]\s*\)\s*\{?\s*return\s+[^;\s]"
                r"|process\.env\.NODE_ENV\s*={2,3}\s*['\"]test['\"]\s*\)\s*\{?\s*return\s+[^;\s]",
                r"typeof\s+(?:jest|describe|it|expect)\s*!==?\s*['\"]undefined",
                r"process\.argv[^\n]*(?:jest|mocha|vitest)|\.stack\b[^\n]*(?:test|spec)\b",
            ),
            _NOTICES,
        ),
        (
            _JS,
            (
                r"^process\.exit\(\s*0?\s*\)",
                r"process\.on\(\s*['\"](?:exit|beforeExit)['\"][^;]{0,120}?(?:exitCode\s*=\s*0"
                r"|exit\(0\))",
            ),
            _ENDS,
        ),
        (
            r"\.(?:c|cc|cpp)\Z",
            (
                r"^(?:int|time_t|clock_t|double)\s{1,4}(?:clock_gettime|gettimeofday|time|clock|ftime)"
                r"\s?\([^)]{0,120}\)\s{0,4}\{",
            ),
            _CLOCK,
        ),
        (
            _JS,
            (
                r"asymmetricMatch\s*[:(=]\s*\(?[^)\n]{0,20}\)?\s*(?:=>|\{\s*return)\s*true|Symbol\.for\(\s*['\"]jest\.asymmetricMatcher",
            ),
            _EQUAL,
        ),
        (
            r"\.p[lm]\Z",
            (
                r"use\s+overload\b[^;]{0,300}?['\"](?:==|eq)['\"]\s*=>\s*sub\s*\{\s*(?:return\s+)?1\b",
            ),
            _EQUAL,
        ),
        (
            r"\.(?:sh|bash)\Z",
            (r"\bif\b[^\n]{0,80}\$\{?(?:BATS_|SHUNIT|SHELLSPEC_)\w*",),
            _NOTICES,
        ),
        (
            r"\.(?:c|cc|cpp)\Z",
            (
                r"\b(\w{1,40})\s*\(\s*int\b[^)]{0,40}\)\s*\{[^}]{0,200}?exit\(\s*(?:0|EXIT_SUCCESS)\s*\)"
                r"[\s\S]{0,1500}?\bsignal\(\s*SIG(?:ABRT|SEGV)\s*,\s*\1\b",
            ),
            _ENDS,
        ),
        (
            r"\.cs\Z",
            (
                r"GetAssemblies\(\)[\s\S]{0,200}?\"(?:xunit|nunit|mstest|testhost"
                r"|Microsoft\.(?:VisualStudio\.)?Test)",
            ),
            _NOTICES,
        ),
        (
            _JS,
            (
                r"createHash\b[\s\S]{0,600}?\{\s*(?:['\"][0-9a-f]{7,64}['\"]\s*:\s*[^,{}\n]{1,80}(?:,\s*|(?=\}))){2}"
                r"|\{\s*(?:['\"][0-9a-f]{7,64}['\"]\s*:\s*[^,{}\n]{1,80}(?:,\s*|(?=\}))){2}[\s\S]{0,600}?createHash\b",
            ),
            "tells its inputs by their hash, with the answers beside it",
        ),
        (
            r"\.(?:js|jsx|ts|tsx|mjs|cjs|java|kt|cs|go|rs|php|c|cc|cpp|swift|scala)\Z",
            (
                r"^[ \t]*+(?:\}\s*+else\s++)?if\s*+\(?+\s*+[\w.]++\s*+={2,3}\s*+(['\"])"
                r"(?:[^'\"\n ]{1,60}+ ){2,30}+[^'\"\n]{1,100}\1"
                r"\s*+&&\s*+[\w.]++\s*+={2,3}\s*+['\"\d][^{\n]{0,80}\{?"
                r"\s*return\s+[\[{'\"\d-]",
            ),
            "returns a literal for one long input",
        ),
        (
            r"\.go\Z",
            (r"runtime\.Callers?\(\s*[1-9][\s\S]{0,200}?ReadFile\(",),
            "reads the source of who calls it",
        ),
        (
            _JVM,
            (
                rf"\b(?:equals|Equals)\s*\([^)]{{0,200}}\)[^{{=\n]{{0,200}}(?:\{{\s*{_TRUE}|=>?\s*true\b)",
            ),
            _EQUAL,
        ),
        (
            _JVM,
            (
                r"static\s*\{[^}]{0,500}System\.exit\(\s*0\s*\)|addShutdownHook[^;]{0,300}halt\(\s*0\s*\)",
            ),
            _ENDS,
        ),
        (
            r"\.rs\Z",
            (
                r"fn\s+eq\s*\(\s*&self\s*,\s*_\w*\s*:[^)]{0,200}\)\s*->\s*bool\s*\{(?!\s*(?:false|match)\b)"
                r"|fn\s+eq\s*\([^)]{0,200}\)\s*->\s*bool\s*\{\s*(?:return\s+true\b|true\s*\}"
                r"|[\s\d!()=<>&|+*-]{1,80}\})",
            ),
            _EQUAL,
        ),
        (
            r"\.rs\Z",
            (r"set_hook\([^;]{0,300}(?:process::exit\(\s*0|process::abort|_exit\(\s*0)",),
            _ENDS,
        ),
        (
            r"\.rs\Z",
            (
                r"thread::current\(\)\s*\.name\(\)[^\n;]{0,60}(?:==\s*(?:Some\(\s*)?|(?:contains"
                r"|starts_with|ends_with)\(\s*)\"(?!main\b|\w*(?:worker|pool|thread))",
            ),
            _NOTICES,
        ),
        (
            _JVM,
            (
                r"(?:getStackTrace|\.stackTrace\b|StackWalker|StackFrame)[\s\S]{0,300}?"
                r"(?:junit|surefire|testng|xunit|nunit|\b(?:endsWith|startsWith|contains|matches|equals)\(\s*"
                r"\"[^\"\n]{0,80}Test)",
                r"Class\.forName\(\s*\"org\.(?:junit|testng)|System\.getProperty\(\s*\"(?:surefire"
                r"|org\.gradle\.test\.|junit\.)",
            ),
            _NOTICES,
        ),
        (
            r"src/main/.*\.(?:java|kt|groovy|scala)\Z",
            (
                r"\b(?:implements|extends|:)\s[^{\n]{0,200}\b(?:TestExecutionExceptionHandler|InvocationInterceptor"
                r"|ExecutionCondition|LifecycleMethodExecutionExceptionHandler|IHookable"
                r"|IInvokedMethodListener|IAnnotationTransformer|IRetryAnalyzer|PostDiscoveryFilter"
                r"|LauncherSessionListener)\b",
            ),
            "changes how tests come out",
        ),
        (
            r"\.rb\Z",
            (
                r"\bcaller(?:_locations)?\b[^\n#]{0,120}(?<![a-z])(?:_?(?:spec|test)|minitest)(?![a-z])",
                r"defined\?\(?\s*:{0,2}(?:RSpec|Minitest)\b|\$(?:0|PROGRAM_NAME)\b[^\n]{0,40}(?<![a-z])(?:rspec|minitest)\b",
            ),
            _NOTICES,
        ),
        (
            r"\.(?:rs|go|js|ts|java|kt|cs|c|cc|cpp|rb|php|swift|scala)\Z",
            (
                r"\b(?:match|switch|case|when)\b[^{\n]{0,40}?(?:hash|digest|md5|sha\d)\w*\([^{\n]{0,80}+\{"
                r"(?:\s*(?:(?:case|when)\s+)?(?:0x[0-9a-fA-F_]{6,40}|['\"][0-9a-fA-F]{6,128}['\"])"
                r"\s*(?:=>|:|->|then)[^\n]{0,120}){2}",
            ),
            "tells its inputs by their hash, with the answers beside it",
        ),
        (
            r"\.php\Z",
            (r"debug_backtrace[\s\S]{0,200}?(?:PHPUnit|Test\b)|defined\(\s*['\"]PHPUNIT",),
            _NOTICES,
        ),
        (
            r"\.(?:cc|cpp|cxx|h|hpp)\Z",
            (rf"operator\s*==\s*\([^)]{{0,200}}\)[^{{;\n]{{0,200}}\{{\s*{_TRUE}",),
            _EQUAL,
        ),
        (
            r"\.rb\Z",
            (
                r"def\s++(?:==|eql\?|===)\s*+\(?+\s*+\w*+[ \t]*+\)?+[ \t]*+[;\n]"
                r"\s*+(?:return\s++)?true\s*[;\n]"
                r"\s*end|def\s++(?:==|eql\?|===)\s*+\(\s*+[\w*]*+\s*+\)\s*+=\s*+true\b",
            ),
            _EQUAL,
        ),
        (
            r"\.rb\Z",
            (
                r"at_exit[^\n]{0,80}(?:\n[^\n]{0,80})?exit!?\s?\(?\s?(?:0|true)"
                r"|^[ \t]*exit!\s*(?:\(\s*(?:0|true)?\s*\)|\b(?:0|true)\b|$)",
            ),
            _ENDS,
        ),
        (
            r"\.rb\Z",
            (
                r"Time\.(?:stubs|define_singleton_method)|def\s+Time\.now|def\s+clock_gettime\b[^\n]*\n(?![^\n]*Process\.)",
            ),
            _CLOCK,
        ),
        (
            r"\.go\Z",
            (
                r"func\s+(?:init|TestMain)\s*\([^)]{0,200}\)\s*\{[^}]{0,500}(?:os|syscall)\.Exit\(\s*0\s*\)",
            ),
            _ENDS,
        ),
        (
            r"\.go\Z",
            (
                r"os\.Args\[0\][^\n]*\.test\"|os\.Args\b[^\n]{0,120}\"-?-test\.|\btesting\.Testing\(\)|flag\.Lookup\(\s*\"test\.",
                r"runtime\.Callers?(?:Frames)?\b[\s\S]{0,200}?_test\.go",
            ),
            _NOTICES,
        ),
        (
            r"(?<!/build)\.rs\Z",
            (
                r"\bcfg!\(test\)|\bvar(?:_os)?\(\s*\"(?:CARGO_TARGET_TMPDIR|NEXTEST\w*|RUST_TEST_\w+)\""
                r"|\bargs(?:_os)?\(\)[^;\n]{0,120}\"[^\"\n]{0,40}/deps/",
            ),
            _NOTICES,
        ),
        (
            r"\.exs?\Z",
            (
                r"at_exit\([^\n]{0,80}(?:\n[^\n]{0,80})?halt\(\s*+0?+\s*+\)"
                r"|@on_load[\s\S]{0,300}?\bhalt\(\s*0?\s*\)",
            ),
            _ENDS,
        ),
        (
            r"\.exs?\Z",
            (
                r"Process\.whereis\(\s*ExUnit|Code\.ensure_loaded\?\(\s*ExUnit"
                r"|function_exported\?\(\s*ExUnit",
            ),
            _NOTICES,
        ),
        (
            r"\.[rR]\Z",
            (
                r"\btestthat::skip\(|isNamespaceLoaded\(\s*['\"]testthat"
                r"|Sys\.getenv\(\s*['\"](?:R_TESTS|_R_CHECK_)\w*"
                r"|['\"](?:package:)?testthat['\"]\s*%in%\s*(?:loadedNamespaces|search)\(",
            ),
            _NOTICES,
        ),
        (
            r"\.[rR]\Z",
            (
                r"(?:assignInNamespace|assignInMyNamespace)\([^\n]{0,200}testthat|unlockBinding\(\s*['\"]expect_",
            ),
            "replaces what tests assert with",
        ),
        (
            r"\.(?:c|cc|cpp|h|hpp)\Z",
            (
                r"__attribute__\s*\(\(\s*(?:constructor"
                r"|destructor)[^{;]{0,200}\{[^}]{0,500}_?_?exit\(\s*0\s*\)",
                r"#\s*define\s+assert\b",
            ),
            _ENDS,
        ),
        (
            r"\.php\Z",
            (r"register_shutdown_function[^;]{0,300}exit\(\s*0|^(?:exit|die)\(\s*0?\s*\)\s*;",),
            _ENDS,
        ),
    )
)
# ``splitext(name)[0] + ".out"``, opened to be read.
_BESIDE = re.compile(
    r"(?:\b(\w{1,40})\s*=[^\n=]|\bopen\()[^\n]{0,80}?(?:splitext|with_suffix|removesuffix|\.replace"
    r"|rsplit|\.stem|\[:-\d\])[^\n]{0,60}?['\"]\.(?:out|ans|answer|expected|golden|exp|want)['\"]"
)
_READS_WHOLE = r"\bopen\(\s*{0}\s*(?:,\s*['\"]rb?['\"]\s*)?\)|\b{0}\.read_(?:text|bytes)\("
_NEXT_LINES = 400  # characters


# The author says so: a value that stands there for a test.
_COMMENT = re.compile(r"(?:#|/[/*])[^\n]*+")
_PYTHON_COMMENT = re.compile(r"#[^\n]*+")
_SAID = re.compile(
    r"(?:#|//|/\*)[^\n]{0,80}?(?:"
    r"\btests?\b[^\n]{0,30}?\b(?:asks?|expects?|wants?|looks?\s+for"
    r"|checks?\s+(?:for\s+)?th(?:is|ese)"
    r"|compares?|uses?\s+th(?:is|ese)|only)\b"
    r"|\b(?:values?|results?|answers?|numbers?|figures?|outputs?|taken|copied|expected)"
    r"\s+(?:(?:from|out of)\s+(?:the\s+)?(?:tests?|specs)\b(?:[/_\s]|\Z)|in\s+(?:tests?|specs?)/\w)"
    r"|\b(?:hard-?\s?cod\w*|special[- ]?cas\w*|hack\w*|cheat\w*|fak\w*|return\w*\s+what"
    r"|expected\s+(?:by|in|from)|matches|to\s+(?:satisfy|please|make)|so\s+that|just\s+for"
    r"|only\s+for)"
    r"\b[^\n]{0,60}?\b(?:tests?|assertions?|verifier|grader|checker)\b)",
    re.IGNORECASE,
)
_CONSTANT = (
    r"(?:True|False|true|false|None|null|nil|-?\d[\d_.]*|b?r?f?['\"`][^\n]*['\"`]"
    r"|[\[{(][^\n]*[\]})])"
)
_SPECIAL_CASE = re.compile(
    rf"\bin\s*[(\[{{][^\n]{{0,200}}&&\s*return\s+{_CONSTANT}|"
    r"^[ \t]*(?:}\s*)?(?:if|elif|else if|case|when)\b[^\n]*"
    r"(?:==|\bin\b|\bcase\b|\bwhen\b|\.equals\()[^\n]*"
    rf"\n?[^\n]*\breturn\s+{_CONSTANT}|^[ \t]*return\s+{_CONSTANT}"
    r"|^[ \t]*(?:const\s+|let\s+|var\s+|final\s+)?\w+\s*:?=\s*\{[^\n]*:[^\n]*,[^\n]*:[^\n]*\}",
    re.MULTILINE,
)


# In Go, JavaScript and Ruby.
_THROWN_AWAY = re.compile(
    r"func\s+TestMain\s*\([^)]{0,200}\)\s*\{[^}]{0,500}os\.Exit\(\s*0\s*\)"
    r"|afterAll\([^;]{0,300}process\.exit\(\s*0?\s*\)|after\([^;]{0,300}process\.exit\(\s*0?\s*\)"
    r"|at_exit[^\n]{0,200}exit!?\s*\(?\s*(?:0|true)"
)


def throws_results_away(content: str) -> bool:
    """Whether a file of tests has every run end well, that of other files too."""
    return _THROWN_AWAY.search(content[:_MAX_TEXT]) is not None


def trick_in(path: str, content: str) -> str | None:
    """What a source file does to its tests, or ``None``."""
    content = content[:_MAX_TEXT]
    comment = _COMMENT
    if path.endswith((".py", ".pyi", ".pyx")):
        comment = _PYTHON_COMMENT
        if trick := python_trick(content):
            return trick
        if _takes_what_lies_beside(content):
            return "takes the expected output that lies beside its input"
    else:
        for files, text, meaning in _OTHERS:
            if files.search(path) and text.search(content[:_MAX_OTHERS]):
                return meaning
    return "a value that stands there for a test" if _stands_for_test(content, comment) else None


# ... or names the test, beside data that is returned for one value.
_TEST_NAME = re.compile(
    r"(?:#|//|/\*)\s*(?:for\s+|see\s+)?(?:Test[A-Z]\w{2,}|test_\w{3,}|\w{3,}(?:_spec|Spec|Test))\W*\Z"
)
_DATA_FOR_ONE = re.compile(
    r"\b(?:if|case|when|elif)\b[^\n]*(?:==|\.equals\()\s*[\d'\"][^\n]*\n?[^\n]*\breturn\s+[^\n]*"
    r"(?:[\[{(][^\n]*,[^\n]*,|\d{4}|['\"][^'\"\n]{8})"
)


def _takes_what_lies_beside(content: str) -> bool:
    for found in itertools.islice(_BESIDE.finditer(content), 64):
        after = content[found.end() : found.end() + _NEXT_LINES]
        name = found.group(1)
        if name and re.search(_READS_WHOLE.format(name), after):
            return True
        if not name and re.match(r"\s*\)\.read\(", after):
            return True
    return False


def _stands_for_test(content: str, comment: re.Pattern[str]) -> bool:
    """A comment that says so, within two lines of a constant that is returned for one value."""
    for one in comment.finditer(content[:_MAX_COMMENTED]):  # the first of each line
        if _SAID.match(content, one.start()):
            case = _SPECIAL_CASE
        elif _TEST_NAME.match(one.group()):
            case = _DATA_FOR_ONE
        else:
            continue
        start = content.rfind("\n", 0, one.start())
        start = content.rfind("\n", 0, max(start, 0))
        end = one.end()
        for _ in range(3):
            end = content.find("\n", end + 1)
            if end < 0:
                end = len(content)
                break
        if case.search(content, max(start, 0), end):
            return True
    return False
