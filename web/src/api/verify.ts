import { answer, client } from "./client.ts";

const verify = (body: { password: string } | { credential: Record<string, unknown> }): Promise<unknown> =>
  answer(client.POST("/session/verify", { body }));

/** Makes the sign-in of the person fresh, which what is dangerous asks for. */
export const verifyByPassword = (password: string): Promise<unknown> => verify({ password });

/** The same by a passkey: the browser asks for a finger or a code. It throws what the browser throws, too. */
export async function verifyByPasskey(): Promise<unknown> {
  const { options } = await answer(client.POST("/auth/passkey/options", { body: {} }));
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as never);
  const made = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential | null;
  if (made === null) {
    throw new Error("no passkey was used");
  }
  return verify({ credential: made.toJSON() as unknown as Record<string, unknown> });
}

/** The page of an identity provider that does the same. The browser comes back to a page of its own. */
export const verifyAddress = (provider: string): string =>
  `/api/v1/auth/oidc/${encodeURIComponent(provider)}?verify=true`;
