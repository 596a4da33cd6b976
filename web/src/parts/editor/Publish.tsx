import { TextInput } from "@mantine/core";
import { useState } from "react";
import type { Base } from "../../api/definitions.ts";
import type { Named } from "../../editor/path.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { workflowTexts } from "../../messages/workflows.ts";
import { Ask } from "../Ask.tsx";

/** Asks what a new version is for, and publishes it. */
export default function Publish({
  named,
  before,
  send,
  close,
}: {
  named: Named;
  before: Base;
  send: (message: string) => Promise<{ saved?: unknown; conflict?: true; error?: unknown }>;
  close: () => void;
}) {
  const texts = definitionTexts().editor;
  const [message, setMessage] = useState("");
  return (
    <Ask
      title={workflowTexts().publishTitle(named.version)}
      button={texts.publishNow}
      close={close}
      act={async () => {
        const { saved, conflict, error } = await send(message);
        if (error !== undefined) {
          throw error;
        }
        if (saved || conflict) {
          close(); // the page says the rest
        }
      }}
    >
      <p>{workflowTexts().publishHelp}</p>
      {before.version === named.version && !before.draft && <p>{texts.sameVersion(named.version)}</p>}
      <TextInput
        label={workflowTexts().message}
        description={texts.messageHelp}
        maxLength={1000}
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
      />
    </Ask>
  );
}
