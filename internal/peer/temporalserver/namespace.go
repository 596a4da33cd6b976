package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// makeNamespaces registers the namespaces that are not there yet.
func makeNamespaces(ctx context.Context, address string, names []string, retention time.Duration) error {
	if len(names) == 0 {
		return nil
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, name := range names {
		_, err := workflowservice.NewWorkflowServiceClient(conn).RegisterNamespace(ctx,
			&workflowservice.RegisterNamespaceRequest{
				Namespace:                        name,
				WorkflowExecutionRetentionPeriod: durationpb.New(retention),
			}, grpc.WaitForReady(true))
		if err != nil && status.Code(err) != codes.AlreadyExists {
			return fmt.Errorf("make namespace %s: %w", name, err)
		}
	}
	return nil
}
