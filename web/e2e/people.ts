import type { BrowserContext } from "@playwright/test";
import type { Server } from "./server.ts";

export interface Person {
  name: string;
  email: string;
  password: string;
}

let people = 0;

/** A person that no server knows yet. */
export function someone(name = "Ada Lovelace"): Person {
  people++;
  return { name, email: `person-${process.pid}-${people}@example.com`, password: "a long walk by the river" };
}

/** Half of the time for which a sign-in is fresh. */
const half = 5 * 60 * 1000;

let addresses = 0;

/** An address of this machine that no other test has. */
export function address(): string {
  addresses++;
  return `127.${1 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/** Admin is the first admin of a server, and does through the API what a test needs before it begins. */
export class Admin {
  readonly #server: Server;
  readonly #person = someone("Grace Hopper");
  #cookie = "";
  #fresh = 0; // when it signed in, or confirmed that

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Sets a server up. */
  static async of(server: Server): Promise<Admin> {
    const admin = new Admin(server);
    const token = new URL(await server.setupLink()).hash.slice("#token=".length);
    await admin.#post("/setup", { token, ...admin.#person });
    admin.#fresh = Date.now();
    return admin;
  }

  /** Keeps the sign-in fresh, which changes of users ask for: on a slow machine the tests of a worker take long. */
  async #stayFresh(): Promise<void> {
    if (Date.now() - this.#fresh > half) {
      await this.#post("/session/verify", { password: this.#person.password });
      this.#fresh = Date.now();
    }
  }

  /** Invites a viewer: the link that they get. */
  async invite(person: Person, grants: object[] = [{ role: "viewer" }]): Promise<string> {
    await this.#stayFresh();
    const answer = await this.#post("/users", {
      email: person.email,
      name: person.name,
      grants,
    });
    return (answer as { invitation: { url: string } }).invitation.url;
  }

  /** Makes a person that can sign in: their id. */
  async admit(person: Person, grants?: object[]): Promise<string> {
    const link = await this.invite(person, grants);
    const token = new URL(link).hash.slice("#token=".length);
    const answer = await post(this.#server, "/invitation", { token, password: person.password });
    return ((await answer.json()) as { user: { id: string } }).user.id;
  }

  /** Lets a person set another password: the link that they get. */
  async reset(id: string): Promise<string> {
    await this.#stayFresh();
    const answer = await this.#post(`/users/${id}/reset`);
    return (answer as { url: string }).url;
  }

  /** Asks the API for anything as the first admin. */
  async call<T>(method: string, path: string, body?: object, environment = "live"): Promise<T> {
    await this.#stayFresh();
    const answer = await send(this.#server, method, path, body, {
      Cookie: this.#cookie,
      "Chargehand-Environment": environment,
    });
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  /** Gives a browser the session of the admin. */
  async enter(context: BrowserContext): Promise<void> {
    await this.#stayFresh();
    const [name = "", value = ""] = this.#cookie.split("=");
    await context.addCookies([{ name, value, url: this.#server.url, httpOnly: true, sameSite: "Lax" }]);
  }

  async #post(path: string, body?: object): Promise<unknown> {
    const answer = await post(this.#server, path, body, this.#cookie);
    const cookie = answer.headers.getSetCookie()[0];
    if (cookie !== undefined) {
      this.#cookie = cookie.split(";")[0] ?? "";
    }
    return answer.json();
  }
}

/** The answer to a program without a browser, for which a person types a code. */
export interface DeviceCode {
  device_code: string;
  user_code: string;
  verification_uri: string;
}

/** Asks for personal keys as a program without a browser does. */
export async function startDevice(server: Server, name: string): Promise<DeviceCode> {
  return (await (await post(server, "/device", { name })).json()) as DeviceCode;
}

/** Sends a body of JSON from an address of its own. It fails when the answer is an error. */
export function post(server: { url: string }, path: string, body?: object, cookie = ""): Promise<Response> {
  return send(server, "POST", path, body, cookie === "" ? {} : { Cookie: cookie });
}

async function send(
  server: { url: string },
  method: string,
  path: string,
  body: object | undefined,
  headers: Record<string, string>,
): Promise<Response> {
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    method,
    headers: { "X-Forwarded-For": address(), ...(body && { "Content-Type": "application/json" }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) {
    throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  }
  return answer;
}
