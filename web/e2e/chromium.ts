import { existsSync } from "node:fs";
import { join } from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** The browser of this machine: what CHROMIUM names, or the first of the usual names that PATH has. */
export function chromium(): string {
  const named = process.env["CHROMIUM"];
  if (named) {
    return named;
  }
  for (const name of names) {
    for (const folder of (process.env["PATH"] ?? "").split(":")) {
      if (existsSync(join(folder, name))) {
        return join(folder, name);
      }
    }
  }
  throw new Error("there is no Chromium: run make setup, or name one with CHROMIUM");
}

/**
 * Parts of the browser that no test needs. With each window it would load two pages for its own address field, which
 * takes more of a processor than most of our pages do, and start a process for a page that may come. The others are
 * those that Playwright switches off: of two such lists a browser takes the last one.
 */
const unused = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "SpareRendererForSitePerProcess",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
];

/**
 * Root may not use Chromium's sandbox. The browser resolves no name but this machine's, so that nothing leaves it
 * even where a test does not look.
 */
export const flags = [
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
  "--disable-dev-shm-usage",
  `--disable-features=${unused.join(",")}`,
];
