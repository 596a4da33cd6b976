import { Button, PasswordInput } from "@mantine/core";
import "@mantine/core/styles/PasswordInput.css";
import { useState, type ReactNode } from "react";
import { verifySession } from "../api/keys.ts";
import { Problem } from "../api/problem.ts";
import { t } from "../messages/index.ts";
import { verifyTexts } from "../messages/account.ts";
import { Dialog } from "./Dialog.tsx";
import { Failure } from "./Notice.tsx";

/**
 * A dialog that does something when the person says so. If the server wants a fresh sign-in first, it asks for the
 * password, and does it then. What was typed stays until it is done.
 */
export function Ask({
  title,
  button,
  danger = false,
  act,
  close,
  children,
}: {
  title: string;
  button: string;
  danger?: boolean;
  act: () => Promise<void>;
  close: () => void;
  children: ReactNode;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [password, setPassword] = useState("");
  const stale = error instanceof Problem && error.code === "fresh_sign_in_required";
  const [verifying, setVerifying] = useState(false);
  const send = async () => {
    setBusy(true);
    try {
      if (verifying) {
        await verifySession(password);
        setVerifying(false);
      }
      await act();
    } catch (problem) {
      setError(problem);
      setVerifying(verifying || (problem instanceof Problem && problem.code === "fresh_sign_in_required"));
    }
    setBusy(false);
  };
  return (
    <Dialog title={title} close={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {children}
        {error !== undefined && !stale && <Failure error={error} />}
        {verifying && (
          <>
            <p>{verifyTexts().text}</p>
            <PasswordInput
              label={verifyTexts().password}
              autoComplete="current-password"
              required
              withAsterisk={false}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
              visibilityToggleButtonProps={{ "aria-label": verifyTexts().show }}
            />
            <a href="/sign-in">{verifyTexts().otherwise}</a>
          </>
        )}
        <div className="row">
          <Button type="submit" loading={busy} {...(danger && { color: "red" })}>
            {button}
          </Button>
          <Button variant="default" onClick={close}>
            {t().cancel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
