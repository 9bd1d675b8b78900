# labels: slow
"""What `make install` and the packages are made of."""
import pathlib
import re
import shutil
import subprocess
import unittest

from parley_cli import BINARY, SOURCE, CliTest, catalog


class Manual(CliTest):
    def setUp(self):
        super().setUp()
        subprocess.run([SOURCE / "scripts" / "manual", BINARY, self.folder / "manual"], check=True, timeout=60)
        self.pages = self.folder / "manual" / "man1"

    def verbs(self, *above):
        shown = self.succeeds(*above, "--help").stdout
        part = re.search(r"^Subcommands:\n((?:  .*\n)+)", shown, re.M)
        return re.findall(r"^  (\S+)", part[1], re.M) if part else []

    def test_every_verb_has_a_page_with_its_options(self):
        for verb in self.verbs():
            for below in [(verb,), *((verb, under) for under in self.verbs(verb))]:
                page = (self.pages / ("-".join(("parley", *below)) + ".1")).read_text()
                self.assertTrue(page.startswith(".TH PARLEY-"), below)
                self.assertIn("\\-\\-help", page)
                self.assertNotIn(str(BINARY), page)

    def test_troff_reads_every_page_without_a_warning(self):
        groff = shutil.which("groff")
        if groff is None:
            self.skipTest("needs groff")
        for page in sorted(self.pages.iterdir()):
            told = subprocess.run([groff, "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, timeout=60)
            self.assertEqual((told.returncode, told.stderr), (0, ""), page.name)

    def complete(self, *words):
        script = (f"source {self.folder}/manual/completions/parley; COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}'); "
                  f"COMP_CWORD={len(words) - 1}; _parley; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True,
                              cwd=self.folder)
        return done.stdout.split()

    def test_the_completion_knows_verbs_options_and_files(self):
        self.assertEqual(set(self.complete("parley", "")), set(self.verbs()))
        self.assertEqual(self.complete("parley", "data", "sp"), ["split"])
        self.assertIn("--set", self.complete("parley", "train", "job.toml", "--s"))
        self.write("table.csv", "x,y\n")
        self.assertEqual(self.complete("parley", "data", "describe", "tab"), ["table.csv"])


class Templates(CliTest):
    def test_the_site_template_is_a_site_file_and_answers_nothing_until_it_is_filled_in(self):
        template = (SOURCE / "packaging" / "site.toml").read_text()
        shutil.copytree(SOURCE / "examples" / "readmission", self.folder / "data")
        filled = (template.replace('"SITE"', '"clinic"').replace("/etc/parley/table.schema.toml", "data/clinic.schema.toml")
                  .replace("/srv/parley/table.csv", "data/clinic.csv").replace("/etc/parley/keys", "keys")
                  .replace("/var/lib/parley", "state").replace("coordinator.example:7000", "127.0.0.1:9"))
        self.write("site.toml", filled)
        # The file is read; what is missing is the certificate.
        self.refuses("join", "site.toml", "--once", says="ca.pem")
        self.assertIn("algorithms = []", template)

    def test_the_unit_starts_a_verb_that_there_is(self):
        unit = (SOURCE / "packaging" / "parley-site.service").read_text()
        self.assertIn("ExecStart=/usr/bin/parley join /etc/parley/site.toml\n", unit)
        self.assertTrue(catalog())

    def test_the_shell_reads_the_scripts_of_the_packages(self):
        scripts = [*(SOURCE / "packaging" / "debian").glob("p*"), SOURCE / "tests" / "packages" / "life",
                   SOURCE / "packaging" / "slurm" / "train.sbatch"]
        for script in map(pathlib.Path, scripts):
            subprocess.run(["bash", "-n", script], check=True, timeout=60)


if __name__ == "__main__":
    unittest.main()
