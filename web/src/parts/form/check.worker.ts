import { check } from "./check.ts";
import type { Asked, Told } from "./checker.ts";

// A worker has no origin to name.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const tell = (told: Told) => self.postMessage(told);

self.addEventListener("message", ({ data: { schema, value } }: MessageEvent<Asked>) => {
  try {
    tell(check(schema, value));
  } catch {
    tell(undefined); // only the server can check by this schema
  }
});
tell("ready");
