"""A real PostgreSQL server on a free port of the loopback, in a folder of its own, as a user who is not root."""
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import unittest

OWNER, PASSWORD = "parley_owner", "word of the owner"


def programs():
    """The folder of initdb, pg_ctl and psql; None where the package is not installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Use as a context: nothing of it is left afterwards."""

    def __init__(self):
        self.programs = programs()
        if self.programs is None:
            raise unittest.SkipTest("PostgreSQL is not installed (Debian's postgresql)")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="parley-pg-"))
        self.as_user = []
        if os.geteuid() == 0:  # which a server refuses to be
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.as_user = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        self.data = self.folder / "data"
        self.passwords = self.folder / "pgpass"

    def __enter__(self):
        try:
            word = self.folder / "word"
            word.write_text(PASSWORD + "\n")
            word.chmod(0o644)
            self.run("initdb", "-D", self.data, "-U", OWNER, "-A", "scram-sha-256", "--pwfile", word, "--no-sync",
                     "--locale=C.UTF-8", "-E", "UTF8")
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run([*self.as_user, self.programs / "pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop"],
                       capture_output=True, cwd=self.folder)
        shutil.rmtree(self.folder)

    def start(self):
        for attempt in range(5):  # somebody else may take a free port first
            self.port = free_port()
            options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories= -c fsync=off"
            try:
                self.run("pg_ctl", "-D", self.data, "-o", options, "-l", self.folder / "log", "-w", "start")
                break
            except AssertionError:
                if attempt == 4:
                    raise
        # A line for each user; only the owner of the file may read it.
        self.passwords.write_text(f"127.0.0.1:{self.port}:*:{OWNER}:{PASSWORD}\n")
        self.passwords.chmod(0o600)

    def run(self, program, *arguments):
        done = subprocess.run([*self.as_user, self.programs / program, *map(str, arguments)], cwd=self.folder,
                              stdout=subprocess.PIPE if program == "psql" else subprocess.DEVNULL,
                              stderr=subprocess.PIPE if program == "psql" else subprocess.STDOUT, text=True, timeout=120)
        assert done.returncode == 0, f"{program}: {done.stderr or self.log()}"
        return done.stdout

    def log(self):
        file = self.folder / "log"
        return file.read_text() if file.exists() else ""

    def sql(self, text, user=OWNER, password=PASSWORD):
        """What the statements answer, without headings."""
        done = subprocess.run(
            [self.programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port),
             "-U", user, "-d", "postgres"], input=text, env={**os.environ, "PGPASSWORD": password}, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def address(self, table, user=OWNER, more=""):
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres?table={table}{more}"

    def environment(self, **more):
        """Of a program that finds the owner's password where PostgreSQL keeps it, and no other."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
        return {**clean, "PGPASSFILE": str(self.passwords), **more}
