import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { every, question } from "./query.ts";

export type Execution = Schemas["Execution"];
export type ExecutionPage = Schemas["ExecutionPage"];

/** Query parameters by name; several of those that may be repeated. */
type Query = Record<string, string[]>;

const pageLength = 50;

function list(query: Query, cursor: string | undefined, signal: AbortSignal): Promise<ExecutionPage> {
  const asked = { ...query, limit: pageLength, ...(cursor !== undefined && { cursor }) };
  return answer(client.GET("/executions", { params: { query: asked as never }, signal }));
}

/**
 * Executions by a filter, newest first, page by page. The list does not change by itself but for rows that it has: what
 * is new waits until the person asks for it.
 */
export const executionsQuestion = (filter: string, query: () => Query) =>
  infiniteQueryOptions({
    queryKey: [environment(), "executions", "list", filter],
    queryFn: ({ pageParam, signal }) => list(query(), pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

/** The newest executions by a filter, asked again while the page is seen. */
export const newestQuestion = (filter: string, query: () => Query) =>
  queryOptions({
    queryKey: [environment(), "executions", "newest", filter],
    queryFn: ({ signal }) => list(query(), undefined, signal),
    refetchInterval: every(5000),
  });

/** Whether there is any execution that the person sees. Asked again until there is one. */
export const anyExecutionQuestion = () =>
  queryOptions({
    queryKey: [environment(), "executions", "any"],
    queryFn: async ({ signal }) => {
      const query = { limit: 1, fields: "summary" as const };
      const { data, cursor } = await answer(client.GET("/executions", { params: { query }, signal }));
      return data.length > 0 || cursor !== null; // a page may have looked at others only
    },
    refetchInterval: (query) => (query.state.data === true ? false : every(10_000)(query)),
  });

export const executionQuestion = (id: string) =>
  question(["execution", id], (signal) =>
    client.GET("/executions/{executionId}", { params: { path: { executionId: id } }, signal }),
  );

/** How many executions match, up to 10,000. */
export const countQuestion = (filter: string, query: () => Query) =>
  queryOptions({
    queryKey: [environment(), "executions", "count", filter],
    queryFn: ({ signal }) => answer(client.GET("/executions/count", { params: { query: query() as never }, signal })),
    refetchOnWindowFocus: false,
  });

export type FailureGroup = Schemas["FailureGroup"];

/** The executions that match and have failed, by cause. */
export const failuresQuestion = (filter: string, query: () => Query) =>
  queryOptions({
    queryKey: [environment(), "executions", "failures", filter],
    queryFn: ({ signal }) =>
      answer(client.GET("/executions/failures", { params: { query: query() as never }, signal })),
    refetchOnWindowFocus: false,
  });

/** How many pages are looked at for the execution before. */
const mostPages = 5;

/**
 * The execution before: the one that it repeats, else the newest of its workflow that is older and has ended; null: there
 * is none, or too many newer ones are still under way.
 */
export const previousQuestion = ({ id, retry_of: repeated, workflow_id: workflow, created_at: created }: Execution) =>
  queryOptions({
    queryKey: [environment(), "previous", id],
    queryFn: async ({ signal }): Promise<string | null> => {
      if (repeated !== undefined) {
        return repeated;
      }
      const status = ["finished", "error"];
      const query = { workflow_id: [workflow], status, created_before: created, fields: "summary", limit: 2 };
      let cursor: string | null | undefined;
      for (let asked = 0; asked < mostPages && cursor !== null; asked++) {
        const next = { ...query, ...(cursor !== undefined && { cursor }) };
        const found = await answer(client.GET("/executions", { params: { query: next as never }, signal }));
        const [other] = found.data.filter((one) => one.id !== id);
        if (other) {
          return other.id;
        }
        cursor = found.cursor;
      }
      return null;
    },
  });
