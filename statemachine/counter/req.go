package counter

// The requirements that this package cites.
const reqClosed = "KS-ID-5" // counters fail closed
