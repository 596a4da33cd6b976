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

let addresses = 0;

/** An address of this machine that no other test has. */
export function address(): string {
  addresses++;
  return `127.${1 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/** Admin is the first admin of a server, and does through the API what a test needs before it begins. */
export class Admin {
  readonly #server: Server;
  #cookie = "";

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Sets a server up. */
  static async of(server: Server): Promise<Admin> {
    const admin = new Admin(server);
    const token = new URL(await server.setupLink()).hash.slice("#token=".length);
    await admin.#post("/setup", { token, ...someone("Grace Hopper") });
    return admin;
  }

  /** Invites a viewer: the link that they get. */
  async invite(person: Person): Promise<string> {
    const answer = await this.#post("/users", {
      email: person.email,
      name: person.name,
      grants: [{ role: "viewer" }],
    });
    return (answer as { invitation: { url: string } }).invitation.url;
  }

  /** Makes a person that can sign in: their id. */
  async admit(person: Person): Promise<string> {
    const link = await this.invite(person);
    const token = new URL(link).hash.slice("#token=".length);
    const answer = await post(this.#server, "/invitation", { token, password: person.password });
    return ((await answer.json()) as { user: { id: string } }).user.id;
  }

  /** Lets a person set another password: the link that they get. */
  async reset(id: string): Promise<string> {
    const answer = await this.#post(`/users/${id}/reset`);
    return (answer as { url: string }).url;
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
export async function post(server: Server, path: string, body?: object, cookie = ""): Promise<Response> {
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    method: "POST",
    headers: {
      "X-Forwarded-For": address(),
      ...(body && { "Content-Type": "application/json" }),
      ...(cookie && { Cookie: cookie }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) {
    throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
  }
  return answer;
}
