import createClient, { type Middleware } from "openapi-fetch";
import { found, lost } from "./connection.ts";
import { environment } from "./environment.ts";
import { Problem } from "./problem.ts";
import { sessionEnded } from "./session.ts";
import type { components, paths } from "./schema.d.ts";

export type Schemas = components["schemas"];

/** What asks for the password again says itself that it was wrong. */
const asksAgain = ["/session/verify", "/me/password"];

const manners: Middleware = {
  onRequest({ request }) {
    if (!request.headers.has("Chargehand-Environment")) {
      request.headers.set("Chargehand-Environment", environment());
    }
  },
  async onResponse({ request, response }) {
    found();
    if (!response.ok) {
      if (response.status === 401 && !asksAgain.some((path) => request.url.endsWith(path))) {
        sessionEnded();
      }
      throw await Problem.of(response);
    }
  },
  onError({ error }) {
    if (error instanceof Problem || (error instanceof DOMException && error.name === "AbortError")) {
      return error;
    }
    lost();
    return Problem.unreachable();
  },
};

/** The API. What it answers with an error is thrown as a Problem. */
export const client = createClient<paths>({ baseUrl: "/api/v1" });
client.use(manners);

/** The body of an answer of the API, which is not an error. */
export async function answer<T>(asked: Promise<{ data?: T }>): Promise<T> {
  return (await asked).data as T;
}
