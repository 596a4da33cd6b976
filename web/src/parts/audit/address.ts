import { auditFields, type AuditFilter } from "../../api/audit.ts";
import { toClock } from "../../messages/zone.ts";

/** What the page of the audit log shows, as its address says it: the filter, and the entry that is open. */
export interface AuditAddress extends AuditFilter {
  entry?: string;
}

export function readAuditAddress(search: Record<string, unknown>): AuditAddress {
  const address: AuditAddress = {};
  for (const name of [...auditFields, "entry"] as const) {
    const value = search[name];
    if (typeof value === "string" && value !== "") {
      address[name] = value;
    }
  }
  return address;
}

/** A time of the address as a field for times has it, in the time zone of the person; empty: it is none. */
export function fieldTime(value: string | undefined): string {
  const at = new Date(value ?? "");
  return Number.isNaN(at.getTime()) ? "" : toClock(at).slice(0, "2026-01-31T09:30".length);
}
