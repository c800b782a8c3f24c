"""Calls as they must be sent, and answers to them, genuine and not, with what each says."""

import notices
from notices import (ALI_APP, AT, AT_MS, MERCHANT, OTHER_TICKET, PUBLIC_KEY_ID, SECRET, STRANGERS_SECRET, TICKET)
from rules import alipay_answer, alipay_call, compact, webhook_headers, wechat_call, wechat_headers

NONCE = "593BEC0C930BF1AFEB40B4A08C8FB242"
SHOP_SERIAL = "408B07E79B8269FEC3D5D3E6AB8ED163A6A380DB"
WECHAT, ALIPAY = "https://api.mch.weixin.qq.com", "https://openapi.alipay.com/gateway.do"


def sent(provider: str, call: str, request: dict) -> dict:
    return {"provider": provider, "call": call, "name": "sent", "request": request}


def answer(provider: str, call: str, name: str, status: int, headers: list, body: str, state: str, **other) -> dict:
    return {"provider": provider, "call": call, "name": name, "status": status, "headers": headers, "body": body,
            "state": state, **other}


def generic(now: int) -> list[dict]:
    order = {"merchant_id": MERCHANT, "out_trade_no": TICKET}
    refund = order | {"transaction_id": "4200001", "refund_id": "R1", "amount_minor": 8888, "total_minor": 8888,
                      "currency": "CNY"}
    types = {"query": "payment.query", "close": "payment.close", "refund": "refund.create", "refund_query": "refund.query"}

    def request(call):
        data = order if call in ("query", "close") else refund | {"reason": "迟到的付款"}
        body = compact({"type": types[call], "timestamp": "2026-11-11T02:00:00.000Z", "data": data})
        return {"method": "POST", "url": "https://pay.example/calls", "body": body,
                "header": webhook_headers(SECRET, "call_" + NONCE, now, body)[2]}

    def said(call, name, state, data, status=200, secret=SECRET, to="call_" + NONCE, at=now, kind=None, **other):
        body = compact({"type": kind or types[call] + ".answer", "data": data})
        return answer("generic", call, name, status, webhook_headers(secret, to, at, body), body, state, **other)

    paid = order | {"state": "paid", "transaction_id": "4200001", "amount_minor": 8888, "currency": "CNY", "occurred_at": AT}
    back = refund | {"state": "refunded"}
    return [sent("generic", call, request(call)) for call in types] + [
        said("query", "paid", "paid", paid, occurred_at=AT_MS),
        said("query", "refunded", "refunded", paid | {"state": "refunded"}, occurred_at=AT_MS),
        said("query", "not_paid", "not_paid", order | {"state": "not_paid"}),
        said("query", "closed", "closed", order | {"state": "closed"}),
        said("query", "no_such_order", "no_such_order", order | {"state": "no_such_order"}),
        said("query", "paid_without_amount", "unknown", order | {"state": "paid"}),
        said("query", "of_another_order", "unknown", paid | {"out_trade_no": OTHER_TICKET}),
        said("query", "of_another_merchant", "unknown", paid | {"merchant_id": "1"}),
        said("query", "to_another_call", "unknown", paid, to="call_0"),
        said("query", "of_a_stranger", "unknown", paid, secret=STRANGERS_SECRET),
        said("query", "old", "unknown", paid, at=now - 301),
        said("query", "to_a_close", "unknown", paid, kind="payment.close.answer"),
        said("query", "unavailable", "unknown", paid, status=503),
        said("query", "new_word", "unknown", order | {"state": "lost"}),
        said("close", "closed", "closed", order | {"state": "closed"}),
        said("close", "paid", "paid", order | {"state": "paid"}),
        said("close", "no_such_order", "no_such_order", order | {"state": "no_such_order"}),
        said("close", "new_word", "unknown", order | {"state": "busy", "code": "TRY"}, code="TRY"),
        said("close", "of_another_order", "unknown", order | {"state": "closed", "out_trade_no": OTHER_TICKET}),
        said("refund", "refunded", "refunded", back),
        said("refund", "pending", "pending", back | {"state": "pending"}),
        said("refund", "insufficient_funds", "insufficient_funds", back | {"state": "insufficient_funds"}),
        said("refund", "refused", "refused", back | {"state": "refused", "code": "FROZEN"}, code="FROZEN"),
        said("refund", "other_amount", "unknown", back | {"amount_minor": 1}, code="other_amount"),
        said("refund", "of_another_refund", "unknown", back | {"refund_id": "R2"}),
        said("refund", "no_such_refund", "unknown", back | {"state": "no_such_refund"}),
        said("refund_query", "refunded", "refunded", back),
        said("refund_query", "no_such_refund", "no_such_refund", back | {"state": "no_such_refund"}),
    ]


def wechat(world: dict) -> list[dict]:
    now, key = world["now"], world["wechat"]
    order = f"/v3/pay/transactions/out-trade-no/{TICKET}"
    refund = compact({"transaction_id": "4200001", "out_refund_no": "R1", "reason": "迟到的付款",
                      "amount": {"refund": 8888, "total": 8888, "currency": "CNY"}})

    def request(method, target, body=""):
        return wechat_call(world["shop"], MERCHANT, SHOP_SERIAL, method, WECHAT, target, body, now, NONCE)

    def said(call, name, state, status, content, by=key, serial=PUBLIC_KEY_ID, at=now, **other):
        body = compact(content) if content is not None else ""
        return answer("wechat", call, name, status, wechat_headers(by, serial, at, "n1", body), body, state, **other)

    def failed(call, name, state, status, code):
        return said(call, name, state, status, {"code": code, "message": "…"}, code=code)

    base = {"appid": notices.APP, "mchid": MERCHANT, "out_trade_no": TICKET, "trade_state_desc": "…"}
    paid = base | {"trade_state": "SUCCESS", "transaction_id": "4200001", "success_time": AT,
                   "amount": {"total": 8888, "payer_total": 8888, "currency": "CNY"}}
    back = {"refund_id": "5000", "out_refund_no": "R1", "transaction_id": "4200001", "out_trade_no": TICKET,
            "status": "SUCCESS", "amount": {"total": 8888, "refund": 8888, "currency": "CNY"}}
    return [
        sent("wechat", "query", request("GET", f"{order}?mchid={MERCHANT}")),
        sent("wechat", "close", request("POST", f"{order}/close", compact({"mchid": MERCHANT}))),
        sent("wechat", "refund", request("POST", "/v3/refund/domestic/refunds", refund)),
        sent("wechat", "refund_query", request("GET", "/v3/refund/domestic/refunds/R1")),
        said("query", "paid", "paid", 200, paid, occurred_at=AT_MS),
        said("query", "under_a_certificate", "paid", 200, paid, by=world["wechat_certified"],
             serial=world["certificate_serial"], occurred_at=AT_MS),
        said("query", "refunded", "refunded", 200, paid | {"trade_state": "REFUND"}, occurred_at=AT_MS),
        *[said("query", state.lower(), expect, 200, base | {"trade_state": state}) for state, expect in
          (("NOTPAY", "not_paid"), ("USERPAYING", "not_paid"), ("PAYERROR", "not_paid"), ("CLOSED", "closed"),
           ("REVOKED", "closed"), ("ACCEPT", "unknown"))],
        said("query", "of_another_order", "unknown", 200, paid | {"out_trade_no": OTHER_TICKET}),
        said("query", "of_another_merchant", "unknown", 200, paid | {"mchid": "1"}),
        said("query", "of_a_stranger", "unknown", 200, paid, by=world["stranger"]),
        said("query", "old", "unknown", 200, paid, at=now - 301),
        failed("query", "no_such_order", "no_such_order", 404, "ORDER_NOT_EXIST") | {"code": ""},
        failed("query", "error", "unknown", 500, "SYSTEM_ERROR"),
        answer("wechat", "query", "unsigned_no_such_order", 404, [], compact({"code": "ORDER_NOT_EXIST"}), "unknown"),
        said("close", "closed", "closed", 204, None),
        answer("wechat", "close", "unsigned", 204, [], "", "unknown"),
        failed("close", "closed_before", "closed", 400, "ORDER_CLOSED"),
        failed("close", "paid", "paid", 400, "ORDERPAID"),
        failed("close", "no_such_order", "no_such_order", 404, "ORDER_NOT_EXIST"),
        failed("close", "busy", "unknown", 429, "RATELIMIT_EXCEEDED"),
        failed("close", "closed_says_a_broken_server", "unknown", 500, "ORDER_CLOSED"),
        said("refund", "refunded", "refunded", 200, back),
        said("refund", "pending", "pending", 200, back | {"status": "PROCESSING"}),
        said("refund", "abnormal", "refused", 200, back | {"status": "ABNORMAL"}, code="ABNORMAL"),
        said("refund", "closed", "refused", 200, back | {"status": "CLOSED"}, code="CLOSED"),
        said("refund", "of_another_refund", "unknown", 200, back | {"out_refund_no": "R2"}),
        said("refund", "of_another_payment", "unknown", 200, back | {"transaction_id": "4200002"}),
        said("refund", "other_amount", "unknown", 200, back | {"amount": {"refund": 1}}, code="other_amount"),
        failed("refund", "no_money", "insufficient_funds", 403, "NOT_ENOUGH"),
        failed("refund", "account_gone", "refused", 403, "USER_ACCOUNT_ABNORMAL"),
        failed("refund", "rules", "unknown", 400, "INVALID_REQUEST"),
        failed("refund", "error", "unknown", 500, "SYSTEM_ERROR"),
        said("refund_query", "refunded", "refunded", 200, back),
        failed("refund_query", "no_such_refund", "no_such_refund", 404, "RESOURCE_NOT_EXISTS"),
    ]


def alipay(world: dict) -> list[dict]:
    key = world["alipay"]
    methods = {"query": "alipay.trade.query", "close": "alipay.trade.close", "refund": "alipay.trade.refund",
               "refund_query": "alipay.trade.fastpay.refund.query"}
    contents = {"query": {"out_trade_no": TICKET}, "close": {"out_trade_no": TICKET},
                "refund": {"trade_no": "4200001", "refund_amount": "88.88", "out_request_no": "R1",
                           "refund_reason": "迟到的付款"},
                "refund_query": {"trade_no": "4200001", "out_request_no": "R1"}}
    ok = {"code": "10000", "msg": "Success"}

    def said(call, name, state, node, by=key, text=None, status=200, **other):
        body = alipay_answer(by, methods[call], text or compact(node))
        return answer("alipay", call, name, status, [], body, state, **other)

    def failed(call, name, state, sub_code, code="40004", **other):
        node = {"code": code, "msg": "Business Failed", "sub_code": sub_code, "sub_msg": "…"}
        return said(call, name, state, node, **({"code": sub_code} | other))

    order = ok | {"out_trade_no": TICKET, "trade_no": "4200001"}
    paid = order | {"trade_status": "TRADE_SUCCESS", "total_amount": "88.88", "send_pay_date": "2026-11-11 09:59:58",
                    "buyer_logon_id": "159****5620", "note": 'a "quoted" } brace'}
    spaced = compact(paid).replace(',"', ' , "')
    slashed = paid | {"store_name": "a/b\\"}
    escaped = alipay_answer(key, methods["query"], compact(slashed)).split(',"sign"')
    back = order | {"fund_change": "Y", "refund_fee": "88.88"}
    asked = order | {"out_request_no": "R1", "refund_amount": "88.88", "total_amount": "88.88",
                     "refund_status": "REFUND_SUCCESS"}
    return [sent("alipay", call, alipay_call(world["shop"], ALIPAY, ALI_APP, method, compact(contents[call]),
                                             "2026-11-11 10:00:00")) for call, method in methods.items()] + [
        said("query", "paid", "paid", paid, occurred_at=AT_MS),
        said("query", "spaced", "paid", paid, text=spaced, occurred_at=AT_MS),
        answer("alipay", "query", "slashes_escaped_after_signing", 200, [],
               escaped[0].replace("a/b", "a\\/b") + ',"sign"' + escaped[1], "paid", occurred_at=AT_MS),
        said("query", "finished", "paid", paid | {"trade_status": "TRADE_FINISHED"}, occurred_at=AT_MS),
        said("query", "not_paid", "not_paid", order | {"trade_status": "WAIT_BUYER_PAY"}),
        said("query", "closed", "closed", order | {"trade_status": "TRADE_CLOSED", "total_amount": "88.88"}),
        said("query", "refunded", "refunded", paid | {"trade_status": "TRADE_CLOSED"}, occurred_at=AT_MS),
        said("query", "of_another_order", "unknown", paid | {"out_trade_no": OTHER_TICKET}),
        said("query", "inexact_amount", "unknown", paid | {"total_amount": "88.880"}),
        said("query", "of_a_stranger", "unknown", paid, by=world["stranger"]),
        answer("alipay", "query", "altered", 200, [],
               alipay_answer(key, methods["query"], compact(order | {"trade_status": "WAIT_BUYER_PAY"}))
               .replace("WAIT_BUYER_PAY", "TRADE_CLOSED"), "unknown"),
        answer("alipay", "query", "unsigned", 200, [], compact({"alipay_trade_query_response": paid}), "unknown"),
        answer("alipay", "query", "answer_to_a_close", 200, [],
               alipay_answer(key, methods["close"], compact(paid)), "unknown"),
        answer("alipay", "query", "gateway_error", 200, [],
               alipay_answer(key, "", compact({"code": "40002"}), "error_response"), "unknown"),
        said("query", "broken", "unknown", paid, status=502),
        failed("query", "no_such_order", "no_such_order", "ACQ.TRADE_NOT_EXIST") | {"code": ""},
        failed("query", "error", "unknown", "ACQ.SYSTEM_ERROR"),
        failed("query", "unavailable", "unknown", "isp.unknow-error", code="20000") | {"code": "isp.unknow-error"},
        said("close", "closed", "closed", order),
        said("close", "closed_without_number", "closed", ok),
        said("close", "of_another_order", "unknown", order | {"out_trade_no": OTHER_TICKET}),
        failed("close", "no_such_order", "no_such_order", "ACQ.TRADE_NOT_EXIST"),
        failed("close", "paid_or_closed", "unknown", "ACQ.TRADE_STATUS_ERROR"),
        said("refund", "refunded", "refunded", back),
        said("refund", "no_fund_change", "unknown", back | {"fund_change": "N"}, code="no_fund_change"),
        said("refund", "of_another_payment", "unknown", back | {"trade_no": "4200002"}),
        failed("refund", "no_money", "insufficient_funds", "ACQ.SELLER_BALANCE_NOT_ENOUGH"),
        failed("refund", "finished", "refused", "ACQ.TRADE_HAS_FINISHED"),
        failed("refund", "error", "unknown", "ACQ.SYSTEM_ERROR"),
        said("refund_query", "refunded", "refunded", asked),
        said("refund_query", "no_such_refund", "no_such_refund", ok),
        said("refund_query", "amount_without_status", "unknown",
             {name: value for name, value in asked.items() if name != "refund_status"}),
        said("refund_query", "other_amount", "unknown", asked | {"refund_amount": "0.01"}, code="other_amount"),
        failed("refund_query", "error", "unknown", "ACQ.SYSTEM_ERROR"),
    ]


def all_of(world: dict) -> list[dict]:
    return generic(world["now"]) + wechat(world) + alipay(world)
