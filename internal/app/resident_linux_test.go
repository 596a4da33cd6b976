package app

import (
	"reflect"
	"strings"
	"testing"
)

func TestProgramMaps(t *testing.T) {
	const list = `00400000-02000000 r-xp 00000000 fe:00 1234                               /opt/chargehand
02000000-04000000 r--p 01c00000 fe:00 1234                               /opt/chargehand
04000000-04200000 rw-p 03c00000 fe:00 1234                               /opt/chargehand
7f0000000000-7f0000001000 r--p 00000000 fe:00 99                         /lib/other
c000000000-c000400000 rw-p 00000000 00:00 0 
zz-05000000 r--p 00000000 fe:00 1234                                     /opt/chargehand
7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]
`
	want := []mapping{{0x400000, 0x2000000}, {0x2000000, 0x4000000}}
	if got := programMaps(strings.NewReader(list), "/opt/chargehand"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	releaseStartPages() // must not break anything
}
