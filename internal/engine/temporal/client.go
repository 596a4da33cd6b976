package temporal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
)

// externalBytes is the size above which a payload leaves Temporal's history for the blob store.
const externalBytes = 128 << 10

// Dial says how to reach a Temporal cluster. The names are those of Temporal's own command line.
type Dial struct {
	Address   string // default localhost:7233
	Namespace string // default "default"
	APIKey    string

	TLS                        bool // also without certificates of our own
	TLSCertPath                string
	TLSKeyPath                 string
	TLSCAPath                  string
	TLSServerName              string
	TLSDisableHostVerification bool

	// Sealer seals what may hold secrets, or everything; nil: such payloads cannot be written or read.
	Sealer *secret.Sealer
	// Storage keeps large payloads outside of histories; nil: everything stays inline.
	Storage      converter.StorageDriver
	Interceptors []interceptor.ClientInterceptor
	Metrics      client.MetricsHandler
	Log          *slog.Logger
}

// Connect connects to Temporal. It does not wait until the cluster answers: a client is of
// use before that, because executions are accepted without it. Errors: files of certificates
// that cannot be read.
func Connect(d Dial) (client.Client, error) {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	data := newConverter(d.Sealer)
	options := client.Options{
		HostPort: d.Address, Namespace: d.Namespace, Logger: sdklog.NewStructuredLogger(d.Log),
		Interceptors: d.Interceptors, MetricsHandler: d.Metrics, DataConverter: data, FailureConverter: newFailureConverter(d.Sealer, data),
	}
	if d.Storage != nil {
		options.ExternalStorage = converter.ExternalStorage{
			Drivers: []converter.StorageDriver{d.Storage}, PayloadSizeThreshold: externalBytes,
		}
	}
	secure, err := d.tls()
	if err != nil {
		return nil, err
	}
	options.ConnectionOptions.TLS = secure
	// Most messages have a kilobyte or two. To compress them took a tenth of a worker's time.
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	options.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(retryUnavailable)}
	if d.APIKey != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(d.APIKey)
	}
	return client.NewLazyClient(options)
}

// tls is nil where the connection is not to be encrypted.
func (d Dial) tls() (*tls.Config, error) {
	texts := d.APIKey + d.TLSCertPath + d.TLSKeyPath + d.TLSCAPath + d.TLSServerName
	if !d.TLS && texts == "" && !d.TLSDisableHostVerification {
		return nil, nil
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: d.TLSServerName, InsecureSkipVerify: d.TLSDisableHostVerification,
	}
	if (d.TLSCertPath == "") != (d.TLSKeyPath == "") {
		return nil, errors.New("--temporal-tls-cert-path and --temporal-tls-key-path belong together")
	}
	if d.TLSCertPath != "" {
		pair, err := tls.LoadX509KeyPair(d.TLSCertPath, d.TLSKeyPath)
		if err != nil {
			return nil, fmt.Errorf("--temporal-tls-cert-path, --temporal-tls-key-path: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if d.TLSCAPath != "" {
		data, err := os.ReadFile(d.TLSCAPath)
		if err != nil {
			return nil, fmt.Errorf("--temporal-tls-ca-path: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--temporal-tls-ca-path: %s holds no certificate in PEM", d.TLSCAPath)
		}
	}
	return c, nil
}

// Search attributes, all of type Keyword. They are in the visibility store: names never change.
var (
	accountKey     = sdk.NewSearchAttributeKeyKeyword("ChargehandAccount")
	environmentKey = sdk.NewSearchAttributeKeyKeyword("ChargehandEnvironment")
	workflowKey    = sdk.NewSearchAttributeKeyKeyword("ChargehandWorkflow")
	batchKey       = sdk.NewSearchAttributeKeyKeyword("ChargehandBatch")
	phaseKey       = sdk.NewSearchAttributeKeyKeyword("ChargehandPhase")
)

// SearchAttributes are the names of the search attributes that `chargehand temporal setup`
// registers, all of type Keyword.
func SearchAttributes() []string {
	return []string{
		accountKey.GetName(), environmentKey.GetName(), workflowKey.GetName(), batchKey.GetName(), phaseKey.GetName(),
	}
}

func (a attributes) search() sdk.SearchAttributes {
	updates := []sdk.SearchAttributeUpdate{
		accountKey.ValueSet(a.Account), environmentKey.ValueSet(a.Environment),
		workflowKey.ValueSet(a.Workflow), phaseKey.ValueSet(a.Phase),
	}
	if a.Batch != "" {
		updates = append(updates, batchKey.ValueSet(a.Batch))
	}
	return sdk.NewSearchAttributes(updates...)
}

// fairnessKey names those executions whose tasks take turns with those of others, in a cluster that shares its task
// queues fairly (matching.enableFairness). Other clusters ignore it. The activities of a workflow have its key.
func (a attributes) fairnessKey() string { return a.Workflow + "/" + a.Environment }

// workflowQueue is the task queue of workflow tasks (DESIGN.md "Task queues").
func workflowQueue(prefix string, revision int) string {
	return fmt.Sprintf("%s-r%d", prefix, revision)
}

// callQueue is the task queue of calls. Each environment has queues of its own for activities, so that a backlog of
// test never keeps live waiting.
func callQueue(prefix string, env chargehand.Environment) string { return ofTest(prefix+"-call", env) }
func streamQueue(prefix string, env chargehand.Environment) string {
	return ofTest(prefix+"-stream", env)
}
func processQueue(prefix string, env chargehand.Environment) string {
	return ofTest(prefix+"-process", env)
}
func scriptQueue(prefix string, env chargehand.Environment) string {
	return ofTest(prefix+"-script", env)
}

func ofTest(queue string, env chargehand.Environment) string {
	if env == chargehand.Test {
		return queue + "-test"
	}
	return queue
}

// rpcTime bounds one request to Temporal.
const rpcTime = 10 * time.Second

// cluster is remote on a Temporal client.
type cluster struct {
	client    client.Client
	namespace string
	queue     string
}

var _ remote = (*cluster)(nil)

func (c *cluster) start(ctx context.Context, s started) error {
	ctx, cancel := context.WithTimeout(ctx, rpcTime)
	defer cancel()
	_, err := c.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: s.argument.Execution.String(), TaskQueue: workflowQueue(c.queue, s.argument.Revision),
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		TypedSearchAttributes:                    s.attributes.search(),
		Priority:                                 sdk.Priority{FairnessKey: s.attributes.fairnessKey()},
	}, workflowType, s.argument)
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &exists) {
		return nil
	}
	return err
}

func (c *cluster) signal(ctx context.Context, id chargehand.ExecutionID, m message) error {
	ctx, cancel := context.WithTimeout(ctx, rpcTime)
	defer cancel()
	err := c.client.SignalWorkflow(ctx, id.String(), "", messageSignal, m)
	if isNotFound(err) {
		return errGone
	}
	return err
}

func (c *cluster) queued(ctx context.Context, id chargehand.ExecutionID) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, rpcTime)
	defer cancel()
	d, err := c.client.DescribeWorkflowExecution(ctx, id.String(), "")
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if d.GetPendingWorkflowTask().GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED {
		return true, nil
	}
	for _, a := range d.GetPendingActivities() {
		if a.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && a.GetAttempt() <= 1 {
			return true, nil
		}
	}
	return false, nil
}

func (c *cluster) ended(ctx context.Context, id chargehand.ExecutionID) (how string, err error) {
	ctx, cancel := context.WithTimeout(ctx, rpcTime)
	defer cancel()
	d, err := c.client.DescribeWorkflowExecution(ctx, id.String(), "")
	if isNotFound(err) {
		return goneStatus, nil
	}
	if err != nil {
		return "", err
	}
	return closedStatus(d.GetWorkflowExecutionInfo().GetStatus()), nil
}

func isNotFound(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}

// visibilityLag is how late the visibility store may tell of an end.
const visibilityLag = 30 * time.Second

// closedPage is the number of workflows that are read at a time.
const closedPage = 500

func (c *cluster) closed(
	ctx context.Context, sinceMs int64, each func(closedWorkflow) error,
) (nextMs int64, err error) {
	// A clock of ours and one of Temporal's may differ: ends are asked for again for a while.
	nextMs = max(sinceMs, time.Now().Add(-2*visibilityLag).UnixMilli())
	queues := make([]string, 0, machine.Revision)
	for revision := 1; revision <= machine.Revision; revision++ {
		queues = append(queues, "'"+strings.ReplaceAll(workflowQueue(c.queue, revision), "'", "''")+"'")
	}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: c.namespace, PageSize: closedPage,
		Query: fmt.Sprintf(`WorkflowType = '%s' AND TaskQueue IN (%s)
 AND ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut', 'Canceled') AND CloseTime >= '%s'`,
			workflowType, strings.Join(queues, ", "), time.UnixMilli(sinceMs).UTC().Format(time.RFC3339Nano)),
	}
	for {
		page, err := c.listPage(ctx, request)
		if err != nil {
			return 0, err
		}
		for _, w := range page.GetExecutions() {
			var id chargehand.ExecutionID
			if id.UnmarshalText([]byte(w.GetExecution().GetWorkflowId())) != nil {
				continue // not one of ours
			}
			closedMs := w.GetCloseTime().AsTime().UnixMilli()
			err := each(closedWorkflow{ID: id, Status: closedStatus(w.GetStatus()), ClosedMs: closedMs})
			if err != nil {
				return 0, err
			}
		}
		if len(page.GetNextPageToken()) == 0 {
			return nextMs, nil
		}
		request.NextPageToken = page.GetNextPageToken()
	}
}

func (c *cluster) listPage(
	ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, rpcTime)
	defer cancel()
	return c.client.ListWorkflow(ctx, request)
}

// closedStatus says how a workflow ended; empty if it has not. A workflow that continues as new has not: Temporal may
// have looked for the current run just before that.
func closedStatus(s enumspb.WorkflowExecutionStatus) string {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED,
		enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return ""
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return "terminated"
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return "timed out"
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return "canceled"
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return "completed"
	}
	return "failed"
}
