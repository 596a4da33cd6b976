import { answer, client, type Schemas } from "./client.ts";
import { queries, question } from "./query.ts";

export type ApiKey = Schemas["ApiKey"];
export type NewKey = Pick<Schemas["CreateKeyBody"], "name" | "environment" | "preset" | "expires_at">;

export const presets = ["run", "observe", "operate", "deploy", "all"] as const;

/** The keys of the person. There are 50 at most, which is one page. */
export const keysQuestion = () => ({
  ...question(["keys"], (signal) => client.GET("/me/api-keys", { params: { query: { limit: 100 } }, signal })),
  queryKey: ["keys"], // of both environments
});

const changed = () => queries.invalidateQueries(keysQuestion());

/** Makes a key. The answer is the only one that has it. */
export async function createKey(body: NewKey, once: string): Promise<ApiKey> {
  const made = await answer(client.POST("/me/api-keys", { body, params: { header: { "Idempotency-Key": once } } }));
  await changed();
  return made;
}

/** Another key in the place of one, which counts for a day more. */
export async function rotateKey(id: string, once: string): Promise<ApiKey> {
  const params = { path: { keyId: id }, header: { "Idempotency-Key": once } };
  const made = await answer(client.POST("/me/api-keys/{keyId}/rotate", { params, body: {} }));
  await changed();
  return made;
}

export async function revokeKey(id: string): Promise<void> {
  await client.DELETE("/me/api-keys/{keyId}", { params: { path: { keyId: id } } });
  await changed();
}

/** Makes the sign-in of the person fresh, which what is dangerous asks for. */
export const verifySession = (password: string): Promise<unknown> =>
  answer(client.POST("/session/verify", { body: { password } }));
