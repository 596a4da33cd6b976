import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment, type Environment } from "./environment.ts";
import { queries, question } from "./query.ts";

export type ApiKey = Schemas["ApiKey"];
export type NewKey = Schemas["CreateKeyBody"];
export type Grace = "0s" | "1h" | "24h" | "7d";

/** What a preset allows, as docs/reference/keys.md has it. A key of test publishes nothing. */
const all = [
  "workflows:read",
  "workflows:write",
  "workflows:publish",
  "workflows:start",
  "executions:create",
  "executions:read",
  "executions:read-own",
  "executions:manage",
  "tasks:read",
  "tasks:respond",
  "files:write",
  "events:write",
  "admin",
] as const;
const presetScopes: Record<Preset, readonly string[]> = {
  run: ["workflows:read", "executions:create", "executions:read"],
  observe: ["workflows:read", "executions:read", "tasks:read"],
  operate: [
    "workflows:read",
    "executions:create",
    "executions:read",
    "tasks:read",
    "executions:manage",
    "tasks:respond",
    "files:write",
    "events:write",
  ],
  deploy: ["workflows:read", "workflows:write", "workflows:publish"],
  all,
};

export const presets = ["run", "observe", "operate", "deploy", "all"] as const;
export type Preset = (typeof presets)[number];

/** The scopes that a preset gives a key of an environment. */
export const scopesOf = (preset: Preset, place: Environment): string[] =>
  presetScopes[preset].filter((scope) => place === "live" || scope !== "workflows:publish");

/** The keys of the person. There are 50 at most, which is one page. */
export const keysQuestion = () => ({
  ...question(["keys"], (signal) => client.GET("/me/api-keys", { params: { query: { limit: 100 } }, signal })),
  queryKey: ["keys"], // of both environments
});

/** All keys of the account in the environment of the page, personal ones too. */
export const accountKeysQuestion = () =>
  infiniteQueryOptions({
    queryKey: [environment(), "account-keys"],
    queryFn: ({ pageParam, signal }) =>
      answer(
        client.GET("/api-keys", {
          params: { query: { limit: 50, ...(pageParam !== undefined && { cursor: pageParam }) } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
  });

const changed = () =>
  Promise.all([
    queries.invalidateQueries(keysQuestion()),
    queries.invalidateQueries({ queryKey: accountKeysQuestion().queryKey }),
  ]);

/** Makes a key of the person or of the account. The answer is the only one that has it. */
export async function createKey(kind: "own" | "account", body: NewKey, once: string): Promise<ApiKey> {
  // A key is made in its own environment, which need not be that of the page.
  const headers = body.environment === undefined ? {} : { "Chargehand-Environment": body.environment };
  const request = { body, headers, params: { header: { "Idempotency-Key": once } } };
  const made = await answer(kind === "own" ? client.POST("/me/api-keys", request) : client.POST("/api-keys", request));
  await changed();
  return made;
}

/** Another key in the place of one, which counts until the grace ends. */
export async function rotateKey(key: ApiKey, grace: Grace, once: string): Promise<ApiKey> {
  const request = {
    params: { path: { keyId: key.id }, header: { "Idempotency-Key": once } },
    headers: { "Chargehand-Environment": key.environment },
    body: { grace },
  };
  const made = await answer(
    key.user_id === undefined
      ? client.POST("/api-keys/{keyId}/rotate", request)
      : client.POST("/me/api-keys/{keyId}/rotate", request),
  );
  await changed();
  return made;
}

/** Revokes a key; own ones as their person, others as an admin. */
export async function revokeKey(key: ApiKey, own: boolean): Promise<void> {
  const request = {
    params: { path: { keyId: key.id } },
    headers: { "Chargehand-Environment": key.environment },
  };
  await (own ? client.DELETE("/me/api-keys/{keyId}", request) : client.DELETE("/api-keys/{keyId}", request));
  await changed();
}
