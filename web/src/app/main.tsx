import "../styles/mantine.ts";
import "../styles/index.css";
import { setNonce } from "get-nonce";
import { createRoot } from "react-dom/client";
import { preferredLanguage, setLanguage } from "../messages/index.ts";
import { App } from "./App.tsx";

// Libraries make style elements. Without the nonce of this page, the Content-Security-Policy would refuse them.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
setNonce(nonce);

// After an upgrade of the server, a page that is still open asks for files that are gone. It is loaded again, once.
addEventListener("vite:preloadError", (event) => {
  const last = Number(sessionStorage.getItem("chargehand-reloaded") ?? 0);
  if (Date.now() - last > 60_000) {
    event.preventDefault();
    sessionStorage.setItem("chargehand-reloaded", String(Date.now()));
    location.reload();
  }
});

const root = document.getElementById("root");
if (root) {
  await setLanguage(preferredLanguage());
  createRoot(root).render(<App nonce={nonce} />);
}
