import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import type { Execution } from "./executions.ts";
import { every, queries, question } from "./query.ts";

export type Workflow = Schemas["Workflow"];
export type WorkflowDetail = Schemas["WorkflowDetail"];
export type Version = Schemas["Version"];
export type FormField = Schemas["FormField"];

/** What a list of workflows is limited to. It is the address of the page too. */
export interface WorkflowFilter {
  q?: string;
  namespace?: string;
  tag?: string;
  drafts?: "true" | "false";
}

const pageLength = 50;

function list(filter: WorkflowFilter, cursor: string | undefined, signal: AbortSignal) {
  const { drafts, tag, ...rest } = filter;
  const query = {
    ...rest,
    ...(tag !== undefined && { tag }),
    ...(drafts !== undefined && { drafts: drafts === "true" }),
    ...(cursor !== undefined && { cursor }),
    include: "activity" as const,
    limit: pageLength,
  };
  return answer(client.GET("/workflows", { params: { query }, signal }));
}

/** Workflows by a filter, newest first, with what happens with each. */
export const workflowsQuestion = (filter: WorkflowFilter) =>
  infiniteQueryOptions({
    queryKey: [environment(), "workflows", "list", filter],
    queryFn: ({ pageParam, signal }) => list(filter, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
    refetchOnWindowFocus: false,
  });

/** The first page of workflows by a filter, asked again while the page is seen. */
export const newestWorkflowsQuestion = (filter: WorkflowFilter) =>
  queryOptions({
    queryKey: [environment(), "workflows", "newest", filter],
    queryFn: ({ signal }) => list(filter, undefined, signal),
    refetchInterval: every(10_000),
  });

/** The workflow that is newest, if there is one. */
export const newestWorkflowQuestion = () => ({
  ...question(["workflows", "first"], (signal) =>
    client.GET("/workflows", { params: { query: { limit: 1 } }, signal }),
  ),
  select: ({ data }: { data: { namespace: string; name: string }[] }) => data[0],
});

/** The name of a workflow as paths of the API have it. */
export const workflowPath = (namespace: string, name: string): string => `${namespace}.${name}`;

/** A workflow with its definition and the form for its input. */
export const workflowQuestion = (id: string) =>
  question(["workflow", id], (signal) =>
    client.GET("/workflows/{workflowId}", {
      params: { path: { workflowId: id }, query: { include: "outline" } },
      signal,
    }),
  );

/** One version of a workflow, with its text. */
export const versionQuestion = (id: string, version: string) =>
  question(["workflow", id, "version", version], (signal) =>
    client.GET("/workflows/{workflowId}/versions/{version}", {
      params: { path: { workflowId: id, version } },
      signal,
    }),
  );

/** The revision that an execution runs, with its text. It does not change. */
export const revisionQuestion = ({ workflow_id: id, workflow_version: version, revision }: Execution) =>
  queryOptions({
    queryKey: [environment(), "revision", id, version, revision],
    queryFn: ({ signal }) =>
      answer(
        client.GET("/workflows/{workflowId}/versions/{version}", {
          params: { path: { workflowId: id, version }, query: { revision } },
          signal,
        }),
      ),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

/** The tasks of a version and how they follow each other. */
export const workflowGraphQuestion = (id: string, version: string) =>
  queryOptions({
    queryKey: [environment(), "workflow", id, "graph", version],
    // The server has other forms of it too, which are not asked for.
    queryFn: async ({ signal }) =>
      (await answer(
        client.GET("/workflows/{workflowId}/graph", {
          params: { path: { workflowId: id }, query: { version } },
          signal,
        }),
      )) as Schemas["Graph"],
    refetchOnWindowFocus: false,
  });

/** The versions of a workflow, the newest first, page by page. */
export const versionsQuestion = (id: string) =>
  infiniteQueryOptions({
    queryKey: [environment(), "workflow", id, "versions"],
    queryFn: ({ pageParam, signal }) =>
      answer(
        client.GET("/workflows/{workflowId}/versions", {
          params: {
            path: { workflowId: id },
            query: { limit: 20, ...(pageParam !== undefined && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
  });

const openPhases = ["pending", "running", "waiting", "suspended"];

/** How many executions of a version have not ended. */
export const openQuestion = (workflow: string, version: string) => ({
  ...question(["executions", "open", workflow, version], (signal) =>
    client.GET("/executions/count", {
      params: { query: { workflow, version, phase: openPhases as never } },
      signal,
    }),
  ),
  refetchInterval: every(10_000),
});

/** Makes a version, as it is now, the one that is started. */
export async function publish(id: string, version: Version, once: string): Promise<void> {
  await client.POST("/workflows/{workflowId}/versions/{version}/publish", {
    params: { path: { workflowId: id, version: version.version }, header: { "Idempotency-Key": once } },
    body: { revision: version.revision },
  });
  await queries.invalidateQueries({ queryKey: [environment(), "workflow"] });
  await queries.invalidateQueries({ queryKey: [environment(), "workflows"] });
}

/** Deletes a workflow whose page is shown: the page is left before anything is asked again. */
export async function deleteWorkflow(
  { id, namespace, name }: WorkflowDetail,
  leave: () => Promise<void>,
): Promise<void> {
  await client.DELETE("/workflows/{workflowId}", { params: { path: { workflowId: id } } });
  // It is gone in both environments. A list that comes back would show it until it is answered.
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[1] === "workflows", type: "inactive" });
  await leave();
  const path = workflowPath(namespace, name);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[1] === "workflow" && queryKey[2] === path });
  await queries.invalidateQueries({ queryKey: [environment(), "workflows"] });
}

/** Starts an execution, of another version than usual if one is given. The same key never starts two. */
export async function start(
  id: string,
  body: Schemas["CreateExecutionBody"],
  version: string | undefined,
  once: string,
): Promise<string> {
  const made = await answer(
    client.POST("/workflows/{workflowId}/executions", {
      params: {
        path: { workflowId: id },
        query: version === undefined ? {} : { version },
        header: { "Idempotency-Key": once },
      },
      body,
    }),
  );
  return made.execution_id;
}

/** Workflows that a text finds, for fields that suggest their names. */
export const namesQuestion = (text: string) => {
  const q = text.slice(text.indexOf("/") + 1).trim();
  return question(["workflows", "names", q], (signal) =>
    client.GET("/workflows", { params: { query: { limit: 50, ...(q !== "" && { q }) } }, signal }),
  );
};

/** How many executions the form offers the inputs of. */
const earlier = 10;

/** The newest executions of a workflow, with their inputs. */
export const earlierQuestion = (workflowId: string) =>
  question(["executions", "earlier", workflowId], (signal) =>
    client.GET("/executions", {
      params: { query: { workflow_id: [workflowId], include: "input", fields: "summary", limit: earlier } as never },
      signal,
    }),
  );
