package iface

import (
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
)

// ComputeProviderType names what runs workers.
type ComputeProviderType string

// ScalingAlgorithmType names how their number is chosen.
type ScalingAlgorithmType string

// ComputeProviderSpec says what runs workers.
type ComputeProviderSpec struct {
	ProviderType ComputeProviderType
	Config       *commonpb.Payload
}

// ScalingAlgorithmSpec says how their number is chosen.
type ScalingAlgorithmSpec struct {
	ScalingAlgorithm ScalingAlgorithmType
	Config           *commonpb.Payload
}

// ScalingGroupSpec is a group of workers that is scaled as one.
type ScalingGroupSpec struct {
	TaskTypes []enumspb.TaskQueueType
	Compute   ComputeProviderSpec
	Scaling   *ScalingAlgorithmSpec
}

// ScalingGroupSpecUpdate changes the named fields of a group.
type ScalingGroupSpecUpdate struct {
	Spec       ScalingGroupSpec
	UpdateMask []string
}

// WorkerControllerInstanceSpec is all groups of a deployment's version.
type WorkerControllerInstanceSpec struct {
	ScalingGroupSpecs map[string]ScalingGroupSpec
}

// QueryDescribeWorkerControllerInstanceResponse describes a controller.
type QueryDescribeWorkerControllerInstanceResponse struct {
	Spec *WorkerControllerInstanceSpec
}

// UpdateWorkerControllerInstanceResponse is a controller after its change.
type UpdateWorkerControllerInstanceResponse struct {
	Spec *WorkerControllerInstanceSpec
}
