package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

// releasedFunctions has the digests of the functions that were released. Executions may run with
// them: add a version rather than change one.
var releasedFunctions = map[string]string{
	"human:1.0.0": "1733d9b9a344fc54a2167d6bf851c536741643e04e42a414e09d3e27f46fdc67",
	"log:1.0.0":   "8199293da2d49035b475e61626ef6406b68a9b66c3d531d581de655766ce7e29",
}

func TestCatalogFunctions(t *testing.T) {
	names := CatalogNames()
	if len(names) != len(releasedFunctions) {
		t.Errorf("the catalog has %v", names)
	}
	for name, digest := range releasedFunctions {
		content, ok := CatalogFunction(name[:len(name)-6], name[len(name)-5:])
		sum := sha256.Sum256(content)
		if !ok || hex.EncodeToString(sum[:]) != digest {
			t.Errorf("%s has changed: its digest is %x", name, sum)
		}
		if _, problems := dsl.ParseFunction(content, name); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
	for _, none := range [][2]string{{"log", "9.0.0"}, {"..", "1.0.0"}, {"", ""}, {"log", "1.0.0/../1.0.0"}} {
		if _, ok := CatalogFunction(none[0], none[1]); ok {
			t.Errorf("there is a function %v", none)
		}
	}
}
