"""What well-known Python calls do to files, hosts and processes, by the dotted names they have."""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.names import names

OPENERS = names(
    """
    open io.open codecs.open os.open gzip.open bz2.open lzma.open io.FileIO os.fdopen
    tokenize.open pathlib.Path.open zipfile.ZipFile tarfile.open tarfile.TarFile shelve.open
    dbm.open fileinput.input fileinput.FileInput logging.FileHandler aiofiles.open
    """
)
READ = names(
    """
    os.listdir os.scandir os.walk os.stat os.path.exists os.path.isfile os.path.isdir
    os.readlink glob.glob glob.iglob linecache.getlines linecache.getline pathlib.Path.iterdir
    sqlite3.connect os.access os.lstat os.makedirs os.mkdir os.path.getsize os.path.lexists
    filecmp.cmp filecmp.dircmp numpy.load numpy.loadtxt numpy.genfromtxt torch.load joblib.load
    mailbox.mbox configparser.ConfigParser.read
    """
)
WRITE = names(
    """
    os.remove os.unlink os.rmdir os.truncate os.chmod os.chown os.utime os.mkfifo os.mknod
    os.setxattr shutil.chown posix.unlink posix.remove posix.rmdir os.lchown numpy.save
    numpy.savetxt numpy.savez logging.basicConfig
    """
)
WRITE_SECOND = frozenset(
    (
        "torch.save",
        "joblib.dump",
        "nbformat.write",
        "shutil.unpack_archive",
        "urllib.request.urlretrieve",
    )
)
TREE = frozenset(("shutil.rmtree", "os.removedirs", "distutils.dir_util.remove_tree"))
MOVE = frozenset(("os.rename", "os.replace", "os.renames", "shutil.move", "posix.rename"))
COPY = names(
    """
    shutil.copy shutil.copyfile shutil.copy2 shutil.copytree shutil.copymode
    distutils.file_util.copy_file distutils.dir_util.copy_tree
    """
)
LINK = frozenset(("os.symlink", "os.link", "posix.symlink", "posix.link"))
SHELL = names(
    """
    os.system os.popen posix.system subprocess.getoutput subprocess.getstatusoutput
    asyncio.create_subprocess_shell commands.getoutput invoke.run fabric.api.local
    pexpect.run pexpect.spawn popen2.popen2 sh.sh
    """
)
PROCESS = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")
) | {"pty.spawn", "sh.run"}
ARGV = re.compile(
    r"(?:os|posix)\.(?:exec|(?:posix_)?spawn)(?:[lv]p?e?|p)?\Z|asyncio\.create_subprocess_exec\Z"
)
CODE = names(
    """
    exec eval compile execfile runpy.run_string code.interact code.compile_command
    timeit.timeit timeit.repeat
    """
)
RUNS_FILE = names("runpy.run_path importlib.machinery.SourceFileLoader execfile")
RUNS_MODULE = names("__import__ importlib.import_module runpy.run_module")
SIGNALS = frozenset(
    ("os.kill", "os.killpg", "signal.pthread_kill", "signal.pidfd_send_signal", "posix.kill")
)
CONNECT = re.compile(
    r"(?:requests|httpx|urllib2?|urllib\.request|urllib3|aiohttp|http\.client|ftplib|smtplib"
    r"|telnetlib|wget|imaplib|poplib|nntplib|xmlrpc\.client|websockets?|dns\.resolver|paramiko"
    r"|webbrowser|redis|psycopg2?|pymysql|pymongo|grpc|nltk|torch\.hub|fsspec|gdown|elasticsearch"
    r"|asyncpg|aiomysql|mysql|ldap3|kafka|pika|paho|zmq|selenium|playwright|tornado\.httpclient|treq"
    r"|mechanize|pycurl|cloudscraper|curl_cffi|websocket|duckdb|socks|pysftp|asyncssh|git\.Repo"
    r"|dulwich|mlcroissant|webdataset|imageio|skimage\.io|sqlalchemy|tensorflow|keras|logging\.handlers|socketio|nats"
    r"|cassandra|clickhouse\w*|neo4j|influxdb\w*|hvac|consul|docker|kubernetes|fabric|minio|pygit2"
    r"|newspaper|twisted\.web|scapy|ping3|multiprocessing\.connection|Pyro[45]|rpyc|trafilatura"
    r"|feedparser|pooch|s3fs|snowflake|aiosmtplib|asyncpg|pysmb|impacket|pyodbc)\b(?!\.parse)"
)
RESOLVE = re.compile(
    r"socket\.(?:create_connection|gethostby\w+|getaddrinfo|getfqdn)\Z|ssl\.get_server_certificate\Z|asyncio\.open_connection\Z"
)
PATH_READ = names("read_text read_bytes iterdir stat exists is_file is_dir glob rglob lstat")
PATH_WRITE = names("write_text write_bytes unlink rmdir touch chmod lchmod")
LOADER = re.compile(r"(?:read|load|open|parse|fetch|scan|from)_?\w*\Z")
#: What ``from MODULE import *`` brings that matters here.
STARRED = {
    "os": ("system", "popen", "remove", "unlink", "rename", "replace", "rmdir", "listdir",
           "kill", "environ", "getenv", "chdir", "symlink", "link", "execv", "execvp", "spawnl"),
    "subprocess": ("run", "Popen", "call", "check_call", "check_output", "getoutput"),
    "shutil": ("copy", "copy2", "copyfile", "copytree", "move", "rmtree"),
    "pathlib": ("Path", "PurePath", "PosixPath"), "glob": ("glob", "iglob"),
    "urllib.request": ("urlopen", "urlretrieve", "Request", "build_opener"),
    "requests": ("get", "post", "put", "request", "Session"),
    "socket": ("socket", "create_connection", "gethostbyname", "getaddrinfo"),
    "datasets": ("load_dataset",), "huggingface_hub": ("hf_hub_download", "snapshot_download"),
}  # fmt: skip
#: Methods that go to the address they are given, whatever object they are of.
FETCHES = names(
    """
    get post put patch delete head options request stream send fetch open urlopen urlretrieve
    retrieve goto download connect ws_connect create_connection clone_from download_file
    """
)
SENDS = names("post put patch send sendall sendto sendmail upload storbinary upload_file")
PAYLOAD_KEYS = names("data json files content body")
SQL_CHANGES = re.compile(r"(?i)\s*(?:update|insert|delete|drop|alter|create|replace|vacuum)\b")
SAVES = names("to_csv to_json to_excel to_parquet to_pickle save savefig dump tofile extractall")
#: Calls that are given a function to call, now or later.
CALLERS = names(
    """
    map filter functools.partial threading.Thread threading.Timer multiprocessing.Process
    atexit.register asyncio.to_thread weakref.finalize functools.reduce
    """
)
CALLER_METHODS = names("submit apply apply_async run_in_executor call_later call_soon starmap map")
HUB_CALLS = (
    "load_dataset", "hf_hub_download", "snapshot_download", "HfApi", "HfFileSystem",
    "load_dataset_builder", "dataset_download", "get_dataset_config_names", "list_repo_files",
    "get_dataset_infos",
)  # fmt: skip
#: What ``load_dataset`` reads files by, rather than a dataset's name.
LOCAL_BUILDERS = (
    "csv", "json", "parquet", "text", "arrow", "xml", "pandas", "sql", "imagefolder", "audiofolder",
    "webdataset",
)  # fmt: skip
#: Functions that fetch public data by its name -> where from.
DATA_CALLS = {
    "fetch_openml": "www.openml.org", "fetch_ucirepo": "archive.ics.uci.edu",
    "get_rdataset": "raw.githubusercontent.com",
}  # fmt: skip
HUB_MODULES = ("kagglehub", "kaggle", "huggingface_hub")
#: Of a library loaded through ``ctypes``: what they do is as bad as the command of that name.
NATIVE = {
    "kill": "kill", "killpg": "kill", "tgkill": "kill", "ptrace": "ptrace", "reboot": "reboot",
    "settimeofday": "settimeofday", "clock_settime": "settimeofday", "stime": "settimeofday",
    "mount": "mount", "umount": "umount", "process_vm_writev": "ptrace", "setpriority": "renice",
}  # fmt: skip
#: Calls that change how another process fares, or the machine, and the command that does the same.
ON_PROCESSES = {
    "resource.prlimit": ("prlimit", "--pid"), "os.setpriority": ("renice", "-p"),
    "os.sched_setaffinity": ("taskset", "-p"), "os.sched_setscheduler": ("chrt", "-p"),
    "time.clock_settime": ("date", "-s"), "time.clock_settime_ns": ("date", "-s"),
}  # fmt: skip
#: Programs as functions.
AS_PROGRAM = re.compile(r"(?:sh|plumbum\.(?:local|cmd))\.(?!run\Z|sh\Z|Command\Z)([\w-]+)\Z")
INTERACTIVE = names("code.interact code.InteractiveConsole().interact IPython.embed breakpoint")
UNPACKS = frozenset(("extractall", "extract", "unpack"))
_HOST_KEYS = ("host", "hostname", "server", "address", "addr", "bootstrap_servers", "brokers")
URL_KEYS = ("url", "uri", "dsn", "endpoint", "download_url", *_HOST_KEYS)
SECRETS = {
    "netrc.netrc": "~/.netrc",
    "huggingface_hub.get_token": "~/.cache/huggingface/token",
    "huggingface_hub.HfFolder.get_token": "~/.cache/huggingface/token",
    "google.auth.default": "~/.config/gcloud/application_default_credentials.json",
    "boto3.Session().get_credentials": "~/.aws/credentials",
    "botocore.session.get_session().get_credentials": "~/.aws/credentials",
}
#: Modules that are there for what machines keep secret -> where it lies.
SECRET_MODULES = {
    "browser_cookie3": "~/.config/google-chrome/Default/Cookies", "spwd": "/etc/shadow",
    "secretstorage": "~/.local/share/keyrings/login.keyring",
    "azure.identity": "~/.azure/msal_token_cache.json",
}  # fmt: skip
#: Methods that ask a service for a secret, whatever client they are of.
SECRET_METHODS = names(
    """
    get_secret_value access_secret_version read_secret read_secret_version get_secret
    list_secret_for_all_namespaces read_namespaced_secret list_namespaced_secret export_keys
    get_parameter_with_decryption batch_get_secret_value get_session_token
    """
)
VARIABLE = re.compile(r"\$\{?(\w+)")
HARNESS_TOOL = re.compile(r"(?:\w+_tools|tools|functions|default_api|mcp\w*)\.(?:\w+\.)*(\w+)")
TOOL_RUNS = re.compile(r"terminal|bash|shell|run_command|exec_command|execute_command")
TOOL_SEARCHES = re.compile(r"web_?search|search_?web|google|internet")
TOOL_WRITES = re.compile(r"write|edit|patch|create|append|delete|replace|insert")
TOOL_LOOKS = re.compile(r"search_files|grep")
TOOL_READS = re.compile(r"read|view|open|list|search|glob|grep")
WRITING_FLAGS = re.compile(r"O_(?:WRONLY|RDWR|CREAT|APPEND|TRUNC)\b")
