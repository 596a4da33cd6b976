import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { notice, noticeOfWorker } from "./scripts/notice.ts";
import { pack } from "./scripts/pack.ts";
import { size } from "./scripts/size.ts";

/** The development server stands before a server that `make run` has left. */
const server = process.env["CHARGEHAND_URL"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react(), notice(), pack(), size()],
  worker: { plugins: () => [noticeOfWorker()] },
  build: {
    target: "es2023",
    // Those that know light-dark(), which the tokens are made with.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: { polyfill: false },
    // What is small stays a file: the Content-Security-Policy allows no script or font in the page.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    manifest: "manifest.json",
    // What every page needs is one file: few requests, and it packs better than many.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: "frame", tags: ["$initial"], test: (id) => !/main\.tsx$|index\.html/.test(id) }],
        },
      },
    },
  },
  server: { proxy: { "/api": server, "/sign-in": server, "/setup": server } },
});
