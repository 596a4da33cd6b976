import { expect, type Locator, type Page } from "@playwright/test";

/** How a person uses a page. */
export type Way = "pointer" | "keyboard" | "without script";

/** Hand fills in forms as a person does, with the pointer or with the keyboard alone. */
export class Hand {
  readonly #page: Page;
  readonly #way: Way;

  constructor(page: Page, way: Way) {
    this.#page = page;
    this.#way = way;
  }

  /** Opens a link that ends in #token=…. Script puts the token into the form; without it the person does. */
  async open(link: string): Promise<void> {
    const address = new URL(link);
    const token = address.hash.slice("#token=".length);
    if (this.#way === "without script") {
      address.hash = "";
      await this.#page.goto(address.href);
      await this.fill("Token", token);
      return;
    }
    // A browser that is at the page already would only move to the fragment.
    await this.#page.goto("about:blank");
    await this.#page.goto(link);
    await expect(this.#page.getByLabel("Token")).toHaveValue(token);
    address.hash = "";
    await expect(this.#page).toHaveURL(address.href);
  }

  async fill(label: string, text: string): Promise<void> {
    const field = this.#page.getByLabel(label, { exact: true });
    if (this.#way !== "keyboard") {
      await field.fill(text);
      return;
    }
    await this.#reach(field);
    await this.#page.keyboard.press("ControlOrMeta+a");
    await this.#page.keyboard.insertText(text);
  }

  async press(name: string): Promise<void> {
    const button = this.#page.getByRole("button", { name, exact: true });
    if (this.#way !== "keyboard") {
      await button.click();
      return;
    }
    await this.#reach(button);
    await expect(button).toBeEnabled(); // it may be held until the server answers again
    await this.#page.keyboard.press("Enter");
  }

  async follow(name: string): Promise<void> {
    const link = this.#page.getByRole("link", { name, exact: true });
    if (this.#way !== "keyboard") {
      await link.click();
      return;
    }
    await this.#reach(link);
    await this.#page.keyboard.press("Enter");
  }

  /**
   * Moves the focus with Tab to an element, and back where a long list is in the way. It can be seen at every stop on
   * the way.
   */
  async #reach(target: Locator): Promise<void> {
    await expect(target).toBeVisible();
    for (let stops = 0; stops < 150; stops++) {
      const { reached, wrong } = await target.evaluate(focused);
      expect(stops === 0 && !reached ? "" : wrong, "the focus can be seen").toBe("");
      if (reached) {
        return;
      }
      await this.#page.keyboard.press(stops < 50 ? "Tab" : "Shift+Tab");
    }
    throw new Error(`Tab does not reach ${target.toString()}`);
  }
}

/** What has the focus is inside the window, with an outline of two pixels or more. */
export async function expectVisibleFocus(page: Page): Promise<void> {
  const { wrong } = await page.locator("html").evaluate(focused);
  expect(wrong, "the focus can be seen").toBe("");
}

/** In the page: whether an element has the focus, and what is wrong with how that is seen of the one that has it. */
function focused(wanted: Element): { reached: boolean; wrong: string } {
  const element = document.activeElement;
  const reached = wanted === element;
  if (!element || element === document.body) {
    return { reached, wrong: "" }; // the browser itself has it
  }
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) {
    return { reached, wrong: `no outline around ${element.outerHTML}` };
  }
  if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth || box.width === 0) {
    return { reached, wrong: `outside of the window: ${element.outerHTML}` };
  }
  return { reached, wrong: "" };
}
