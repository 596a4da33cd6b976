export type Environment = "live" | "test";

let current: Environment = "live";

/** The environment of the page that is shown. It is part of its address, and of the key of every query. */
export const environment = (): Environment => current;

export function setEnvironment(next: Environment): void {
  current = next;
}

/** The environment that the query of an address names. What it has is not checked before. */
export const environmentOf = ({ env }: { env?: unknown }): Environment => (env === "test" ? "test" : "live");
