import { answer, client, type Schemas } from "./client.ts";
import { meQuestion } from "./me.ts";
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

export async function renamePasskey(id: string, name: string): Promise<void> {
  await client.PATCH("/me/passkeys/{passkeyId}", { params: { path: { passkeyId: id } }, body: { name } });
  await queries.invalidateQueries(passkeysQuestion());
}

export async function removePasskey(id: string): Promise<void> {
  await client.DELETE("/me/passkeys/{passkeyId}", { params: { path: { passkeyId: id } } });
  await queries.invalidateQueries(passkeysQuestion());
}

export type Identity = Schemas["IdentityView"];

/** The identity providers by which the person signs in. */
export const identitiesQuestion = () => ({
  ...question(["identities"], (signal) => client.GET("/me/identities", { signal })),
  queryKey: ["identities"],
});

/** How persons sign in at this server. */
export const methodsQuestion = () => ({
  ...question(["methods"], (signal) => client.GET("/auth/methods", { signal })),
  queryKey: ["methods"],
});

/** Leaves for the provider, where the person signs in once more; the way back leads to the server. */
export async function linkIdentity(provider: string): Promise<void> {
  const { url } = await answer(client.POST("/me/identities", { body: { provider } }));
  location.assign(url);
  await new Promise(() => {}); // the browser leaves
}

export async function unlinkIdentity(provider: string): Promise<void> {
  await client.DELETE("/me/identities/{provider}", { params: { path: { provider } } });
  await queries.invalidateQueries(identitiesQuestion());
}

/** Sets another password; the sessions elsewhere end. Before is the old one, if there is one. */
export async function changePassword(before: string | undefined, password: string): Promise<void> {
  const body = { ...(before !== undefined && { old_password: before }), password };
  await client.PUT("/me/password", { body });
  await Promise.all([queries.invalidateQueries(sessionsQuestion()), queries.invalidateQueries(meQuestion())]);
}
