package client

import (
	"context"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
	"go.uber.org/fx"
)

// Module gives the server a Client.
var Module = fx.Provide(func() Client { return Client{} })

// Client knows no worker controller. Deployments without one work as everywhere.
type Client struct{}

// DescribeWorkerControllerInstance finds none: NotFound.
func (Client) DescribeWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error) {
	return nil, nil, serviceerror.NewNotFound("this server has no worker controllers")
}

// UpdateWorkerControllerInstance refuses: Unimplemented.
func (Client) UpdateWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, []byte, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, serviceerror.NewUnimplemented("this server starts no workers")
}

// ValidateWorkerControllerInstanceSpec refuses: Unimplemented.
func (Client) ValidateWorkerControllerInstanceSpec(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return serviceerror.NewUnimplemented("this server starts no workers")
}

// DeleteWorkerControllerInstance has nothing to delete.
func (Client) DeleteWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
) error {
	return nil
}
