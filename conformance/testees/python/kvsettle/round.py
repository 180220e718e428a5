"""Payload of a decision round (chapter 15), network order."""

from . import identity
from .wire import Raw, Reader, Refused, Struct, U8, U16, U64

ORDER = "big"
ADMIT = 1
SHORT = 25 + 8 + 1 + 4 + 2 + 8 + 8 + 32  # a contribution without a key
KEY = 89

HEAD = Struct(("ticket", identity.TICKET), ("genAttempt", U64))
TAIL = Struct(
    ("intent", U8), ("evidence", U8), ("openPublication", U8), ("mode", U8), ("version", U16), ("capabilities", U64), ("abi", U64),
    ("topologyDigest", Raw(32)))
EVIDENCE = (0, 1, 2, 3, 4, 0x81)  # 0x81 whatever is selected


def sort_key(c):
    k = c["key"]
    ranks = (k["sourceRank"], k["destinationRank"]) if k else (identity.NO_RANK, identity.NO_RANK)
    return identity.write_ticket(c["ticket"]), k is not None, *ranks


def _meaning(c, at):
    """What the values of one contribution exclude; the item is the contribution, at its offset."""
    if not 1 <= c["intent"] <= 4 or c["openPublication"] > 3 or c["mode"] > 1:
        raise Refused("bad-value", "intent, open_publication or mode", at, "KS-RND-2")
    if c["evidence"] not in EVIDENCE or c["evidence"] == 0 and c["intent"] != ADMIT:
        raise Refused("bad-value", "evidence", at, "KS-RND-2")
    if c["key"] and any(c["key"][name] != v for name, v in c["ticket"].items()):
        raise Refused("bad-value", "key of another ticket", at, "KS-RND-2")
    if (c["version"] == 0) != (c["mode"] == 0):
        raise Refused("bad-version", "version", at, "KS-RND-4")


def _order(contributions, places):
    for i in range(1, len(contributions)):
        a, b = sort_key(contributions[i - 1]), sort_key(contributions[i])
        if a == b:
            raise Refused("duplicate", "contribution", places[i], "KS-RND-3")
        if a > b:
            raise Refused("bad-order", "contribution", places[i], "KS-RND-3")


def decode(data):
    r = Reader(data, ORDER)
    if r.number(2, "schema") != 1:
        raise Refused("bad-version", "schema", 0, "KS-RND-2")
    if r.number(2, "flags"):
        raise Refused("bad-flags", "flags", 2, "KS-RND-2")
    round_id, at, count = r.number(8, "round id"), r.pos, r.number(4, "count")
    if count * (4 + SHORT) > r.left():
        raise Refused("bad-count", "count", at, "KS-RND-2")
    contributions, places = [], []
    for _ in range(count):
        places.append(r.pos)
        contributions.append(_contribution(r))
    r.done("payload")
    _order(contributions, places)
    return {"roundId": round_id, "contributions": contributions}


def _contribution(r):
    at, length = r.pos, r.number(4, "contribution length")
    if length not in (SHORT, SHORT + KEY):
        raise Refused("bad-length", "contribution length", at, "KS-RND-2")
    c = HEAD.read(r, "contribution")
    where, present = r.pos, r.number(1, "key_present")
    if present > 1:
        raise Refused("bad-bool", "key_present", where, "KS-RND-2")
    if length != SHORT + KEY * present:
        raise Refused("bad-length", "contribution length", at, "KS-RND-2")
    c["key"] = identity.KEY.read(r, "key") if present else None
    c.update(TAIL.read(r, "contribution"))
    _meaning(c, at)
    return c


def encode(v):
    out = b""
    for c in v["contributions"]:
        _meaning(c, None)
        key = b"\0" if c["key"] is None else b"\1" + identity.write_key(c["key"])
        body = HEAD.write(c, ORDER, "contribution") + key + TAIL.write(c, ORDER, "contribution")
        out += len(body).to_bytes(4, ORDER) + body
    _order(v["contributions"], [None] * len(v["contributions"]))
    return (1).to_bytes(2, ORDER) + bytes(2) + v["roundId"].to_bytes(8, ORDER) + len(v["contributions"]).to_bytes(4, ORDER) + out
