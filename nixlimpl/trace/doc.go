// Package trace reads request traces in Mooncake's open format: one JSON object
// a line with timestamp, input_length, output_length and hash_ids. Every line
// is checked before anything starts; a refused line is named by file, line and
// field.
package trace
