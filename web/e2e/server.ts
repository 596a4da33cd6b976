import { spawn, type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export const binary = process.env["CHARGEHAND_TEST_BINARY"] ?? resolve(import.meta.dirname, "../../bin/chargehand");

/** The environment of this process without what the program reads: a shell may name an installation of people. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("CHARGEHAND_")));

/** How long a server takes at most to start or to end, on a machine that is busy with other tests. */
const limit = 120_000;

/** Server is the real program on a free port, with a data directory that ends with it. */
export class Server {
  url = "";
  readonly #args: string[];
  readonly #env: Record<string, string>;
  /** Its data directory. */
  readonly folder: string;
  #process: ChildProcess;
  #output: Output;

  private constructor(folder: string, args: string[], env: Record<string, string>) {
    this.folder = folder;
    this.#args = args;
    this.#env = env;
    this.#process = this.#spawn();
    this.#output = new Output(this.#process);
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
    const server = new Server(folder, args, env);
    await server.#ready();
    return server;
  }

  #spawn(): ChildProcess {
    return spawn(binary, this.#args, { stdio: ["ignore", "ignore", "pipe"], env: { ...environment(), ...this.#env } });
  }

  async #ready(): Promise<void> {
    this.url = await this.#output.find(/msg=listening url=(http\S+)/);
    while (!(await fetch(`${this.url}/readyz`)).ok) {
      await pause(5); // readiness has no other signal from outside
    }
  }

  /** The address that the server prints to make the first admin. */
  setupLink(): Promise<string> {
    return this.#output.find(/url="?(http\S+\/setup#token=[^\s"]+)/);
  }

  log(): string {
    return this.#output.text;
  }

  /** Milliseconds that the program was on a processor, in steps of ten. */
  processorTime(): number {
    // What proc(5) says of a process, behind its name: of those numbers the 12th and the 13th, in hundredths of a second.
    const [, after = ""] = readFileSync(`/proc/${this.#process.pid}/stat`, "utf8").split(") ");
    const [user, system] = after.split(" ").slice(11, 13).map(Number);
    return 10 * ((user ?? 0) + (system ?? 0));
  }

  /** Ends the program as a crash does. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  /** Starts the program that was killed, with the data that it had. Its address is another one then. */
  async again(): Promise<void> {
    this.#process = this.#spawn();
    this.#output = new Output(this.#process);
    await this.#ready();
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
    await rm(this.folder, { recursive: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, "exit", { signal: AbortSignal.timeout(limit) });
      this.#process.kill(signal);
      await ended;
    }
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
