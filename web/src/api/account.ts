import { answer, client, type Schemas } from "./client.ts";
import { queries, question } from "./query.ts";

export type OwnSession = Schemas["OwnSession"];
export type Passkey = Schemas["PasskeyView"];

/** Where the person is signed in. */
export const sessionsQuestion = () => ({
  ...question(["sessions"], (signal) => client.GET("/me/sessions", { params: { query: { limit: 100 } }, signal })),
  queryKey: ["sessions"], // the same in both environments
});

export async function endSession(id: string): Promise<void> {
  await client.DELETE("/me/sessions/{sessionId}", { params: { path: { sessionId: id } } });
  await queries.invalidateQueries(sessionsQuestion());
}

/** Ends all sessions of the person but this one. */
export async function endOtherSessions(): Promise<void> {
  await client.DELETE("/me/sessions");
  await queries.invalidateQueries(sessionsQuestion());
}

export const passkeysQuestion = () => ({
  ...question(["passkeys"], (signal) => client.GET("/me/passkeys", { signal })),
  queryKey: ["passkeys"],
});

/** Makes a passkey: the browser asks the person for a finger or a code. */
export async function addPasskey(name: string): Promise<void> {
  const { options } = await answer(client.POST("/me/passkeys/options", { body: {} }));
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never);
  const made = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential | null;
  if (made === null) {
    throw new Error("no passkey was made");
  }
  await client.POST("/me/passkeys", {
    body: { ...(name !== "" && { name }), credential: made.toJSON() as unknown as Record<string, unknown> },
  });
  await queries.invalidateQueries(passkeysQuestion());
}

export async function removePasskey(id: string): Promise<void> {
  await client.DELETE("/me/passkeys/{passkeyId}", { params: { path: { passkeyId: id } } });
  await queries.invalidateQueries(passkeysQuestion());
}
