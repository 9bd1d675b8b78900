"""Tables that join: what a plan says of them, and what is refused before anything runs."""
import json
import random
import sqlite3
import unittest

from parley_cli import CliTest

HEAD = """[job]
name = "shop"
task = "linear"
[model]
l2 = 0.1
[algorithm]
name = "exact"
[labels]
party = "orders"
column = "price"
"""


def party(name, data, schema=""):
    return f'[[party]]\nname = "{name}"\ndata = "{data}"\n' + (f'schema = "{schema}"\n' if schema else "")


def clause(left, right, more=""):
    return f"[[join]]\nleft = {json.dumps(left)}\nright = {json.dumps(right)}\n{more}"


STAR = (HEAD + party("orders", "orders.csv") + party("users", "users.csv") + party("items", "items.csv")
        + clause(["orders.user"], ["users.user"]) + clause(["orders.item"], ["items.item"]))


class RelationalData(CliTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(4)
        self.orders = [(draw.choice([*range(40), None]), draw.randrange(9), draw.random(), draw.random()) for _ in range(300)]
        self.users = [(i, draw.randrange(18, 90)) for i in range(5, 60)]
        self.items = [(i, draw.random(), draw.random()) for i in range(7)]
        self.csv("orders.csv", "user,item,weight,price", self.orders)
        self.csv("users.csv", "user,age", self.users)
        self.csv("items.csv", "item,width,height", self.items)
        self.write("job.toml", STAR)
        if "trains on one table" in self.run_parley("plan", "job.toml").stderr:
            self.skipTest("no algorithm of this build joins tables")

    def csv(self, name, header, rows):
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        self.write(name, "\n".join([header, *lines]) + "\n")

    def planned(self, text=STAR):
        self.write("job.toml", text)
        return self.json_of("plan", "job.toml")["join"]

    def refuses_job(self, text, says):
        self.write("job.toml", text)
        before = sorted(path.name for path in self.folder.iterdir())
        for command in (("plan", "job.toml"), ("train", "job.toml", "--out", "out", "--quiet")):
            told = self.refuses(*command, says=says)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before, "nothing is written")
        return told

    def joined(self):
        known = {user for user, _ in self.users}, {item for item, *_ in self.items}
        return [(user, item) for user, item, *_ in self.orders if user in known[0] and item in known[1]]

    def test_a_plan_counts_rows_and_who_uses_what(self):
        rows = self.joined()
        plan = self.planned()
        self.assertEqual(plan["rows"], len(rows))
        tables = {table["name"]: table for table in plan["tables"]}
        self.assertEqual({name: (table["tuples"], table["columns"]) for name, table in tables.items()},
                         {"orders": (300, 1), "users": (55, 1), "items": (7, 2)})
        users = [user for user, _ in rows]
        self.assertEqual(tables["users"]["unused_tuples"], 55 - len(set(users)))
        self.assertEqual(tables["users"]["largest_fan_out"], max(users.count(user) for user in users))
        self.assertEqual(tables["orders"]["unused_tuples"], 300 - len(rows), "rows of the first table that match nothing")
        self.assertEqual(tables["orders"]["missing_keys"], sum(user is None for user, *_ in self.orders))
        used = len(rows) + len(set(users)) + len({item for _, item in rows})
        self.assertEqual(plan["bytes_per_epoch"], 16 * used)
        self.assertEqual(plan["bytes_per_epoch_unreduced"], 16 * 3 * len(rows))
        shown = self.succeeds("plan", "job.toml").stdout
        for words in ("rows of the join", "fan-out", "unused", "traffic", "memory", "cheaper form"):
            self.assertIn(words, shown)

    def test_a_left_join_keeps_every_row(self):
        left = STAR.replace('right = ["users.user"]\n', 'right = ["users.user"]\nkind = "left"\n')
        left = left.replace('right = ["items.item"]\n', 'right = ["items.item"]\nkind = "left"\n')
        plan = self.planned(left)
        self.assertEqual(plan["rows"], 300)
        known = {user for user, _ in self.users}
        self.assertEqual(plan["tables"][1]["rows_without"], sum(user not in known for user, *_ in self.orders))

    def test_a_union_is_the_table_of_its_parts(self):
        self.csv("a.csv", "user,item,weight,price", self.orders[:100])
        self.csv("b.csv", "user,item,weight,price", self.orders[100:])
        split = STAR.replace(party("orders", "orders.csv"), party("a", "a.csv") + party("b", "b.csv")
                             + '[[union]]\ntable = "orders"\nparties = ["a", "b"]\n')
        whole, parts = self.planned(), self.planned(split)
        for plan in (whole, parts):
            del plan["memory_bytes"]  # of the numbers as they are stored, which two parts may do in another form
        self.assertEqual(parts, whole)

    def test_the_form_that_is_cheaper_depends_on_the_tables(self):
        wide = ",".join(f"x{k}" for k in range(50))
        self.csv("users.csv", "user," + wide, [(i, *([i * 0.5] * 50)) for i in range(5, 60)])
        self.assertEqual(self.planned()["cheaper"], "factorised")
        # Every user once: the join is no larger than the tables.
        self.csv("orders.csv", "user,item,weight,price", [(i, i % 7, 0.5, i) for i in range(5, 60)])
        self.assertLess(self.planned()["factorised_gain"], 1.5)

    def test_a_database_joins_with_a_file(self):
        with sqlite3.connect(self.folder / "shop.db") as shop:
            shop.execute("CREATE TABLE users (user INTEGER PRIMARY KEY, age INTEGER)")
            shop.executemany("INSERT INTO users VALUES (?, ?)", self.users)
            shop.execute('CREATE TABLE "items""; DROP TABLE users; --" (item TEXT, width REAL, height REAL)')
            shop.executemany('INSERT INTO "items""; DROP TABLE users; --" VALUES (?, ?, ?)', [(str(item), *rest) for item, *rest in self.items])
        shop.close()
        mixed = STAR.replace("users.csv", "sqlite:shop.db?table=users").replace("items.csv", "sqlite:shop.db?table=items%22; DROP TABLE users; --")
        plain, both = self.planned(), self.planned(mixed)
        self.assertEqual(both["rows"], plain["rows"], "integers and texts of a database are the texts of a file")

    def test_keys_of_several_columns(self):
        sales = [(i % 3, i % 4, i * 0.1, i) for i in range(24)]
        self.csv("orders.csv", "store,week,weight,price", sales)
        self.csv("users.csv", "shop,number,age", [(0, 1, 5), (0, 1, 6), (1, 2, 7), (2, None, 8)])
        text = HEAD + party("orders", "orders.csv") + party("users", "users.csv") + clause(["orders.store", "orders.week"], ["users.shop", "users.number"])
        pairs = [(store, week) for store, week, *_ in sales]
        self.assertEqual(self.planned(text)["rows"], 2 * pairs.count((0, 1)) + pairs.count((1, 2)))

    def test_an_explosion_is_refused_before_it_is_made(self):
        self.csv("orders.csv", "user,item,weight,price", [(1, 1, 0.5, 1)] * 20000)
        self.csv("users.csv", "user,age", [(1, 5)] * 20000)
        self.refuses_job(STAR, says="job.toml: join: has 400,000,000 rows, more than data.largest_join = 100000000 allows")
        self.refuses_job(STAR.replace("[labels]", "[data]\nlargest_join = 10\n[labels]"), says="more than data.largest_join = 10 allows")

    def test_keys_of_different_types_are_refused(self):
        self.csv("users.csv", "user,age", [(f"u{user}", age) for user, age in self.users])
        self.refuses_job(STAR, says="job.toml: join.1: the types of the keys differ: those of 'orders' are whole numbers, and no key of 'users' is one")
        self.write("users.toml", '[[column]]\nname = "user"\ntype = "integer"\n[[column]]\nname = "age"\ntype = "number"\n')
        self.refuses_job(STAR.replace(party("users", "users.csv"), party("users", "users.csv", "users.toml")),
                         says='users.csv: user: the table is joined by this column, so its type must be "key" (got \'integer\')')

    def test_keys_that_are_missing_are_refused(self):
        self.refuses_job(STAR.replace('"users.user"', '"users.usr"'), says="users.csv: usr: is missing: the table is joined by this column; did you mean 'user'?")
        self.csv("users.csv", "user,age", [(None, age) for _, age in self.users])
        self.refuses_job(STAR, says="join.1: every key of 'users' is missing")
        self.csv("users.csv", "user,age", [(user + 1000, age) for user, age in self.users])
        self.refuses_job(STAR, says="join.1: leaves no row: no key of 'orders' is among those of 'users'")

    def test_what_is_no_tree_is_refused(self):
        self.refuses_job(STAR + clause(["users.age"], ["items.width"]), says="job.toml: join.3: closes a cycle: 'users' and 'items' are joined already")
        self.refuses_job(STAR + party("cities", "users.csv"), says="job.toml: join: no clause reaches 'cities'")
        self.refuses_job(HEAD + party("orders", "orders.csv") + party("users", "users.csv"), says="and a [[join]]")
        self.refuses_job(STAR.replace('["users.user"]', '["orders.item"]'), says="join.1: joins 'orders' with itself")

    def test_a_column_that_appears_twice_is_refused(self):
        self.csv("users.csv", "user,age,age", [(user, age, age) for user, age in self.users])
        self.refuses_job(STAR, says="users.csv:1: header: two columns have the same name (got 'age')")

    def test_a_schema_says_what_a_missing_key_does(self):
        schema = "".join(f'[[column]]\nname = "{name}"\ntype = "{kind}"\n{more}' for name, kind, more in (
            ("user", "key", 'missing = "error"\n'), ("item", "key", ""), ("weight", "number", "bound = 1\n"), ("price", "label", "bound = 1\n")))
        self.write("orders.toml", schema)
        declared = STAR.replace(party("orders", "orders.csv"), party("orders", "orders.csv", "orders.toml"))
        self.refuses_job(declared, says="user: missing value, and the schema's rule for it is error")
        self.write("orders.toml", schema.replace('missing = "error"\n', ""))
        self.assertEqual(self.planned(declared)["rows"], len(self.joined()))


if __name__ == "__main__":
    unittest.main()
