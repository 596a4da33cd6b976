import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server as NetServer } from "node:net";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  server.close();
  await once(server, "close");
  return port;
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
