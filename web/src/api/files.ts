import { answer, client, type Schemas } from "./client.ts";

/** Stores a file. The answer is the reference that an input has for it. */
export async function uploadFile(file: File): Promise<Schemas["FileReference"]> {
  const stored = await answer(
    client.POST("/files", {
      params: { query: { filename: file.name }, header: { "Idempotency-Key": crypto.randomUUID() } },
      headers: { "Content-Type": file.type === "" ? "application/octet-stream" : file.type },
      body: file as never,
      bodySerializer: (body: unknown) => body as File,
    }),
  );
  return stored.reference;
}
