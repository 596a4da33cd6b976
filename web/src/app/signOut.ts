import { client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import { sessionLeft } from "../api/session.ts";

/** Ends the session and leaves the page. */
export async function signOut(): Promise<void> {
  try {
    await client.DELETE("/session");
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) {
      throw error; // it did not end
    }
  }
  sessionLeft();
  sessionStorage.clear(); // what was typed, such as the input of a workflow
  location.assign("/sign-in");
}
