import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { found, lost } from "./connection.ts";
import { Problem } from "./problem.ts";

export type AuditEntry = Schemas["AuditEntry"];
type AuditPage = Schemas["AuditPage"];

/** What the audit log is limited to. It is the address of the page too. */
export interface AuditFilter {
  actor?: string;
  action?: string;
  target?: string;
  after?: string;
  before?: string;
}

export const auditFields = ["actor", "action", "target", "after", "before"] as const;

/** Entries by a filter, newest first. With several filters a page may be short, and there are more all the same. */
export const auditQuestion = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: [environment(), "audit", filter],
    queryFn: ({ pageParam, signal }) =>
      answer(
        client.GET("/audit-log", {
          params: { query: { ...filter, limit: 100, ...(pageParam !== undefined && { cursor: pageParam }) } },
          signal,
        }),
      ) as Promise<AuditPage>,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.cursor ?? undefined,
    refetchOnWindowFocus: false,
  });

/** All entries by a filter as JSON Lines. The browser keeps what is long on its disk. */
export async function exportAudit(filter: AuditFilter): Promise<Blob> {
  const query = new URLSearchParams({ ...filter }).toString();
  const headers = { Accept: "application/jsonl", "Chargehand-Environment": environment() };
  let got: Response;
  try {
    got = await fetch(`/api/v1/audit-log?${query}`, { headers });
  } catch {
    lost();
    throw Problem.unreachable();
  }
  found();
  if (!got.ok) {
    throw await Problem.of(got);
  }
  try {
    return await got.blob();
  } catch {
    throw Problem.unreachable(); // the answer was cut off: half a log is none
  }
}
