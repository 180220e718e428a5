// Package nixl is the adaptor of transport.Agent over NIXL and UCX: writes into
// another process's registered host memory, on one host or over a network, by a
// library that is found and loaded at run time.
//
// # Library
//
// Nothing of NIXL is needed to build. libnixl_capi.so is found by Find and loaded
// once per process; each function is looked up by name, a missing optional one is a
// missing feature (Library.Missing). Without cgo the package builds and Open says
// what is lacking.
//
// # First contact
//
// An agent's card (Metadata) is the library's metadata, a list of its regions and a
// CRC-32C. The context result brings CTX's card in the address, the first request
// brings GEN's card (KS-V1-23). A card is checked before the library sees it: the
// library takes a truncated one, fails, and never forgets (KS-BACK-14). With
// Config.Listen the address is ip:port and the library's own listener answers.
//
// # Writes
//
// The library has no cancel: a released request goes on reading and writing. So
// Release only marks, and the agent watches every write to its end, however late,
// and reports it then. Success means that the bytes are in the peer's memory; an
// error says nothing about them. A peer that dies, stalls or is cut off may leave a
// write in progress for ever: the deadlines are the caller's.
//
// # Peers
//
// An error of any call on a peer makes it lost: PeerLost is reported once, and the
// next AddPeer drops the metadata and loads it again (KS-BACK-18), because the
// library's own check of the metadata says "fine" after some failures that only
// this cures. PeerDead is never reported: the library does not know, and death
// proves nothing over TCP anyway.
package nixl
