import "../styles/mantine.ts";
import "../styles/index.css";
import { setNonce } from "get-nonce";
import { createRoot } from "react-dom/client";
import { preferredLanguage, setLanguage } from "../messages/index.ts";
import { density, setDensity } from "../parts/density.ts";
import { App } from "./App.tsx";

// Libraries make style elements. Without the nonce of this page, the Content-Security-Policy would refuse them.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
setNonce(nonce);

const root = document.getElementById("root");
if (root) {
  setDensity(density());
  await setLanguage(preferredLanguage());
  createRoot(root).render(<App nonce={nonce} />);
}
