package app

import (
	"context"
	"net/http"
	"os"
	"path/filepath"

	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/protofile"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// newFetcher reads external resources for definitions that are applied, and for steps. maxBytes
// bounds one of them; 0: the default.
func (t *term) newFetcher(transport *http.Transport, credentials *credential.Source, maxBytes int64) (*resource.Fetcher, error) {
	root, err := resourceRoot(t.cfg.ResourceRoot)
	if err != nil {
		return nil, err
	}
	return resource.New(resource.Config{
		Transport: transport, Auth: credentials, Root: root, MaxBytes: maxBytes, UserAgent: "chargehand/" + Version,
	}), nil
}

// resourceRoot is the folder of --resource-root as an absolute path.
func resourceRoot(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	if info, err := os.Stat(folder); err != nil {
		return "", installation.BadSetting("--resource-root: %w", err)
	} else if !info.IsDir() {
		return "", installation.BadSetting("--resource-root: %s is not a folder", folder)
	}
	root, err := filepath.Abs(folder)
	if err != nil {
		return "", installation.BadSetting("--resource-root: %w", err)
	}
	return root, nil
}

// fetchBy makes what the service reads resources with.
func fetchBy(f *resource.Fetcher) service.FetchFunc {
	return func(ctx context.Context, uri string, authentication value.Value) (service.Resource, error) {
		content, err := f.Fetch(ctx, resource.Request{URI: uri, Authentication: authentication})
		return service.Resource{Content: content.Data, MediaType: content.MediaType}, err
	}
}

// checkProto tells what is wrong with a call of a method by a proto file.
func checkProto(proto []byte, service, method string) error {
	file, err := protofile.Compile(context.Background(), proto) // it reads nothing, and its time is bounded
	if err != nil {
		return err
	}
	_, err = file.Method(service, method)
	return err
}
