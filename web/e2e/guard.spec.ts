// The guards of all tests, each with what it must find.
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, test } from "./harness.ts";
import { expectVisibleFocus } from "./hand.ts";
import { sideways, violations } from "./inspect.ts";

test("a style and a script in the page violate the policy, and are found", async ({ page, watch }) => {
  await page.goto("/sign-in");
  await page.evaluate(() => {
    const style = document.createElement("style");
    style.textContent = "body { color: red }";
    const script = document.createElement("script");
    script.textContent = "document.title = 'mine'";
    document.head.append(style, script);
  });
  await expect(page).toHaveTitle(/^Sign in/);
  await expect.poll(() => watch.seen()).toHaveLength(2);
  const found = watch.take().join("\n");
  expect(found).toContain("style-src 'self'");
  expect(found).toContain("script-src 'self'");
});

test("a request to elsewhere is found", async ({ page, watch }) => {
  const elsewhere = createServer((_, answer) => answer.end()).listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
  await page.goto(url);
  elsewhere.close();
  expect(watch.take()).toContain(`a request to elsewhere: GET ${url}`);
});

test("an error in a script and a file that is not there are found", async ({ page, watch }) => {
  await page.goto("/sign-in");
  await page.evaluate(async () => {
    const image = new Image();
    image.src = "/assets/nothing.png";
    await new Promise((done) => image.addEventListener("error", done));
    queueMicrotask(() => {
      throw new Error("thrown by the test");
    });
  });
  await expect.poll(() => watch.seen()).toHaveLength(2);
  const found = watch.take().join("\n");
  expect(found).toContain("/assets/nothing.png");
  expect(found).toContain("thrown by the test");
});

test("a page that is too wide, a label without its field and a hidden focus are found", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 800 });
  await page.goto("/sign-in");
  expect(await sideways(page)).toBe(0);
  await page.evaluate(() => {
    const main = document.querySelector("main");
    const email = document.querySelector<HTMLInputElement>("#email");
    if (!main || !email) {
      throw new Error("the page has no form");
    }
    main.style.minWidth = "500px";
    email.style.outline = "none";
    email.focus();
    document.querySelector("label[for=email]")?.remove();
  });
  expect(await sideways(page)).toBeGreaterThan(100);
  expect((await violations(page)).join()).toContain("label: ");
  await expect(expectVisibleFocus(page)).rejects.toThrow("no outline");
});
