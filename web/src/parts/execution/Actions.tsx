import { IconBan, IconPlayerPause, IconPlayerPlay, IconRefresh } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { act, type ExecutionAction } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { useMay } from "../../api/me.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Action } from "../Action.tsx";
import { Failure } from "../Notice.tsx";
import { isFinal, stateOf } from "../state.ts";
import { later } from "../later.tsx";

const Cancel = later(() => import("./Cancel.tsx"));
const Retry = later(() => import("./Retry.tsx"));

/** What the person may do to an execution. Suspending is undone by resuming; the others ask first. */
export function Actions({ execution }: { execution: Execution }) {
  const may = useMay();
  const [dialog, setDialog] = useState<"cancel" | "retry">();
  const texts = executionTexts().actions;
  const pause = useMutation({
    mutationFn: (action: ExecutionAction) => act(execution, action, crypto.randomUUID()),
  });
  const close = () => setDialog(undefined);
  const state = stateOf(execution);
  if (!may("executions:manage")) {
    return null;
  }
  return (
    <>
      {isFinal(state) ? (
        <Action
          variant="default"
          leftSection={<IconRefresh aria-hidden size={14} />}
          onClick={() => setDialog("retry")}
        >
          {texts.retry}
        </Action>
      ) : (
        <>
          <Action
            variant="default"
            leftSection={
              state === "suspended" ? (
                <IconPlayerPlay aria-hidden size={14} />
              ) : (
                <IconPlayerPause aria-hidden size={14} />
              )
            }
            loading={pause.isPending}
            onClick={() => pause.mutate(state === "suspended" ? "resume" : "suspend")}
          >
            {state === "suspended" ? texts.resume : texts.suspend}
          </Action>
          <Action variant="default" leftSection={<IconBan aria-hidden size={14} />} onClick={() => setDialog("cancel")}>
            {texts.cancel}
          </Action>
        </>
      )}
      <span role="status" className="unseen">
        {pause.isSuccess && (pause.variables === "suspend" ? texts.suspended : texts.resumed)}
      </span>
      {pause.error && <Failure error={pause.error} />}
      <Suspense>
        {dialog === "cancel" && <Cancel execution={execution} close={close} />}
        {dialog === "retry" && <Retry execution={execution} close={close} />}
      </Suspense>
    </>
  );
}
