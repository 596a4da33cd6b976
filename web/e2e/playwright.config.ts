import { defineConfig } from "@playwright/test";
import { chromium, flags } from "./chromium.ts";
import type { Options } from "./harness.ts";
import { full } from "./measure.ts";

/** Every story runs in three ways: with the pointer, with the keyboard alone, and without script. */
export default defineConfig<Options>({
  testDir: ".",
  testIgnore: [
    ...(process.env["CHARGEHAND_FIGURES"] ? [] : ["million.spec.ts"]),
    ...(full || process.env["CHARGEHAND_PICTURES"] ? [] : ["pictures.spec.ts"]),
    ...(full || process.env["CHARGEHAND_SOAK"] ? [] : ["soak.spec.ts"]),
  ],
  outputDir: "results/failed",
  workers: 2,
  fullyParallel: true,
  forbidOnly: Boolean(process.env["CI"]),
  // Limits for a machine that is busy with other tests. A test alone takes one to five seconds, and with the variants of
  // test/full five times as long.
  timeout: full ? 900_000 : 300_000,
  expect: { timeout: 60_000 },
  reporter: [["dot"], ["./report.ts"]],
  use: {
    browserName: "chromium",
    launchOptions: { executablePath: chromium(), args: flags },
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    // To keep what each page looked like after each step takes a sixth of all that the tests compute.
    trace: { mode: "retain-on-failure", screenshots: false, snapshots: full, sources: false },
    screenshot: "only-on-failure",
  },
  projects: [
    { name: "pointer", use: { way: "pointer" } },
    {
      name: "keyboard",
      use: { way: "keyboard" },
      testMatch: ["stories/*.spec.ts", "script/*.spec.ts"],
      // What people do every day runs by keyboard outside of test/full, too.
      ...(full ? {} : { grep: /@keyboard/ }),
    },
    {
      name: "without script",
      use: { way: "without script", javaScriptEnabled: false },
      testMatch: "stories/*.spec.ts",
    },
  ],
});
