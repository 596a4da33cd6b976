import { answer, client } from "./client.ts";
import { environment } from "./environment.ts";
import type { Execution } from "./executions.ts";
import { queries } from "./query.ts";

/** An export has so many executions at most, the newest: as many as the server counts. */
export const mostExported = 10_000;
/** As many as a page of the API has at most. */
const pageLength = 100;

export interface Exported {
  rows: Execution[];
  /** There are older ones, which are left out. */
  more: boolean;
}

/**
 * Reads executions by a filter, newest first, page by page, one question at a time. A page is asked for again after a
 * passing failure. With another failure, or when the signal says so, nothing is left of what was read.
 */
export async function readExecutions(
  query: Record<string, string[]>,
  signal: AbortSignal,
  read: (rows: number) => void,
): Promise<Exported> {
  const rows: Execution[] = [];
  const key = [environment(), "executions", "export", crypto.randomUUID()];
  const stop = () => void queries.cancelQueries({ queryKey: key });
  signal.addEventListener("abort", stop);
  try {
    let cursor: string | null | undefined;
    do {
      signal.throwIfAborted();
      const asked = { ...query, limit: pageLength, ...(typeof cursor === "string" && { cursor }) };
      // The next page is known by the one before.
      // oxlint-disable-next-line no-await-in-loop
      const page = await queries.fetchQuery({
        queryKey: [...key, cursor],
        queryFn: (context) =>
          answer(client.GET("/executions", { params: { query: asked as never }, signal: context.signal })),
        gcTime: 0,
      });
      rows.push(...page.data);
      cursor = page.cursor;
      read(Math.min(rows.length, mostExported));
    } while (cursor !== null && rows.length < mostExported);
    return { rows: rows.slice(0, mostExported), more: cursor !== null || rows.length > mostExported };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
