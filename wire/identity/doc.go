// Package identity reads and writes what names a transfer: the context ticket,
// the transfer key of one edge and the topology digest. Everything is in network
// order without padding.
package identity
