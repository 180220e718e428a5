package tag

// The requirement that this package cites.
const reqOne = "KS-TAG-3" // no two alike at once
