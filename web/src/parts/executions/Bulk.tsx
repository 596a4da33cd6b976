import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import {
  previewQuestion,
  startOperation,
  type OperationAction,
  type Target,
  type Version,
} from "../../api/operations.ts";
import { operationsTexts } from "../../messages/operations.ts";
import { t } from "../../messages/index.ts";
import { Action } from "../Action.tsx";
import { Dialog } from "../Dialog.tsx";
import { Failure } from "../Notice.tsx";

/** From this number on, the person types it. */
const many = 100;

/** Says how many executions an action would act on, and starts it when the person wants that. */
export default function Bulk({
  action,
  target,
  close,
}: {
  action: OperationAction;
  target: Target;
  close: () => void;
}) {
  const texts = operationsTexts();
  const navigate = useNavigate();
  const preview = useQuery(previewQuestion(action, target));
  const [key, setKey] = useState(() => crypto.randomUUID());
  const [version, setVersion] = useState<Version>("same");
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState(false);
  const start = useMutation({
    mutationFn: () => startOperation(action, target, version, key),
    onSuccess: (id) => {
      close();
      void navigate({ to: "/operations/$id", params: { id } });
    },
  });
  const count = preview.data?.count ?? 0;
  return (
    <Dialog title={texts.titles[action]} close={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          const sure = count <= many || typed.trim() === String(count);
          setWrong(!sure);
          if (sure) {
            start.mutate();
          }
        }}
      >
        <p role="status">
          {preview.data
            ? count === 0
              ? texts.nothing
              : texts.would[action](preview.data.at_least ? texts.atLeast(count) : texts.count(count))
            : !preview.error && texts.counting}
        </p>
        <p className="meta">{texts.helps[action]}</p>
        {preview.error && <Failure error={preview.error} retry={() => void preview.refetch()} />}
        {action === "retry" && count > 0 && (
          <NativeSelect
            label={texts.version}
            value={version}
            onChange={(event) => {
              setVersion(event.currentTarget.value === "published" ? "published" : "same");
              setKey(crypto.randomUUID()); // another request
            }}
            data={(["same", "published"] as const).map((value) => ({ value, label: texts.versions[value] }))}
          />
        )}
        {count > many && (
          <TextInput
            label={texts.type(count)}
            inputMode="numeric"
            autoComplete="off"
            value={typed}
            error={wrong && texts.wrongCount(count)}
            onChange={(event) => {
              setTyped(event.currentTarget.value);
              setWrong(false);
            }}
          />
        )}
        {start.error && <Failure error={start.error} />}
        <div className="row">
          {count > 0 && (
            <Action type="submit" loading={start.isPending}>
              {texts.titles[action]}
            </Action>
          )}
          <Button variant="default" onClick={close}>
            {t().close}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
