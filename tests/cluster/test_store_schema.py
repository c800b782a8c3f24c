"""The database's schema and the programs that use it: older, newer, and two of them side by side."""

import subprocess

from harness.case import ClusterScenario


class Schema(ClusterScenario):
    def words(self, *words):
        """One call of the product's own binary with the cluster's configuration."""
        machine = self.cluster.machine
        return subprocess.run([machine.binary, *words, "--config", machine.config], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, check=False)

    def serve_refused(self):
        """api-2's own command line, which must end by itself; what it said."""
        record = self.cluster.node("api-2").process.record
        ran = subprocess.run(record["argv"], cwd=record["cwd"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(ran.returncode, 1, ran)
        return ran.stdout + ran.stderr

    def test_a_newer_schema_is_refused_where_it_says_so_and_an_older_one_is_migrated_while_a_sale_runs(self):
        sale = self.front.sale(total=60)
        first = self.buy_all(self.buyers(20), sale, through=self.both())
        self.assertEqual(len(self.admitted(first)), 20, self.reasons(first))
        version = self.cluster.number("SELECT MAX(version) FROM schema_version")
        node = self.cluster.node("api-2")
        node.terminate()
        try:
            # A step of a newer program that shuts this one out.
            self.cluster.sql(f"INSERT INTO schema_version VALUES ({version + 9}, 'from the future', {version + 9}, 1)")
            said = self.serve_refused()
            self.assertIn(f"the schema is at version {version + 9} and asks for a program that knows version {version + 9}", said)
            self.assertIn("run a newer program", said)
            migrated = self.words("migrate")
            self.assertEqual(migrated.returncode, 1, migrated)
            self.assertIn("run a newer program", migrated.stderr)

            # A step that older programs can live with: both versions serve side by side.
            self.cluster.sql(f"UPDATE schema_version SET oldest_program = 1 WHERE version = {version + 9}")
            node.start()
            second = self.buy_all(self.buyers(20), sale, through=self.both())
            self.assertEqual(len(self.admitted(second)), 20, self.reasons(second))
            node.terminate()
        finally:
            self.cluster.sql(f"DELETE FROM schema_version WHERE version > {version}")

        # An older schema: serving says what to do, migrating does it, and nothing that was there is touched.
        steps = self.cluster.sql("SELECT * FROM schema_version ORDER BY version DESC LIMIT 1")
        orders = self.cluster.number("SELECT COUNT(*) FROM seckill_order")
        self.cluster.sql(f"DELETE FROM schema_version WHERE version = {version}")
        said = self.serve_refused()
        self.assertIn(f"the schema is at version {version - 1}, this program needs {version}: run `migrate`", said)
        migrated = self.words("migrate")
        self.assertEqual((migrated.returncode, migrated.stdout), (0, "the schema is up to date, after 1 step\n"), migrated)
        self.assertEqual(self.words("migrate").stdout, "the schema is up to date\n")
        self.assertEqual(self.cluster.sql("SELECT version, name, oldest_program FROM schema_version ORDER BY version DESC LIMIT 1"),
                         [steps[0][:3]])
        node.start()
        third = self.buy_all(self.buyers(20), sale, through=self.both())
        self.assertEqual(len(self.admitted(third)), 20, self.reasons(third))
        self.assertGreaterEqual(self.cluster.number("SELECT COUNT(*) FROM seckill_order"), orders)
        self.check_at_quiet(sale)
