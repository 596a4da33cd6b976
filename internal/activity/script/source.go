package script

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
)

// code is the script of a call: what the definition holds or was pinned with, or else what is
// behind its source now.
func (r *Runner) code(ctx context.Context, call activity.Call, args map[string]any) (string, *machine.Fault) {
	if code, given := args["code"].(string); given {
		return code, nil
	}
	source, _ := args["source"].(map[string]any)
	endpoint, _ := source["endpoint"].(string)
	if endpoint == "" {
		return "", fault("the script has neither code nor a source").Fault
	}
	scope := call.Account.String() + " " + call.Environment.String()
	content, err := r.cfg.Resources.Fetch(ctx, scope, resource.Request{URI: endpoint, Authentication: source["authentication"]})
	if err != nil {
		var known *resource.Error
		if errors.As(err, &known) {
			return "", known.Fault()
		}
		return "", &machine.Fault{
			Type: machine.ErrCommunication, Status: 500, Title: "Resource cannot be read", Detail: "the source of the script cannot be read: " + err.Error(),
		}
	}
	if !utf8.Valid(content.Data) {
		return "", fault("the source of the script is not text in UTF-8: " + content.URI).Fault
	}
	return string(content.Data), nil
}
