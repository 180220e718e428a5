"""Ticket, TransferKey and topology digest (chapter 03), network order."""

import hashlib

from .wire import Raw, Reader, Refused, Struct, U8, U16, U32, U64

ORDER = "big"
CTX_TO_GEN = 1
NO_RANK = 0xFFFFFFFF
MAX_NAME, MAX_RANKS, MAX_EDGES = 4096, 4096, 65536


def nonzero(v):
    return v != 0


def _direction(v):
    return v == CTX_TO_GEN


def _rank(v):
    return v < NO_RANK


TICKET = Struct(
    ("ctxRequestId", U64), ("ctxInstanceEpoch", U64, nonzero, "KS-ID-7"), ("ctxAttempt", U64, nonzero, "KS-ID-7"),
    ("direction", U8, _direction, "KS-ID-12"))
KEY = Struct(
    ("ctxRequestId", U64), ("ctxInstanceEpoch", U64, nonzero, "KS-ID-12"), ("ctxAttempt", U64, nonzero, "KS-ID-12"),
    ("genAttempt", U64, nonzero, "KS-ID-12"), ("direction", U8, _direction, "KS-ID-12"), ("sourceRank", U32, _rank, "KS-ID-12"),
    ("destinationRank", U32, _rank, "KS-ID-12"), ("sourceInstanceEpoch", U64, nonzero, "KS-ID-12"),
    ("destinationInstanceEpoch", U64, nonzero, "KS-ID-12"), ("topologyDigest", Raw(32)))


def _read(kind, data, item):
    r = Reader(data, ORDER)
    r.fixed(kind.least, item)
    if r.left() > kind.least:  # the size comes before any value
        raise Refused("trailing-bytes", item, kind.least, "KS-RSN-5")
    return kind.read(r, item)


def read_ticket(data):
    return _read(TICKET, data, "Ticket")


def read_key(data):
    return _read(KEY, data, "TransferKey")


def write_ticket(v):
    return TICKET.write(v, ORDER, "Ticket")


def write_key(v):
    return KEY.write(v, ORDER, "TransferKey")


def topology_bytes(t):
    """What the digest is made of (KS-ID-14). Participants are (name, epoch), edges (source rank, destination rank)."""
    if t["direction"] != CTX_TO_GEN:
        raise Refused("bad-value", "direction", None, "KS-ID-12")
    out = b"TRTLTOP1" + U16.write(1, ORDER, "schema") + U8.write(t["direction"], ORDER, "direction")
    out += U16.write(t["version"], ORDER, "version") + U64.write(t["capabilities"], ORDER, "capabilities") + U64.write(t["abi"], ORDER, "abi")
    for part in ("sources", "destinations", "edges"):
        if not t[part]:
            raise Refused("bad-count", part, None, "KS-ID-19")
        if len(t[part]) > (MAX_EDGES if part == "edges" else MAX_RANKS):
            raise Refused("too-large", part, None, "KS-ID-19")
    for side in ("sources", "destinations"):
        out += U32.write(len(t[side]), ORDER, side)
        for name, epoch in t[side]:
            if epoch == 0 or not name:
                raise Refused("bad-value", "name or epoch", None, "KS-ID-14")
            if len(name) > MAX_NAME:
                raise Refused("too-large", "name", None, "KS-ID-19")
            out += U32.write(len(name), ORDER, "name length") + name + U64.write(epoch, ORDER, "epoch")
    edges = t["edges"]
    for a, b in zip(edges, edges[1:]):
        if a >= b:
            raise Refused("duplicate" if a == b else "bad-order", "edges", None, "KS-ID-15")
    out += U32.write(len(edges), ORDER, "edges")
    for source, destination in edges:
        if source >= len(t["sources"]) or destination >= len(t["destinations"]):
            raise Refused("out-of-range", "edge", None, "KS-ID-15")
        out += U32.write(source, ORDER, "source rank") + U32.write(destination, ORDER, "destination rank")
    return out


def topology_digest(t):
    return hashlib.sha256(topology_bytes(t)).digest()
