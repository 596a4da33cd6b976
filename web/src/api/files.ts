import { queryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";

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

/** The beginning of a file of text, by the address of its content. */
export function textQuestion(address: string, size: number, bytes: number) {
  const { pathname, searchParams } = new URL(address, location.href);
  const fileId = pathname.split("/").at(-2) ?? "";
  const { environment: _, ...query } = Object.fromEntries(searchParams); // the question has it as a header
  return queryOptions({
    queryKey: [environment(), "file", fileId, query["task_id"] ?? ""],
    queryFn: async ({ signal }) => {
      const { data } = await client.GET("/files/{fileId}/content", {
        params: { path: { fileId }, query: query as never },
        headers: size > bytes ? { Range: `bytes=0-${bytes - 1}` } : {},
        parseAs: "text",
        signal,
      });
      return data ?? "";
    },
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
}
