package app

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestProgramMaps(t *testing.T) {
	const list = `00400000-02000000 r-xp 00000000 fe:00 1234                               /opt/chargehand
Size:              28672 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me sd
02000000-04000000 r--p 01c00000 fe:00 1234                               /opt/chargehand
Private_Dirty:         0 kB
Anonymous:             0 kB
04000000-04100000 r--p 03c00000 fe:00 1234                               /opt/chargehand
Anonymous:           512 kB
04100000-04200000 rw-p 03d00000 fe:00 1234                               /opt/chargehand
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 99                         /lib/other
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0 
Anonymous:             0 kB
zz-05000000 r--p 00000000 fe:00 1234                                     /opt/chargehand
Anonymous:             0 kB
7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0x2000000}, {0x2000000, 0x4000000}}
	if got := programMaps(strings.NewReader(list), "/opt/chargehand"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestWorkload(t *testing.T) {
	var w workload
	for i, step := range []struct {
		percent time.Duration
		want    bool
	}{{0, false}, {3, false}, {0, false}, {100, false}, {3, false}, {0, true}, {0, false}, {6, false}, {200, false}, {0, true}} {
		if got := w.ended(step.percent*time.Second/100, time.Second); got != step.want {
			t.Errorf("step %d: %t", i, got)
		}
	}
}

// TestReleasePages also calls what the loader has to fill in where this test is linked dynamically.
func TestReleasePages(t *testing.T) {
	releasePages()
	t.Setenv("CHARGEHAND_TEST_RELEASED", "yes")
}
