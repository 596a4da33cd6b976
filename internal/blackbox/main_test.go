package blackbox

import (
	"os"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
