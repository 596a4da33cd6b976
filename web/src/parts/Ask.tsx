import { Button, PasswordInput } from "@mantine/core";
import "@mantine/core/styles/PasswordInput.css";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useMe } from "../api/me.ts";
import { Problem } from "../api/problem.ts";
import { verifyAddress, verifyByPasskey, verifyByPassword } from "../api/verify.ts";
import { t } from "../messages/index.ts";
import { verifyTexts } from "../messages/account.ts";
import { Action } from "./Action.tsx";
import { Dialog } from "./Dialog.tsx";
import { Failure } from "./Notice.tsx";
import { passkeysWork } from "./passkeys.ts";

/** What the server says is wrong with the field at a pointer, or with a part of it. */
export type At = (pointer: string) => string | undefined;

const isStale = (error: unknown): boolean => error instanceof Problem && error.code === "fresh_sign_in_required";

/**
 * A dialog that does something when the person says so. If the server wants a fresh sign-in first, it asks for the
 * password or a passkey, and does it then. What was typed stays until it is done. Children that are a function show what
 * is wrong with their fields themselves.
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
  children: ReactNode | ((at: At) => ReactNode);
}) {
  const { methods } = useMe().user;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [password, setPassword] = useState("");
  const [verifying, setVerifying] = useState(false);
  const [refused, setRefused] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const able = methods.includes("password");
  const send = async (verify?: () => Promise<unknown>) => {
    setBusy(true);
    setRefused(false);
    try {
      if (verify) {
        await verify();
        setVerifying(false);
      }
      await act();
    } catch (problem) {
      if (problem instanceof DOMException) {
        setRefused(true); // the person gave up, or the device did not know them
      } else {
        setError(problem);
        setVerifying((before) => before || isStale(problem));
      }
    }
    setBusy(false);
  };
  useEffect(() => {
    if (error !== undefined) {
      form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
    }
  }, [error]);

  const shown = new Set<string>();
  const at: At = (pointer) => {
    const fields = error instanceof Problem ? error.fields : [];
    const wrong = fields.filter((field) => `${field.pointer ?? ""}/`.startsWith(`${pointer}/`));
    wrong.forEach((field) => shown.add(field.pointer ?? ""));
    return wrong.length > 0 ? wrong.map((field) => field.detail).join(" ") : undefined;
  };
  const content = typeof children === "function" ? children(at) : children;
  const said =
    error instanceof Problem && error.fields.length > 0 && error.fields.every((f) => shown.has(f.pointer ?? ""));
  return (
    <Dialog title={title} close={close}>
      <form
        ref={form}
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send(verifying && able ? () => verifyByPassword(password) : undefined);
        }}
      >
        {content}
        {error !== undefined && !isStale(error) && !said && <Failure error={error} />}
        {verifying && (
          <>
            <p role="status">{verifyTexts().text}</p>
            {able && (
              <PasswordInput
                label={verifyTexts().password}
                autoComplete="current-password"
                required
                withAsterisk={false}
                value={password}
                onChange={(event) => setPassword(event.currentTarget.value)}
                visibilityToggleButtonProps={{ "aria-label": verifyTexts().show }}
              />
            )}
            <Otherwise methods={methods} button={button} passkey={() => void send(verifyByPasskey)} />
            {refused && (
              <p role="alert" className="complaint">
                {verifyTexts().refused}
              </p>
            )}
          </>
        )}
        <div className="row">
          <Action type="submit" loading={busy} {...(danger && { color: "red" })}>
            {button}
          </Action>
          <Button variant="default" onClick={close}>
            {t().cancel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The ways to confirm a sign-in beside the password. */
function Otherwise({ methods, button, passkey }: { methods: readonly string[]; button: string; passkey: () => void }) {
  const texts = verifyTexts();
  const passkeys = methods.includes("passkey") && passkeysWork();
  const providers = methods
    .filter((method) => method.startsWith("oidc:"))
    .map((method) => method.slice("oidc:".length));
  return (
    <>
      {(passkeys || providers.length > 0) && (
        <div className="row">
          {passkeys && (
            <Action variant="default" onClick={passkey}>
              {texts.passkey}
            </Action>
          )}
          {providers.map((name) => (
            <Button key={name} variant="default" component="a" href={verifyAddress(name)} target="_blank">
              {texts.provider(name)}
            </Button>
          ))}
        </div>
      )}
      {providers.length > 0 && <p className="meta">{texts.providerHelp(button)}</p>}
    </>
  );
}
