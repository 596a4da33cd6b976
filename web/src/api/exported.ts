import type { Batch, Item } from "./batches.ts";
import { answer, client } from "./client.ts";
import { environment } from "./environment.ts";
import type { Execution } from "./executions.ts";
import { itemPage, type ItemPhase } from "./items.ts";
import { Problem } from "./problem.ts";
import { queries } from "./query.ts";

/** A file has so many rows at most: as many executions as the server counts. */
export const mostExported = 10_000;
/** And so many megabytes, to which the rows of one page may come: of what is larger, the rest is left out. */
export const mostMegabytes = 256;
/** As many as a page of the API has at most. */
const pageLength = 100;
/** So many executions that are asked for by id are asked for at once. */
const together = 4;

interface Page<T> {
  data: T[];
  /** The cursor of the next page; null: there is none. */
  cursor?: string | null;
}

/** Asks for a page: the first one without a cursor. */
export type Pages<T> = (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>;

export interface Exported {
  rows: number;
  /** There are others, which are left out. */
  more: boolean;
  file: Blob;
}

/**
 * Reads a list page by page, one question at a time, and writes its rows into a file. The browser keeps what is long on
 * its disk. A page is asked for again after a passing failure. With another failure, or when the signal says so, nothing
 * is left of what was read.
 */
export async function readPages<T>(
  pages: Pages<T>,
  write: (rows: readonly T[]) => string,
  signal: AbortSignal,
  read: (rows: number) => void,
  most = { rows: mostExported, bytes: mostMegabytes * 1e6 },
): Promise<Exported> {
  const parts: Blob[] = [];
  let rows = 0;
  let bytes = 0;
  const key = [environment(), "export", crypto.randomUUID()];
  const stop = () => void queries.cancelQueries({ queryKey: key });
  signal.addEventListener("abort", stop);
  try {
    let cursor: string | undefined;
    for (;;) {
      signal.throwIfAborted();
      const at = cursor;
      // The next page is known by the one before.
      // oxlint-disable-next-line no-await-in-loop
      const page = await queries.fetchQuery({
        queryKey: [...key, at],
        queryFn: (context) => pages(at, context.signal),
        gcTime: 0,
      });
      const taken = page.data.slice(0, most.rows - rows);
      const part = new Blob([write(taken)]);
      parts.push(part);
      rows += taken.length;
      bytes += part.size;
      read(rows);
      cursor = page.cursor ?? undefined;
      const full = rows >= most.rows || bytes >= most.bytes;
      if (full || cursor === undefined) {
        return { rows, more: cursor !== undefined || taken.length < page.data.length, file: new Blob(parts) };
      }
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Executions by a filter, newest first. */
export const executionsBy =
  (query: Record<string, string[]>, inputs: boolean): Pages<Execution> =>
  (cursor, signal) => {
    const asked = {
      ...query,
      limit: pageLength,
      ...(inputs && { include: "input" }),
      ...(cursor !== undefined && { cursor }),
    };
    return answer(client.GET("/executions", { params: { query: asked as never }, signal }));
  };

/**
 * Executions by their ids, newest first, as lists have them: without what they have put out. Those that are gone are
 * left out.
 */
export function executionsOf(ids: readonly string[]): Pages<Execution> {
  const order = ids.toSorted().toReversed(); // an id begins with the time
  return async (cursor, signal) => {
    const from = Number(cursor ?? 0);
    const some = await Promise.all(order.slice(from, from + together).map((id) => executionOf(id, signal)));
    const next = from + together;
    return {
      data: some.filter((execution) => execution !== undefined),
      cursor: next < order.length ? String(next) : null,
    };
  };
}

async function executionOf(id: string, signal: AbortSignal): Promise<Execution | undefined> {
  try {
    const params = { path: { executionId: id } };
    const { output: _, ...execution } = await answer(client.GET("/executions/{executionId}", { params, signal }));
    return execution;
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 404) {
      return undefined;
    }
    throw problem;
  }
}

/** Items of a batch in one phase, or all, in their order. */
export const itemsOf =
  (batch: Batch, phase: ItemPhase | undefined): Pages<Item> =>
  (cursor, signal) =>
    itemPage(batch, phase, cursor ?? "0", signal);
