// Package negotiate decides, before anything is reserved or advertised, whether
// a service may exchange data with a set of peers. It reads the descriptors in
// their agent names and nothing else: no state, no clock.
//
// ValidatePeers, ValidatePeersMode, ValidateLocal and ValidateOldMode answer
// exactly as the deployed implementations do, check by check and flag by flag.
// GEN and CTX turn that answer into what each role does, as the rollout matrix of
// chapter 05 of the specification lists it.
//
// For them a schema 2 name is one without a descriptor. Select decides for a v2
// service, once for the whole topology; Propose binds that to the epochs in the
// names, and CTX compares the Session so made with what an OPEN proposes.
package negotiate
