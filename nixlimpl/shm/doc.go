// Package shm is the shared-memory adaptor of transport.Agent: two processes of
// one user on one Linux host, with nothing to install and nothing that outlives
// them.
//
// # Memory
//
// A region that peers may write to is a memfd, sealed against shrinking, growing
// and further seals. A peer receives it as a file descriptor over a Unix socket,
// checks kind, seals and size, maps it, and writes to it with plain copies. The
// seal is what makes a fault in the writer impossible: memory that was checked
// once cannot go away while it is mapped. Regions have no name in any file system
// and the socket lives in the abstract name space, so kill -9 leaves nothing.
//
// # Connection
//
// The side that calls AddPeer dials; the other side learns of it from that
// contact. Both then notify and write by name. All frames have an 8-byte header
// (length, kind, three zero bytes, network order) and a bound per kind:
//
//	hello  1  magic, version, number of regions, own name, wanted name, own address
//	region 2  address and length; carries exactly one file descriptor
//	ready  3  every region that the dialler promised is mapped
//	refuse 4  a reason code; the connection ends
//	notice 5  a notification of at most MaxNotice bytes
//
// The dialler says hello; the accepting side answers with its own hello and
// regions; the dialler sends its regions; ready ends the handshake. No descriptor
// is sent before the names agree. A frame that breaks a rule closes the connection
// that brought it, is counted by reason (Stats) and logged; nothing else notices.
// Everything that waits is bounded: notices per peer in number, bytes and age,
// posted writes in number, handshakes in number and time, regions, peers and names
// in number. What a full queue refuses and what is given up is counted.
//
// # Whom it trusts
//
// The kernel vouches for the process and user at the other end, and another user
// is refused. A process of the same user may lie about its name; it could read and
// write this process's memory anyhow. Abstract sockets belong to a network
// name space: both processes must share one.
//
// # Death
//
// PeerLost says that the connection ended. PeerDead says that the kernel reported
// the end of the peer's process (pidfd): all its threads and with them its
// mappings are gone, so nothing of it writes any more. While that process lives,
// its name stays taken, and only that same process may connect under it again.
// PeerDead never comes for a peer in this very process (an agent that dials
// itself, two agents in one test): such a peer is forgotten at PeerLost.
package shm
