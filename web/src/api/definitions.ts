import { queryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { queries } from "./query.ts";

export type Validation = Schemas["Validation"];
export type Applied = Schemas["AppliedWorkflow"];

/** A definition as the server has it, which an author changes. */
export interface Base {
  text: string;
  json: boolean;
  /** ETag of the workflow; missing: there is none yet. */
  tag?: string;
  version?: string;
  revision?: number;
  /** It was never published. */
  draft: boolean;
  /** Who has made it, and when. */
  by?: string;
  at?: string;
}

const isJson = (type: string | undefined) => (type ?? "").includes("json");

/** The text of a definition. Programs send JSON in one line, which is written over several for people. */
export function readable({ source, definition }: { source?: string; definition?: unknown }): string {
  if (source === undefined) {
    return JSON.stringify(definition, null, 2);
  }
  const isLong = /\d{16}/.test(source); // numbers that JavaScript would round
  if (!source.startsWith("{") || source.trimEnd().includes("\n") || isLong) {
    return source;
  }
  try {
    return `${JSON.stringify(JSON.parse(source), null, 2)}\n`;
  } catch {
    return source; // YAML in braces
  }
}

async function ofVersion(id: string, version: string, tag: string, signal: AbortSignal): Promise<Base> {
  const path = { workflowId: id, version };
  const found = await answer(client.GET("/workflows/{workflowId}/versions/{version}", { params: { path }, signal }));
  const { created_by: by } = found;
  return {
    text: readable(found),
    json: found.source === undefined || isJson(found.source_type),
    tag,
    version,
    revision: found.revision,
    draft: found.draft,
    at: found.updated_at,
    ...(by?.name !== undefined && { by: by.name }),
  };
}

/**
 * What an author of a workflow continues with: the version that is asked for, else the newest draft if it is the newest
 * of all, else what is started.
 */
export async function readBase(id: string, version: string | undefined, signal: AbortSignal): Promise<Base> {
  const params = { path: { workflowId: id } };
  const { data, response } = await client.GET("/workflows/{workflowId}", { params, signal });
  const tag = response.headers.get("ETag") ?? "";
  const list = await answer(
    client.GET("/workflows/{workflowId}/versions", { params: { ...params, query: { limit: 1 } }, signal }),
  );
  const newest = list.data[0];
  const started = data?.version ?? "";
  return ofVersion(id, version ?? (newest?.draft === true ? newest.version : started), tag, signal);
}

/** It is asked once, when an editor opens: what the author has does not change under them. */
export const baseQuestion = (id: string, version: string | undefined) =>
  queryOptions({
    queryKey: [environment(), "base", id, version],
    queryFn: ({ signal }) => readBase(id, version, signal),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });

/** Whether there is a workflow of this name, as far as the person sees. */
export async function exists(namespace: string, name: string): Promise<boolean> {
  const found = await answer(client.GET("/workflows", { params: { query: { namespace, name, limit: 1 } } }));
  return found.data.length > 0;
}

/** Definitions are sent as they are written. */
const written = (text: string, json: boolean) => ({
  body: text as never,
  bodySerializer: (body: unknown) => body as string,
  headers: { "Content-Type": json ? "application/json" : "application/yaml" },
});

/** What is wrong with a definition, and its graph if nothing is. Stores nothing. */
export const validate = (text: string, signal: AbortSignal): Promise<Validation> =>
  answer(client.POST("/workflows/validate", { ...written(text, false), signal }));

export interface Apply {
  text: string;
  json: boolean;
  draft: boolean;
  message?: string;
  /** ETag that the workflow must have; missing: it may be anything. */
  tag?: string | undefined;
  once: string;
}

/** Makes a definition a new revision of its workflow, and publishes it if it is no draft and the person may do that. */
export async function apply({
  text,
  json,
  draft,
  message,
  tag,
  once,
}: Apply): Promise<{ applied: Applied; tag: string }> {
  const { headers, ...rest } = written(text, json);
  const query = { draft, ...(message !== undefined && message !== "" && { message }) };
  const { data, response } = await client.POST("/workflows", {
    ...rest,
    headers: { ...headers, ...(tag !== undefined && { "If-Match": tag }) },
    params: { query, header: { "Idempotency-Key": once } },
  });
  void queries.invalidateQueries({ queryKey: [environment(), "workflow"] });
  void queries.invalidateQueries({ queryKey: [environment(), "workflows"] });
  return { applied: data as Applied, tag: response.headers.get("ETag") ?? "" };
}

/** The JSON Schema of definitions, of the server that reads them. */
export const languageQuestion = () =>
  queryOptions({
    queryKey: ["language"], // the same in both environments
    queryFn: async ({ signal }): Promise<unknown> => (await client.GET("/schemas/workflow.json", { signal })).data,
    staleTime: Infinity,
    gcTime: Infinity,
  });

/** The value of an expression. Stores nothing. */
export async function evaluate(expression: string, input: unknown, signal: AbortSignal): Promise<unknown> {
  const body = { expression, input: input as Record<string, never> };
  return (await answer(client.POST("/expressions/evaluate", { body, signal }))).value;
}
