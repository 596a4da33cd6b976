import { expect, test as base, type BrowserContext, type Page } from "@playwright/test";
import { Faults } from "./faults.ts";
import { Hand, type Way } from "./hand.ts";
import { inspect } from "./inspect.ts";
import { Admin, address, post, someone, type Person } from "./people.ts";
import { Server } from "./server.ts";
import { Watch } from "./watch.ts";

export { expect };

export interface Options {
  way: Way;
}

interface Shared {
  shared: { server: Server; admin: Admin };
}

interface Fixtures extends Options {
  /** The server that the tests of a worker share. A test that needs one of its own starts it with `fresh`. */
  server: Server;
  admin: Admin;
  fresh: (flags?: string[], env?: Record<string, string>) => Promise<Server>;
  /** A person that can sign in. */
  member: Person & { id: string };
  /** Gives the browser a session of a person, without the pages for that. */
  signIn: (person: Person, at?: { url: string }) => Promise<void>;
  /** Makes a person with a role, and gives the browser a session of theirs. */
  enter: (role: string, name?: string) => Promise<Person & { id: string }>;
  /** Stands before the server and spoils answers, for a browser that goes to its address. */
  faults: Faults;
  hand: Hand;
  /** Looks at the page, where the way does not matter once. */
  inspect: (name: string) => Promise<void>;
  /** What no page may do. The test fails at its end when something is left in it. */
  watch: Watch;
  /** Origins other than the server's that the test takes the browser to. */
  others: string[];
}

export const test = base.extend<Fixtures, Shared>({
  way: ["pointer", { option: true }],

  shared: [
    async ({}, use) => {
      const server = await Server.start();
      await use({ server, admin: await Admin.of(server) });
      await server.stop();
    },
    { scope: "worker" },
  ],
  server: ({ shared }, use) => use(shared.server),
  admin: ({ shared }, use) => use(shared.admin),

  fresh: async ({ others, watch }, use, info) => {
    const servers: Server[] = [];
    await use(async (flags, env) => {
      const server = await Server.start(flags, env);
      servers.push(server);
      others.push(server.url);
      return server;
    });
    watch.end();
    for (const server of servers) {
      await keepLog(server, info);
      await server.stop();
    }
  },

  member: async ({ admin }, use) => {
    const person = someone();
    await use({ ...person, id: await admin.admit(person) });
  },

  signIn: ({ context, server }, use) =>
    use(async ({ email, password }, at = server) => {
      const answer = await post(at, "/session", { email, password });
      const [name = "", value = ""] = (answer.headers.getSetCookie()[0] ?? "").split(";")[0]?.split("=") ?? [];
      await context.addCookies([{ name, value, url: at.url, httpOnly: true, sameSite: "Lax" }]);
    }),

  enter: ({ admin, signIn }, use) =>
    use(async (role, name) => {
      const person = someone(name);
      const id = await admin.admit(person, [{ role }]);
      await signIn(person);
      return { ...person, id };
    }),

  faults: async ({ server, others, watch }, use) => {
    const faults = await Faults.before(server);
    others.push(faults.url);
    await use(faults);
    watch.end();
    await faults.stop();
  },

  others: ({}, use) => use([]),
  extraHTTPHeaders: ({}, use) => use({ "X-Forwarded-For": address() }),
  baseURL: ({ server }, use) => use(server.url),

  watch: [
    async ({ context, server, others }, use, info) => {
      const watch = new Watch(context, () => [server.url, ...others]);
      await use(watch);
      expect(watch.take(), "what no page may do").toEqual([]);
      await keepLog(server, info);
    },
    { auto: true },
  ],

  hand: ({ page, way }, use) => use(new Hand(page, way)),
  inspect: ({ page, way }, use) => use(async (name) => (way === "pointer" ? inspect(page, name) : undefined)),
});

type Info = ReturnType<typeof test.info>;

/** Adds the log of a server to what is kept of a test that failed. */
async function keepLog(server: Server, info: Info): Promise<void> {
  if (info.status !== info.expectedStatus) {
    await info.attach("log of the server", { body: server.log(), contentType: "text/plain" });
  }
}

/** Continues after another sign-in. The page does so by itself where it has the focus again and sees the new session. */
export async function carryOn(page: Page) {
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  const button = dialog.getByRole("button", { name: "Continue" });
  await button.click({ timeout: 10_000 }).catch(() => expect(dialog, "it does not end by itself").toHaveCount(0));
  await expect(page.getByRole("dialog")).toHaveCount(0);
}

/** The cookies of a browser that carry a session. Another one tells that a person has signed in there before. */
export async function sessions(context: BrowserContext) {
  return (await context.cookies()).filter((c) => /^(__Host-chargehand|chargehand-\d+)$/.test(c.name));
}
