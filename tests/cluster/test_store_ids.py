"""Ids compared byte for byte everywhere: in tokens, lanes of Redis, rows of MariaDB, and answers."""

import uuid

from harness.case import ClusterScenario, short

# Alike for a collation that folds case, width, accents or a space at the end.
ALIKE = ["abc", "ABC", "Abc", "abc ", " abc", "abc  ", "ａｂｃ", "ábc", "a\u0301bc", "abç", "abc\u200b", "ａbc", "ﬁx", "fix", "ß", "ss"]


class Ids(ClusterScenario):
    @short
    def test_FS_68_buyers_and_requests_that_look_alike_are_distinct_everywhere(self):
        sale = self.front.sale(total=64, limit=1)
        pairs = self.buy_all(ALIKE, sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), len(ALIKE), self.reasons(pairs))
        self.assertEqual(len({answer.json["ticket"] for _, answer in pairs}), len(ALIKE))
        # Each is himself again, and no second unit is his.
        again = self.buy_all(ALIKE, sale, through=self.both())
        self.assertEqual(self.reasons(again), {"limit_reached": len(ALIKE)})
        self.wait_ordered(sale, pairs)
        rows = self.cluster.sql("SELECT HEX(o.buyer), COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) "
                                f"WHERE i.sale = '{sale}' GROUP BY HEX(o.buyer)")
        self.assertEqual({bytes.fromhex(buyer).decode(): int(count) for buyer, count in rows}, dict.fromkeys(ALIKE, 1))
        for buyer, answer in pairs:
            self.assertEqual([order["ticket"] for order in self.front.orders(buyer, sale)], [answer.json["ticket"]], repr(buyer))
        self.check_at_quiet(sale)

    def test_FS_68_request_ids_that_differ_in_case_are_two_requests(self):
        sale = self.front.sale(total=32, limit=6)
        word = uuid.uuid4().hex[:8]
        requests = [f"r-{word}-a", f"R-{word}-a", f"r-{word}-A", f"r-{word}-a.", f"r-{word}-a_", f"r-{word.upper()}-a"]
        answers = []
        for index, request in enumerate(requests):
            answers.append(self.both()[index % 2].buy_patiently("one", sale, request_id=request))
        self.remember(sale, [("one", answer) for answer in answers])
        distinct = set(requests)
        self.assertEqual(len({answer.json["ticket"] for answer in answers}), len(distinct), answers)
        for index, request in enumerate(requests):
            again = self.both()[(index + 1) % 2].buy_patiently("one", sale, request_id=request)
            self.assertEqual((again.status, again.json["ticket"]), (200, answers[index].json["ticket"]), again)
        self.wait_ordered(sale, [("one", answer) for answer in answers])
        self.assertEqual(len(self.front.orders("one", sale)), len(distinct))
        self.check_at_quiet(sale)
