"""Payload of a decision round (chapter 15), network order."""

from . import identity
from .wire import Raw, Reader, Refused, Struct, U8, U16, U64

ORDER = "big"
ADMIT = 1
SHORT = 25 + 8 + 1 + 4 + 2 + 8 + 8 + 32  # a contribution without a key
KEY = 89
MAX_CONTRIBUTIONS = 65536

HEAD = Struct(("ticket", identity.TICKET), ("genAttempt", U64))
TAIL = Struct(
    ("intent", U8), ("evidence", U8), ("openPublication", U8), ("mode", U8), ("version", U16), ("capabilities", U64), ("abi", U64),
    ("topologyDigest", Raw(32)))
EVIDENCE = (0, 1, 2, 3, 4, 0x81)  # 0x81 whatever is selected


def sort_key(c):
    k = c["key"]
    ranks = (k["sourceRank"], k["destinationRank"]) if k else (identity.NO_RANK, identity.NO_RANK)
    return identity.write_ticket(c["ticket"]), k is not None, *ranks


def _meaning(c, key_at, tail):
    """What the values of one contribution exclude, each at its field: the key at key_at, the others from tail on."""
    for i, (name, ok) in enumerate((
            ("transferKey", not c["key"] or all(c["key"][name] == v for name, v in c["ticket"].items())),
            ("intent", 1 <= c["intent"] <= 4),
            ("evidence", c["evidence"] in EVIDENCE and (c["evidence"] != 0 or c["intent"] == ADMIT)),
            ("open_publication", c["openPublication"] <= 3), ("mode", c["mode"] <= 1))):
        if not ok:
            raise Refused("bad-value", name, key_at if i == 0 else tail and tail + i - 1, "KS-RND-2")
    if (c["version"] == 0) != (c["mode"] == 0):
        raise Refused("bad-version", "version", tail and tail + 4, "KS-RND-4")


def _follows(before, c, at):
    a, b = sort_key(before), sort_key(c)
    if a >= b:
        raise Refused("duplicate" if a == b else "bad-order", "contribution", at, "KS-RND-3")


def decode(data):
    r = Reader(data, ORDER)
    if r.number(2, "schema") != 1:
        raise Refused("bad-version", "schema", 0, "KS-RND-2")
    if r.number(2, "flags"):
        raise Refused("bad-flags", "flags", 2, "KS-RND-2")
    round_id, at, count = r.number(8, "round id"), r.pos, r.number(4, "count")
    if count * (4 + SHORT) > r.left():
        raise Refused("bad-count", "count", at, "KS-RND-2")
    if count > MAX_CONTRIBUTIONS:
        raise Refused("too-large", "count", at, "KS-RND-13")
    contributions = []
    for _ in range(count):
        at, c = r.pos, _contribution(r)
        if contributions:
            _follows(contributions[-1], c, at)
        contributions.append(c)
    r.done("payload")
    return {"roundId": round_id, "contributions": contributions}


def _contribution(r):
    at, length = r.pos, r.number(4, "contribution length")
    if length > r.left() or length not in (SHORT, SHORT + KEY):
        raise Refused("bad-length", "contribution length", at, "KS-RND-2")
    start = r.pos  # the layout of a contribution comes before its values
    r.take(HEAD.least, "contribution")
    where, present = r.pos, r.number(1, "key_present")
    if present > 1:
        raise Refused("bad-bool", "key_present", where, "KS-RND-2")
    if length != SHORT + KEY * present:
        raise Refused("bad-length", "contribution length", at, "KS-RND-2")
    c = HEAD.read(Reader(r.data, ORDER, start, where), "contribution")
    key_at = r.pos
    c["key"] = identity.KEY.read(r, "key") if present else None
    tail = r.pos
    c.update(TAIL.read(r, "contribution"))
    _meaning(c, key_at, tail)
    return c


def encode(v):
    out = b""
    for c in v["contributions"]:
        _meaning(c, None, None)
        key = b"\0" if c["key"] is None else b"\1" + identity.write_key(c["key"])
        body = HEAD.write(c, ORDER, "contribution") + key + TAIL.write(c, ORDER, "contribution")
        out += len(body).to_bytes(4, ORDER) + body
    for before, c in zip(v["contributions"], v["contributions"][1:]):
        _follows(before, c, None)
    if len(v["contributions"]) > MAX_CONTRIBUTIONS:
        raise Refused("too-large", "count", None, "KS-RND-13")
    return (1).to_bytes(2, ORDER) + bytes(2) + v["roundId"].to_bytes(8, ORDER) + len(v["contributions"]).to_bytes(4, ORDER) + out
