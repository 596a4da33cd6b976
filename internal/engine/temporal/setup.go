package temporal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/chargehand/chargehand/internal/pause"
)

// setupPause is the time between two checks whether Temporal knows a new namespace or search attribute.
const setupPause = 100 * time.Millisecond

// Setup makes the namespace, if it is missing, with that retention of closed workflows, and registers the missing
// search attributes. It returns when both can be used; did lists what it did. Running it again changes nothing. Errors:
// a search attribute of our name has another type; Temporal refuses, as its cloud does, where both are made in its
// console.
func Setup(ctx context.Context, c client.Client, namespace string, retention time.Duration) (did []string, err error) {
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	var missing *serviceerror.NamespaceNotFound
	switch {
	case errors.As(err, &missing):
		_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: namespace, Description: "Executions of Chargehand",
			WorkflowExecutionRetentionPeriod: durationpb.New(retention),
		})
		var exists *serviceerror.NamespaceAlreadyExists
		if err != nil && !errors.As(err, &exists) {
			return nil, fmt.Errorf("register namespace %q: %w", namespace, err)
		}
		did = append(did, fmt.Sprintf("namespace %s registered, closed workflows are kept for %s", namespace, retention))
	case err != nil:
		return nil, fmt.Errorf("look up namespace %q: %w", namespace, err)
	}
	lacking, err := awaitMissing(ctx, c, namespace)
	if err != nil || len(lacking) == 0 {
		return did, err
	}
	wanted := make(map[string]enumspb.IndexedValueType, len(lacking))
	for _, name := range lacking {
		wanted[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: wanted,
	})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return did, fmt.Errorf("register the search attributes %s (type Keyword): %w", strings.Join(lacking, ", "), err)
	}
	for {
		left, err := missingAttributes(ctx, c, namespace)
		if err != nil {
			return did, err
		}
		if len(left) == 0 {
			return append(did, "search attributes registered: "+strings.Join(lacking, ", ")), nil
		}
		if err := pause.For(ctx, setupPause); err != nil {
			return did, fmt.Errorf("wait for the search attributes %s: %w", strings.Join(left, ", "), err)
		}
	}
}

// awaitMissing is missingAttributes for a namespace that may be so new that not every part of Temporal knows it yet.
func awaitMissing(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	for {
		lacking, err := missingAttributes(ctx, c, namespace)
		var unknown *serviceerror.NamespaceNotFound
		if !errors.As(err, &unknown) {
			return lacking, err
		}
		if pause.For(ctx, setupPause) != nil {
			return nil, err
		}
	}
}

// ErrSetup says that Setup has not been run on the namespace.
var ErrSetup = errors.New("run `chargehand temporal setup`")

// Check reports whether Setup has been run, and returns the id that Temporal has given to the namespace. Errors:
// ErrSetup, with what is missing; those of Temporal.
func Check(ctx context.Context, c client.Client, namespace string) (id string, err error) {
	request := &workflowservice.DescribeNamespaceRequest{Namespace: namespace}
	known, err := c.WorkflowService().DescribeNamespace(ctx, request)
	var unknown *serviceerror.NamespaceNotFound
	switch {
	case errors.As(err, &unknown):
		return "", fmt.Errorf("there is no namespace %q: %w", namespace, ErrSetup)
	case err != nil:
		return "", err
	}
	lacking, err := missingAttributes(ctx, c, namespace)
	switch {
	case err != nil:
		return "", err
	case len(lacking) > 0:
		return "", fmt.Errorf("the namespace %q lacks the search attributes %s (type Keyword): %w",
			namespace, strings.Join(lacking, ", "), ErrSetup)
	}
	return known.GetNamespaceInfo().GetId(), nil
}

// missingAttributes lists the search attributes that are not registered.
func missingAttributes(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	request := &operatorservice.ListSearchAttributesRequest{Namespace: namespace}
	known, err := c.OperatorService().ListSearchAttributes(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("list search attributes: %w", err)
	}
	var lacking []string
	for _, name := range SearchAttributes() {
		kind, ok := known.GetCustomAttributes()[name]
		switch {
		case !ok:
			lacking = append(lacking, name)
		case kind != enumspb.INDEXED_VALUE_TYPE_KEYWORD:
			return nil, fmt.Errorf("the search attribute %s of the namespace %q is of type %s; it must be Keyword",
				name, namespace, kind)
		}
	}
	return lacking, nil
}
