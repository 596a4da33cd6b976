package api

import "github.com/chargehand/chargehand"

// paramKind says what a segment of a path names.
type paramKind uint8

const (
	workflowParam paramKind = 1 + iota
	executionParam
	batchParam
	fileParam
	keyParam
	versionParam
	secretParam
	problemParam
)

// paramKinds lists the parameters of paths by the name they have there.
var paramKinds = map[string]paramKind{
	"workflowId":  workflowParam,
	"executionId": executionParam,
	"batchId":     batchParam,
	"fileId":      fileParam,
	"keyId":       keyParam,
	"version":     versionParam,
	"name":        secretParam,
	"code":        problemParam,
}

// notFound is the answer to a segment that can name nothing: the same as for an id that
// does not exist.
var notFound = map[paramKind]struct {
	code chargehand.Code
	noun string
}{
	workflowParam:  {chargehand.CodeWorkflowNotFound, "workflow"},
	executionParam: {chargehand.CodeExecutionNotFound, "execution"},
	batchParam:     {chargehand.CodeBatchNotFound, "batch"},
	fileParam:      {chargehand.CodeFileNotFound, "file"},
	keyParam:       {chargehand.CodeKeyNotFound, "API key"},
	versionParam:   {chargehand.CodeVersionNotFound, "version"},
	secretParam:    {chargehand.CodeSecretNotFound, "secret"},
	problemParam:   {chargehand.CodeProblemNotFound, "problem type"},
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
		err = setID(&c.workflow, text)
	case executionParam:
		err = setID(&c.execution, text)
	case batchParam:
		err = setID(&c.batch, text)
	case fileParam:
		err = setID(&c.file, text)
	case keyParam:
		err = setID(&c.key, text)
	default:
		c.name = text
	}
	if err != nil {
		what := notFound[kind]
		return chargehand.NewError(what.code, "There is no "+what.noun+" "+quote(text)+": the id is not a UUID.")
	}
	return nil
}

func setID[K any](id *chargehand.ID[K], text string) (err error) {
	*id, err = chargehand.ParseID[K](text)
	return err
}
