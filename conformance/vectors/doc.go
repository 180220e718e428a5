// Package vectors holds golden vectors for every byte format of package wire,
// and runs the Go codecs over any folder of such files.
//
// The vectors are the *.jsonl files of this folder, one JSON object a line; their
// form is described in README.md for authors in any language. [Files] gives them
// to a Go program, and [ReadLine] takes one line apart. They are written by
// conformance/internal/genvectors from explicit values; a test compares.
//
// [Run] judges a folder: each line passes or fails, and what is not understood
// fails. Besides this format it reads those of vectors that were taken from
// upstream's own serialisers and descriptor parser.
package vectors

//go:generate go run ../internal/genvectors
