import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { every, queries, question } from "./query.ts";

export type Batch = Schemas["Batch"];
export type BatchPage = Schemas["BatchPage"];
export type Item = Schemas["BatchItem"];

/** A batch ends once, and never changes then. */
export const isOver = (batch: Batch): boolean => batch.completed_at !== undefined;

/** A page of the batches of a workflow (namespace/name, or an id), or of all. */
function list(workflow: string, cursor: string | undefined, limit: number, signal: AbortSignal): Promise<BatchPage> {
  const query = { limit, ...(cursor !== undefined && { cursor }) };
  if (workflow === "") {
    return answer(client.GET("/batches", { params: { query }, signal }));
  }
  const params = { path: { workflowId: workflow.replace("/", ".") }, query: { ...query, executions: "none" as const } };
  return answer(client.GET("/workflows/{workflowId}/batch", { params, signal }));
}

export const batchesQuestion = (workflow: string) =>
  infiniteQueryOptions({
    queryKey: [environment(), "batches", "list", workflow],
    queryFn: ({ pageParam, signal }) => list(workflow, pageParam, 50, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

/** The newest batches, asked again while the page is seen. */
export const newestBatchesQuestion = (workflow: string, limit = 50) =>
  queryOptions({
    queryKey: [environment(), "batches", "newest", workflow, limit],
    queryFn: ({ signal }) => list(workflow, undefined, limit, signal),
    refetchInterval: every(5000),
  });

export const batchQuestion = (id: string) =>
  question(["batch", id], (signal) =>
    client.GET("/batches/{batchId}", { params: { path: { batchId: id }, query: { executions: "none" } }, signal }),
  );

export const batchFailuresQuestion = (id: string) =>
  question(["batch", id, "failures"], (signal) =>
    client.GET("/executions/failures", { params: { query: { batch_id: id } }, signal }),
  );

export const cancelBatch = async (batch: Batch, reason: string, once: string): Promise<void> => {
  const params = {
    path: { workflowId: batch.workflow_id, batchId: batch.id },
    query: { executions: "none" as const },
    header: { "Idempotency-Key": once },
  };
  const body = reason === "" ? {} : { reason };
  const now = await answer(client.POST("/workflows/{workflowId}/batch/{batchId}/cancel", { params, body }));
  queries.setQueryData(batchQuestion(batch.id).queryKey, now);
};

/** Where the whole batch is, with all of its items, as a file. */
export const batchFile = (id: string): string => `/api/v1/batches/${id}?environment=${environment()}`;
