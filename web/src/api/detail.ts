import { infiniteQueryOptions, queryOptions, type InfiniteData } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import type { Execution } from "./executions.ts";
import { queries, question } from "./query.ts";

export type Task = Schemas["TaskProgress"];
export type Graph = Schemas["Graph"];
export type Entry = Schemas["TimelineEntry"];
export type Result = Schemas["Result"];
export type LogLine = Schemas["LogLine"];
export type Level = LogLine["level"];

const pageLength = 100;
const at = (id: string) => ({ path: { executionId: id } });

/** How many runs there are of each task, in the order of the definition. */
export const progressQuestion = (id: string) =>
  question(["execution", id, "progress"], (signal) =>
    client.GET("/executions/{executionId}/progress", { params: at(id), signal }),
  );

/** The tasks of an execution and how they follow each other. A definition that runs does not change. */
export const graphQuestion = (id: string) =>
  queryOptions({
    // Not under "execution": what happens in it changes the states, which come from E/progress, and not the graph.
    queryKey: [environment(), "graph", id],
    // The server has other forms of it too, which are not asked for.
    queryFn: async ({ signal }) =>
      (await answer(client.GET("/executions/{executionId}/graph", { params: at(id), signal }))) as Graph,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

/** Which runs of tasks are asked for. */
export interface Runs {
  reference?: string[];
  under?: string;
  phase?: Entry["phase"][];
  after_seq?: number;
  order?: "asc" | "desc";
}

function page(id: string, runs: Runs, cursor: string | undefined, signal: AbortSignal, limit = pageLength) {
  const query = { ...runs, fields: "summary", limit, ...(cursor !== undefined && { cursor }) };
  return answer(
    client.GET("/executions/{executionId}/timeline", { params: { ...at(id), query: query as never }, signal }),
  );
}

/** Some runs of tasks, in their order, and whether there are more than these. */
export interface Found {
  runs: Entry[];
  more: boolean;
}

/** Runs of tasks without input and output, up to a number of pages. */
export const runsQuestion = (id: string, runs: Runs, pages = 5) =>
  queryOptions({
    queryKey: [environment(), "execution", id, "runs", runs, pages],
    queryFn: async ({ signal }): Promise<Found> => {
      const found: Entry[] = [];
      let cursor: string | undefined;
      for (let asked = 0; asked < pages; asked++) {
        const next = await page(id, runs, cursor, signal);
        found.push(...next.data);
        if (next.cursor === null) {
          return { runs: found, more: false };
        }
        cursor = next.cursor;
      }
      return { runs: found, more: true };
    },
  });

/**
 * The hundred runs that began after another one, by which lines of a log are given the names of their tasks. Not under
 * "execution": whatever happens there, a run keeps its name.
 */
export const runsAfterQuestion = (id: string, after: number) =>
  queryOptions({
    queryKey: [environment(), "runs", id, after],
    queryFn: async ({ signal }) => (await page(id, { after_seq: after }, undefined, signal)).data,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

/** After which run that hundred begins in which one is. */
export const hundredOf = (seq: number): number => Math.floor((seq - 1) / pageLength) * pageLength;

/** One run of a task, with input and output. */
export const entryQuestion = (id: string, seq: number) =>
  queryOptions({
    queryKey: [environment(), "execution", id, "entry", seq],
    queryFn: async ({ signal }) => {
      const query = { after_seq: seq - 1, limit: 1 };
      const asked = client.GET("/executions/{executionId}/timeline", { params: { ...at(id), query }, signal });
      return (await answer(asked)).data.find((entry) => entry.seq === seq) ?? null;
    },
  });

/** A loop, as far as it is needed to find a pass of it among its runs, which are in the order of their passes. */
export interface Loop {
  reference: string;
  /** Numbers of the first run that is in it at the earliest, and of the newest. */
  first: number;
  last: number;
  passes: number;
}

/** The runs of one pass of a loop, in order. The seq of runs grows with the passes, so that it is found by guessing. */
export const passQuestion = (id: string, loop: Loop, pass: number) =>
  queryOptions({
    queryKey: [environment(), "execution", id, "pass", loop.reference, pass],
    gcTime: 60_000, // of a loop that runs, each pass is shown for a moment
    queryFn: ({ signal }) =>
      findPass((after) => page(id, { under: loop.reference, after_seq: after }, undefined, signal), loop, pass),
  });

export async function findPass(
  ask: (after: number) => Promise<{ data: Entry[]; cursor: string | null }>,
  loop: Loop,
  pass: number,
): Promise<Entry[]> {
  let [low, high] = [loop.first - 1, loop.last];
  let guess = Math.floor(low + ((high - low) * Math.max(0, pass - 1)) / Math.max(1, loop.passes));
  for (let asked = 0; asked < 20; asked++) {
    const inside = await within(ask, guess, loop.reference);
    const first = inside[0]?.iterations[0];
    const last = inside.at(-1)?.iterations[0];
    if (first === undefined || last === undefined || pass < first || (pass === first && guess > low)) {
      high = guess;
      guess = guess - low <= pageLength ? low : Math.max(low, Math.floor((low + guess) / 2));
    } else if (pass > last) {
      low = inside.at(-1)?.seq ?? guess;
      guess = low;
      if (high - low > 2 * pageLength) {
        guess = Math.floor(low + ((high - low) * Math.max(0, pass - last - 2)) / Math.max(1, loop.passes - last));
      }
    } else {
      const found = inside.filter((entry) => entry.iterations[0] === pass);
      if (last === pass) {
        const more = await within(ask, inside.at(-1)?.seq ?? guess, loop.reference);
        found.push(...more.filter((entry) => entry.iterations[0] === pass));
      }
      return found;
    }
  }
  return [];
}

async function within(ask: (after: number) => Promise<{ data: Entry[] }>, after: number, loop: string) {
  return (await ask(after)).data.filter((entry) => entry.reference !== loop && entry.iterations.length > 0);
}

/** What a log is narrowed down to. */
export interface LogFilter {
  seq?: number;
  level?: Level;
  q?: string;
}

export interface LogPart {
  lines: LogLine[];
  /** The last line up to which the log is known. */
  next: number;
  /** The execution has ended, and nothing follows. */
  complete: boolean;
  /** There were lines before, which the page has left out. */
  cut?: boolean;
}

const logLength = 1000;

async function logPart(id: string, filter: LogFilter, after: number, signal: AbortSignal): Promise<LogPart> {
  const query = { ...filter, after, limit: logLength, ...(after > 0 && { wait: "20s" }) };
  const { data, response } = await client.GET("/executions/{executionId}/log", {
    params: { ...at(id), query: query as never },
    parseAs: "text",
    signal,
  });
  const lines = (data ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LogLine);
  const ended = response.headers.get("Chargehand-Log-Complete") === "true";
  return { lines, next: lines.at(-1)?.line ?? after, complete: ended && lines.length < logLength };
}

/** The log part by part. A question for what follows waits at the server until there is something. */
export const logQuestion = (id: string, filter: LogFilter) =>
  infiniteQueryOptions({
    queryKey: [environment(), "log", id, filter],
    queryFn: ({ pageParam, signal }) => logPart(id, filter, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last) => (last.complete ? undefined : last.next),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

/** A log that is followed comes in very many parts, which are put together now and then. */
const mostParts = 50;

/** Puts the parts of a log together if there are many, and keeps so many of its last lines. */
export function joinLog(
  id: string,
  filter: LogFilter,
  known: Pick<InfiniteData<LogPart>, "pages"> | undefined,
  most: number,
): void {
  const last = known?.pages.at(-1);
  if (!known || !last || known.pages.length <= mostParts) {
    return;
  }
  const all = known.pages.flatMap((part) => part.lines);
  const lines = all.slice(-most);
  const joined: LogPart = { ...last, lines };
  if (all.length > most || known.pages.some((part) => part.cut === true)) {
    joined.cut = true;
  }
  queries.setQueryData(logQuestion(id, filter).queryKey, { pages: [joined], pageParams: [(lines[0]?.line ?? 1) - 1] });
}

/** How many related executions a page names. */
const mostRelated = 20;

/** Executions that have something to do with another one, the oldest first, and whether there are more. */
const related = (id: string, kind: string, query: Record<string, string>) =>
  queryOptions({
    queryKey: [environment(), "execution", id, kind],
    queryFn: async ({ signal }) => {
      const asked = { ...query, sort: "created", limit: mostRelated };
      const found = await answer(client.GET("/executions", { params: { query: asked as never }, signal }));
      return { list: found.data, more: found.cursor !== null };
    },
  });

/** Executions that repeat this one. */
export const retriesQuestion = ({ id }: Execution) => related(id, "retries", { retry_of: id });

/** Executions in the tree of this one. */
export const treeQuestion = ({ id, root_id: root }: Execution) => related(id, "tree", { root_id: root ?? id });

const day = 24 * 60 * 60_000;

/** Failures like that of an execution, in the last day. */
export interface Alike {
  count: number;
  /** There may be more. */
  more: boolean;
  /** What finds them: a mark that the server gives them. */
  failure: string;
}

/** How often the workflow has failed like this in the last day; null: that is not known. */
export const alikeQuestion = ({ id, workflow, error }: Execution) =>
  queryOptions({
    queryKey: [environment(), "alike", id],
    queryFn: async ({ signal }): Promise<Alike | null> => {
      const failures = (query: Record<string, string>) =>
        answer(client.GET("/executions/failures", { params: { query: query as never }, signal }));
      const of = { workflow, ...(error?.code !== undefined && { error_code: error.code }) };
      const [own] = (await failures({ ...of, q: id })).data;
      if (!own) {
        return null;
      }
      const since = new Date(Date.now() - day).toISOString();
      const { data, at_least: more } = await failures({ ...of, failure: own.failure, created_after: since });
      return { count: data.reduce((sum, { count }) => sum + count, 0), more, failure: own.failure };
    },
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });

export type ExecutionAction = "cancel" | "suspend" | "resume";

/** What changes an execution is sent once; the key tells the server if it comes twice. */
const sent = (execution: Execution, key: string) => ({
  path: { workflowId: execution.workflow_id, executionId: execution.id },
  header: { "Idempotency-Key": key },
});

const changed = (id: string) => queries.invalidateQueries({ queryKey: [environment(), "execution", id] });

export async function act(execution: Execution, action: ExecutionAction, key: string): Promise<void> {
  const asked = { params: sent(execution, key), body: {} };
  const path = "/workflows/{workflowId}/executions/{executionId}";
  if (action === "cancel") {
    await client.POST(`${path}/cancel`, asked);
  } else {
    await (action === "suspend" ? client.POST(`${path}/suspend`, asked) : client.POST(`${path}/resume`, asked));
  }
  await changed(execution.id);
}

/** Repeats an execution: the id of the new one. */
export async function retry(execution: Execution, key: string, body: Schemas["RetryBody"]): Promise<string> {
  const path = "/workflows/{workflowId}/executions/{executionId}/retry";
  const made = await answer(client.POST(path, { params: sent(execution, key), body }));
  void changed(execution.id);
  return made.execution_id;
}

/**
 * Where the browser itself finds the content of a file, with the session of the person. The signature of the link is left
 * out: signed links end after an hour, and may lead to a store on another host, from which a page shows nothing.
 */
export const contentAddress = (url: string): string =>
  `${new URL(url, "http://localhost").pathname}?environment=${environment()}`;
