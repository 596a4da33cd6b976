import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";

const exec = promisify(execFile);

/** How the snippets of a page are run: as a person would. */
const programs: Record<string, (text: string) => [program: string, args: string[]]> = {
  curl: (text) => ["bash", ["-c", text]],
  Python: (text) => ["python3", ["-c", text]],
  TypeScript: (text) => [process.execPath, ["--input-type=module", "-e", text]],
  CLI: (text) => ["bash", ["-c", text]],
};

export interface Snippet {
  name: string;
  /** Runs it with an API key: what it prints. */
  run: (key: string) => Promise<string>;
}

/** The snippets that a page shows. */
export function snippetsOf(page: Page): Promise<Snippet[]> {
  return Promise.all(
    Object.entries(programs).map(async ([name, how]) => {
      const [program, args] = how((await page.locator(`[data-snippet='${name}']`).textContent()) ?? "");
      return {
        name,
        async run(key: string) {
          const path = `${resolve(import.meta.dirname, "../../bin")}:${process.env["PATH"]}`;
          const env = { ...process.env, CHARGEHAND_API_KEY: key, PATH: path };
          return (await exec(program, args, { env })).stdout;
        },
      };
    }),
  );
}
