import { spawn, type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const binary = process.env["CHARGEHAND_TEST_BINARY"] ?? resolve(import.meta.dirname, "../../bin/chargehand");

/** How long a server takes at most to start or to end, on a machine that is busy with other tests. */
const limit = 30_000;

/** Server is the real program on a free port, with a data directory that ends with it. */
export class Server {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #output: Output;
  readonly #folder: string;

  private constructor(url: string, process: ChildProcess, output: Output, folder: string) {
    this.url = url;
    this.#process = process;
    this.#output = output;
    this.#folder = folder;
  }

  /** Starts a server with further flags, and waits until it is ready. Host is the name that browsers use for it. */
  static async start(flags: string[] = [], env: Record<string, string> = {}): Promise<Server> {
    if (!existsSync(binary)) {
      throw new Error(`there is no ${binary}: run make build`);
    }
    const folder = await mkdtemp(join(tmpdir(), "chargehand-pages-"));
    // Each test comes from an address of its own, because the server limits how often an address asks. It must be
    // one of this machine, because without TLS persons sign in from there only.
    const args = ["serve", "--data-dir", folder, "--trusted-proxy", "127.0.0.1", ...flags];
    if (!flags.includes("--listen")) {
      args.push("--listen", "127.0.0.1:0");
    }
    const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } });
    const output = new Output(child);
    const server = new Server(await output.find(/msg=listening url=(http\S+)/), child, output, folder);
    while (!(await fetch(`${server.url}/readyz`)).ok) {
      await pause(5); // readiness has no other signal from outside
    }
    return server;
  }

  /** The address that the server prints to make the first admin. */
  setupLink(): Promise<string> {
    return this.#output.find(/url="?(http\S+\/setup#token=[^\s"]+)/);
  }

  log(): string {
    return this.#output.text;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      this.#process.kill("SIGTERM");
      await once(this.#process, "exit", { signal: AbortSignal.timeout(limit) });
    }
    await rm(this.#folder, { recursive: true });
  }
}

/** Output is what a program says, and waits for a part of it. */
class Output {
  text = "";
  #ended = false;
  readonly #more = new EventEmitter();

  constructor(child: ChildProcess) {
    child.stderr?.setEncoding("utf8").on("data", (part: string) => {
      this.text += part;
      this.#more.emit("more");
    });
    child.on("exit", () => {
      this.#ended = true;
      this.#more.emit("more");
    });
  }

  async find(pattern: RegExp): Promise<string> {
    const signal = AbortSignal.timeout(limit);
    for (;;) {
      const found = pattern.exec(this.text)?.[1];
      if (found !== undefined) {
        return found;
      }
      if (this.#ended || signal.aborted) {
        throw new Error(`the server does not say ${pattern}:\n${this.text}`);
      }
      await once(this.#more, "more", { signal }).catch(() => undefined); // the next round says what is missing
    }
  }
}
