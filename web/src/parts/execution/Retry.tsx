import { Button, NativeSelect } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { retry } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { t } from "../../messages/index.ts";
import { executionTexts } from "../../messages/execution.ts";
import { formTexts } from "../../messages/workflows.ts";
import { Action } from "../Action.tsx";
import { Dialog } from "../Dialog.tsx";
import { hasLong } from "../form/value.ts";
import { Failure } from "../Notice.tsx";

interface Retrial {
  from?: string;
  input?: Record<string, unknown>;
  version?: "published";
}

/** Asks how to retry an execution: with which input and version, or from a task on, with the data it began with. */
export default function Retry({
  execution,
  from,
  close,
}: {
  execution: Execution;
  from?: { reference: string; name: string };
  close: () => void;
}) {
  const texts = executionTexts().actions;
  const navigate = useNavigate();
  const field = useId();
  const [key, setKey] = useState(() => crypto.randomUUID());
  const old = JSON.stringify(execution.input ?? {}, null, 2);
  const [text, setText] = useState(old);
  const [version, setVersion] = useState("same");
  const read = readObject(text, text !== old);
  // Another request has another key.
  const change = (set: (value: string) => void) => (event: { currentTarget: { value: string } }) => {
    set(event.currentTarget.value);
    setKey(crypto.randomUUID());
  };
  const start = useMutation({
    mutationFn: () => {
      const body: Retrial = {
        ...(from !== undefined && { from: from.reference }),
        ...(from === undefined && text !== old && read.value && { input: read.value }),
        ...(version === "published" && { version: "published" }),
      };
      return retry(execution, key, body);
    },
    onSuccess: (made) => {
      close();
      void navigate({ to: "/executions/$id", params: { id: made }, search: {} });
    },
  });
  return (
    <Dialog title={texts.retryTitle} close={close}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <p>{texts.retryText}</p>
        {from ? (
          <p>
            {texts.from} <code>{from.name}</code>. {texts.fromText}
          </p>
        ) : (
          <div className="field">
            <label htmlFor={field}>{texts.editInput}</label>
            <textarea
              id={field}
              rows={10}
              spellCheck={false}
              aria-describedby={`${field}-help`}
              aria-invalid={read.wrong !== undefined}
              value={text}
              onChange={change(setText)}
            />
            <span id={`${field}-help`} className={read.wrong === undefined ? "meta" : "complaint"}>
              {read.wrong ?? texts.editHelp}
            </span>
          </div>
        )}
        <NativeSelect
          label={texts.version}
          value={version}
          onChange={change(setVersion)}
          data={[
            { value: "same", label: texts.same(execution.workflow_version) },
            { value: "published", label: texts.published },
          ]}
        />
        {start.error && <Failure error={start.error} />}
        <div className="row">
          <Action type="submit" loading={start.isPending} disabled={read.wrong !== undefined}>
            {texts.retrySend}
          </Action>
          <Button variant="default" onClick={close}>
            {t().close}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Changed says that it would be sent: a number that this page has rounded must not be. */
function readObject(text: string, changed: boolean): { value?: Record<string, unknown>; wrong?: string } {
  if (changed && hasLong(text)) {
    return { wrong: formTexts().wrong.long };
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? { value: value as Record<string, unknown> }
      : { wrong: executionTexts().actions.notObject };
  } catch (error) {
    return { wrong: executionTexts().actions.notJson(error instanceof Error ? error.message : "") };
  }
}
