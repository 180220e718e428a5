"""Native messages and states (chapter 06), little-endian, profiles 2026mid and 2025late."""

from .wire import Bool, I32, List, Optional, Raw, Refused, Str, Struct, U8, U16, U32, U64, decode as _decode

ORDER = "little"

AGENT = Struct(("agentName", Str()), ("connectionInfo", Str()))
SOCKET = Struct(("port", U16), ("ip", Str()))
COMM_LISTS = {1: ("mpiRanks", List(I32)), 2: ("sockets", List(SOCKET)), 3: ("agents", List(AGENT))}


class _Comm:
    """CommState: selfIdx, then a variant of index 1 to 3 (KS-NAT-7)."""

    least = 4 + 8 + 8

    def read(self, r, item):
        self_idx, at, index = r.number(4, "selfIdx", True), r.pos, r.number(8, "CommState index")
        if index not in COMM_LISTS:
            raise Refused("bad-index", "CommState index", at, "KS-NAT-7")
        name, kind = COMM_LISTS[index]
        return {"selfIdx": self_idx, "variantIndex": index, name: kind.read(r, name)}

    def write(self, v, order, item):
        if v["variantIndex"] not in COMM_LISTS:
            raise Refused("bad-index", "CommState index", None, "KS-NAT-7")
        name, kind = COMM_LISTS[v["variantIndex"]]
        return I32.write(v["selfIdx"], order, "selfIdx") + U64.write(v["variantIndex"], order, "index") + kind.write(v[name], order, name)

    def show(self, v):
        name, kind = COMM_LISTS[v["variantIndex"]]
        return {"selfIdx": v["selfIdx"], "variantIndex": v["variantIndex"], name: kind.show(v[name])}

    def parse(self, j):
        name, kind = COMM_LISTS[j["variantIndex"]]
        if set(j) != {"selfIdx", "variantIndex", name}:
            raise ValueError(f"fields of a CommState: {sorted(j)}")
        return {"selfIdx": j["selfIdx"], "variantIndex": j["variantIndex"], name: kind.parse(j[name])}


COMM = _Comm()
RNN = Struct(
    ("dState", I32), ("dConv", I32), ("hiddenSize", I32), ("headDim", I32), ("convDimSize", I32), ("nGroups", I32),
    ("numLayers", I32), ("numHeads", I32), ("convSectionLayout", I32), ("convStateDataType", I32), ("ssmStateDataType", I32),
    ("layerNumPerPP", List(I32)))


def _cache(mid):
    fields = [
        ("nbKvHeadsPerLayer", List(I32)), ("sizePerHead", I32), ("tokensPerBlock", I32), ("tensorParallelism", I32),
        ("pipelineParallelism", I32), ("contextParallelism", I32), ("enableAttentionDP", Bool()), ("dpRank", I32), ("dpSize", I32),
        ("attentionLayerNumPerPP", List(I32)), ("dataType", I32), ("attentionType", U8), ("kvFactor", I32), ("enableBlockReuse", Bool())]
    if mid:
        fields.append(("enablePartialReuse", Bool()))
    fields += [("hasIndexerKCache", Bool()), ("indexerDimPerHead", I32), ("indexerKCacheQuantBlockSize", I32)]
    if mid:
        fields += [("indexerKCacheUseFp4", Bool()), ("rnn", Optional(RNN))]
    return Struct(*fields)


def _state(cache):
    return Struct(("commState", Optional(COMM)), ("cacheState", Optional(cache)))


CACHE = {"2026mid": _cache(True), "2025late": _cache(False)}
STATE = {profile: _state(cache) for profile, cache in CACHE.items()}
CONTEXT_PHASE_PARAMS = Struct(
    ("reqId", U64), ("firstGenTokens", List(I32)), ("draftTokens", Optional(List(I32))), ("state", Optional(STATE["2025late"])))
MEMORY_DESC = Struct(("addr", U64), ("len", U64), ("deviceId", U32))
BLOCK_KEY = Struct(
    ("usesExtraIds", Bool()), ("loraTaskId", Optional(U64)),
    ("uniqueTokens", List(Struct(("tokenId", I32), ("tokenExtraId", U64)))),
    ("extraKeys", List(Struct(("hash", Raw(32)), ("startOffset", I32), ("uuid", Optional(Str()))))),
    ("cacheSaltID", Optional(U64)))
REQUEST_INFO = Struct(
    ("requestId", U64), ("indexFromEnd", I32), ("lastBlockKey", BLOCK_KEY), ("transState", STATE["2026mid"]))
REQUEST = Struct(
    ("agentName", Str()), ("address", Str()), ("requestInfo", REQUEST_INFO), ("bufferDescs", List(MEMORY_DESC)),
    ("metadataHex", Optional(Str(blob=True))), ("validConnectionIdx", I32), ("bufferKinds", List(U8)))
SYNC = Struct(("agentName", Str()), ("tag", I32))
READY = Struct(("agentName", Str()), ("tag", I32), ("isReady", Bool()))
NOTIFICATIONS = {0: REQUEST, 1: SYNC, 2: READY}


class _Notification:
    """NotificationInfo: the index over all 64 bits (KS-NAT-6), then one body."""

    least = 8

    def read(self, r, item):
        at, index = r.pos, r.number(8, "notification index")
        if index == 3:
            raise Refused("control-notification", "notification index", at, "KS-NAT-6")
        if index not in NOTIFICATIONS:
            raise Refused("bad-index", "notification index", at, "KS-NAT-6")
        return {"variantIndex": index, **NOTIFICATIONS[index].read(r, "body")}

    def write(self, v, order, item):
        if v["variantIndex"] not in NOTIFICATIONS:
            raise Refused("bad-index", "notification index", None, "KS-NAT-9")
        return U64.write(v["variantIndex"], order, "index") + NOTIFICATIONS[v["variantIndex"]].write(v, order, "body")

    def show(self, v):
        return {"variantIndex": v["variantIndex"], **NOTIFICATIONS[v["variantIndex"]].show(v)}

    def parse(self, j):
        body = {k: x for k, x in j.items() if k != "variantIndex"}
        return {"variantIndex": j["variantIndex"], **NOTIFICATIONS[j["variantIndex"]].parse(body)}


_BOTH = {"AgentState": AGENT, "CommState": COMM}
TYPES = {
    "2026mid": {
        **_BOTH, "CacheState": CACHE["2026mid"], "DataTransceiverState": STATE["2026mid"], "MemoryDesc": MEMORY_DESC,
        "BlockKey": BLOCK_KEY, "RequestInfo": REQUEST_INFO, "RequestBody": REQUEST, "NotificationInfo": _Notification()},
    "2025late": {
        **_BOTH, "CacheState": CACHE["2025late"], "DataTransceiverState": STATE["2025late"],
        "ContextPhaseParams": CONTEXT_PHASE_PARAMS}}


def kind(profile, name):
    """The layout of a type in a profile; a layout that nobody has bytes of is refused (KS-NAT-1, KS-NAT-11)."""
    if name not in TYPES.get(profile, {}):
        raise Refused("profile-unsupported", f"{name} in {profile}", None, "KS-NAT-11")
    return TYPES[profile][name]


def decode(profile, name, data):
    return _decode(kind(profile, name), data, ORDER, name)


def encode(profile, name, value):
    return kind(profile, name).write(value, ORDER, name)


# Validate: ranges of what was read (KS-NAT-8). The number of counterparts is known to the caller only.

def validate(name, v, counterparts=None, fixed_ready_tag=False):
    _VALIDATE[name](v, counterparts, fixed_ready_tag)


def _need(ok, item, req, code="out-of-range"):
    if not ok:
        raise Refused(code, item, None, req)


def check_address(text):
    """For the NIXL backend only; no part of validate (KS-NAT-21)."""
    _need(text.count(b":") == 1, "address", "KS-NAT-21", "bad-value")


def _comm(v, *_):
    name, _ = COMM_LISTS[v["variantIndex"]]
    _need(0 <= v["selfIdx"] < len(v[name]), "selfIdx", "KS-NAT-13")
    for entry in v[name]:
        if name == "agents":
            _need(entry["agentName"], "agentName", "KS-NAT-24")
        if name == "mpiRanks":
            _need(entry >= 0, "MPI rank", "KS-NAT-13")


def _per_pp(layers, cache, name):
    _need(len(layers) in (0, cache["pipelineParallelism"]), name, "KS-NAT-19", "bad-count")
    _need(all(n >= 0 for n in layers), name, "KS-NAT-19")


def _cache_state(v, *_):
    _need(all(n >= 0 for n in v["nbKvHeadsPerLayer"]), "nbKvHeadsPerLayer", "KS-NAT-19")
    for name in ("sizePerHead", "tokensPerBlock", "tensorParallelism", "pipelineParallelism", "contextParallelism", "dpSize"):
        _need(v[name] >= 1, name, "KS-NAT-19")
    _need(v["kvFactor"] in (1, 2), "kvFactor", "KS-NAT-19")
    for name in ("indexerDimPerHead", "indexerKCacheQuantBlockSize"):
        _need(v[name] >= 0, name, "KS-NAT-19")
    _need(0 <= v["dpRank"] < v["dpSize"], "dpRank", "KS-NAT-19")
    _per_pp(v["attentionLayerNumPerPP"], v, "attentionLayerNumPerPP")
    _need(0 <= v["dataType"] <= 11, "dataType", "KS-NAT-18")
    _need(v["attentionType"] <= 1, "attentionType", "KS-NAT-18")
    if v.get("rnn"):
        _per_pp(v["rnn"]["layerNumPerPP"], v, "layerNumPerPP")
        _need(all(n >= 0 for name, n in v["rnn"].items() if name != "layerNumPerPP"), "rnn", "KS-NAT-19")
        _need(0 <= v["rnn"]["convSectionLayout"] <= 2, "convSectionLayout", "KS-NAT-18")
        _need(0 <= v["rnn"]["convStateDataType"] <= 11, "convStateDataType", "KS-NAT-18")
        _need(0 <= v["rnn"]["ssmStateDataType"] <= 11, "ssmStateDataType", "KS-NAT-18")


def _trans_state(v, *_):
    _need(v["commState"], "commState", "KS-NAT-12", "missing")
    _need(v["commState"]["variantIndex"] == 3, "CommState index", "KS-NAT-12", "bad-value")
    _need(v["cacheState"], "cacheState", "KS-NAT-12", "missing")
    _comm(v["commState"])
    _cache_state(v["cacheState"])


def _params(v, *_):
    if v["state"]:
        _trans_state(v["state"])


def _memory(v, *_):
    _need(v["len"] > 0 and (v["addr"] + v["len"]) >> 64 == 0, "MemoryDesc", "KS-NAT-20")


def _request_info(v, *_):
    _need(v["indexFromEnd"] >= 0, "indexFromEnd", "KS-NAT-13")
    _trans_state(v["transState"])


def _request(v, counterparts, _):
    _need(v["agentName"], "agentName", "KS-NAT-24")
    _request_info(v["requestInfo"])
    _need(v["bufferDescs"], "bufferDescs", "KS-NAT-23", "missing")
    for m in v["bufferDescs"]:
        _memory(m)
    _need(v["validConnectionIdx"] >= 0 and (counterparts is None or v["validConnectionIdx"] < counterparts), "validConnectionIdx", "KS-NAT-13")
    _need(all(k <= 2 for k in v["bufferKinds"]), "bufferKinds", "KS-NAT-18")
    _need(len(v["bufferKinds"]) == len(v["bufferDescs"]), "bufferKinds", "KS-NAT-23", "bad-count")
    _need(len(set(v["bufferKinds"])) == len(v["bufferKinds"]), "bufferKinds", "KS-NAT-23", "duplicate")


def _notification(v, counterparts, fixed):
    if v["variantIndex"] == 0:
        return _request(v, counterparts, fixed)
    tag = v["tag"]
    if not (fixed and v["variantIndex"] == 2 and tag == 42):
        _need(43 <= tag <= 1048363 and tag & 0xFF == 43, "tag", "KS-TAG-6")


_VALIDATE = {
    "AgentState": lambda *_: None, "CommState": _comm, "CacheState": _cache_state, "DataTransceiverState": _trans_state,
    "ContextPhaseParams": _params, "MemoryDesc": _memory, "BlockKey": lambda *_: None, "RequestInfo": _request_info,
    "RequestBody": _request, "NotificationInfo": _notification}


def data_tag(request_id):
    return (request_id & 0xFFF) << 8 | 43  # KS-TAG-1
