"""Notices, genuine and not, with what a careful shop must make of each."""

from rules import alipay_form, alipay_notice, compact, webhook_headers, webhook_mac, wechat_headers, wechat_notice

TICKET = "0123456789ABCDEFGHJKMNPQRS"
OTHER_TICKET = "1123456789ABCDEFGHJKMNPQRS"
MERCHANT, APP, SELLER, ALI_APP = "1900000109", "wxd678efh567hg6787", "2088102146225135", "2014072300007148"
SECRET, NEXT_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_TGFTd0tRUnhTdEJ5UUQ5OGtsWlBJTzJMYUxhU3c="
STRANGERS_SECRET = "whsec_c3RyYW5nZXItc3RyYW5nZXItc3RyYW5nZXI="
API_V3_KEY = "0123456789abcdefghijklmnopqrstuv"
PUBLIC_KEY_ID = "PUB_KEY_ID_0000000000000024101100397200000006"
AT = "2026-11-11T09:59:58+08:00"
AT_MS = 1_794_362_398_000


def told(event: str, **other) -> dict:
    """What is expected of a genuine notice."""
    return {"event": event, "out_trade_no": TICKET, "is_ticket": True, "transaction_id": "4200001", "refund_id": "",
            "amount_minor": 8888, "total_minor": 8888, "currency": "CNY", "merchant_id": MERCHANT,
            "occurred_at": AT_MS} | other


def case(provider: str, name: str, headers: list, body: str, expect, **other) -> dict:
    return {"provider": provider, "name": name, "headers": headers, "body": body,
            **({"fault": expect} if isinstance(expect, str) else {"notice": expect}), **other}


def generic(now: int) -> list[dict]:
    def body(kind="payment.paid", **data):
        return compact({"type": kind, "timestamp": "2026-11-11T02:00:00Z", "data": {
            "merchant_id": MERCHANT, "out_trade_no": TICKET, "transaction_id": "4200001", "amount_minor": 8888,
            "currency": "CNY", "occurred_at": AT} | data})

    def signed(name, text, expect, secret=SECRET, at=now, **other):
        return case("generic", name, webhook_headers(secret, "msg_1", at, text), text, expect, **other)

    paid, dear = body(), body(amount_minor=888800)
    refund = {"refund_id": "R1", "total_minor": 8888, "amount_minor": 100}
    headers = webhook_headers(SECRET, "msg_1", now, paid)
    mac = webhook_mac(SECRET, "msg_1", now, paid)
    strange = webhook_mac(STRANGERS_SECRET, "msg_1", now, paid)

    def with_list(name, value, expect):
        return case("generic", name, headers[:2] + [["webhook-signature", value]], paid, expect)

    return [
        signed("paid", paid, told("paid", notice_id="msg_1")),
        signed("paid_by_the_second_secret", paid, told("paid"), secret=NEXT_SECRET),
        case("generic", "names_of_headers_in_capitals", [[n.upper(), v] for n, v in headers], paid, told("paid")),
        signed("five_minutes_old", paid, told("paid"), at=now - 300),
        signed("too_old", paid, "too_old", at=now - 301),
        signed("from_the_future", paid, "too_old", at=now + 301),
        signed("of_a_stranger", paid, "bad_signature", secret=STRANGERS_SECRET),
        case("generic", "altered_amount", headers, dear, "bad_signature"),
        case("generic", "truncated", headers, paid[:-1], "bad_signature"),
        case("generic", "longer", headers, paid + " ", "bad_signature"),
        case("generic", "other_id", [["webhook-id", "msg_2"]] + headers[1:], paid, "bad_signature"),
        case("generic", "fresher_timestamp", [headers[0], ["webhook-timestamp", str(now + 1)], headers[2]], paid,
             "bad_signature"),
        case("generic", "timestamp_with_a_sign", [headers[0], ["webhook-timestamp", f"+{now}"], headers[2]], paid,
             "malformed"),
        case("generic", "id_with_a_dot", webhook_headers(SECRET, "msg.1", now, paid), paid, "malformed"),
        case("generic", "no_signature", headers[:2], paid, "malformed"),
        case("generic", "two_signature_headers", headers + [headers[2]], paid, "malformed"),
        with_list("good_one_last", f"v1a,AAAA v2,BBBB {strange} v1,??? {mac}", told("paid")),
        with_list("only_strange_ones", f"{strange} {strange}", "bad_signature"),
        with_list("only_other_versions", mac.replace("v1,", "v2,"), "unsupported"),
        with_list("cut_signature", mac[:-4], "bad_signature"),
        with_list("empty_signature", "v1,", "bad_signature"),
        with_list("joined_without_a_space", strange + "," + mac, "bad_signature"),
        with_list("seventeenth", " ".join([strange] * 16 + [mac]), "bad_signature"),
        signed("other_merchant", body(merchant_id="1900000110"), "wrong_merchant"),
        signed("other_currency", body(currency="USD"), told("paid", currency="USD")),
        signed("no_currency", body(currency="cny"), "malformed"),
        signed("one_fen", body(amount_minor=1), told("paid", amount_minor=1, total_minor=1)),
        signed("ten_fen", body(amount_minor=10), told("paid", amount_minor=10, total_minor=10)),
        signed("amount_with_decimals", paid.replace("8888", "88.88"), "malformed"),
        signed("amount_with_exponent", paid.replace("8888", "1e2"), "malformed"),
        signed("amount_as_text", body(amount_minor="8888"), "malformed"),
        signed("negative_amount", body(amount_minor=-1), "malformed"),
        signed("huge_amount", body(amount_minor=2**64), "malformed"),
        signed("two_amounts", paid.replace('"currency"', '"amount_minor":1,"currency"'), "malformed"),
        signed("closed", body("payment.closed", transaction_id=""),
               told("closed", transaction_id="", amount_minor=0, total_minor=0)),
        signed("refunded", body("refund.succeeded", **refund), told("refunded", amount_minor=100, refund_id="R1")),
        signed("refund_failed", body("refund.failed", **refund), told("refund_failed", amount_minor=100, refund_id="R1")),
        signed("refunded_more_than_paid", body("refund.succeeded", **refund | {"amount_minor": 8889}), "malformed"),
        signed("orphan", body(out_trade_no="POS-77"), told("paid", out_trade_no="POS-77", is_ticket=False)),
        signed("order_number_with_a_line", body(out_trade_no="a\nb"), "malformed"),
        signed("no_such_type", body("payment.opened"), "nothing_to_do"),
        signed("no_type", compact({"data": {}}), "malformed"),
        signed("no_json", "paid", "malformed"),
        signed("repeated", paid, "repeated", applied=["msg_1"]),
        signed("unsigned_repeat", paid, "bad_signature", secret=STRANGERS_SECRET, applied=["msg_1"]),
        signed("too_large", "[" + " " * 65536 + "]", "too_large") | {"body": "", "body_spaces": 65537},
    ]


def wechat(world: dict) -> list[dict]:
    now, key, certificate = world["now"], world["wechat"], world["certificate_serial"]

    def payment(**other):
        return {"transaction_id": "4200001", "amount": {"payer_total": 8000, "total": 8888, "currency": "CNY",
                "payer_currency": "CNY"}, "mchid": MERCHANT, "trade_state": "SUCCESS", "bank_type": "CMC",
                "promotion_detail": [{"amount": 888, "goods_detail": [{"goods_id": "商品"}]}], "success_time": AT,
                "payer": {"openid": "oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"}, "out_trade_no": TICKET, "appid": APP,
                "trade_state_desc": "支付成功", "trade_type": "JSAPI", "attach": ""} | other

    def refund(status, **other):
        return {"mchid": MERCHANT, "transaction_id": "4200001", "out_trade_no": TICKET, "refund_id": "5000000",
                "out_refund_no": "R1", "refund_status": status, "success_time": AT,
                "user_received_account": "招商银行信用卡0403",
                "amount": {"total": 8888, "refund": 100, "payer_total": 8888, "payer_refund": 100}} | other

    def notice(event="TRANSACTION.SUCCESS", content=None, api_key=API_V3_KEY, **other):
        return wechat_notice(api_key, event, content or payment(), **other)

    def signed(name, text, expect, by=key, serial=PUBLIC_KEY_ID, at=now, nonce="EcaLhq", **other):
        return case("wechat", name, wechat_headers(by, serial, at, nonce, text), text, expect, **other)

    paid = notice()
    headers = wechat_headers(key, PUBLIC_KEY_ID, now, "EcaLhq", paid)

    def changed(name, index, value, expect, text=paid):
        return case("wechat", name, [h if i != index else [h[0], value] for i, h in enumerate(headers)], text, expect)

    abnormal = refund("ABNORMAL")
    del abnormal["success_time"]
    no_currency = payment(amount={"total": 8888})
    return [
        signed("paid", paid, told("paid", notice_id="EV-2018022511223320873")),
        signed("paid_under_a_certificate", paid, told("paid"), by=world["wechat_certified"], serial=certificate),
        signed("without_currency", notice(content=no_currency), told("paid")),
        signed("five_minutes_old", paid, told("paid"), at=now - 300),
        signed("too_old", paid, "too_old", at=now - 301),
        signed("from_the_future", paid, "too_old", at=now + 301),
        signed("unknown_serial", paid, "unknown_key", serial="PUB_KEY_ID_1"),
        signed("of_a_stranger", paid, "bad_signature", by=world["stranger"]),
        signed("of_the_shop_itself", paid, "bad_signature", by=world["shop"]),
        signed("key_under_anothers_serial", paid, "bad_signature", serial=certificate),
        changed("probe", 2, "WECHATPAY/SIGNTEST/" + headers[2][1][19:], "bad_signature"),
        changed("short_probe", 2, "WECHATPAY/SIGNTEST/abc", "bad_signature"),
        changed("other_nonce", 1, "EcaLhr", "bad_signature"),
        changed("nonce_with_a_line", 1, "Eca\nLhq", "malformed"),
        changed("fresher_timestamp", 0, str(now + 1), "bad_signature"),
        changed("timestamp_with_decimals", 0, f"{now}.0", "malformed"),
        changed("other_algorithm", 4, "WECHATPAY2-SM2-WITH-SM3", "unsupported"),
        changed("truncated", 4, headers[4][1], "bad_signature", text=paid[:-1]),
        changed("swapped_body", 4, headers[4][1], "bad_signature", text=notice(id="EV-2")),
        case("wechat", "no_serial", headers[:3], paid, "malformed"),
        case("wechat", "two_signatures", headers + [headers[2]], paid, "malformed"),
        signed("sealed_with_another_key", notice(api_key="x" * 32), "undecipherable"),
        signed("sealed_with_other_data", notice(told="refund"), "undecipherable"),
        signed("sealed_otherwise", notice(algorithm="AEAD_SM4_GCM"), "unsupported"),
        signed("other_merchant", notice(content=payment(mchid="1900000110")), "wrong_merchant"),
        signed("other_app", notice(content=payment(appid="wx0")), "wrong_merchant"),
        signed("other_currency", notice(content=payment(amount={"total": 8888, "currency": "HKD"})),
               told("paid", currency="HKD")),
        signed("amount_with_decimals", notice(content=payment(amount={"total": 88.88})), "malformed"),
        signed("amount_as_text", notice(content=payment(amount={"total": "8888"})), "malformed"),
        signed("one_fen", notice(content=payment(amount={"total": 1})), told("paid", amount_minor=1, total_minor=1)),
        signed("state_unlike_the_event", notice(content=payment(trade_state="NOTPAY")), "malformed"),
        signed("orphan", notice(content=payment(out_trade_no="POS-77")),
               told("paid", out_trade_no="POS-77", is_ticket=False)),
        signed("refunded", notice("REFUND.SUCCESS", refund("SUCCESS"), associated="refund"),
               told("refunded", amount_minor=100, refund_id="R1")),
        signed("refund_abnormal", notice("REFUND.ABNORMAL", abnormal),
               told("refund_failed", amount_minor=100, refund_id="R1", occurred_at=AT_MS + 3000)),
        signed("refund_closed", notice("REFUND.CLOSED", refund("CLOSED")),
               told("refund_failed", amount_minor=100, refund_id="R1")),
        signed("refund_unlike_the_event", notice("REFUND.SUCCESS", refund("ABNORMAL")), "malformed"),
        signed("other_event", notice("COUPON.USE"), "nothing_to_do"),
        signed("no_json", "paid", "malformed"),
        signed("repeated", paid, "repeated", applied=["EV-2018022511223320873"]),
    ]


def alipay(world: dict) -> list[dict]:
    key = world["alipay"]
    base = {"notify_time": "2026-11-11 10:00:01", "notify_type": "trade_status_sync",
            "notify_id": "ac05099524730693a8b330c45cece72da9", "charset": "utf-8", "version": "1.0",
            "app_id": ALI_APP, "trade_no": "4200001", "out_trade_no": TICKET, "seller_id": SELLER,
            "trade_status": "TRADE_SUCCESS", "total_amount": "88.88", "receipt_amount": "88.88",
            "subject": "秒杀 a+b=c&d%", "gmt_create": "2026-11-11 09:59:50", "gmt_payment": "2026-11-11 09:59:58",
            "fund_bill_list": '[{"amount":"88.88","fundChannel":"ALIPAYACCOUNT"}]'}

    def said(event, **other):
        return told(event, merchant_id=SELLER, **other)

    def signed(name, expect, by=key, fields=None, **changes):
        return case("alipay", name, [], alipay_form(alipay_notice(by, (fields or base) | changes)), expect)

    def paid_with(name, amount, fen):
        expect = "malformed" if fen is None else said("paid", amount_minor=fen, total_minor=fen)
        return signed(name, expect, total_amount=amount)

    whole = alipay_notice(key, base)
    text = alipay_form(whole)
    backwards = alipay_form(dict(reversed(whole.items())))
    gbk = base | {"charset": "GBK"}
    unpaid = {name: value for name, value in base.items() if name != "gmt_payment"}
    partly = base | {"refund_fee": "1.00", "gmt_refund": "2026-11-11 09:59:58.320", "out_biz_no": "R1"}
    closed = unpaid | {"trade_status": "TRADE_CLOSED", "gmt_close": "2026-11-11 09:59:58"}

    def sent(name, body, expect, **other):
        return case("alipay", name, [], body, expect, **other)

    return [
        sent("paid", text, said("paid", notice_id=base["notify_id"])),
        sent("fields_backwards", backwards, said("paid")),
        sent("spaces_as_20", text.replace("+", "%20"), said("paid")),
        sent("in_gbk", alipay_form(alipay_notice(key, gbk, "gbk"), "gbk"), said("paid")),
        signed("by_the_next_key", said("paid"), by=world["alipay_next"]),
        signed("finished", said("paid"), trade_status="TRADE_FINISHED"),
        signed("with_an_empty_field", said("paid"), passback_params=""),
        signed("of_a_stranger", "bad_signature", by=world["stranger"]),
        signed("of_the_shop_itself", "bad_signature", by=world["shop"]),
        sent("altered_amount", text.replace("total_amount=88.88", "total_amount=88.89"), "bad_signature"),
        sent("altered_order", text.replace(TICKET, OTHER_TICKET), "bad_signature"),
        sent("field_added", text + "&refund_fee=1.00", "bad_signature"),
        sent("field_taken", text.replace("&receipt_amount=88.88", ""), "bad_signature"),
        sent("escaped_twice", text.replace("%", "%25"), "bad_signature"),
        sent("truncated", text[:text.rindex("&sign_type")][:-8] + "&sign_type=RSA2", "bad_signature"),
        sent("two_amounts", text + "&total_amount=0.01", "malformed"),
        sent("broken_escape", text + "&x=%4", "malformed"),
        sent("no_signature", text[:text.index("&sign=")] + "&sign_type=RSA2", "malformed"),
        sent("no_sign_type", text.replace("&sign_type=RSA2", ""), "malformed"),
        sent("old_algorithm", text.replace("sign_type=RSA2", "sign_type=RSA"), "unsupported"),
        sent("empty", "", "malformed"),
        signed("utf_16", "unsupported", charset="utf-16"),
        signed("other_app", "wrong_merchant", app_id="2014072300007149"),
        signed("other_seller", "wrong_merchant", seller_id="2088102146225136"),
        signed("other_currency", said("paid", currency="USD"), trans_currency="USD"),
        signed("no_currency", "malformed", trans_currency="US"),
        paid_with("one_fen", "0.01", 1), paid_with("ten_fen", "0.1", 10), paid_with("ten_fen_again", "0.10", 10),
        paid_with("whole_yuan", "100", 10000), paid_with("exponent", "1e-2", None), paid_with("three_decimals", "0.010", None),
        paid_with("comma", "1,000.00", None), paid_with("negative", "-0.01", None), paid_with("plus", "+0.01", None),
        paid_with("no_whole_part", ".01", None), paid_with("no_decimals", "1.", None), paid_with("leading_zero", "00.01", None),
        paid_with("space", " 0.01", None), paid_with("huge", "99999999999999.00", None), paid_with("no_amount", "", None),
        signed("closed", said("closed", amount_minor=0), fields=closed),
        signed("refunded_in_part", said("refunded", amount_minor=100, refund_id="R1", occurred_at=AT_MS + 320),
               fields=partly),
        signed("refunded_in_full", said("refunded", refund_id="R1", occurred_at=AT_MS + 320), fields=partly,
               trade_status="TRADE_CLOSED", refund_fee="88.88"),
        signed("refunded_more_than_paid", "malformed", fields=partly, refund_fee="88.89"),
        signed("refunded_nothing", said("paid"), refund_fee="0.00"),
        signed("waiting", "nothing_to_do", fields=unpaid, trade_status="WAIT_BUYER_PAY"),
        signed("no_such_status", "unsupported", trade_status="TRADE_PENDING"),
        signed("other_kind", "nothing_to_do", notify_type="servicewindow"),
        signed("orphan", said("paid", out_trade_no="POS-77", is_ticket=False), out_trade_no="POS-77"),
        sent("repeated", text, "repeated", applied=[base["notify_id"]]),
    ]


def all_of(world: dict) -> list[dict]:
    return generic(world["now"]) + wechat(world) + alipay(world)
