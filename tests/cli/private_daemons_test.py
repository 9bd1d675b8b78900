# labels: slow faults
"""Private jobs as daemons, as their sites see them: limits, what is charged, and what a kill leaves behind.
PARLEY_LONG=1 kills a site before every single write to disk, PARLEY_FAULTS=100 makes a hundred runs with kills at
random moments."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

from daemons import FederationTest

PRIVACY = "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n"
ONE_RUN = "epsilon = 1.0\ndelta = 1e-5\n"
MANY_RUNS = "epsilon = 1000\ndelta = 0.01\n"
ROUNDS = 4
RUNS = int(os.environ.get("PARLEY_FAULTS", "3"))
SEED = int(os.environ.get("PARLEY_FAULTS_SEED", "1"))


class PrivateTest(FederationTest):
    PARTIES = ("north", "south")

    def private_job(self, rounds=ROUNDS, seed=None):
        job = self.split_by_rows(rounds=rounds, extra=PRIVACY)
        text = job.read_text().replace("seed = 7\n", f"seed = {seed}\n" if seed else "")
        job.write_text(text.replace("local_steps = 3\n", "local_steps = 2\nbatch = 20\n"))
        return job

    def client_job(self, rounds=ROUNDS, seed=None, more=""):
        """The same with whole clients as the unit."""
        job = self.private_job(rounds, seed)
        text = job.read_text().replace("local_steps = 2\n", "local_steps = 2\nclip = 0.5\n")
        job.write_text(text.replace(PRIVACY, PRIVACY + 'unit = "client"\n' + more))
        return job


class PrivateDaemons(PrivateTest):
    def test_a_private_run_claims_what_its_sites_charged_and_a_second_one_is_refused(self):
        job = self.private_job()
        self.federation(job, limits=ONE_RUN, without_privacy="false")
        privacy = self.result()["privacy"]
        self.assertTrue(privacy["claimed"])
        self.assertLessEqual(privacy["epsilon"], 1.0)
        self.assertIn("2 parties, each with records of its own", privacy["statement"])
        self.assertIsNone(privacy["ledger"])
        self.assertIn(privacy["statement"], self.model().decode())
        for name in self.PARTIES:
            self.assertEqual([entry["kind"] for entry in self.entries(self.folder / name / "state" / "ledger")],
                             ["budget", "plan"])
            self.succeeds("ledger", "verify", self.folder / name / "state" / "ledger")
            account = self.account(name)
            self.assertIn(
                "is 'together': logistic by fed-iter-ht, of north, south, asked for by the coordinator at 127.0.0.1:",
                account)
            self.assertIn("at most 8 noisy values or vectors for epsilon", account)
            self.assertNotIn("no privacy", account)
            self.assertRegex(
                account,
                r"is charged epsilon \S+ and delta 1e-05, entry 2 of the ledger; epsilon \S+ of 1 and delta 1e-05 of "
                r"1e-05 are spent"
            )
            self.assertIn("over: 4 rounds answered", account)
            self.assertRegex(
                account,
                r"ends; epsilon \S+ of 1 and delta 1e-05 of 1e-05 are spent on '\w+' in all, epsilon \S+ is left")
        said = self.federation(job, "again", code=3, limits=ONE_RUN, without_privacy="false")
        self.assertIn("does not take part: its privacy budget ended", said)
        self.assertEqual([self.plans(name) for name in self.PARTIES], [1, 1])

    def test_a_coordinator_that_is_started_again_after_its_run_tells_the_result_and_charges_nobody(self):
        job = self.private_job()
        coordinator = self.coordinate(job)
        for name in self.PARTIES:
            self.spawn("join", self.site(name, limits=MANY_RUNS))  # wait for the next run
        self.finish(coordinator)
        paid, told = self.model(), (self.folder / "out" / "result.json").read_text()
        shown = coordinator.stdout.read()
        self.assertIn("together: logistic by fed-iter-ht", shown)
        command = ("coordinate", job, "--listen", f"127.0.0.1:{self.port}", "--tls", "keys", "--out", "out")
        again = self.succeeds(*command)
        self.assertEqual(again.stdout, shown)
        self.assertIn("of this job is over, and this is its result; another --out or --overwrite begins a new run",
                      again.stderr)
        self.assertEqual(self.succeeds(*command, "--json").stdout, told)
        self.assertEqual(self.model(), paid)
        self.assertEqual([self.plans(name) for name in self.PARTIES], [1, 1])
        # The result of something else is none of this run's.
        (self.folder / "out" / "result.json").write_text("{}")
        self.refuses(*command, says="is a private model that a budget paid for")

    def test_a_private_model_is_not_replaced_unless_asked(self):
        self.federation(self.private_job(), limits=MANY_RUNS)
        paid = self.model()
        other = self.private_job(rounds=ROUNDS + 1)
        again = ("coordinate", other, "--listen", "127.0.0.1:0", "--tls", "keys", "--out", "out")
        self.refuses(
            *again,
            says="is a private model that a budget paid for, and is kept; name another --out, or --overwrite it")
        self.assertEqual(self.model(), paid)
        coordinator = self.coordinate(other, "out", "--overwrite")
        coordinator.kill()
        coordinator.wait()
        coordinator = self.coordinate(other)  # goes on
        for party in [self.join(name, limits=MANY_RUNS) for name in self.PARTIES]:
            self.finish(party)
        self.finish(coordinator)
        self.assertNotEqual(self.model(), paid)

    def test_a_site_that_refuses_costs_no_site_anything(self):
        job = self.private_job()
        coordinator = self.coordinate(job)
        self.join("north", limits=ONE_RUN, without_privacy="false")
        self.join("south", without_privacy="false")  # no cap and no budget: no private job either
        self.assertIn("party 'south' does not take part: its privacy budget ended", self.finish(coordinator, code=3))
        self.assertIn("no budget was set", self.account("south"))
        self.assertEqual([self.plans(name) for name in self.PARTIES], [0, 0])

    def test_noise_from_a_seed_is_no_privacy(self):
        said = self.federation(self.private_job(seed=7), code=1, limits=ONE_RUN, without_privacy="false")
        self.assertIn("the site does not allow this job", said)
        self.assertIn("seed that others know", self.account("north") + self.account("south"))

    def test_a_budget_that_holds_a_part_of_the_plan_ends_the_run_there(self):
        job = self.private_job(rounds=40)
        self.federation(job, code=3, limits="epsilon = 0.6\ndelta = 1e-5\n")
        result = self.result()
        self.assertEqual(result["stop_reason"], "budget-ended")
        self.assertLess(result["rounds"], 40)
        self.assertGreater(result["rounds"], 0)
        self.assertLessEqual(result["privacy"]["epsilon"], 0.6)

    def test_nobody_was_missing_in_the_round_in_which_the_budget_ended(self):
        job = self.private_job(rounds=40)
        job.write_text(job.read_text().replace(
            "[labels]", '[rounds]\non_missing = "proceed"\ndeadline_seconds = 60\nquorum = 2\n[labels]'))
        self.federation(job, code=3, limits="epsilon = 0.6\ndelta = 1e-5\n")
        self.assertEqual(self.result()["stop_reason"], "budget-ended")
        self.assertEqual([note for note in self.result()["simulation"]["notes"] if " answered " in note], [])

    def test_one_daemon_at_a_time_uses_a_state(self):
        self.private_job()
        self.port = 1  # nobody listens there
        first = self.join("north", limits=ONE_RUN)
        while not (self.folder / "north" / "state" / "in-use").exists():
            self.assertIsNone(first.poll())
            time.sleep(0.01)
        self.assertIn("another process holds it", self.finish(self.join("north", limits=ONE_RUN), code=1))

    def test_a_site_whose_past_is_lost_says_so_and_releases_nothing(self):
        job = self.private_job(rounds=300)
        coordinator = self.coordinate(job)
        north = self.join("north", limits=ONE_RUN, without_privacy="false")
        south = self.join("south", limits=ONE_RUN, without_privacy="false")
        while self.plans("north") == 0:  # answering
            self.assertIsNone(coordinator.poll())
        north.kill()
        north.wait()
        [kept] = (self.folder / "north" / "state").glob("*.kept")
        kept.unlink()
        again = self.join("north", limits=ONE_RUN, without_privacy="false")
        said = self.finish(coordinator, code=1)
        self.assertIn("party 'north' does not take part: what it kept of this run is lost", said)
        for process in (again, south):
            process.kill()
            process.wait()
        self.assertIn("cannot go on without releasing anew", self.account("north"))
        self.assertEqual(self.plans("north"), 1)

    def test_a_site_whose_ledger_is_gone_gets_no_new_budget(self):
        self.federation(self.private_job(), limits=ONE_RUN, without_privacy="false")
        state = self.folder / "north" / "state"
        ledger, site = state / "ledger", self.site("north", limits=ONE_RUN, without_privacy="false")
        ledger.rename(self.folder / "elsewhere")
        account = (state / "jobs.log").read_text()
        for lost in ("", account):  # what is kept of the run knows it too
            (state / "jobs.log").write_text(lost)
            self.refuses("join", site,
                         says="site.ledger: is not there, and private runs of this state folder were charged to it")
        for kept in state.glob("*.kept"):
            kept.unlink()
        self.refuses("join", site, says="site.ledger: is not there")
        ledger.mkdir()  # a volume that is not mounted
        self.refuses("join", site, says="site.ledger: is not there")
        (state / "private-runs").unlink()  # of a version that did not write it
        self.refuses("join", site, says="site.ledger: is not there")
        self.assertEqual(list(ledger.iterdir()), [])
        ledger.rmdir()
        (self.folder / "elsewhere").rename(ledger)
        self.federation(self.private_job(), "again", code=3, limits=ONE_RUN, without_privacy="false")

    def test_an_older_copy_of_the_ledger_is_no_new_budget(self):
        two_runs = "epsilon = 2.0\ndelta = 1e-3\n"
        job = self.private_job()
        self.federation(job, limits=two_runs, without_privacy="false")
        state = self.folder / "north" / "state"
        shutil.copytree(state / "ledger", self.folder / "older")
        self.federation(job, "again", limits=two_runs, without_privacy="false")
        (state / "ledger").rename(self.folder / "newest")
        (self.folder / "older").rename(state / "ledger")
        self.refuses("join", self.site("north", limits=two_runs, without_privacy="false"), code=1,
                     says="this is an older copy (of 2 entries)")
        self.refuses("ledger", "verify", state / "ledger", code=1, says="put the newest copy back")
        (state / "ledger").rename(self.folder / "elsewhere")
        self.succeeds("ledger", "verify", self.folder / "elsewhere")  # whole by itself
        self.refuses("ledger", "verify", self.folder / "elsewhere", "--state", state, code=1, says="an older copy")
        (self.folder / "newest").rename(state / "ledger")
        self.assertEqual(
            self.json_of("ledger", "verify", state / "ledger")["compared_with"], str(state / "ledger.head"))
        self.federation(job, "third", code=3, limits=two_runs, without_privacy="false")

    def test_a_daemon_whose_ledger_vanishes_gets_no_new_budget(self):
        job = self.private_job()
        coordinator = self.coordinate(job)
        for name in self.PARTIES:
            self.spawn("join", self.site(name, limits=ONE_RUN, without_privacy="false"))  # wait for the next run
        self.finish(coordinator)
        for name in self.PARTIES:
            for file in (self.folder / name / "state" / "ledger").iterdir():
                file.unlink()
        coordinator = self.coordinate(job, "again")
        self.assertIn("does not take part: the site does not allow this job", self.finish(coordinator, code=1))
        for name in self.PARTIES:
            self.assertEqual(list((self.folder / name / "state" / "ledger").iterdir()), [])
        self.assertIn("site.ledger: is not there, and private runs", self.account("north") + self.account("south"))

    def test_the_name_of_a_job_is_no_private_run(self):
        job = self.split_by_rows(rounds=2)
        job.write_text(job.read_text().replace('name = "together"', 'name = "x is private: y"'))
        self.federation(job)
        self.assertIn(" is private: ", self.account("north"))
        again = self.spawn("join", self.site("north"))
        self.assertIn("cannot reach", again.stderr.readline())

    def test_site_files_with_mistakes_are_refused(self):
        self.private_job()
        for limits, says in (("epsilon = 1.0", "give both or neither"), ("epsilon = 0\ndelta = 1e-5", "epsilon"),
                             ("epsilon = 1\ndelta = 1", "delta"), ('neighbours = "replace"', "neighbours"),
                             ("public_label = true", "did you mean")):
            self.refuses("join", self.site("north", limits=limits), says=says)


class Clients(PrivateTest):
    """A whole party is the unit: its table shows in nothing that leaves it but a part of a noisy sum."""
    LIMITS = ONE_RUN + 'unit = "client"\n'

    def test_the_claim_is_about_clients(self):
        job = self.client_job()
        self.federation(job, limits=self.LIMITS, without_privacy="false")
        privacy = self.result()["privacy"]
        self.assertTrue(privacy["claimed"])
        self.assertEqual((privacy["unit"], privacy["neighbours"], privacy["clients"]), ("client", "replace-one", 2))
        self.assertNotIn("records", privacy)
        self.assertEqual(privacy["against"],
                         "a coordinator that hands on keys as they are, together with one other client")
        self.assertLessEqual(privacy["epsilon"], 1.0)
        self.assertGreater(privacy["epsilon"], 0.99)
        self.assertEqual([(event["mechanism"], event["count"]) for event in privacy["events"]], [("gaussian", ROUNDS)])
        self.assertIn("2 parties, each a client: a client costs epsilon", privacy["statement"])
        # How many records a client has is private too.
        self.assertEqual(json.loads(self.model())["provenance"]["rows"], 0)
        for name in self.PARTIES:
            [budget, plan] = self.entries(self.folder / name / "state" / "ledger")
            self.assertEqual((budget["kind"], plan["kind"]), ("budget", "plan"))
            self.assertEqual((budget["unit"], plan["unit"]), ("client", "client"))
            # What it keeps may hold the secret of its masks.
            state = self.folder / name / "state"
            for path in (state, *state.rglob("*")):
                self.assertEqual(path.stat().st_mode & 0o077, 0, path)
        self.assertTrue(list(state.glob("*.kept")))
        said = self.federation(job, "again", code=3, limits=self.LIMITS, without_privacy="false")
        self.assertIn("does not take part: its privacy budget ended", said)

    def test_a_site_has_a_budget_for_one_unit(self):
        for out, job, limits in (("one", self.client_job, ONE_RUN), ("other", self.private_job, self.LIMITS)):
            said = self.federation(job(), out, code=1, limits=limits, without_privacy="false")
            self.assertIn("the site does not allow this job", said)
            self.assertIn("limits.unit", self.account("north") + self.account("south"))
            self.assertEqual([self.plans(name) for name in self.PARTIES], [0, 0])

    def test_how_many_records_a_client_has_decides_nothing(self):
        """Whether a share of the rows can be held out is for their number to say."""
        job = self.client_job()
        job.write_text(job.read_text() + "[data]\ntest_fraction = 0.01\n")
        self.refuses("train", job, says="data.test_fraction")

    def test_what_mixes_units_or_hides_nobody_is_refused(self):
        for more, says in (("records = 100\n", "privacy.records"), ("derivative_bound = 1.0\n",
                                                                    "privacy.derivative_bound"),
                           ('against = "everyone"\n', "privacy.against"), ('neighbours = "add-remove"\n',
                                                                           "privacy.neighbours")):
            self.refuses("train", self.client_job(more=more), says=says)
        job = self.client_job()
        whole = job.read_text()
        for old, new, says in (("delta = 1e-5\n", "", "privacy.delta"), ("clip = 0.5\n", "", "algorithm.clip"),
                               ("[labels]", '[rounds]\non_missing = "proceed"\ndeadline_seconds = 1\n[labels]',
                                "rounds.quorum"), (whole[whole.rindex("[[party]]"):], "",
                                                       "at least two are needed")):
            self.assertIn(old, whole)
            self.refuses("train", self.write("job.toml", whole.replace(old, new)), says=says)
        single = self.write("one.toml", '[job]\ntask = "logistic"\n[algorithm]\nname = "sgd"\n[privacy]\nepsilon = '
                                        '1.0\ndelta = 1e-5\nunit = "client"\n'
                                        '[[party]]\nname = "north"\ndata = "north/stays.csv"\n')
        self.refuses("train", single, says="privacy.unit")


class Kills(PrivateTest):
    def setUp(self):
        super().setUp()
        self.job = self.prepare()
        coordinator = self.coordinate(self.job, "expected")
        for party in [self.daemon(name) for name in self.PARTIES]:
            self.finish(party)
        self.finish(coordinator)
        self.runs = 1
        self.expected = self.learnt("expected")

    def prepare(self):
        return self.private_job(seed=7)

    def daemon(self, name, env=None):
        return self.join(name, limits=MANY_RUNS, env=env)

    def learnt(self, out):
        return self.model(out)

    def ends_the_same(self, out):
        self.runs += 1
        self.assertEqual(self.learnt(out), self.expected)
        self.assertEqual([self.plans(name) for name in self.PARTIES], [self.runs, self.runs],
                         "each run is charged once at each site")
        for name in self.PARTIES:
            self.succeeds("ledger", "verify", self.folder / name / "state" / "ledger")

    def library(self):
        compiler = shutil.which("cc") or shutil.which("c++")
        if compiler is None:
            self.skipTest("needs a C compiler")
        built = self.folder / "kill_at_write.so"
        source = pathlib.Path(__file__).with_name("kill_at_write.c")
        subprocess.run([compiler, "-x", "c", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
        return built

    def test_killed_before_any_write_a_site_ends_in_the_same_bytes_and_is_charged_once(self):
        library = {**os.environ, "LD_PRELOAD": str(self.library())}
        count = self.folder / "count"

        def run(out, env):
            coordinator = self.coordinate(self.job, out)
            victim, other = self.daemon(self.PARTIES[0], env), self.daemon(self.PARTIES[1])
            victim.wait(timeout=60)
            if "PARLEY_KILL_AT" in env:
                self.assertEqual(victim.returncode, -signal.SIGKILL)
                victim = self.daemon(self.PARTIES[0])
            self.finish(coordinator)
            # A site that was killed while it closed the run finds nobody to close it with again.
            for party in (victim, other):
                party.terminate()
                party.wait()
            self.ends_the_same(out)

        run("counted", {**library, "PARLEY_KILL_COUNT": str(count)})
        writes = int(count.read_text())
        self.assertGreater(writes, 3 * ROUNDS)
        every = range(1, writes + 1)
        points = every if os.environ.get("PARLEY_LONG") else random.Random(SEED).sample(every, 4)
        for at in points:
            with self.subTest(write=at, of=writes):
                run(f"at{at}", {**library, "PARLEY_KILL_AT": str(at)})

    def test_whoever_is_killed_and_whenever_every_run_is_charged_once(self):
        for number in range(RUNS):
            with self.subTest(run=number, seed=SEED):
                dice = random.Random(1000 * SEED + number)
                out = f"out{number}"
                self.run_through_kills(self.job, out, dice, self.daemon, longest=0.2)
                self.ends_the_same(out)


class ClientKills(Kills):
    """Clients remember their key and which masks they used."""

    def prepare(self):
        return self.client_job(seed=7)

    def daemon(self, name, env=None):
        return self.join(name, limits=MANY_RUNS + 'unit = "client"\n', env=env)


class ColumnKills(Kills):
    """Parties with columns: they remember their part of the model, and their first round, the labels, costs nothing."""
    PARTIES = ("clinic", "insurer")

    def prepare(self):
        return self.split_by_columns(rounds=ROUNDS, extra=PRIVACY)

    def daemon(self, name, env=None):
        return self.join(name, limits=MANY_RUNS + "public_labels = true\n", env=env, **self.columns_of(name))

    def test_the_account_has_the_charge_when_it_is_made(self):
        """Not with the labels, which leave first and cost nothing."""
        for name in self.PARTIES:
            [charged] = [line for line in self.account(name).splitlines() if "is charged" in line]
            self.assertRegex(
                charged, r"is charged epsilon \S+ and delta 1e-05, entry 2 of the ledger; epsilon [0-9.]+ of 1000 ")
            self.assertNotIn("epsilon 0 of", charged)

    def test_a_finished_run_is_told_again_and_kept_though_its_model_is_elsewhere(self):
        where = ("--listen", "127.0.0.1:0", "--tls", "keys", "--out", "expected")
        told = (self.folder / "expected" / "result.json").read_text()
        for spelt in (self.job, "./job.toml", "keys/../job.toml"):
            self.assertEqual(self.succeeds("coordinate", spelt, *where, "--json").stdout, told)
        other = ("coordinate", self.job, "--set", f"algorithm.iterations={ROUNDS + 1}", *where)
        self.refuses(*other, says="expected/finished: is of a private run that a budget paid for, and is kept")
        (self.folder / "expected" / "finished").unlink()
        self.refuses(*other, says="expected/result.json: is of a private run that a budget paid for, and is kept")
        self.refuses("train", self.job, "--out", "expected", says="is of a private run")
        self.assertEqual([self.plans(name) for name in self.PARTIES], [1, 1])

    def learnt(self, out):
        return [self.part(kept) for kept in self.kept_parts(out)]


if __name__ == "__main__":
    unittest.main()
