import { TextInput } from "@mantine/core";
import { useState } from "react";
import { cancelBatch, type Batch } from "../../api/batches.ts";
import { batchesTexts } from "../../messages/batches.ts";
import { Ask } from "../Ask.tsx";

/** Asks before a batch is cancelled, and for a reason. */
export default function Cancel({ batch, close }: { batch: Batch; close: () => void }) {
  const texts = batchesTexts();
  const [once] = useState(() => crypto.randomUUID());
  const [reason, setReason] = useState("");
  return (
    <Ask
      danger
      title={texts.cancelTitle}
      button={texts.cancelIt}
      close={close}
      act={async () => {
        await cancelBatch(batch, reason.trim(), once);
        close();
      }}
    >
      <p>{texts.cancelHelp(batch.total - batch.completed - batch.failed)}</p>
      <TextInput
        data-autofocus
        label={texts.reason}
        description={texts.reasonHelp}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </Ask>
  );
}
