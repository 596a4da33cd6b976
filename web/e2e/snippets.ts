import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";

const exec = promisify(execFile);

/** How the snippets of a page are run: as a person would, in a folder of their own. */
const programs: Record<string, (text: string) => [program: string, args: string[]]> = {
  curl: (text) => ["bash", ["-c", text]],
  Python: (text) => ["python3", ["-c", text]],
  TypeScript: (text) => [process.execPath, ["--input-type=module", "-e", text]],
  CLI: (text) => ["bash", ["-c", text]],
};

const root = resolve(import.meta.dirname, "../..");

export interface Snippet {
  name: string;
  /** Runs it with an API key: what it prints. */
  run: (key: string) => Promise<string>;
}

/** The snippets that a page shows of what is so titled, without a title those of the whole page. */
export function snippetsOf(page: Page, title?: string, also: readonly "Go"[] = []): Promise<Snippet[]> {
  return Promise.all(
    [...Object.keys(programs), ...also].map(async (name) => {
      const of = title === undefined ? name : `${name}: ${title}`;
      const text = (await page.locator(`[data-snippet='${of}']`).textContent()) ?? "";
      return { name, run: (key: string) => inFolder((folder) => started(name, text, key, folder)) };
    }),
  );
}

/** Runs a command that a page has copied, with an API key: what it prints. */
export const runCommand = (text: string, key: string): Promise<string> =>
  inFolder((folder) => started("curl", text, key, folder));

async function started(name: string, text: string, key: string, folder: string): Promise<string> {
  const env = { ...process.env, CHARGEHAND_API_KEY: key, PATH: `${resolve(root, "bin")}:${process.env["PATH"]}` };
  const how = programs[name];
  if (how) {
    return (await exec(...how(text), { env, cwd: folder })).stdout;
  }
  // The client of Go is that of this repository.
  const source = join(folder, "main.go");
  await writeFile(source, text);
  return (await exec("go", ["run", source], { env, cwd: root })).stdout;
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "chargehand-snippet-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
