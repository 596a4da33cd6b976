import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { meQuestion } from "./me.ts";
import { every, queries } from "./query.ts";

export type Operation = Schemas["Operation"];
export type OperationAction = Operation["action"];

/** What an operation acts on: executions by name, or all that match the filter of a list. */
export type Target = { ids: readonly string[] } | { query: Record<string, string[]> };

/** Filters of a list that have one value each. */
const single = ["batch_id", "created_after", "created_before", "root_id", "retry_of", "failure", "q"];

function bodyOf(action: OperationAction, target: Target): Schemas["OperationBody"] {
  if ("ids" in target) {
    return { action, ids: [...target.ids] };
  }
  const filter = Object.entries(target.query).map(([name, values]) => {
    const last = values.at(-1) ?? "";
    return [name, name === "min_duration_ms" ? Number(last) : single.includes(name) ? last : values];
  });
  return { action, filter: Object.fromEntries(filter) as Schemas["OperationFilter"] };
}

/** What an operation would act on. */
export const previewQuestion = (action: OperationAction, target: Target) =>
  queryOptions({
    queryKey: [environment(), "operations", "preview", action, target],
    queryFn: async ({ signal }) => {
      const body = { ...bodyOf(action, target), dry_run: true };
      return (await answer(client.POST("/operations", { body, signal }))) as Schemas["OperationPreview"];
    },
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
  });

/** Which version retries run: the one of before, or the one that is published now. */
export type Version = NonNullable<Schemas["OperationBody"]["version"]>;

/** Whether an operation acts on executions still. */
export const isUnderWay = ({ status }: Operation): boolean => status === "selecting" || status === "running";

/** Those that a person has started and that are under way. */
export const underWayOf = (operations: readonly Operation[], person: string): Operation[] =>
  operations.filter((each) => isUnderWay(each) && each.started_by?.kind === "user" && each.started_by.id === person);

/** Among so many of the newest, those of the person are looked for. */
const looked = 20;

/**
 * Operations of the person that are under way, wherever they were started. No stream tells of them: they are asked for
 * with the page, and again only while there are some.
 */
export const underWayQuestion = () =>
  queryOptions({
    queryKey: [environment(), "operations", "under way"],
    queryFn: async ({ signal }) => {
      const { user } = await queries.ensureQueryData(meQuestion());
      const { data } = await answer(client.GET("/operations", { params: { query: { limit: looked } }, signal }));
      return underWayOf(data, user.id);
    },
    staleTime: 60_000,
    refetchInterval: (query) => (query.state.data?.length ? every(5000)(query) : false),
  });

/** Puts an operation that the person has started among those under way. */
const begin = (operation: Operation): void =>
  void queries.setQueryData(underWayQuestion().queryKey, (known = []) => [
    operation,
    ...known.filter(({ id }) => id !== operation.id),
  ]);

/** Tells those under way how one of them is by now. */
const note = (operation: Operation): void =>
  void queries.setQueryData(underWayQuestion().queryKey, (known) =>
    known?.map((each) => (each.id === operation.id ? operation : each)).filter(isUnderWay),
  );

/** Starts an operation: its id. */
export async function startOperation(
  action: OperationAction,
  target: Target,
  version: Version,
  key: string,
): Promise<string> {
  const params = { header: { "Idempotency-Key": key } };
  const body = { ...bodyOf(action, target), ...(action === "retry" && { version }) };
  const operation = (await answer(client.POST("/operations", { params, body }))) as Operation;
  begin(operation);
  return operation.id;
}

const at = (id: string) => ({ path: { operationId: id } });

export const operationQuestion = (id: string) =>
  queryOptions({
    queryKey: [environment(), "operation", id],
    queryFn: async ({ signal }) => {
      const operation = await answer(client.GET("/operations/{operationId}", { params: at(id), signal }));
      note(operation);
      return operation;
    },
    refetchInterval: (query) => (query.state.data && !isUnderWay(query.state.data) ? false : every(1000)(query)),
  });

/** The executions that an operation could not act on, page by page. */
export const failedItemsQuestion = (id: string) =>
  infiniteQueryOptions({
    queryKey: [environment(), "operation", id, "failed"],
    queryFn: ({ pageParam, signal }) => {
      const query = { outcome: "failed" as const, limit: 50, ...(pageParam !== undefined && { cursor: pageParam }) };
      return answer(client.GET("/operations/{operationId}/items", { params: { ...at(id), query }, signal }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
  });

export async function cancelOperation(id: string, key: string): Promise<void> {
  const params = { ...at(id), header: { "Idempotency-Key": key } };
  const now = await answer(client.POST("/operations/{operationId}/cancel", { params, body: {} }));
  queries.setQueryData(operationQuestion(id).queryKey, now);
  note(now);
}
