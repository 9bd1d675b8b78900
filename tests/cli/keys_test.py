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
            subprocess.run(["openssl", "verify", "-CAfile", keys / "ca.pem", keys / f"{name}.pem"], check=True,
                           capture_output=True)

    def test_an_authority_whose_key_others_can_read_is_warned_of(self):
        self.succeeds("keys", "init", "keys")
        key = self.folder / "keys" / "ca.key"
        for name, mode in (("clinic", 0o640), ("insurer", 0o604)):
            key.chmod(mode)
            said = self.succeeds("keys", "issue", "keys", name).stderr
            self.assertEqual(
                said,
                "parley: warning: keys/ca.key: is a private key that users other than its owner can read; chmod 600 "
                "keys/ca.key\n"
            )
        key.chmod(0o600)
        self.assertEqual(self.succeeds("keys", "issue", "keys", "coordinator").stderr, "")

    def test_a_certificate_that_was_to_outlive_its_authority_ends_with_it_and_that_is_said(self):
        self.succeeds("keys", "init", "keys", "--days", "100")
        said = self.succeeds("keys", "issue", "keys", "clinic")
        self.assertRegex(
            said.stderr,
            r"\Aparley: clinic.pem expires on 20\d\d-\d\d-\d\d, with the authority in ca.pem, not after 825 days\n\Z")
        self.assertEqual(self.succeeds("keys", "issue", "keys", "insurer", "--days", "99").stderr, "")

    def test_nothing_is_replaced(self):
        self.succeeds("keys", "init", "keys")
        before = (self.folder / "keys" / "ca.key").read_bytes()
        self.refuses("keys", "init", "keys", says="exists already")
        self.assertEqual((self.folder / "keys" / "ca.key").read_bytes(), before)

    def test_names_that_could_be_something_else_are_refused(self):
        self.succeeds("keys", "init", "keys")
        for name in ("ca", "a b", "x,DNS:coordinator", "../x", "..", "a\nb"):
            self.refuses("keys", "issue", "keys", name, says="NAME: ")

    def test_without_an_authority_nothing_is_issued(self):
        os.mkdir(self.folder / "keys")
        self.refuses("keys", "issue", "keys", "clinic", says="ca.pem")


if __name__ == "__main__":
    unittest.main()
