// Which page of docs/language is about a part of a definition.
import type { Path } from "./path.ts";
import type { Fields } from "./schema.ts";

/** Pages by the keys that they are about. */
const pages: Readonly<Record<string, string>> = {
  document: "document",
  use: "document",
  evaluate: "document",
  authentication: "authentication",
  authentications: "authentication",
  catalogs: "functions",
  functions: "functions",
  errors: "errors",
  retries: "errors",
  retry: "errors",
  extensions: "extensions",
  secrets: "secrets",
  timeout: "durations",
  timeouts: "durations",
  schedule: "schedules",
  metadata: "metadata",
  input: "data-flow",
  output: "data-flow",
  export: "data-flow",
  if: "flow",
  then: "flow",
  do: "do",
  emit: "emit",
  for: "for",
  while: "for",
  fork: "fork",
  listen: "listen",
  foreach: "listen",
  raise: "raise",
  set: "set",
  switch: "switch",
  try: "try",
  catch: "try",
  wait: "wait",
};

const protocols = ["http", "openapi", "grpc", "asyncapi", "mcp", "a2a"];
const processes = ["shell", "script", "container", "workflow"];

const ofCall = (call: string): string => {
  const [name = ""] = call.split(":");
  return protocols.includes(name) || name === "human" ? `call-${name}` : "functions";
};

/** All pages that places lead to. */
export const allPages: readonly string[] = [
  ...new Set([
    ...Object.values(pages),
    ...[...protocols, "human"].map(ofCall),
    ...processes.map((name) => `run-${name}`),
    "expressions",
    "functions",
    "README",
  ]),
];

/**
 * The page about the key at the end of a path: that of the innermost key which has one. Names of tasks count for nothing.
 * Fields are the keys of the mapping at the beginning of the path that is so long.
 */
export function pageAbout(path: Path, fields: (length: number) => Fields): string {
  for (let at = path.length - 1; at >= 0; at--) {
    const key = path[at];
    if (typeof key !== "string" || typeof path[at - 1] === "number") {
      continue;
    }
    const call = key === "call" || key === "with" ? fields(at)?.get("call") : undefined;
    if (call !== undefined) {
      return ofCall(call);
    }
    if (key === "run") {
      const inside = [String(path[at + 1] ?? ""), ...(fields(at + 1)?.keys() ?? [])];
      const process = processes.find((name) => inside.includes(name));
      return process === undefined ? "README" : `run-${process}`;
    }
    const page = Object.hasOwn(pages, key) ? pages[key] : undefined;
    if (page !== undefined) {
      return page;
    }
  }
  return "README";
}

/** The address of a page. The server has all of them. */
export const addressOf = (page: string): string => `/docs/language/${page}`;
