import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server as Listener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What happens to a request in place of what the server would do. */
export type Fault =
  /** It is answered with an error, in the form of the API. */
  | { status: number; headers?: Record<string, string> }
  /** It is answered with this, by the address that was asked. */
  | { answer: (address: URL) => unknown }
  /** It waits until all is healed. */
  | "hold"
  /** Its connection breaks before an answer. */
  | "break"
  /** Its connection breaks in the middle of the answer, after this text. */
  | { cutAfter: string };

interface Rule {
  match: RegExp;
  fault: Fault;
  /** Each address is spoiled once only, whatever its query. */
  once: boolean;
  met: Set<string>;
}

/** Faults stands between a browser and a server, and does to answers what networks and busy servers do. */
export class Faults {
  /** Where the browser asks. */
  readonly url: string;
  /** What was asked so far, as "GET /api/v1/me". */
  readonly asked: string[] = [];
  /** The server may be another one later, when it has started again. */
  server: { url: string };
  /** How many streams of events are open. */
  streams = 0;
  readonly #listener: Listener;
  readonly #held: (() => void)[] = [];
  #rules: Rule[] = [];

  private constructor(server: { url: string }, listener: Listener) {
    this.server = server;
    this.#listener = listener;
    this.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    listener.on("request", (ask: IncomingMessage, answer: ServerResponse) => this.#meet(ask, answer));
  }

  static async before(server: { url: string }): Promise<Faults> {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    return new Faults(server, listener);
  }

  /** Spoils requests, by method and address; the newest rule that matches counts. */
  spoil(match: RegExp, fault: Fault, { once: only = false } = {}): void {
    this.#rules.unshift({ match, fault, once: only, met: new Set() });
  }

  /** From now on all is well again, for what has waited too. */
  heal(): void {
    this.#rules = [];
    this.#held.splice(0).forEach((resume) => resume());
  }

  async stop(): Promise<void> {
    this.#listener.close();
    this.#listener.closeAllConnections();
    await once(this.#listener, "close");
  }

  #meet(ask: IncomingMessage, answer: ServerResponse): void {
    const what = `${ask.method} ${ask.url}`;
    this.asked.push(what);
    const [path = ""] = what.split("?");
    const rule = this.#rules.find(({ match, once: only, met }) => match.test(what) && !(only && met.has(path)));
    rule?.met.add(path);
    const fault = rule?.fault;
    if (fault === undefined) {
      this.#pass(ask, answer);
    } else if (fault === "hold") {
      this.#held.push(() => this.#pass(ask, answer));
    } else if (fault === "break") {
      ask.socket.destroy();
    } else if ("cutAfter" in fault) {
      this.#pass(ask, answer, fault.cutAfter);
    } else if ("answer" in fault) {
      answer.setHeader("Content-Type", "application/json");
      answer.end(JSON.stringify(fault.answer(new URL(ask.url ?? "", this.url))));
    } else {
      const problem = { status: fault.status, code: "spoiled", title: `Spoiled with ${fault.status}` };
      answer.writeHead(fault.status, { "Content-Type": "application/problem+json", ...fault.headers });
      answer.end(JSON.stringify(problem));
    }
  }

  #pass(ask: IncomingMessage, answer: ServerResponse, cutAfter?: string): void {
    const { hostname, port } = new URL(this.server.url);
    const { method, url: path, headers } = ask;
    const on = request({ hostname, port, method, path, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      answer.flushHeaders();
      if (reply.headers["content-type"]?.startsWith("text/event-stream")) {
        this.streams++;
        answer.once("close", () => this.streams--);
      }
      let seen = "";
      reply.on("data", (part: Buffer) => {
        seen += part.toString("latin1");
        const at = cutAfter === undefined ? -1 : seen.indexOf(cutAfter);
        if (cutAfter === undefined || at < 0) {
          answer.write(part);
          return;
        }
        const kept = part.length - (seen.length - at - cutAfter.length);
        answer.write(part.subarray(0, kept), () => ask.socket.destroy());
        on.destroy();
      });
      reply.on("end", () => answer.end());
      reply.on("error", () => ask.socket.destroy());
    });
    on.on("error", () => ask.socket.destroy()); // the server is gone, and so is the connection to the browser
    answer.on("close", () => on.destroy());
    ask.pipe(on);
  }
}
