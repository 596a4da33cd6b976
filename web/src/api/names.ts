import { useQueries } from "@tanstack/react-query";
import { client } from "./client.ts";
import { useMay } from "./me.ts";
import { question } from "./query.ts";

/** Names of workflows (namespace/name) by their ids, where the person may know them. They never change. */
export function useWorkflowNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const may = useMay()("workflows:read");
  const answers = useQueries({
    queries: [...new Set(may ? ids : [])].map((id) => ({
      ...question(["workflow-name", id], (signal) =>
        client.GET("/workflows/{workflowId}", { params: { path: { workflowId: id } }, signal }),
      ),
      select: (workflow: { id: string; namespace: string; name: string }) => workflow,
      staleTime: Infinity,
      refetchOnWindowFocus: false,
    })),
  });
  return new Map(answers.flatMap(({ data }) => (data ? [[data.id, `${data.namespace}/${data.name}`] as const] : [])));
}

/** Workflows with a text in their names. */
export const workflowNamesQuestion = (q: string) => ({
  ...question(["workflow-names", q], (signal) =>
    client.GET("/workflows", { params: { query: { limit: 20, ...(q !== "" && { q }) } }, signal }),
  ),
  staleTime: 60_000,
});
