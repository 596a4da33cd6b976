import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test, type Page } from "@playwright/test";
import type * as axe from "axe-core";
import { full as everything } from "./measure.ts";

declare global {
  var axe: typeof import("axe-core"); // in the page
}

const engine = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const unset = { media: null, colorScheme: null, forcedColors: null, contrast: null, reducedMotion: null };

interface Variant {
  name: string;
  width: number;
  media?: Parameters<Page["emulateMedia"]>[0];
  spaced?: boolean;
}

/** How every page is looked at: each width and each colour scheme once, because axe takes its time. */
const usual: Variant[] = [
  { name: "1280-light", width: 1280, media: { colorScheme: "light" } },
  { name: "360-dark", width: 360, media: { colorScheme: "dark" } },
];

/** The other two, and what a person may set beside that. 320 pixels are those of 1280 at 400 %. */
const full: Variant[] = [
  { name: "1280-dark", width: 1280, media: { colorScheme: "dark" } },
  { name: "360-light", width: 360, media: { colorScheme: "light" } },
  { name: "400-percent", width: 320 },
  { name: "text-spacing", width: 1280, spaced: true },
  { name: "forced-colors", width: 1280, media: { forcedColors: "active" } },
  { name: "more-contrast", width: 360, media: { contrast: "more" } },
  { name: "more-contrast-dark", width: 360, media: { contrast: "more", colorScheme: "dark" } },
  { name: "reduced-motion", width: 1280, media: { reducedMotion: "reduce" } },
  { name: "print", width: 794, media: { media: "print" } },
];

const variants = everything ? [...usual, ...full] : usual;

/** The screens that axe looks at in a narrow dark window outside of test/full, too. */
const everywhere = new Set([
  "setup",
  "sign-in",
  "overview",
  "inbox-list",
  "inbox-task",
  "inbox-phone-task",
  "task-page",
  "task-page-refused",
  "executions",
  "execution",
  "workflows",
  "run",
  "batch-running",
  "editor",
  "api-keys",
]);

/** Whether pictures are kept. `make test`, whose pictures no person looks at, spends no time on them. */
const pictures = process.env["CHARGEHAND_PAGE_PICTURES"] !== "none";

/**
 * Looks at a page in its present state in all variants: axe finds nothing, nothing is wider than the window, and a
 * picture of it is kept in results/pages for people to look at.
 */
export async function inspect(page: Page, name: string): Promise<void> {
  // The same story has brought the pointer to the same screen, and axe takes a third of the time of all stories.
  if (test.info().project.name === "keyboard") {
    return;
  }
  const size = page.viewportSize();
  for (const variant of variants) {
    await test.step(`inspect ${name}, ${variant.name}`, async () => {
      await page.setViewportSize({ width: variant.width, height: 800 });
      await page.emulateMedia({ ...unset, ...variant.media });
      await space(page, variant.spaced === true);
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      if (pictures) {
        await page.screenshot({
          path: join(import.meta.dirname, "results", "pages", `${name}-${variant.name}.png`),
          fullPage: true,
        });
      }
      await expect.poll(() => sideways(page), "how much wider the page is than the window").toBe(0);
      if (everything || variant.width === 1280 || everywhere.has(name)) {
        // With forced colours axe reads the page's colours for text, and the system's for what is behind it.
        const apart = variant.media?.forcedColors === "active" ? ["color-contrast"] : [];
        // What moves has to come to rest first.
        await expect.poll(() => violations(page, apart), "what axe finds").toEqual([]);
      }
    });
  }
  await page.emulateMedia(unset);
  await space(page, false);
  if (size) {
    await page.setViewportSize(size);
  }
}

/** Spaces text as a person may want it (WCAG 1.4.12). No style element is made, which no page allows. */
export function space(page: Page, spaced: boolean): Promise<void> {
  return page.evaluate((on) => {
    const known = globalThis as { spacing?: CSSStyleSheet };
    if (!known.spacing) {
      known.spacing = new CSSStyleSheet();
      document.adoptedStyleSheets.push(known.spacing);
    }
    known.spacing.replaceSync(
      on
        ? "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }"
        : "",
    );
  }, spaced);
}

/** By how many pixels a page is wider than the window. */
export function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/**
 * What axe finds, with all of its rules but the experimental ones and those that are set apart. What a bar covers a
 * part of (that of the window's top, or of a selection) is measured again where nothing covers it; what is behind a modal
 * dialog cannot be pressed.
 */
export async function violations(page: Page, apart: string[] = []): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) {
    await page.evaluate(engine); // not by a script element, which no page allows
  }
  const results: axe.Result[] = await page.evaluate(async (off) => {
    const run = await globalThis.axe.run(document, {
      resultTypes: ["violations"],
      rules: { "target-size": { enabled: true }, ...Object.fromEntries(off.map((rule) => [rule, { enabled: false }])) },
    });
    const [x, y] = [scrollX, scrollY];
    for (const violation of run.violations.filter((v) => v.id === "target-size")) {
      const small = [];
      for (const node of violation.nodes) {
        const element = node.failureSummary?.includes("obscured") && document.querySelector(String(node.target[0]));
        if (element) {
          const modal = document.querySelector("dialog:modal");
          if (modal && !modal.contains(element)) {
            continue;
          }
          element.scrollIntoView({ block: "center" });
          const again = await globalThis.axe.run(element, { runOnly: ["target-size"] });
          if (again.violations.length === 0) {
            continue;
          }
        }
        small.push(node);
      }
      violation.nodes = small;
    }
    scrollTo(x, y);
    return run.violations;
  }, apart);
  return results.flatMap((r) => r.nodes.map((n) => `${r.id}: ${n.html}: ${n.failureSummary}`));
}
