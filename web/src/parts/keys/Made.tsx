import { Button } from "@mantine/core";
import type { ApiKey } from "../../api/keys.ts";
import { t } from "../../messages/index.ts";
import { apiKeysTexts } from "../../messages/keys.ts";
import { Dialog } from "../Dialog.tsx";
import { Snippet } from "../Snippet.tsx";
import { snippets } from "../snippets.ts";

/** The key itself, this once, and how programs use it. */
export function Made({ apiKey, close }: { apiKey: ApiKey; close: () => void }) {
  const texts = apiKeysTexts();
  if (apiKey.key === undefined) {
    return (
      <Dialog title={texts.lostTitle} close={close} stays size="lg">
        <p role="alert">{texts.lost}</p>
        <Button onClick={close}>{t().close}</Button>
      </Dialog>
    );
  }
  const line = `export CHARGEHAND_API_KEY=${apiKey.key}`;
  return (
    <Dialog title={texts.madeTitle} close={close} stays size="lg">
      <p>{texts.once}</p>
      <Snippet name={texts.variable} text={line} />
      <p>{texts.tryIt}</p>
      {snippets(location.origin).map(({ name, text }) => (
        <details key={name} open={name === "curl"}>
          <summary>{name}</summary>
          <Snippet name={name} text={text} />
        </details>
      ))}
      <Button onClick={close}>{texts.stored}</Button>
    </Dialog>
  );
}
