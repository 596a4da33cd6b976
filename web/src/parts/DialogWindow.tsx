import { ActionIcon, Modal } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useEffect, useState, type ReactNode } from "react";
import { useLostSince } from "../api/connection.ts";
import { t } from "../messages/index.ts";

export interface DialogProps {
  title: string;
  close: () => void;
  /** Neither Escape nor a click beside it closes it, and it has no button for that. */
  stays?: boolean;
  size?: string;
  children: ReactNode;
}

export default function DialogWindow({ title, close, stays = false, size, children }: DialogProps) {
  useFocusBack();
  return (
    <Modal.Root
      opened
      onClose={close}
      closeOnClickOutside={!stays}
      closeOnEscape={!stays}
      {...(size !== undefined && { size })}
    >
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body className="dialog" ref={focusField}>
          <div className="dialog-head">
            <Modal.Title>{title}</Modal.Title>
            {!stays && (
              <ActionIcon aria-label={t().close} onClick={close}>
                <IconX aria-hidden size={16} />
              </ActionIcon>
            )}
          </div>
          <Held />
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

/** The field has the focus with the first picture of a dialog: Mantine gives it later, and what is typed before is lost. */
function focusField(body: HTMLElement | null): void {
  body?.querySelector<HTMLElement>("[data-autofocus]")?.focus({ preventScroll: true });
}

/** What had the focus when the dialog opened has it again: Mantine does that only for one that was in the page before. */
function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (document.activeElement === document.body && before instanceof HTMLElement && before.isConnected) {
        before.focus({ preventScroll: true });
      }
    },
    [before],
  );
}

/** Says in the dialog why its buttons do nothing: what says it on the page is behind the dialog. */
function Held() {
  const lost = useLostSince() !== undefined;
  return <div role="status">{lost && <p className="lost">{t().connection.held}</p>}</div>;
}
