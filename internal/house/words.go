package house

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The needles are put together here so that this file does not hold them.
var (
	unfinished = regexp.MustCompile("(?i)" + strings.Join([]string{
		"TO" + "DO", "FIX" + "ME", "st" + "ub", "place" + "holder", "not imple" + "mented",
	}, "|"))

	// No commit names a registry's host: the tree says which packages it wants, the
	// user's own client knows from where.
	registryHost = regexp.MustCompile("(?i)" + strings.Join(quoteAll(
		"proxy.go"+"lang.org", "sum.go"+"lang.org", "go"+"proxy.io", "go"+"proxy.cn",
		"py"+"pi.org", "python"+"hosted.org", "py"+"pi.nvidia.com",
		"registry.npm"+"js.org", "npm"+"js.com", "registry.yarn"+"pkg.com",
		"crates"+".io", "repo.maven"+".apache.org", "repo1.maven"+".org", "central.sona"+"type.com",
		"deb.deb"+"ian.org", "security.deb"+"ian.org", "archive.ubu"+"ntu.com",
		"conda.ana"+"conda.org", "docker"+".io", "gh"+"cr.io", "nv"+"cr.io", "qu"+"ay.io",
	), "|"))
)

func quoteAll(words ...string) []string {
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return words
}

// Words checks that Go, Markdown and TLA+ files hold none of the words that mark
// unfinished work, in any case and also inside longer words.
func Words(t *Tree) ([]Finding, error) {
	return t.search("words", unfinished, func(file string) bool {
		return slices.Contains([]string{".go", ".md", ".tla"}, path.Ext(file))
	})
}

// Hosts checks that no text file names the host of a package registry.
func Hosts(t *Tree) ([]Finding, error) {
	return t.search("hosts", registryHost, func(string) bool { return true })
}

// search reports every match of re in the text files that want accepts.
func (t *Tree) search(rule string, re *regexp.Regexp, want func(string) bool) ([]Finding, error) {
	var found []Finding
	for _, file := range t.Files {
		if !want(file) {
			continue
		}
		src, err := t.read(file)
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(src, 0) >= 0 {
			continue // not text
		}
		for _, loc := range re.FindAllIndex(src, -1) {
			line := 1 + bytes.Count(src[:loc[0]], []byte("\n"))
			found = append(found, Finding{file, line, rule, "holds " + string(src[loc[0]:loc[1]])})
		}
	}
	return found, nil
}
