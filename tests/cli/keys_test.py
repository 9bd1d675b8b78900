import os
import stat
import subprocess
import unittest

from parley_cli import CliTest


class Keys(CliTest):
    def test_an_authority_and_its_certificates(self):
        self.succeeds("keys", "init", "keys")
        self.succeeds("keys", "issue", "keys", "coordinator")
        self.succeeds("keys", "issue", "keys", "clinic")
        keys = self.folder / "keys"
        self.assertEqual(sorted(path.name for path in keys.iterdir()),
                         ["ca.key", "ca.pem", "clinic.key", "clinic.pem", "coordinator.key", "coordinator.pem"])
        for path in keys.glob("*.key"):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, f"{path.name} is for its owner alone")
        for name in ("clinic", "coordinator"):
            subprocess.run(["openssl", "verify", "-CAfile", keys / "ca.pem", keys / f"{name}.pem"], check=True, capture_output=True)

    def test_nothing_is_replaced(self):
        self.succeeds("keys", "init", "keys")
        before = (self.folder / "keys" / "ca.key").read_bytes()
        self.refuses("keys", "init", "keys", says="is there already")
        self.assertEqual((self.folder / "keys" / "ca.key").read_bytes(), before)

    def test_names_that_could_be_something_else_are_refused(self):
        self.succeeds("keys", "init", "keys")
        for name in ("ca", "a b", "x,DNS:coordinator", "../x"):
            self.refuses("keys", "issue", "keys", name)

    def test_without_an_authority_nothing_is_issued(self):
        os.mkdir(self.folder / "keys")
        self.refuses("keys", "issue", "keys", "clinic", says="ca.pem")


if __name__ == "__main__":
    unittest.main()
