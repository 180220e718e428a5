// Package spec is the normative text of kvsettle as data: requirements with
// their ids, reason codes and decision tables. Every other room reads from it;
// it imports no room.
package spec
