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


class Requests(CliTest):
    """A key that never leaves its site: requested there, signed by the authority, taken back by it."""

    def setUp(self):
        super().setUp()
        self.succeeds("keys", "init", "keys")

    def certificate(self, name):
        return self.folder / "keys" / f"{name}.pem"

    def test_a_key_stays_where_it_was_made(self):
        said = self.succeeds("keys", "request", "site", "clinic").stdout
        asked = {path.name for path in (self.folder / "site").iterdir()}
        self.assertEqual(asked, {"clinic.key", "clinic.csr"})
        self.assertEqual(stat.S_IMODE((self.folder / "site" / "clinic.key").stat().st_mode), 0o600)
        signed = self.succeeds("keys", "sign", "keys", "site/clinic.csr").stdout
        self.assertEqual(said.rsplit(": ", 1)[1], signed.rsplit(": ", 1)[1], "the fingerprints that people compare")
        self.assertFalse((self.folder / "keys" / "clinic.key").exists())
        subprocess.run(["openssl", "verify", "-CAfile", self.folder / "keys" / "ca.pem", self.certificate("clinic")],
                       check=True, capture_output=True)
        key = subprocess.run(["openssl", "pkey", "-in", self.folder / "site" / "clinic.key", "-pubout"],
                             check=True, capture_output=True).stdout
        in_it = subprocess.run(["openssl", "x509", "-in", self.certificate("clinic"), "-noout", "-pubkey"],
                               check=True, capture_output=True).stdout
        self.assertEqual(key, in_it)

    def test_a_certificate_is_renewed_for_the_same_key_and_for_no_other(self):
        self.succeeds("keys", "request", "site", "clinic")
        self.succeeds("keys", "sign", "keys", "site/clinic.csr", "--days", "10")
        first = self.certificate("clinic").read_text()
        self.succeeds("keys", "request", "site", "clinic")
        self.succeeds("keys", "sign", "keys", "site/clinic.csr")
        self.assertNotEqual(self.certificate("clinic").read_text(), first)
        self.succeeds("keys", "request", "impostor", "clinic")
        before = self.certificate("clinic").read_text()
        self.refuses("keys", "sign", "keys", "impostor/clinic.csr", says="is there for another key")
        self.assertEqual(self.certificate("clinic").read_text(), before)

    def test_what_was_revoked_is_not_signed_again(self):
        self.succeeds("keys", "request", "site", "clinic")
        self.succeeds("keys", "sign", "keys", "site/clinic.csr")
        self.succeeds("keys", "revoke", "keys", "clinic")
        shown = subprocess.run(["openssl", "crl", "-in", self.folder / "keys" / "revoked.pem", "-CAfile",
                                self.folder / "keys" / "ca.pem", "-noout", "-text"], check=True, capture_output=True, text=True)
        self.assertIn("verify OK", shown.stderr)
        self.assertEqual(shown.stdout.count("Serial Number:"), 1)
        self.refuses("keys", "sign", "keys", "site/clinic.csr", says="was revoked with the key of this request")
        self.succeeds("keys", "request", "new", "clinic")
        self.succeeds("keys", "sign", "keys", "new/clinic.csr")

    def test_what_is_no_request_is_refused_and_nothing_is_written(self):
        self.succeeds("keys", "request", "site", "clinic")
        good = (self.folder / "site" / "clinic.csr").read_text()
        body = good.splitlines()
        for name, text in (("empty", ""), ("nonsense", "clinic"), ("certificate", (self.folder / "keys" / "ca.pem").read_text()),
                           ("changed", "\n".join([body[0], "A" * 8 + body[1][8:], *body[2:]]) + "\n")):
            self.write(f"{name}.csr", text)
            self.refuses("keys", "sign", "keys", f"{name}.csr", says=f"{name}.csr: ")
        subprocess.run(["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "rsa.key", "-out",
                        self.folder / "rsa.csr", "-subj", "/CN=clinic"], check=True, capture_output=True)
        self.refuses("keys", "sign", "keys", "rsa.csr", says="P-256")
        for subject in ("/CN=ca", "/CN=a b", "/CN=clinic/O=other"):
            subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                            self.folder / "x.key", "-out", self.folder / "x.csr", "-subj", subject], check=True, capture_output=True)
            self.refuses("keys", "sign", "keys", "x.csr", says="")
        self.assertEqual(sorted(path.name for path in (self.folder / "keys").iterdir()), ["ca.key", "ca.pem"])

    def test_an_identity_is_made_once_for_its_owner_alone(self):
        said = self.succeeds("keys", "identity", "site", "clinic").stdout
        file = self.folder / "site" / "clinic.identity"
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        shown = self.succeeds("keys", "fingerprint", "site", "clinic").stdout
        self.assertRegex(shown, r"\A[0-9a-f]{64}\n\Z")
        self.assertIn(f'key = "{shown.strip()}"', said)
        self.refuses("keys", "identity", "site", "clinic", says="exists already")
        file.chmod(0o640)
        self.refuses("keys", "fingerprint", "site", "clinic", says="chmod 600")
        file.chmod(0o600)
        file.write_text("nonsense")
        self.refuses("keys", "fingerprint", "site", "clinic", says="is not an identity")


if __name__ == "__main__":
    unittest.main()
