import { infiniteQueryOptions, queryOptions, type InfiniteData } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment, type Environment } from "./environment.ts";
import { followTasks } from "./follow.ts";
import { Problem } from "./problem.ts";
import { every, queries, question } from "./query.ts";
import type { Stream } from "./sse.ts";

export type Task = Schemas["HumanTask"];
export type Answer = Schemas["TaskAnswer"];
export type Outcome = Schemas["TaskOutcome"];

export const views = ["mine", "groups", "unassigned", "all", "done"] as const;
export type View = (typeof views)[number];

/** Which tasks are listed. It is the address of the page too. */
export interface TaskFilter {
  /** Missing: mine. */
  view?: View;
  /** namespace/name */
  workflow?: string;
  overdue?: "true";
  /** A part of the title. */
  q?: string;
  /** Ids. */
  batch?: string;
  execution?: string;
}

/** It can be claimed and answered. */
export const isOpen = (task: Pick<Task, "status">): boolean => task.status === "open" || task.status === "claimed";

const ofView = {
  mine: { assignee: "me" },
  groups: { assignee: "my-groups" },
  unassigned: { unassigned: true },
  all: {},
  done: { status: "answered", answered_by: "me", sort: "created" },
} as const;

/** The id of a workflow by namespace/name. It never changes. */
const workflowIdQuestion = (name: string) => ({
  ...question(["workflow-id", name], async (signal) => {
    const path = { workflowId: name.replace("/", ".") };
    return { data: (await answer(client.GET("/workflows/{workflowId}", { params: { path }, signal }))).id };
  }),
  staleTime: Infinity,
});

const pageLength = 50;

async function list(filter: TaskFilter, cursor: string | undefined, signal: AbortSignal) {
  const { view = "mine", workflow, overdue, q, batch, execution } = filter;
  const id = workflow === undefined ? undefined : await queries.ensureQueryData(workflowIdQuestion(workflow));
  const query = {
    ...ofView[view],
    ...(id !== undefined && { workflow_id: id }),
    ...(overdue === "true" && view !== "done" && { overdue: true }),
    ...(q !== undefined && { q }),
    ...(batch !== undefined && { batch_id: batch }),
    ...(execution !== undefined && { execution_id: execution }),
    ...(cursor !== undefined && { cursor }),
    limit: pageLength,
  };
  return answer(client.GET("/human-tasks", { params: { query }, signal }));
}

const tasks = () => [environment(), "tasks"];

/** Whether the server tells of changes. While it does not, it is asked often. */
let told = false;

/** How often something is asked again that the server tells of, and how often while it does not; in milliseconds. */
const unless =
  (toldOf: number | false, often: number) =>
  (query: Parameters<ReturnType<typeof every>>[0]): number | false => {
    const wait = told ? toldOf : often;
    return wait === false ? false : every(wait)(query);
  };

/** Of changes that come fast, what they concern is asked for once in this time. */
const gathered = 1000;

/**
 * Follows the tasks of the person. The counts come with the news; the list that is shown and the task that is open are
 * asked for again after a change. There is no news of comments, and of tasks behind the 50 that are due first: these are
 * asked for now and then.
 */
export function followMyTasks(of: Environment): Stream {
  const mine = [of, "tasks"];
  let all = false;
  let ids = new Set<unknown>();
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let due = false;
  const ask = () => {
    const [whole, some] = [all, ids];
    [all, ids, due] = [false, new Set(), false];
    void queries.invalidateQueries({
      queryKey: mine,
      predicate: ({ queryKey: [, , part, id] }) => part === "fresh" || (part === "one" && (whole || some.has(id))),
    });
    waiting = setTimeout(() => {
      waiting = undefined;
      if (due) {
        ask();
      }
    }, gathered);
  };
  const stream = followTasks(
    ({ counts, changed: tasksNow, removed }, first) => {
      told = true;
      queries.setQueryData([...mine, "counts"], counts);
      all ||= first;
      tasksNow.forEach(({ id }) => ids.add(id));
      removed.forEach((id) => ids.add(id));
      due = true;
      if (waiting === undefined) {
        ask();
      }
    },
    (good) => {
      told = good;
      void queries.invalidateQueries({
        queryKey: mine,
        predicate: ({ queryKey: [, , part] }) => ["counts", "fresh", "one"].includes(String(part)),
      });
    },
  );
  return {
    close() {
      told = false;
      clearTimeout(waiting);
      stream.close();
    },
  };
}

/** Tasks by a filter, page by page: those that are due first, of answered ones the newest. */
export const tasksQuestion = (filter: TaskFilter) =>
  infiniteQueryOptions({
    queryKey: [...tasks(), "list", filter],
    queryFn: ({ pageParam, signal }) => list(filter, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
    refetchOnWindowFocus: false,
  });

/** The first page of the same, asked for again while the page is seen. */
export const freshTasksQuestion = (filter: TaskFilter) =>
  queryOptions({
    queryKey: [...tasks(), "fresh", filter],
    queryFn: ({ signal }) => list(filter, undefined, signal),
    refetchInterval: unless(30_000, 5000),
  });

/**
 * How many open tasks there are for the person, up to 10,000 of each kind. The frame asks for all pages once a minute
 * beside what the server tells; the others show the same answer.
 */
export const taskCountsQuestion = (seconds: number, ofFrame = false) => ({
  ...question(["tasks", "counts"], (signal) => client.GET("/human-tasks/counts", { signal })),
  refetchInterval: unless(ofFrame && 60_000, seconds * 1000),
});

export const taskQuestion = (id: string) => ({
  ...question(["tasks", "one", id], (signal) =>
    client.GET("/human-tasks/{taskId}", { params: { path: { taskId: id } }, signal }),
  ),
  refetchInterval: unless(15_000, 5000),
});

/** Takes over what the server says a task is now. */
function changed(task: Task): Task {
  queries.setQueryData(taskQuestion(task.id).queryKey, task);
  const others = ["fresh", "counts"];
  void queries.invalidateQueries({
    predicate: ({ queryKey: [, kind, part] }) => kind === "tasks" && others.includes(String(part)),
  });
  return task;
}

const at = (id: string) => ({ path: { taskId: id } });
const sent = (id: string, once: string) => ({ ...at(id), header: { "Idempotency-Key": once } });

/** Says that no other person is to answer. With force it is taken from the person who has claimed it. */
export const claim = async (id: string, force: boolean): Promise<Task> =>
  changed(await answer(client.POST("/human-tasks/{taskId}/claim", { params: at(id), body: force ? { force } : {} })));

export const release = async (id: string, force: boolean): Promise<Task> =>
  changed(await answer(client.POST("/human-tasks/{taskId}/release", { params: at(id), body: force ? { force } : {} })));

export const reassign = async (id: string, body: { users: string[]; groups: string[] }): Promise<Task> =>
  changed(await answer(client.POST("/human-tasks/{taskId}/reassign", { params: at(id), body })));

export const comment = async (id: string, text: string, once: string): Promise<Task> =>
  changed(await answer(client.POST("/human-tasks/{taskId}/comments", { params: sent(id, once), body: { text } })));

export type AnswerBody = Schemas["AnswerBody"];

export const answerTask = async (id: string, body: AnswerBody, once: string): Promise<Task> =>
  changed(await answer(client.POST("/human-tasks/{taskId}/answer", { params: sent(id, once), body })));

export type BulkAnswers = Schemas["BulkAnswers"];

/** Gives many tasks the same answer. */
export async function answerTasks(body: Schemas["BulkAnswerBody"], once: string): Promise<BulkAnswers> {
  const params = { header: { "Idempotency-Key": once } };
  const done = await answer(client.POST("/human-tasks/answer", { params, body }));
  void queries.invalidateQueries({ queryKey: [...tasks(), "counts"] });
  return done;
}

export type ServerDraft = Schemas["TaskDraft"];

/** What the person has entered into a task and not sent, from wherever they did, with the files that it names. */
export const draftQuestion = (id: string) => ({
  ...question(["tasks", "draft", id], async (signal) => {
    const draft = await answer(client.GET("/human-tasks/{taskId}/draft", { params: at(id), signal }));
    const found = await Promise.all((draft.files ?? []).map(referenceOf));
    return { data: { ...draft, references: found.filter((file) => file !== undefined) } };
  }),
  gcTime: 0,
  refetchOnWindowFocus: false,
});

/** Keeps what is entered; an empty body deletes it. */
export const putDraft = (id: string, body: Schemas["DraftBody"]): Promise<ServerDraft> =>
  answer(client.PUT("/human-tasks/{taskId}/draft", { params: at(id), body }));

/**
 * The reference of a file that was uploaded before; undefined: it is gone. A person who may not read files has no more
 * than its address.
 */
export async function referenceOf(uri: string): Promise<Shown | undefined> {
  const fileId = new URL(uri, location.href).pathname.split("/").at(-1) ?? "";
  try {
    return (await answer(client.GET("/files/{fileId}", { params: { path: { fileId } } }))).reference;
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 404) {
      return undefined;
    }
    if (problem instanceof Problem && problem.status === 403) {
      return { uri, name: fileId.slice(-8), mediaType: "application/octet-stream", size: 0 };
    }
    throw problem; // a draft would be saved without a file that it has
  }
}

/** A file that a task shows. */
export type Shown = Schemas["FileReference"];

/** Where the browser finds the content of a file, with the session of the person, to whom the task shows it. */
export function fileAddress(file: Pick<Shown, "uri">, task: string): string {
  const { pathname } = new URL(file.uri, location.href);
  return `${pathname}/content?environment=${environment()}&task_id=${task}`;
}

/** Takes a task that was answered here out of the lists that are known. */
export function dropTask(id: string): void {
  const without = (page: Schemas["HumanTaskPage"]) => ({ ...page, data: page.data.filter((task) => task.id !== id) });
  queries.setQueriesData<InfiniteData<Schemas["HumanTaskPage"]>>(
    { queryKey: [...tasks(), "list"] },
    (old) => old && { ...old, pages: old.pages.map(without) },
  );
  queries.setQueriesData<Schemas["HumanTaskPage"]>({ queryKey: [...tasks(), "fresh"] }, (old) => old && without(old));
}
