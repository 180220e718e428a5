package simulate

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/kvsettle/kvsettle/statemachine/timeline"
)

// The names of the inputs of each machine, in the order of their constants, which
// begin at 1. A machine may gain an input that has no name here yet: it is written by
// its number.
var (
	ctxEvents = []string{"OnPublish", "OnOpen", "OnContribute", "OnRound", "OnPrepare", "OnReject", "OnBarrier", "OnPosted", "OnWritten",
		"OnWriteFailed", "OnReleased", "OnSealed", "OnCancel", "OnCancelMessage", "OnTerminal", "OnReceipt", "OnQuery", "OnWait",
		"OnEpochChanged", "OnDoubt"}
	genEvents = []string{"OnValidate", "OnContribute", "OnRound", "OnGranted", "OnDenied", "OnPublish", "OnSent", "OnSendFailed", "OnReady",
		"OnCancelMessage", "OnTerminal", "OnReceipt", "OnStatus", "OnSync", "OnData", "OnBarrier", "OnWorkBegan", "OnProcessed", "OnCancel",
		"OnWait", "OnEpochChanged", "OnDoubt", "OnPeerQuiet"}
	ctxKinds = []string{"Start", "Granted", "Denied", "Request", "Written", "Ended", "Cancel", "Abort", "PeerLost", "Tick"}
	genKinds = []string{"Start", "RefusedLocally", "Nothing", "Granted", "Denied", "Published", "PublishError", "PublishDoubt", "Ready", "Sync",
		"Scattered", "Cancel", "Abort", "PeerLost", "PeerQuiet", "Tick"}
)

func actionName(names []string, kind uint64) string {
	if kind >= 1 && kind <= uint64(len(names)) {
		return names[kind-1]
	}
	return "input-" + strconv.FormatUint(kind, 10)
}

func actionKind(names []string, action string) (uint64, bool) {
	for i, n := range names {
		if n == action {
			return uint64(i) + 1, true
		}
	}
	return 0, false
}

// flatten appends every field of a struct that is not zero, but Kind, as an
// argument; fields of structs within it are named with a dot.
func flatten(args []timeline.Arg, prefix string, v reflect.Value) []timeline.Arg {
	t := v.Type()
	for i := range t.NumField() {
		f, name := v.Field(i), prefix+t.Field(i).Name
		if f.IsZero() || name == "Kind" {
			continue
		}
		switch f.Kind() {
		case reflect.Struct:
			args = flatten(args, name+".", f)
		case reflect.Bool:
			args = append(args, timeline.Arg{Key: name, Value: "true"})
		case reflect.String:
			args = append(args, timeline.Arg{Key: name, Value: f.String()})
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			args = append(args, timeline.Arg{Key: name, Value: strconv.FormatInt(f.Int(), 10)})
		default:
			args = append(args, timeline.Arg{Key: name, Value: strconv.FormatUint(f.Uint(), 10)})
		}
	}
	return args
}

// unflatten sets the fields that args name. An argument that no field has, or that a
// field cannot hold, is an error. Arguments in skip are left alone.
func unflatten(args []timeline.Arg, v reflect.Value, skip ...string) error {
next:
	for _, a := range args {
		for _, s := range skip {
			if a.Key == s {
				continue next
			}
		}
		f, err := field(v, a.Key)
		if err != nil {
			return err
		}
		switch f.Kind() {
		case reflect.Bool:
			if a.Value != "true" {
				err = strconv.ErrSyntax
			}
			f.SetBool(true)
		case reflect.String:
			f.SetString(a.Value)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			var n int64
			if n, err = strconv.ParseInt(a.Value, 10, f.Type().Bits()); err == nil {
				f.SetInt(n)
			}
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			var n uint64
			if n, err = strconv.ParseUint(a.Value, 10, f.Type().Bits()); err == nil {
				f.SetUint(n)
			}
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return fmt.Errorf("argument %s=%s: %w", a.Key, a.Value, err)
		}
	}
	return nil
}

// field finds a field by its dotted name.
func field(v reflect.Value, name string) (reflect.Value, error) {
	f := v
	for start, i := 0, 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			continue
		}
		if f.Kind() != reflect.Struct || name[start:i] == "Kind" {
			return f, fmt.Errorf("argument %s is not known", name)
		}
		if f = f.FieldByName(name[start:i]); !f.IsValid() {
			return f, fmt.Errorf("argument %s is not known", name)
		}
		start = i + 1
	}
	return f, nil
}
