"""The pages that list the keys of a file list those that the binary reads and no others."""
import re
import unittest

from parley_cli import SOURCE, CliTest, catalog

UNKNOWN = "unknown" * 10  # too long for a typing mistake, so that its refusal lists what is known
TABLES = """[[party]]
name = "part"
data = "data.csv"
[[union]]
table = "whole"
parties = ["part"]
[[join]]
left = ["site.key"]
right = ["whole.key"]
"""
SITE = """[[peer]]
name = "other"
"""
JOB = """[job]
task = "linear"
[algorithm]
name = "exact"
[[party]]
name = "site"
data = "data.csv"
schema = "schema.toml"
"""


def cells(page, heading):
    """The rows of the tables of a page whose first column is headed so."""
    inside = False
    for line in (SOURCE / "docs" / page).read_text().splitlines():
        row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not row:
            inside = False
        elif inside and not row[0].startswith("-"):
            yield row
        else:
            inside = inside or row[0] == heading


def words(cell):
    return re.findall("`([^`]+)`", cell)


def listed_keys(page):
    """section -> keys: `section.key`, `[section] key, key` or `key`, which is of the section before it."""
    sections, section = {}, None
    for first, *_ in cells(page, "key"):
        for keys in words(first):
            if bracketed := re.fullmatch(r"\[+(\w+)\]+ (.+)", keys):
                section, keys = bracketed.groups()
            elif "." in keys:
                section, keys = keys.split(".")
            sections.setdefault(section, set()).update(keys.split(", "))
    return sections


class DocumentedKeys(CliTest):
    def known(self, file, text, section, *command):
        """What the refusal of an unknown key says is known in a section, or outside all of them."""
        head = re.compile(rf"^\[+{section}\]+\n", re.M)
        if section is None:
            text = f"{UNKNOWN} = 1\n{text}"
        elif head.search(text):
            text = head.sub(lambda found: f"{found[0]}{UNKNOWN} = 1\n", text, count=1)
        else:
            text += f"[{section}]\n{UNKNOWN} = 1\n"
        self.write(file, text)
        told = self.refuses(*command, says=f"{UNKNOWN}: unknown key; known: ")
        return set(told.rpartition("; known: ")[2].split(", "))

    def agree(self, page, listed, known):
        self.assertEqual(listed - known, set(), f"docs/{page} lists what nothing reads")
        self.assertEqual(known - listed, set(), f"docs/{page} does not list what is read")

    def check(self, page, file, text, *command, elsewhere=()):
        sections = listed_keys(page)
        self.agree(page, set(sections), self.known(file, text, None, *command))
        for section, keys in sections.items():
            if section not in elsewhere:
                with self.subTest(section=section):
                    self.agree(page, keys, self.known(file, text, section, *command))

    def test_the_page_of_the_site_file(self):
        self.check("site.md", "site.toml", SITE, "join", "site.toml")

    def test_the_page_of_the_schema(self):
        self.write("job.toml", JOB)
        self.write("data.csv", "x,y\n1,2\n")
        self.check("schema.md", "schema.toml", "[[column]]\n", "train", "job.toml")

    def test_the_page_of_the_job(self):
        self.check("job.md", "job.toml", JOB + TABLES, "train", "job.toml", elsewhere=["algorithm"])

    def test_the_pages_of_the_algorithms(self):
        of_every_one = listed_keys("job.md")["algorithm"]
        pages = {}
        for name, partition, *_, page in cells("algorithms.md", "name"):
            file = re.search(r"\((.+)\)", page)
            pages.update({(one, partition): file[1] if file else "algorithms.md" for one in words(name)})
        self.assertEqual(set(pages), {(algorithm.name, algorithm.partition) for algorithm in catalog()})
        for (name, _), page in pages.items():
            with self.subTest(algorithm=name):
                listed = {word for first, *_ in cells(page, "setting") for word in words(first)}
                known = self.known("job.toml", JOB.replace('"exact"', f'"{name}"'), "algorithm", "train", "job.toml")
                self.agree(page, listed | of_every_one, known)


if __name__ == "__main__":
    unittest.main()
