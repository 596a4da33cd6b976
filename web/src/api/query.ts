import { QueryClient, queryOptions, type InfiniteData, type Query, type QueryKey } from "@tanstack/react-query";
import { answer } from "./client.ts";
import { onReturn } from "./connection.ts";
import { environment } from "./environment.ts";
import { isIdle, onWaking } from "./idle.ts";
import { Problem } from "./problem.ts";

/** How often a question is asked again when the server was busy or away. What changes something is never sent twice. */
const retries = 3;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // Lists come back as they were left: rows, length, place.
      gcTime: 30 * 60_000,
      staleTime: 2000,
      retry: (count, error) => error instanceof Problem && error.passing && error.status !== 0 && count < retries,
      retryDelay: (count, error) =>
        Math.max(error instanceof Problem ? error.retryAfter * 1000 : 0, Math.min(500 * 2 ** count, 8000)),
      networkMode: "always",
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false, networkMode: "always" },
  },
});
onReturn(() => void queries.invalidateQueries());

/** A question to the API. Its key begins with the environment, so that answers of live and test are never mixed. */
export function question<T>(key: QueryKey, ask: (signal: AbortSignal) => Promise<{ data?: T }>) {
  return queryOptions({
    queryKey: [environment(), ...key],
    queryFn: ({ signal }) => answer(ask(signal)),
  });
}

/** How often an idle page asks again at most, in milliseconds. */
const seldom = 60_000;

/**
 * Asks again while the answers are good, or the server is away for a moment; not when it refuses. An idle page asks
 * once a minute.
 */
export const every =
  (milliseconds: number) =>
  (query: { state: { error: unknown } }): number | false =>
    query.state.error instanceof Problem && !query.state.error.passing
      ? false
      : Math.max(milliseconds, isIdle() ? seldom : 0);

const asksAgain = (query: Query): boolean => query.observers.some(({ options }) => Boolean(options.refetchInterval));
onWaking(() => void queries.invalidateQueries({ predicate: asksAgain }));

interface Rows {
  data: { id: string }[];
}

/** Puts newer rows in the place of those that a list has. */
export function patchPages(key: QueryKey, rows: readonly { id: string }[]): void {
  const fresh = new Map(rows.map((row) => [row.id, row]));
  queries.setQueryData<InfiniteData<Rows>>(
    key,
    (old) =>
      old && {
        ...old,
        pages: old.pages.map((page) => ({ ...page, data: page.data.map((row) => fresh.get(row.id) ?? row) })),
      },
  );
}

/** Cuts a list to its first page, so that asking again is one question. */
export const firstPageAgain = (key: QueryKey): void =>
  void queries.setQueryData<InfiniteData<unknown>>(
    key,
    (old) => old && { pages: old.pages.slice(0, 1), pageParams: old.pageParams.slice(0, 1) },
  );
