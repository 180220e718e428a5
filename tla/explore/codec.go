package explore

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ErrState says that a type cannot be the state of a model.
var ErrState = errors.New("type cannot be a model's state")

// Codec turns states into compact keys and back. A key has every bit of the state,
// also of fields that only their own package can see, so that two states have the
// same key exactly when they are equal with ==. Words that are zero take one bit.
//
// A Codec may be used by several goroutines at once.
type Codec[S comparable] struct {
	masks   []uint64 // by word of S: the bits that are no padding
	strings []bool   // by word of S: a string begins here; its second word has mask 0
	plain   bool     // there are no strings
	names   names
}

// NewCodec returns the codec of S. It refuses, with an error that wraps ErrState, a
// type with pointers, interfaces, channels or floats in it.
func NewCodec[S comparable]() (*Codec[S], error) {
	t := reflect.TypeFor[S]()
	words := (t.Size() + 7) / 8
	c := &Codec[S]{masks: make([]uint64, words), strings: make([]bool, words)}
	if err := c.walk(t, 0); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrState, t, err)
	}
	c.plain = true
	for _, s := range c.strings {
		c.plain = c.plain && !s
	}
	c.names.byText.Store(&map[string]uint64{"": 0})
	c.names.list.Store(&[]string{""})
	return c, nil
}

func (c *Codec[S]) walk(t reflect.Type, at uintptr) error {
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		ones := ^uint64(0) >> (64 - 8*t.Size())
		c.masks[at/8] |= ones << (8 * (at % 8))
	case reflect.String:
		c.strings[at/8] = true
	case reflect.Array:
		for i := range t.Len() {
			if err := c.walk(t.Elem(), at+uintptr(i)*t.Elem().Size()); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if err := c.walk(f.Type, at+f.Offset); err != nil {
				return fmt.Errorf("%s.%w", f.Name, err)
			}
		}
	default:
		return fmt.Errorf("%s", t.Kind())
	}
	return nil
}

// names gives every string that occurs a small number. There are few: reason codes.
type names struct {
	byText atomic.Pointer[map[string]uint64]
	list   atomic.Pointer[[]string]
	mu     sync.Mutex
}

func (n *names) number(s string) uint64 {
	if id, ok := (*n.byText.Load())[s]; ok {
		return id
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	old := *n.byText.Load()
	if id, ok := old[s]; ok {
		return id
	}
	byText := make(map[string]uint64, len(old)+1)
	for k, v := range old {
		byText[k] = v
	}
	id := uint64(len(byText))
	byText[s] = id
	list := append((*n.list.Load())[:id:id], s)
	n.list.Store(&list)
	n.byText.Store(&byText)
	return id
}

// padded makes room for whole words around any S.
type padded[S comparable] struct {
	_ [0]uint64
	s S
	_ [8]byte
}

func (c *Codec[S]) words(p *padded[S]) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&p.s)), len(c.masks))
}

// Append appends the key of s to dst: a bitmap of the words that are not zero, then
// those words.
func (c *Codec[S]) Append(dst []uint64, s *S) []uint64 {
	if unsafe.Sizeof(*s)%8 == 0 {
		return c.append(dst, unsafe.Slice((*uint64)(unsafe.Pointer(s)), len(c.masks)))
	}
	p := padded[S]{s: *s}
	return c.append(dst, c.words(&p))
}

func (c *Codec[S]) append(dst, words []uint64) []uint64 {
	maps := (len(words) + 63) / 64
	base := len(dst)
	for range maps {
		dst = append(dst, 0)
	}
	for m := range maps {
		lo := m * 64
		hi := min(lo+64, len(words))
		var bitmap uint64
		for i, w := range words[lo:hi] {
			v := w & c.masks[lo+i]
			if !c.plain && c.strings[lo+i] && words[lo+i+1] != 0 {
				v = c.names.number(*(*string)(unsafe.Pointer(&words[lo+i])))
			}
			if v != 0 {
				bitmap |= 1 << i
				dst = append(dst, v)
			}
		}
		dst[base+m] = bitmap
	}
	return dst
}

// Read fills s from the key at the front of src and returns what follows it.
func (c *Codec[S]) Read(src []uint64, s *S) []uint64 {
	if unsafe.Sizeof(*s)%8 == 0 {
		var zero S
		*s = zero
		return c.read(src, unsafe.Slice((*uint64)(unsafe.Pointer(s)), len(c.masks)))
	}
	var p padded[S]
	src = c.read(src, c.words(&p))
	*s = p.s
	return src
}

func (c *Codec[S]) read(src, words []uint64) []uint64 {
	maps := (len(words) + 63) / 64
	bitmaps := src[:maps]
	src = src[maps:]
	for m, bitmap := range bitmaps {
		for bitmap != 0 {
			i := m*64 + bits.TrailingZeros64(bitmap)
			bitmap &= bitmap - 1
			if c.strings[i] {
				*(*string)(unsafe.Pointer(&words[i])) = (*c.names.list.Load())[src[0]]
			} else {
				words[i] = src[0]
			}
			src = src[1:]
		}
	}
	return src
}

// Print is a 128-bit fingerprint.
type Print [2]uint64

// Hash returns the fingerprint of a key. It depends on nothing but the key.
func Hash(key []uint64) Print {
	a, b := uint64(0x9e3779b97f4a7c15), uint64(0xd1b54a32d192ed03)
	for i, w := range key {
		a = mix(a^w, 0xbf58476d1ce4e5b9+uint64(i)<<1)
		b = mix(b+w, 0x94d049bb133111eb^uint64(i)<<1)
	}
	n := uint64(len(key))
	return Print{mix(a^n, 0xff51afd7ed558ccd), mix(b^n, 0xc4ceb9fe1a85ec53)}
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x2545f4914f6cdd1d, b|1)
	return hi ^ lo ^ bits.RotateLeft64(a, 23)
}
