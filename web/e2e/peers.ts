import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/**
 * A port of 127.0.0.1 that was free a moment ago. It is below those that a system gives to programs that ask for any,
 * and below those of the servers that Go's tests start beside these.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 5000);
    const server = createServer().listen(port, "127.0.0.1");
    // oxlint-disable-next-line no-await-in-loop -- until one is free
    const free = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (free) {
      server.close();
      // oxlint-disable-next-line no-await-in-loop
      await once(server, "close");
      return port;
    }
  }
}

function portOf(server: NetServer): number {
  const address = server.address();
  if (address === null || typeof address === "string") {
    throw new Error("the server does not listen on a port");
  }
  return address.port;
}

/** IdentityProvider is an OpenID provider, of which a page asks who signs in. */
export class IdentityProvider {
  readonly url: string;
  readonly stop: () => void;

  private constructor(url: string, stop: () => void) {
    this.url = url;
    this.stop = stop;
  }

  static async start(): Promise<IdentityProvider> {
    const port = await freePort();
    const program = resolve(import.meta.dirname, "../../.cache/bin/authserver");
    const child = spawn(program, ["-port", String(port)], { stdio: "ignore" });
    const url = `http://127.0.0.1:${port}`;
    for (;;) {
      if (child.exitCode !== null) {
        throw new Error(`${program} has ended: run make setup`);
      }
      const answer = await fetch(`${url}/company/.well-known/openid-configuration`).catch(() => undefined);
      if (answer?.ok) {
        return new IdentityProvider(url, () => child.kill("SIGKILL"));
      }
      await pause(20); // it says nothing when it is ready
    }
  }
}

/** A mail as it came: to whom the envelope says, and its text. */
interface Mail {
  to: string;
  text: string;
}

/** MailServer takes every mail by SMTP, and keeps it. */
export class MailServer {
  readonly #server: NetServer;
  readonly #sockets = new Set<Socket>();
  readonly #mails: Mail[] = [];
  readonly #came = new EventEmitter();

  private constructor(server: NetServer) {
    this.#server = server;
    server.on("connection", (socket) => this.#talk(socket));
  }

  static async start(): Promise<MailServer> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new MailServer(server);
  }

  get url(): string {
    return `smtp://127.0.0.1:${portOf(this.#server)}`;
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }

  /** Waits for a mail to an address with a link to a page, and returns the link. */
  async linkTo(page: string, address: string): Promise<string> {
    const link = new RegExp(String.raw`https?://[^\s"]+${page}#token=[\w-]+`);
    for (;;) {
      const found = this.#mails.flatMap((mail) => (mail.to === address ? (link.exec(mail.text) ?? []) : []));
      if (found[0] !== undefined) {
        return found[0];
      }
      await once(this.#came, "mail");
    }
  }

  #talk(socket: Socket): void {
    let unread = "";
    let to = "";
    let inMail = false;
    this.#sockets.add(socket);
    socket.setEncoding("utf8");
    socket.write("220 mail.test ESMTP\r\n");
    socket.on("error", () => undefined); // the client is gone
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("data", (part: string) => {
      unread += part;
      for (;;) {
        const end = inMail ? "\r\n.\r\n" : "\r\n";
        const at = unread.indexOf(end);
        if (at < 0) {
          return;
        }
        const read = unread.slice(0, at);
        unread = unread.slice(at + end.length);
        if (inMail) {
          inMail = false;
          this.#mails.push({ to, text: decode(read) });
          this.#came.emit("mail");
          socket.write("250 taken\r\n");
          continue;
        }
        to = /^RCPT TO:<(.*?)>/i.exec(read)?.[1] ?? to;
        inMail = /^DATA$/i.test(read);
        const last = /^QUIT$/i.test(read);
        socket.write(inMail ? "354 go ahead\r\n" : last ? "221 bye\r\n" : "250 mail.test\r\n");
        if (last) {
          socket.end();
        }
      }
    });
  }
}

/** Undoes the quoted-printable encoding of a mail, whose links are of ASCII. */
function decode(mail: string): string {
  return mail
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
