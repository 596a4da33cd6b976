import { client } from "./client.ts";
import { environment } from "./environment.ts";

/**
 * Where the browser finds all that is kept of an execution, as a zip file. It is asked for once before, up to the head
 * of the answer: what the server refuses is thrown, and is not saved as a file.
 */
export async function archiveAddress(executionId: string): Promise<string> {
  const { data } = await client.GET("/executions/{executionId}/archive", {
    params: { path: { executionId } },
    parseAs: "stream",
  });
  await data?.cancel();
  return `/api/v1/executions/${executionId}/archive?environment=${environment()}`;
}
