# labels: slow
"""Tables of a live PostgreSQL server, wherever the binary reads a table."""
import csv
import io
import json
import os
import signal
import subprocess
import sys
import unittest

import postgres
from parley_cli import BINARY, CliTest, catalog

TABLES = """
CREATE TABLE users (user_id bigint PRIMARY KEY, age integer NOT NULL, member boolean, city text, worth numeric(8, 2),
                    height double precision, joined date, secret_note text, photo bytea);
INSERT INTO users SELECT i, 18 + i % 60, i % 3 = 0, (ARRAY['Bonn', 'Köln, "old"', NULL])[1 + i % 3], i * 1.25,
                         1.5 + 1.0 / (i + 2), date '2020-01-01' + i, 'hidden ' || i, NULL
                  FROM generate_series(199, 0, -1) AS i;
CREATE TABLE visits (visit serial, user_id bigint REFERENCES users, cost double precision, "two words" integer, "se""lect" integer);
INSERT INTO visits (user_id, cost, "two words", "se""lect")
  SELECT CASE WHEN i % 10 = 0 THEN NULL ELSE i % 200 END, sin(i) * 10, i % 7, i % 5 FROM generate_series(1, 1000) AS i;
CREATE SCHEMA lab;
CREATE TABLE lab."odd; DROP TABLE users; --" (x integer, y double precision);
INSERT INTO lab."odd; DROP TABLE users; --" SELECT i, i * 0.5 FROM generate_series(1, 20) AS i;
CREATE TABLE alone (note text);
INSERT INTO alone VALUES ('a'), (NULL), ('c');
-- Reading it ends the session that reads it, after some megabytes.
CREATE VIEW breaks AS SELECT i AS x, i * 0.5 AS y, repeat('z', 200) AS filler,
  CASE WHEN i = 20000 THEN pg_terminate_backend(pg_backend_pid()) ELSE false END AS ended FROM generate_series(1, 40000) AS i;
-- Reading it waits for a lock that the test holds, after some megabytes.
CREATE FUNCTION wait_at(i integer) RETURNS boolean LANGUAGE plpgsql AS
  $$ BEGIN IF i = 20000 THEN PERFORM pg_advisory_lock_shared(42); END IF; RETURN false; END $$;
CREATE VIEW waits AS SELECT i AS x, i * 0.5 AS y, repeat('z', 200) AS filler, wait_at(i) AS waited FROM generate_series(1, 40000) AS i;
CREATE ROLE guest LOGIN PASSWORD 'word of the guest';
GRANT USAGE ON SCHEMA lab TO guest;
GRANT SELECT (user_id, age, height) ON users TO guest;
"""
JOB = """[job]
name = "spending"
task = "linear"
[model]
l2 = 0.1
[algorithm]
name = "exact"
[labels]
column = "height"
[[party]]
name = "shop"
data = "{data}"
schema = "schema.toml"
"""
SCHEMA = """[[column]]
name = "height"
type = "label"
bound = 3
[[column]]
name = "age"
type = "integer"
lower = 0
upper = 120
[[column]]
name = "user_id"
type = "key"
"""


def setUpModule():
    global server
    server = postgres.Server().__enter__()
    unittest.addModuleCleanup(server.__exit__)
    server.sql(TABLES)


class PostgresTest(CliTest):
    def setUp(self):
        super().setUp()
        self.environment = server.environment()

    def run_parley(self, *arguments, **options):
        return super().run_parley(*arguments, **{"env": self.environment, **options})

    def as_guest(self, word):
        self.environment = {**server.environment(), "PGPASSFILE": "/nonexistent", "PGPASSWORD": word}

    def train(self, address, schema=SCHEMA):
        self.write("schema.toml", schema)
        self.write("job.toml", JOB.format(data=address))
        return ["train", "job.toml", "--out", "out", "--quiet"]

    def left(self):
        return sorted(path.name for path in self.folder.iterdir())


class Reading(PostgresTest):
    def test_every_value_of_a_table_arrives(self):
        self.succeeds("data", "convert", server.address("users"), "users.csv")
        rows = list(csv.DictReader(io.StringIO((self.folder / "users.csv").read_text())))
        self.assertEqual([row["user_id"] for row in rows], [str(i) for i in range(200)], "in the order of the primary key")
        self.assertEqual(rows[1]["city"], 'Köln, "old"')
        self.assertEqual(rows[2]["city"], "")
        self.assertEqual([row["member"] for row in rows[:3]], ["true", "false", "false"])
        self.assertEqual(rows[3]["worth"], "3.75")
        self.assertEqual(float(rows[5]["height"]), 1.5 + 1.0 / 7, "to the last bit")
        self.assertEqual(rows[0]["joined"], "2020-01-01")

    def test_a_null_alone_is_a_row(self):
        self.succeeds("data", "convert", server.address("alone"), "alone.csv")
        self.assertEqual((self.folder / "alone.csv").read_text(), 'note\na\n""\nc\n')

    def test_describe_takes_types_and_keys_from_the_catalogue(self):
        about = self.json_of("data", "describe", server.address("users"), "--label", "height")
        types = {column["name"]: column["type"] for column in about["columns"]}
        self.assertEqual(types, {"user_id": "key", "age": "integer", "member": "boolean", "city": "category", "worth": "number",
                                 "height": "label", "joined": "category", "secret_note": "category", "photo": "ignore"})
        self.assertEqual(about["rows"], 200)
        visits = self.json_of("data", "describe", server.address("visits"))
        keys = {column["name"]: column["missing"] for column in visits["columns"] if column["type"] == "key"}
        self.assertEqual(keys, {"user_id": 100}, "a column that refers to another table is a key; a serial alone is a number")

    def test_the_draft_of_a_schema_reads_the_table(self):
        self.succeeds("data", "describe", server.address("users"), "--label", "height", "--schema-out", "schema.toml")
        self.write("job.toml", JOB.format(data=server.address("users")))
        self.succeeds("train", "job.toml", "--out", "out", "--quiet")

    def test_a_model_is_that_of_the_same_rows_in_a_file(self):
        self.succeeds("data", "convert", server.address("users"), "users.csv")
        kept = {"height", "age", "user_id"}
        rows = list(csv.DictReader(io.StringIO((self.folder / "users.csv").read_text())))
        with open(self.folder / "part.csv", "w", newline="") as file:
            part = csv.DictWriter(file, sorted(kept), extrasaction="ignore", lineterminator="\n")
            part.writeheader()
            part.writerows(rows)
        models = []
        for address in (server.address("users"), "part.csv"):
            self.succeeds(*self.train(address), "--overwrite")
            models.append(json.loads((self.folder / "out" / "model.json").read_text())["columns"])
        self.assertEqual(models[0], models[1])
        told = [self.succeeds(verb, "--model", "out", "--data", data).stdout for verb in ("predict", "evaluate")
                for data in (server.address("users"), "part.csv")]
        self.assertEqual(told[0], told[1])
        self.assertEqual(told[2].splitlines()[1:], told[3].splitlines()[1:], "but for the name of the table")

    def test_names_are_quoted_and_never_executed(self):
        name = "lab.odd%3B DROP TABLE users%3B --".replace(" ", "%20")
        self.assertEqual(self.json_of("data", "describe", server.address(name))["rows"], 20)
        self.refuses("data", "describe", server.address("users%3B%20DROP%20TABLE%20visits"), says="the database has no such table")
        self.refuses("data", "describe", server.address("x%22%3B%20DROP%20TABLE%20visits%3B%20--"), says="the database has no such table")
        self.assertEqual(server.sql("SELECT count(*) FROM visits, users WHERE users.user_id = 0"), "1000")
        columns = self.json_of("data", "describe", server.address("visits"))["columns"]
        self.assertEqual([column["name"] for column in columns], ["visit", "user_id", "cost", "two words", 'se"lect'])

    def test_only_declared_columns_are_asked_for(self):
        # The guest may read three columns of nine; any other would be an error.
        self.as_guest("word of the guest")
        self.succeeds(*self.train(server.address("users", user="guest")))
        undeclared = SCHEMA + '[[column]]\nname = "city"\ntype = "category"\n'
        self.refuses(*self.train(server.address("users", user="guest"), undeclared), says="permission denied for table users")


class Mistakes(PostgresTest):
    def test_wrong_credentials_are_one_line_without_them(self):
        self.as_guest("not the word")
        told = self.refuses(*self.train(server.address("users", user="guest")), says='password authentication failed for user "guest"')
        self.assertNotIn("not the word", told)
        self.assertEqual(self.left(), ["job.toml", "schema.toml"])

    def test_credentials_that_are_missing_say_where_they_are_looked_for(self):
        self.environment = {**server.environment(), "PGPASSFILE": "/nonexistent"}
        self.refuses(*self.train(server.address("users")), says="a password is found in PGPASSFILE, PGPASSWORD or a service file")

    def test_a_password_in_an_address_is_refused_and_not_repeated(self):
        for address in (f"postgresql://guest:pa55word@127.0.0.1:{server.port}/postgres?table=users",
                        server.address("users", more="&password=pa55word"), server.address("users", more="&pass%77ord=pa55word")):
            for command in (self.train(address), ["data", "describe", address], ["data", "convert", address, "out.csv"]):
                with self.subTest(address=address, command=command[:2]):
                    told = self.refuses(*command, says="holds a password")
                    self.assertNotIn("pa55word", told)
        self.assertEqual(self.left(), ["job.toml", "schema.toml"])

    def test_what_is_not_there_is_named(self):
        self.refuses("data", "describe", server.address("user"), says="the database has no such table; did you mean 'users'?")
        self.refuses("data", "describe", server.address("lab.users"), says="the database has no such table")
        self.refuses("data", "describe", server.address("users").replace("/postgres?", "/shop?"), says='database "shop" does not exist')
        self.refuses("data", "describe", server.address("users").replace("?table=users", ""), says="must name a table")
        lacks = SCHEMA + '[[column]]\nname = "shoe_size"\ntype = "number"\n'
        self.refuses(*self.train(server.address("users"), lacks), says="a column of the schema is not in the file (got 'shoe_size')")
        self.refuses("data", "describe", f"postgresql://x@127.0.0.1:{postgres.free_port()}/x?table=t", says="cannot connect: ")

    def test_a_service_file_serves_too(self):
        self.write("services", f"[shop]\nhost=127.0.0.1\nport={server.port}\ndbname=postgres\nuser={postgres.OWNER}\npassword={postgres.PASSWORD}\n")
        self.environment = {**server.environment(), "PGPASSFILE": "/nonexistent", "PGSERVICEFILE": str(self.folder / "services")}
        self.succeeds("data", "describe", "postgresql:///?service=shop&table=users")


class Joining(PostgresTest):
    def test_a_star_with_one_table_on_a_server_gives_the_model_of_one_file(self):
        if not any(algorithm.partition == "relational" for algorithm in catalog()):
            self.skipTest("no algorithm of this build joins tables")
        example = self.example("hospital-star")
        make = [sys.executable, "-B", example / "make.py"]
        subprocess.run([*make, example / "hospital.db"], check=True)
        server.sql(subprocess.run([*make, "--sql", "patients"], check=True, capture_output=True, text=True).stdout)
        server.sql("GRANT SELECT (patient, age, smoker, visits_before) ON patients TO guest")
        self.as_guest("word of the guest")
        away = f'party.patients.data="{server.address("patients", user="guest")}"'
        plans = [self.json_of("plan", example / "job.toml", *more) for more in ((), ("--set", away))]
        self.assertEqual(plans[0], plans[1])
        models = []
        for out, more in (("one", ()), ("two", ("--set", away))):
            self.succeeds("train", example / "job.toml", "--out", out, "--quiet", *more)
            parts = [json.loads(path.read_text()) for path in sorted((self.folder / out).rglob("model*.json"))]
            models.append([part["columns"] for part in parts if "columns" in part])
        self.assertEqual(len(models[0]), 3, "a part for each table")
        self.assertEqual(models[0], models[1])


class Deaths(PostgresTest):
    def test_a_session_that_ends_in_mid_read_is_a_clean_failure(self):
        schema = '[[column]]\nname = "y"\ntype = "label"\n[[column]]\nname = "x"\ntype = "number"\n[[column]]\nname = "ended"\ntype = "boolean"\n'
        command = self.train(server.address("breaks"), schema)
        (self.folder / "job.toml").write_text((self.folder / "job.toml").read_text().replace('"height"', '"y"'))
        self.refuses(*command, code=1, says="the server stopped before the end of the table: terminating connection due to administrator command")
        self.refuses("data", "convert", server.address("breaks"), "out.csv", code=1, says="the server stopped before the end of the table")
        self.assertEqual(self.left(), ["job.toml", "schema.toml"], "nothing is half-written")

    def test_a_server_that_is_killed_in_mid_read_is_a_clean_failure(self):
        holder = subprocess.Popen([server.programs / "psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(server.port), "-U",
                                   postgres.OWNER, "-d", "postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env=server.environment(), text=True)
        self.addCleanup(holder.communicate)
        holder.stdin.write("SELECT pg_advisory_lock(42);\nSELECT 'held';\n")
        holder.stdin.flush()
        while "held" not in holder.stdout.readline():
            pass
        reader = subprocess.Popen([BINARY, "data", "convert", server.address("waits"), "out.csv"], cwd=self.folder, env=self.environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        backend = ""
        while not backend and reader.poll() is None:
            backend = server.sql("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        os.kill(int(backend), signal.SIGKILL)  # a process of the server that this test started
        out, told = reader.communicate(timeout=60)
        self.assertEqual((reader.returncode, out), (1, ""), told)
        self.assertIn("the server stopped before the end of the table", told)
        self.assertEqual(len(told.splitlines()), 1, told)
        self.assertEqual(self.left(), [])
        # The same command reads the table once the server is there again.
        server.run("pg_ctl", "-D", server.data, "-m", "immediate", "-w", "stop")
        server.start()
        self.environment = server.environment()
        self.succeeds("data", "convert", server.address("waits"), "out.csv")
        self.assertEqual(len((self.folder / "out.csv").read_text().splitlines()), 40001)


if __name__ == "__main__":
    unittest.main()
