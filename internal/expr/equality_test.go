package expr

import (
	"reflect"
	"testing"
)

func TestEqualities(t *testing.T) {
	for source, want := range map[string][]Equality{
		`.x == 77`:                           {{".x", "77"}},
		`77 == .x`:                           {{".x", "77"}},
		`. == "a"`:                           {{".", `"a"`}},
		`.a.b[0] == $input.id`:               {{".a.b[0]", "$input.id"}},
		`(.x == 1) and (.y > 2 and .z == 3)`: {{".x", "1"}, {".z", "3"}},
		`.x == 1 or .y == 2`:                 nil,
		`.x == .y`:                           nil,
		`(.x == 1) | not`:                    nil,
		`.x != 1`:                            nil,
		`.[] == 1`:                           nil,
		`.x? == 1`:                           nil,
		`.x == (1, 2)`:                       nil,
		`.x == now`:                          nil,
		`def f: 1; .x == 1`:                  nil,
		`1 == 2`:                             nil,
		`.x ==`:                              nil,
	} {
		if got := Equalities(source); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %v, want %v", source, got, want)
		}
	}
}
