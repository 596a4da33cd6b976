package api

import (
	"strings"

	"github.com/chargehand/chargehand"
)

// paramKind says what a segment of a path names.
type paramKind uint8

const (
	workflowParam paramKind = 1 + iota
	executionParam
	batchParam
	taskParam
	fileParam
	keyParam
	userParam
	groupParam
	grantParam
	sessionParam
	passkeyParam
	providerParam
	versionParam
	secretParam
	problemParam
	assetParam
	operationParam
	taskLinkParam
	linkSecretParam
	sectionParam
	pageParam
)

// paramKinds lists the parameters of paths by the name they have there.
var paramKinds = map[string]paramKind{
	"workflowId":  workflowParam,
	"executionId": executionParam,
	"batchId":     batchParam,
	"taskId":      taskParam,
	"fileId":      fileParam,
	"keyId":       keyParam,
	"userId":      userParam,
	"groupId":     groupParam,
	"grantId":     grantParam,
	"sessionId":   sessionParam,
	"passkeyId":   passkeyParam,
	"provider":    providerParam,
	"version":     versionParam,
	"name":        secretParam,
	"code":        problemParam,
	"asset":       assetParam,
	"operationId": operationParam,
	"linkId":      taskLinkParam,
	"token":       linkSecretParam,
	"section":     sectionParam,
	"page":        pageParam,
}

// notFound is the answer to a segment that can name nothing: the same as for an id that
// does not exist.
var notFound = map[paramKind]struct {
	code chargehand.Code
	noun string
	form string // what the segment is not
}{
	workflowParam:  {chargehand.CodeWorkflowNotFound, "workflow", "it is neither the id of one, which is a UUID, nor namespace.name"},
	executionParam: {chargehand.CodeExecutionNotFound, "execution", "the id is not a UUID"},
	batchParam:     {chargehand.CodeBatchNotFound, "batch", "the id is not a UUID"},
	taskParam:      {chargehand.CodeHumanTaskNotFound, "human task", "the id is not a UUID"},
	taskLinkParam:  {chargehand.CodeTaskLinkNotFound, "link", "the id is not a UUID"},
	fileParam:      {chargehand.CodeFileNotFound, "file", "the id is not a UUID"},
	keyParam:       {chargehand.CodeKeyNotFound, "API key", "the id is not a UUID"},
	userParam:      {chargehand.CodeUserNotFound, "user", "the id is not a UUID"},
	groupParam:     {chargehand.CodeGroupNotFound, "group", "the id is not a UUID"},
	providerParam:  {chargehand.CodeProviderNotFound, "identity provider", ""},
	passkeyParam:   {chargehand.CodePasskeyNotFound, "passkey", "the id is not a UUID"},
	grantParam:     {chargehand.CodeGrantNotFound, "grant", "the id is not a UUID"},
	operationParam: {chargehand.CodeOperationNotFound, "operation", "the id is not a UUID"},
	sessionParam:   {chargehand.CodeSessionNotFound, "session", "the id is not a UUID"},
	versionParam:   {chargehand.CodeVersionNotFound, "version", ""},
	secretParam:    {chargehand.CodeSecretNotFound, "secret", ""},
	problemParam:   {chargehand.CodeProblemNotFound, "problem type", ""},
}

// parseIDs reads the parameters of the path.
func (c *call) parseIDs() error {
	for i, kind := range c.route.params {
		if err := c.parseID(kind, c.match.params[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) parseID(kind paramKind, text string) error {
	var err error
	switch kind {
	case workflowParam:
		if namespace, name, ok := strings.Cut(text, "."); ok && isLabel(namespace) && isLabel(name) {
			c.workflowNamed.namespace, c.workflowNamed.name = namespace, name
			return nil
		}
		err = setID(&c.workflow, text)
	case executionParam:
		err = setID(&c.execution, text)
	case batchParam:
		err = setID(&c.batch, text)
	case taskParam:
		err = setID(&c.task, text)
	case taskLinkParam:
		err = setID(&c.taskLink, text)
	case linkSecretParam:
		c.secret = text
	case sectionParam:
		c.section = text
	case fileParam:
		err = setID(&c.file, text)
	case keyParam:
		err = setID(&c.key, text)
	case userParam:
		err = setID(&c.user, text)
	case groupParam:
		err = setID(&c.group, text)
	case grantParam:
		err = setID(&c.grant, text)
	case sessionParam:
		err = setID(&c.ownSession, text)
	case operationParam:
		err = setID(&c.operation, text)
	case passkeyParam:
		err = setID(&c.passkey, text)
	default:
		c.name = text
	}
	if err != nil {
		what := notFound[kind]
		return chargehand.NewError(what.code, "There is no "+what.noun+" "+quote(text)+": "+what.form+".")
	}
	return nil
}

// isLabel reports whether text can be the namespace or name of a workflow.
func isLabel(text string) bool {
	return text != "" && len(text) <= 63 && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	})
}

// findWorkflow finds the id of a workflow that the path names by namespace and name. Ids are
// checked where they are used; so is this, after everything that needs no look at what exists.
func (c *call) findWorkflow() (err error) {
	if c.workflowNamed.name != "" {
		c.workflow, err = c.server.service.WorkflowNamed(c.r.Context(), c.principal, c.workflowNamed.namespace, c.workflowNamed.name)
	}
	return err
}

// setID reads an id. The one of zeros names nothing, and would say in a filter that there is none.
func setID[K any](id *chargehand.ID[K], text string) error {
	read, err := chargehand.ParseID[K](text)
	if err == nil && read.IsZero() {
		err = chargehand.ErrBadID
	}
	*id = read
	return err
}
