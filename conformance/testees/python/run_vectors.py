#!/usr/bin/env python3
"""Runs the golden vectors of a folder against this codec: run_vectors.py --dir DIR.

Exit: 0 all passed, 1 some failed, 2 usage, 3 nothing ran.
"""

import argparse
import collections
import json
import pathlib
import sys

from kvsettle import control, descriptor, handover, identity, native, round as rounds, ticket
from kvsettle.wire import Refused

MEMBERS = {"id", "type", "profile", "note", "req", "fields", "hex", "reencode", "result", "validate", "error", "offset"}


class Failure(Exception):
    """The codec and the vector disagree."""


class Format:
    """How one type is read and written. show and parse turn a value into the vector's fields and back."""

    def __init__(self, profiles, read, write, show, parse, validate=None):
        self.profiles, self.read, self.write, self.show, self.parse, self.validate = profiles, read, write, show, parse, validate


# Native types

def native_format(name, profiles):
    def show(v, profile):
        j = native.kind(profile, name).show(v)
        return {**j, "agentNameHex": v["agentName"].hex()} if name == "AgentState" else j

    def parse(j, profile):
        if name == "AgentState":
            j = {k: x for k, x in j.items() if k != "agentNameHex"}
        return native.kind(profile, name).parse(j)

    return Format(profiles, lambda data, p: native.decode(p, name, data), lambda v, p: native.encode(p, name, v), show, parse,
                  lambda v: native.validate(name, v))


# Descriptors

DESCRIPTOR_NAMES = {"minVersion": "min", "maxVersion": "max", "mode": "mode", "schema": "schema"}
SCHEMAS = {"v1": (1,), "v2": (2,), "v1+v2": (1, 2), "old": (0,)}


def show_descriptor(d, _=None):
    j = {name: getattr(d, attr) for name, attr in DESCRIPTOR_NAMES.items()}
    j.update(base=d.base.decode("latin-1"), capabilities=str(d.capabilities), sessionToken=str(d.token))
    if d.schema == 2:
        j["abi"] = str(d.abi)
    return j


def parse_descriptor(j, _=None):
    return descriptor.Descriptor(
        j["base"].encode("latin-1"), j["schema"], j["minVersion"], j["maxVersion"], int(j["capabilities"]), j["mode"],
        int(j["sessionToken"]), int(j["abi"]) if "abi" in j else None)


# Control messages

CONTROL_BITS = {"v2": frozenset(), "v2+48": frozenset({48}), "v2+49": frozenset({49}), "v2+48+49": frozenset({48, 49})}
EXTRA = {"READY": ("localEvidence", "backendContract", "retentionMs")}  # shown as null where absent


def control_format(name):
    fields = control.MESSAGES[control.TYPE[name]][1] + EXTRA.get(name, ())

    def read(data, profile):
        message = control.decode(data, CONTROL_BITS[profile], expect=name)
        message["hash"] = control.payload_sha256(data)
        return message

    def show(m, _):
        j = {"version": m["version"], "messageId": str(m["messageId"])}
        for f in fields:
            j[f] = show_tlv(f, m.get(f))
        if name == "TERMINAL":
            j["payloadSha256"] = m["hash"].hex()
        return j

    def parse(j, _):
        m = {"type": name, "version": j["version"], "messageId": int(j["messageId"])}
        for f in fields:
            m[f] = parse_tlv(f, j[f])
        return m

    return Format(CONTROL_BITS, read, lambda m, p: control.encode(m, CONTROL_BITS[p]), show, parse)


def show_tlv(name, v):
    kind = control.TLVS[control.NUMBER[name]].kind
    return None if v is None else v.hex() if kind is None else kind.show(v)


def parse_tlv(name, j):
    kind = control.TLVS[control.NUMBER[name]].kind
    return None if j is None else bytes.fromhex(j) if kind is None else kind.parse(j)


# Identity, tickets, rounds

def parse_topology(j):
    def side(name):
        return [(p["agentName"].encode("latin-1"), int(p["epoch"])) for p in j[name]]
    return {"direction": j["direction"], "version": j["version"], "capabilities": int(j["capabilities"]), "abi": int(j["abi"]),
            "sources": side("sources"), "destinations": side("destinations"),
            "edges": [(e["sourceRank"], e["destinationRank"]) for e in j["edges"]]}


def show_state(v, profile):
    t = v["trailer"]
    layout = "2026mid" if t else profile
    return {"state": native.STATE[layout].show(v["state"]), "trailer": t and {
        "ticket": identity.TICKET.show(t["ticket"]), "requiredCapabilities": str(t["requiredCapabilities"]),
        "serializationAbiId": str(t["serializationAbiId"])}}


def parse_state(j, profile):
    t = j["trailer"]
    layout = "2026mid" if t else profile
    return {"state": native.STATE[layout].parse(j["state"]), "trailer": t and {
        "ticket": identity.TICKET.parse(t["ticket"]), "requiredCapabilities": int(t["requiredCapabilities"]),
        "serializationAbiId": int(t["serializationAbiId"])}}


def show_tagged(v, _):
    opaque, rest = v
    return {"tagged": opaque is not None, "opaqueHex": None if opaque is None else opaque.hex(), "restHex": rest.hex()}


def parse_tagged(j, _):
    return None if j["opaqueHex"] is None else bytes.fromhex(j["opaqueHex"]), bytes.fromhex(j["restHex"])


def write_tagged(v, _):
    opaque, rest = v
    return rest if opaque is None else ticket.write_tagged(opaque) + rest


def show_round(v, _):
    return {"roundId": str(v["roundId"]), "contributions": [{
        **rounds.HEAD.show(c), "key": c["key"] and identity.KEY.show(c["key"]), **rounds.TAIL.show(c)} for c in v["contributions"]]}


def parse_round(j, _):
    out = []
    for c in j["contributions"]:
        head = rounds.HEAD.parse({n: c[n] for n in ("ticket", "genAttempt")})
        tail = rounds.TAIL.parse({n: x for n, x in c.items() if n not in ("ticket", "genAttempt", "key")})
        out.append({**head, "key": c["key"] and identity.KEY.parse(c["key"]), **tail})
    return {"roundId": int(j["roundId"]), "contributions": out}


# HTTP: names change case, integers become strings

def camel(name):
    head, *tail = name.split("_")
    return head + "".join(t.capitalize() for t in tail)


def snake(name):
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def show_body(v):
    if isinstance(v, dict):
        return {camel(k): show_body(x) for k, x in v.items()}
    if isinstance(v, list):
        return [show_body(x) for x in v]
    return str(v) if type(v) is int else v


TEXTS = {"request_type", "encoded_opaque_state", "ctx_info_endpoint", "reason", "code", "message", "requirement"}


def parse_body(j, name=""):
    if isinstance(j, dict):
        return {snake(k): parse_body(x, snake(k)) for k, x in j.items()}
    if isinstance(j, list):
        return [parse_body(x, name) for x in j]
    return int(j) if isinstance(j, str) and name not in TEXTS else j


def http_format(body, wrap=None):
    def show(v, _):
        return show_body(v[wrap] if wrap else v)

    def parse(j, _):
        return {wrap: parse_body(j)} if wrap else parse_body(j)

    return Format({"http"}, lambda data, _: handover.read(body, data), lambda v, _: handover.write(body, v), show, parse)


def read_base64(data, _):
    try:
        return handover.read_base64(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Refused("bad-encoding", "text") from None


MID = {"2026mid"}
BOTH = {"2026mid", "2025late"}
FORMATS = {
    **{n: native_format(n, BOTH) for n in ("AgentState", "CommState", "CacheState", "DataTransceiverState", "ContextPhaseParams")},
    **{n: native_format(n, MID) for n in ("MemoryDesc", "BlockKey", "RequestInfo", "RequestBody", "NotificationInfo")},
    "Descriptor": Format(SCHEMAS, lambda data, p: descriptor.read(data, SCHEMAS[p]), lambda d, _: descriptor.write_raw(d),
                         show_descriptor, parse_descriptor),
    **{name: control_format(name) for name in control.TYPE},
    "Ticket": Format({"v2"}, lambda data, _: identity.read_ticket(data), lambda v, _: identity.write_ticket(v),
                     lambda v, _: identity.TICKET.show(v), lambda j, _: identity.TICKET.parse(j)),
    "TransferKey": Format({"v2"}, lambda data, _: identity.read_key(data), lambda v, _: identity.write_key(v),
                          lambda v, _: identity.KEY.show(v), lambda j, _: identity.KEY.parse(j)),
    "OpaqueState": Format(BOTH, ticket.read_state, ticket.write_state, show_state, parse_state),
    "TaggedState": Format({"v2"}, lambda data, _: ticket.read_tagged(data), write_tagged, show_tagged, parse_tagged),
    "RoundPayload": Format({"v2"}, lambda data, _: rounds.decode(data), lambda v, _: rounds.encode(v), show_round, parse_round),
    "Handover": http_format(handover.HANDOVER),
    "DisaggregatedParams": http_format(handover.PARAMS),
    "CancelBody": http_format(handover.CANCEL),
    "ErrorBody": http_format(handover.ERROR, "error"),
    "OpaqueStateBase64": Format({"http"}, read_base64, lambda v, _: handover.write_base64(v).encode(),
                                lambda v, _: {"stateHex": v.hex()}, lambda j, _: bytes.fromhex(j["stateHex"])),
}


def same(got, want, what):
    a, b = json.dumps(got, sort_keys=True), json.dumps(want, sort_keys=True)
    if a != b:
        raise Failure(f"{what}: got {a[:600]}, want {b[:600]}")


def same_bytes(got, want_hex, what):
    if got.hex() != want_hex:
        raise Failure(f"{what}: got {got.hex()[:400]}, want {want_hex[:400]}")


def accepted(v, data):
    """A vector with result ok of an ordinary type."""
    f, profile = FORMATS[v["type"]], v["profile"]
    value = f.read(data, profile)
    same(f.show(value, profile), v["fields"], "fields")
    same_bytes(f.write(f.parse(v["fields"], profile), profile), v.get("reencode", v["hex"]), "re-encoded")
    if "validate" in v:
        try:
            f.validate(value)
            got = "ok"
        except Refused as e:
            got = e.code
        same(got, v["validate"], "validate")


def session_token(v, data):
    same({"base": data.decode("latin-1"), "sessionToken": str(descriptor.session_token(data))}, v["fields"], "fields")


def agent_name(v, data):
    same_bytes(descriptor.write(parse_descriptor(v["fields"])), v["hex"], "name")


def topology(v, data):
    t = parse_topology(v["fields"])
    same_bytes(identity.topology_bytes(t), v["hex"], "hashed bytes")
    same(identity.topology_digest(t).hex(), v["fields"]["topologyDigest"], "digest")


def signature(v, data):
    params = handover.read(handover.PARAMS, data)
    got = handover.verify(bytes.fromhex(v["fields"]["keyHex"]), params, v["fields"]["header"])
    if v["result"] == "ok":
        same(got, v["fields"]["canonical"], "canonical")


OTHER_WAY = {"SessionToken": (session_token, {"v1"}), "AgentName": (agent_name, {"v1", "v2"}), "Topology": (topology, {"v2"}),
             "Signature": (signature, {"http"})}


def run(v):
    """Runs one vector; raises Failure."""
    unknown = set(v) - MEMBERS
    if unknown:
        raise Failure(f"unknown members {sorted(unknown)}")
    if v["type"] in OTHER_WAY:
        action, profiles = OTHER_WAY[v["type"]]
    elif v["type"] in FORMATS:
        action, profiles = accepted, FORMATS[v["type"]].profiles
    else:
        raise Failure(f"unknown type {v['type']}")
    if v["profile"] not in profiles:
        raise Failure(f"unknown profile {v['profile']}")
    data = bytes.fromhex(v["hex"])
    if v["result"] == "ok":
        try:
            action(v, data)
        except Refused as e:
            raise Failure(f"refused: {e}") from None
        return
    if v["result"] != "error":
        raise Failure(f"unknown result {v['result']}")
    try:
        if action is accepted:
            FORMATS[v["type"]].read(data, v["profile"])
        else:
            action(v, data)
    except Refused as e:
        if e.code != v["error"]:
            raise Failure(f"refused as {e}, want {v['error']} at {v.get('offset')}") from None
        if e.offset != v.get("offset"):
            raise Failure(f"OFFSET {e.offset}, want {v.get('offset')}: {e}") from None
        return
    raise Failure(f"accepted, want {v['error']} at {v.get('offset')}")


def main():
    parser = argparse.ArgumentParser(description="Runs the golden vectors of a folder against this codec.")
    parser.add_argument("--dir", required=True, type=pathlib.Path, help="folder with *.jsonl")
    parser.add_argument("--quiet", action="store_true", help="do not print each failure")
    args = parser.parse_args()
    if not args.dir.is_dir():
        parser.error(f"no folder {args.dir}")
    passed, failed = collections.Counter(), collections.Counter()
    for path in sorted(args.dir.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            v = {}
            try:
                v = json.loads(line)
                run(v)
                passed[v["type"]] += 1
            except Exception as e:  # whatever goes wrong is a failure of this vector
                failed[v.get("type", "?")] += 1
                if not args.quiet:
                    text = str(e) if isinstance(e, Failure) else f"{type(e).__name__}: {e}"
                    print(f"FAIL {path.name} {v.get('id', '?')} [{v.get('type')}, {v.get('profile')}]: {text}")
    types = sorted(set(passed) | set(failed))
    for t in types:
        print(f"{t:24} passed {passed[t]:4}  failed {failed[t]:4}")
    total, bad = sum(passed.values()), sum(failed.values())
    print(f"{'total':24} passed {total:4}  failed {bad:4}")
    return 3 if total + bad == 0 else 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
