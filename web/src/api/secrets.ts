import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { Problem } from "./problem.ts";
import { queries, question } from "./query.ts";

export type Secret = Schemas["Secret"];
export type SecretBody = Schemas["PutSecretBody"];

/** The secrets of the environment, the newest first, without their values: nothing reads those. */
export const secretsQuestion = () =>
  infiniteQueryOptions({
    queryKey: [environment(), "secrets"],
    queryFn: ({ pageParam, signal }) =>
      answer(
        client.GET("/secrets", {
          params: { query: { limit: 100, ...(pageParam !== undefined && { cursor: pageParam }) } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
  });

/** One secret, with its versions and the workflows that declare it. */
export const secretQuestion = (name: string) =>
  question(["secret", name], (signal) => client.GET("/secrets/{name}", { params: { path: { name } }, signal }));

/** Whether there is a secret of this name. */
export async function hasSecret(name: string): Promise<boolean> {
  try {
    await client.GET("/secrets/{name}", { params: { path: { name } } });
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) {
      return false;
    }
    throw error;
  }
}

const changed = (name: string) =>
  Promise.all([
    queries.invalidateQueries({ queryKey: secretsQuestion().queryKey }),
    queries.invalidateQueries(secretQuestion(name)),
  ]);

/** Makes a secret, or sets another value. */
export async function putSecret(name: string, body: SecretBody): Promise<void> {
  await client.PUT("/secrets/{name}", { params: { path: { name } }, body });
  await changed(name);
}

/** Sets the value of an earlier version again, as a new version. */
export async function rollBackSecret(name: string, version: number): Promise<void> {
  await client.POST("/secrets/{name}/rollback", { params: { path: { name } }, body: { version } });
  await changed(name);
}

export async function deleteSecret(name: string): Promise<void> {
  await client.DELETE("/secrets/{name}", { params: { path: { name } } });
  await queries.invalidateQueries({ queryKey: secretsQuestion().queryKey });
  queries.removeQueries(secretQuestion(name));
}
