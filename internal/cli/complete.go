package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

// completionTime bounds how long a shell waits for the server when Tab is pressed.
const completionTime = 1500 * time.Millisecond

// completeValues wires the completion of a command's arguments, by their names in its usage line,
// and of the flags whose values are known.
func completeValues(cmd *cobra.Command) {
	completeFlags(cmd)
	if cmd.ValidArgsFunction != nil || cmd.HasSubCommands() || !cmd.Runnable() {
		return
	}
	names := argumentNames(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(names) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if complete := completers[names[min(len(args), len(names)-1)]]; complete != nil && (len(args) < len(names) || strings.HasSuffix(strings.TrimSuffix(cmd.Use, "]"), "…")) {
			return completeWith(complete, false)(cmd, args, typed)
		}
		if words := localWords[names[min(len(args), len(names)-1)]]; words != nil && len(args) < len(names) {
			return words(), cobra.ShellCompDirectiveNoFileComp
		}
		if name := names[min(len(args), len(names)-1)]; strings.HasPrefix(name, "FILE") || strings.HasPrefix(name, "DIR") || name == "PATH" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

type completer func(ctx context.Context, api *client.Client, args []string) ([]string, error)

var completers = map[string]completer{
	"WORKFLOW": completeWorkflows, "EXECUTION": completeExecutions, "BATCH": completeBatches, "OPERATION": completeOperations, "VERSION": completeVersions,
	"SECRET": completeSecrets, "KEY": completeKeys, "USER": completeUsers, "GROUP": completeGroups, "GRANT": completeGrants, "TASK": completeTasks, "LINK": completeTaskLinks,
}

// localWords complete arguments without a server.
var localWords = map[string]func() []string{"ROLE": func() []string { return roleNames }, "CONTEXT": contextNames}

// completeWith asks the server of the command within a short time; what fails completes nothing. list: the
// value may have several of the words, with commas.
func completeWith(do completer, list bool) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		c := connection{}
		for name, value := range map[string]*string{"url": &c.url, "context": &c.context, "environment": &c.environment} {
			if f := cmd.Flags().Lookup(name); f != nil {
				*value = f.Value.String()
			}
		}
		api, err := c.client(client.WithoutRetries())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(contextOf(cmd)), completionTime)
		defer cancel()
		words, err := do(ctx, api, args)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
		}
		return fitting(words, typed, list), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func contextOf(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

func completeWorkflows(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListWorkflows(ctx, client.WorkflowFilter{}, maxPage, "")
	if err != nil {
		return nil, err
	}
	var words []string
	for i := range page.Data {
		words = append(words, page.Data[i].FullName()+"\t"+printable(page.Data[i].Title))
	}
	return words, nil
}

func completeExecutions(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListExecutions(ctx, client.ExecutionFilter{}, maxPage, "")
	if err != nil {
		return nil, err
	}
	known := newNames(api)
	known.learn(ctx, workflowsOf(page.Data))
	var words []string
	for i := range page.Data {
		e := &page.Data[i]
		words = append(words, e.ID+"\t"+printable(known.of(e.WorkflowID))+", "+stateOf(e)+", "+relative(time.Until(e.CreatedAt)))
	}
	return words, nil
}

func completeBatches(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListBatches(ctx, client.BatchFilter{}, maxPage, "")
	if err != nil {
		return nil, err
	}
	known := newNames(api)
	known.learn(ctx, workflowsOfBatches(page.Data))
	words := make([]string, len(page.Data))
	for i := range page.Data {
		b := &page.Data[i]
		words[i] = b.BatchID + "\t" + printable(known.of(b.WorkflowID)) + ", " + batchState(b)
	}
	return words, nil
}

func completeOperations(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListOperations(ctx, maxPage, "")
	if err != nil {
		return nil, err
	}
	words := make([]string, len(page.Data))
	for i := range page.Data {
		words[i] = page.Data[i].ID + "\t" + page.Data[i].Action + ", " + page.Data[i].Status
	}
	return words, nil
}

func completeVersions(ctx context.Context, api *client.Client, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	w, err := findWorkflow(ctx, api, args[0])
	if err != nil {
		return nil, err
	}
	return versionsOf(ctx, api, w.ID)
}

func versionsOf(ctx context.Context, api *client.Client, workflow string) ([]string, error) {
	page, err := api.ListVersions(ctx, workflow, maxPage, "")
	if err != nil {
		return nil, err
	}
	var words []string
	for _, v := range page.Data {
		words = append(words, v.Version+"\t"+versionState(&v))
	}
	return words, nil
}

// completeRetries offers what a retry of an execution can run; of several, the words that stand for no single version.
func completeRetries(ctx context.Context, api *client.Client, args []string) ([]string, error) {
	words := []string{"published", "same"}
	if len(args) != 1 {
		return words, nil
	}
	e, err := findExecution(ctx, api, args[0])
	if err != nil {
		return words, err
	}
	versions, err := versionsOf(ctx, api, e.WorkflowID)
	return append(words, versions...), err
}

// completeNamespaces offers the namespaces that workflows are in.
func completeNamespaces(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListWorkflows(ctx, client.WorkflowFilter{}, maxPage, "")
	if err != nil {
		return nil, err
	}
	var words []string
	for i := range page.Data {
		if name := page.Data[i].Namespace; !slices.Contains(words, name) {
			words = append(words, name)
		}
	}
	return words, nil
}

// completeErrorCodes offers the codes with which executions have failed.
func completeErrorCodes(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	groups, err := api.Failures(ctx, client.ExecutionFilter{}, maxPage)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, g := range groups.Data {
		if !slices.Contains(words, g.Code) {
			words = append(words, g.Code)
		}
	}
	return words, nil
}

func completeSecrets(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListSecrets(ctx, maxPage, "")
	if err != nil {
		return nil, err
	}
	var words []string
	for _, s := range page.Data {
		words = append(words, s.Name)
	}
	return words, nil
}

func completeKeys(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListKeys(ctx, maxPage, "")
	if err != nil {
		return nil, err
	}
	var words []string
	for _, k := range page.Data {
		words = append(words, k.ID+"\t"+printable(k.Name))
	}
	return words, nil
}

func completeUsers(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListUsers(ctx, client.UserFilter{}, maxPage, "")
	var words []string
	for i := range page.Data {
		words = append(words, page.Data[i].Email+"\t"+printable(page.Data[i].Name))
	}
	return words, err
}

func completeGroups(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListGroups(ctx, maxPage, "")
	var words []string
	for i := range page.Data {
		words = append(words, page.Data[i].Name)
	}
	return words, err
}

func completeGrants(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListGrants(ctx, client.GrantFilter{}, maxPage, "")
	var words []string
	for i := range page.Data {
		words = append(words, page.Data[i].ID+"\t"+page.Data[i].Role)
	}
	return words, err
}
