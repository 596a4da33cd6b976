import { useMutation } from "@tanstack/react-query";
import { previousQuestion, type Execution } from "../../api/executions.ts";
import { queries } from "../../api/query.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Failure } from "../Notice.tsx";
import type { Go } from "./address.ts";

/** Compares an execution with the one before, which is looked for when the person wants it. */
export function CompareToggle({ execution, compared, go }: { execution: Execution; compared: boolean; go: Go }) {
  const texts = executionTexts().timeline;
  const find = useMutation({
    mutationFn: () => queries.fetchQuery(previousQuestion(execution)),
    onSuccess: (id) => {
      if (id !== null) {
        go({ with: id });
      }
    },
  });
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          checked={compared || find.isPending}
          disabled={find.isPending}
          onChange={(event) => {
            if (event.currentTarget.checked) {
              find.mutate();
            } else {
              find.reset();
              go({ with: undefined });
            }
          }}
        />
        {texts.compare}
      </label>
      <span role="status">{!compared && find.data === null && texts.noPrevious}</span>
      {find.error && <Failure error={find.error} retry={() => find.mutate()} />}
    </>
  );
}
