import { PasswordInput } from "@mantine/core";
import "@mantine/core/styles/PasswordInput.css";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { changePassword, methodsQuestion } from "../../api/account.ts";
import { useMe } from "../../api/me.ts";
import { Problem } from "../../api/problem.ts";
import { securityTexts } from "../../messages/account.ts";
import { Action } from "../Action.tsx";
import { Ask } from "../Ask.tsx";
import { Failure } from "../Notice.tsx";

/** The password of the person, where the server has passwords. */
export function Password() {
  const texts = securityTexts();
  const { methods } = useMe().user;
  const usual = useQuery(methodsQuestion());
  const [open, setOpen] = useState(false);
  const [done, setDone] = useState(false);
  const has = methods.includes("password");
  if (usual.isLoadingError) {
    return (
      <section>
        <h2>{texts.password}</h2>
        <Failure error={usual.error} retry={() => void usual.refetch()} />
      </section>
    );
  }
  if (usual.data?.password !== true) {
    return null;
  }
  return (
    <section>
      <div className="page-head">
        <h2>{texts.password}</h2>
        <Action variant="default" onClick={() => setOpen(true)}>
          {has ? texts.changePassword : texts.setPassword}
        </Action>
      </div>
      <p className="lead" role="status">
        {done ? texts.passwordChanged : has ? texts.passwordSet : texts.passwordUnset}
      </p>
      {open && (
        <Change
          has={has}
          close={() => setOpen(false)}
          done={() => {
            setOpen(false);
            setDone(true);
          }}
        />
      )}
    </section>
  );
}

/** The server says 401 of an old password that is wrong. It is said at its field. */
async function send(before: string | undefined, next: string): Promise<void> {
  try {
    await changePassword(before, next);
  } catch (error) {
    if (error instanceof Problem && error.code === "invalid_credentials") {
      const { code, title, message } = error;
      throw new Problem(400, { code, title, errors: [{ pointer: "/old_password", detail: message }] });
    }
    throw error;
  }
}

function Change({ has, close, done }: { has: boolean; close: () => void; done: () => void }) {
  const texts = securityTexts();
  const [before, setBefore] = useState("");
  const [next, setNext] = useState("");
  const shared = {
    required: true,
    withAsterisk: false,
    visibilityToggleButtonProps: { "aria-label": texts.showPassword },
  };
  return (
    <Ask
      title={has ? texts.changePassword : texts.setPassword}
      button={has ? texts.changePassword : texts.setPassword}
      close={close}
      act={async () => {
        await send(has ? before : undefined, next);
        done();
      }}
    >
      {(at) => (
        <>
          <p>{texts.passwordHelp}</p>
          {has && (
            <PasswordInput
              {...shared}
              data-autofocus
              label={texts.oldPassword}
              autoComplete="current-password"
              value={before}
              error={at("/old_password")}
              aria-invalid={at("/old_password") !== undefined || undefined}
              onChange={(event) => setBefore(event.currentTarget.value)}
            />
          )}
          <PasswordInput
            {...shared}
            label={texts.newPassword}
            description={texts.newPasswordHelp}
            autoComplete="new-password"
            value={next}
            error={at("/password")}
            aria-invalid={at("/password") !== undefined || undefined}
            onChange={(event) => setNext(event.currentTarget.value)}
          />
        </>
      )}
    </Ask>
  );
}
