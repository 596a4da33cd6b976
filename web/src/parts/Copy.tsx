import { ActionIcon } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { t } from "../messages/index.ts";

/** A button that copies a text. */
export function Copy({ text, what }: { text: string; what: string }) {
  const clipboard = useClipboard({ timeout: 2000 });
  return (
    <>
      <ActionIcon
        variant="subtle"
        size={24}
        aria-label={t().copyOf(what)}
        title={t().copyOf(what)}
        onClick={() => clipboard.copy(text)}
      >
        {clipboard.copied ? <IconCheck aria-hidden size={14} /> : <IconCopy aria-hidden size={14} />}
      </ActionIcon>
      <span role="status" className="unseen">
        {clipboard.copied ? t().copied : ""}
      </span>
    </>
  );
}

/** The end of an id, which tells it apart, and a button for the whole. */
export const shortId = (id: string): string => id.slice(-8);
