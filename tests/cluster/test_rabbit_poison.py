"""Messages that nobody can land, put into the queues by hand: parked with their reason or failed as tickets, and nobody else waits."""

import json
import time
import uuid

from harness.checks import FAILED
from harness.rabbit_faults import PARKED, RabbitScenario
from lib import http

# What is no batch at all, by the words of its reason.
WHOLE = {
    b"": "not a JSON array",
    b"this is no JSON": "not a JSON array",
    b"{}": "not a JSON array",
    b"[]": "an array of no events",
    b"[{]": "not a whole JSON array",
    b"[}]": "brackets",
    b"\xff\xfe\x00\x80": "not a JSON array",
    b"[" + b"1," * 101 + b"1]": "too many events",
    b"x" * 1_048_576: "not a JSON array",
}


class Poison(RabbitScenario):
    allowed_errors = ("parked a message of", "parks a message of", "is refused", "cannot land", "landing: ticket")

    def taken_message(self, sale, buyers):
        """What these buyers' purchases put into the queue of their lanes, taken out again: [(queue, events)]."""
        pairs = self.buy_all(buyers, sale, through=self.both())
        self.assertEqual(len(self.admitted(pairs)), len(buyers), self.reasons(pairs))
        taken = []
        with self.hand() as broker:
            for queue in sorted(self.ready()):
                taken += [(queue, json.loads(message.body)) for message in broker.look(queue, take=True)]
        self.assertEqual(sum(len(events) for _, events in taken), len(buyers))
        return pairs, taken

    def changed(self, event, **members):
        other = json.loads(json.dumps(event))
        other["data"].update(members)
        return other

    def test_FS_09_poison_by_hand_is_parked_with_its_reason_and_fifty_others_land(self):
        sale = self.front.sale(total=64)
        self.empty_parked()
        self.stop_workers()
        first, taken = self.taken_message(sale, self.buyers(6))
        queue, events = taken[0]
        good = events[0]
        bad = [
            (self.changed(good, units=-1), "units"),
            (self.changed(good, units=10**15), "units"),
            (self.changed(good, buyer="\ufffd" * 40), "buyer"),
            ({**good, "id": "not-a-ticket"}, "ticket"),
            ({name: value for name, value in good.items() if name != "data"}, "data"),
            ({**good, "data": {}}, "missing"),
            (17, "not an object"),
        ]
        with self.hand() as broker:
            for body in WHOLE:
                broker.publish(queue, body)
            broker.publish(queue, b"[]", content_type="text/plain")
            for event, _ in bad:
                broker.publish(queue, json.dumps([event]).encode())
            # One of each kind among good ones, and an element that is not even UTF-8.
            for at, (name, batch) in enumerate(taken):
                raw = json.dumps(batch).encode()
                rotten = json.dumps(bad[at % len(bad)][0]).encode()
                broker.publish(name, raw[:-1] + b', {"id": "\xc3\x28"}, ' + rotten + b"]")
            # Twice the same: a duplicate is no order.
            for name, batch in taken:
                broker.publish(name, json.dumps(batch).encode())
        self.start_workers()
        self.wait_ordered(sale, first)
        begun = time.monotonic()
        more = self.buy_all(self.buyers(50), sale, through=self.both())
        self.assertEqual(len(self.admitted(more)), 50, self.reasons(more))
        self.wait_ordered(sale, more)
        self.say(f"50 orders in {time.monotonic() - begun:.1f} s beside {len(WHOLE) + 1 + len(bad)} poison messages")
        expected = len(WHOLE) + 1 + len(bad) + 2 * len(taken)
        self.assertTrue(http.eventually(lambda: self.state_of(PARKED)[0] == expected, within=30), (expected, self.state_of(PARKED)))
        parked = self.parked()
        for body, reason in WHOLE.items():
            self.assertTrue(any(found == body and reason in why for found, why in parked), (body[:40], reason))
        for event, reason in bad:
            self.assertTrue(any(reason in why and json.loads(found) == event for found, why in parked if found[:1] in b"{1"), (event, reason))
        self.assertEqual(self.orders(sale), 56)
        self.empty_parked()
        self.check_at_quiet(sale)

    def test_FS_09_intents_that_break_a_rule_of_the_database_fail_alone_and_their_neighbours_land(self):
        sale = self.front.sale(total=64)
        self.empty_parked()
        self.stop_workers()
        first, taken = self.taken_message(sale, self.buyers(8))
        forged = []
        with self.hand() as broker:
            for name, batch in taken:
                good = batch[0]
                ghost = other_ticket(good["id"])
                # Another ticket of the same buyer, who may have one; a sale that nobody made; more than any lane has.
                over = {**self.changed(good, request_id=str(uuid.uuid4())), "id": ghost}
                nowhere = {**self.changed(good, sale="no-such-sale"), "id": other_ticket(ghost)}
                nobody = self.changed(good, request_id=str(uuid.uuid4()), buyer="nobody-" + good["id"][:6], units=2, limit=1)
                nobody["id"] = other_ticket(other_ticket(ghost))
                forged += [over["id"], nowhere["id"], nobody["id"]]
                broker.publish(name, json.dumps([*batch, over, nowhere, nobody]).encode())
        self.start_workers()
        self.wait_ordered(sale, first)
        more = self.buy_all(self.buyers(50), sale, through=self.both())
        self.assertEqual(len(self.admitted(more)), 50, self.reasons(more))
        self.wait_ordered(sale, more)
        self.wait_settled()
        live = self.cluster.number(f"SELECT COUNT(*) FROM seckill_order o JOIN sale_item i USING (item_id) WHERE i.sale = '{sale}' "
                                   f"AND o.state <> {FAILED}")
        self.assertEqual(live, 58)
        self.assertLessEqual(self.orders(sale, (FAILED,)), len(forged))
        self.check_at_quiet(sale)

    def test_FS_09_without_a_parked_queue_there_is_no_hot_loop_and_nothing_is_lost(self):
        sale = self.front.sale(total=64)
        self.empty_parked()
        with self.hand() as broker:
            broker.delete(PARKED)
            broker.publish("seckill.intents.0", b"poison without a place to go")
            before = sum(self.metric(worker, 'seckill_source_messages_total{kind="received"}') for worker in self.cluster.workers())
            pairs = self.buy_all(self.buyers(50), sale, through=self.both())
            self.assertEqual(len(self.admitted(pairs)), 50, self.reasons(pairs))
            self.wait_ordered(sale, pairs)
        self.assertTrue(http.eventually(lambda: (self.state_of(PARKED) or [0])[0] == 1, within=60), "the poison message is not parked")
        after = sum(self.metric(worker, 'seckill_source_messages_total{kind="received"}') for worker in self.cluster.workers())
        self.assertLess(after - before, 50 + 1 + 60, "the poison message came again and again")
        self.assertEqual(self.parked()[0][0], b"poison without a place to go")
        self.empty_parked()
        self.check_at_quiet(sale)


def other_ticket(ticket):
    """A ticket of the same lane that nobody has."""
    last = "1" if ticket[-1] != "1" else "2"
    middle = "Z" if ticket[12] != "Z" else "Y"
    return ticket[:12] + middle + ticket[13:-1] + last
