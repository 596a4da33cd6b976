import type { BrowserContext } from "@playwright/test";

/** Watch collects what no page may do, in all pages of a browser context. */
export class Watch {
  readonly #found: string[] = [];
  readonly #origins: () => string[];
  #ended = false;

  /** Origins are those that the test takes the browser to. */
  constructor(context: BrowserContext, origins: () => string[]) {
    this.#origins = origins;
    context.on("request", (request) => {
      if (!this.#own(request.url())) {
        this.#find(`a request to elsewhere: ${request.method()} ${request.url()}`);
      }
    });
    context.on("requestfailed", (request) => {
      // A navigation that another one replaces is aborted, and the page does not need it. A stream that breaks is opened
      // again.
      if (request.failure()?.errorText !== "net::ERR_ABORTED" && request.resourceType() !== "eventsource") {
        this.#find(`a request that failed: ${request.url()}: ${request.failure()?.errorText}`);
      }
    });
    context.on("response", (response) => {
      if (response.status() >= 400 && response.request().resourceType() !== "document") {
        this.#find(`${response.status()} for ${response.url()}`);
      }
    });
    context.on("console", (message) => {
      // A page that says what was wrong with a form is an answer with an error.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        this.#find(`on the console: ${message.text()}`);
      }
    });
    context.on("weberror", (error) => this.#find(`in a script: ${error.error().message}`));
  }

  #find(what: string): void {
    if (!this.#ended) {
      this.#found.push(what);
    }
  }

  /** What pages do from now on does not count: a server that they ask by themselves is about to stop. */
  end(): void {
    this.#ended = true;
  }

  #own(address: string): boolean {
    const url = new URL(address);
    return ["data:", "blob:", "about:"].includes(url.protocol) || this.#origins().includes(url.origin);
  }

  /** What was found and not taken. */
  seen(): readonly string[] {
    return this.#found;
  }

  /** What was found since the last call. */
  take(): string[] {
    return this.#found.splice(0);
  }
}
