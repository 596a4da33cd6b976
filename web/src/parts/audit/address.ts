import { auditFields, type AuditFilter } from "../../api/audit.ts";

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

const two = (n: number) => String(n).padStart(2, "0");

/** A time of the address as a field for local times has it; empty: it is none. */
export function localTime(value: string | undefined): string {
  const at = new Date(value ?? "");
  if (Number.isNaN(at.getTime())) {
    return "";
  }
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}
