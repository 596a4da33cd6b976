import type { CDPSession, Page } from "@playwright/test";

/** Authenticator makes and keeps passkeys for a page, as a phone or a laptop does. */
export class Authenticator {
  readonly #session: CDPSession;
  readonly #id: string;

  private constructor(session: CDPSession, id: string) {
    this.#session = session;
    this.#id = id;
  }

  static async of(page: Page): Promise<Authenticator> {
    const session = await page.context().newCDPSession(page);
    await session.send("WebAuthn.enable");
    const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return new Authenticator(session, authenticatorId);
  }

  /** From now on the person is not who they say, as with a wrong finger. */
  async reject(): Promise<void> {
    await this.#session.send("WebAuthn.setUserVerified", { authenticatorId: this.#id, isUserVerified: false });
  }

  /** From now on the person is who they say. */
  async accept(): Promise<void> {
    await this.#session.send("WebAuthn.setUserVerified", { authenticatorId: this.#id, isUserVerified: true });
  }
}

/** The address of a server by a name: passkeys belong to a name, and an address is none. */
export const named = (url: string): string => url.replace("//127.0.0.1:", "//localhost:");
