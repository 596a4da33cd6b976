import { NativeSelect } from "@mantine/core";
import { useState } from "react";
import { rotateKey, type ApiKey, type Grace } from "../../api/keys.ts";
import { apiKeysTexts } from "../../messages/keys.ts";
import { Ask } from "../Ask.tsx";

const graces: readonly Grace[] = ["0s", "1h", "24h", "7d"];

/** Gives a key another secret; for a while the old one counts too. */
export function Rotate({ apiKey, close, made }: { apiKey: ApiKey; close: () => void; made: (key: ApiKey) => void }) {
  const texts = apiKeysTexts();
  const [once, setOnce] = useState(() => crypto.randomUUID());
  const [grace, setGrace] = useState<Grace>("24h");
  return (
    <Ask
      title={texts.rotateTitle(apiKey.name)}
      button={texts.rotate}
      close={close}
      act={async () => made(await rotateKey(apiKey, grace, once))}
    >
      <p>{texts.rotateHelp}</p>
      <NativeSelect
        label={texts.grace}
        value={grace}
        onChange={(event) => {
          setGrace(event.currentTarget.value as Grace);
          setOnce(crypto.randomUUID());
        }}
        data={graces.map((value) => ({ value, label: texts.graces[value] }))}
      />
    </Ask>
  );
}
