// Package handover reads and writes what stands above the carrier: the JSON
// bodies by which a context result crosses the router, the base64 form of the
// opaque state in them, and the signature over both.
package handover
