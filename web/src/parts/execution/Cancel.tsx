import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { act } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Action } from "../Action.tsx";
import { Dialog } from "../Dialog.tsx";
import { Failure } from "../Notice.tsx";

/** Asks before an execution is cancelled. */
export default function Cancel({ execution, close }: { execution: Execution; close: () => void }) {
  const texts = executionTexts().actions;
  const [key] = useState(() => crypto.randomUUID());
  const cancel = useMutation({ mutationFn: () => act(execution, "cancel", key), onSuccess: close });
  return (
    <Dialog title={texts.cancelTitle} close={close}>
      <p>{texts.cancelText}</p>
      {cancel.error && <Failure error={cancel.error} />}
      <div className="row">
        <Action color="red" loading={cancel.isPending} onClick={() => cancel.mutate()}>
          {texts.cancelSend}
        </Action>
        <Button variant="default" onClick={close}>
          {texts.keep}
        </Button>
      </div>
    </Dialog>
  );
}
