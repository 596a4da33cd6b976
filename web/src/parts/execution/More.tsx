import { useMutation } from "@tanstack/react-query";
import { archiveAddress } from "../../api/archive.ts";
import type { Execution } from "../../api/executions.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Action } from "../Action.tsx";
import { Menu } from "../Menu.tsx";
import { Failure } from "../Notice.tsx";
import { saveFrom } from "../save.ts";

/** What a person wants of an execution now and then. */
export function More({ execution }: { execution: Execution }) {
  const texts = executionTexts().more;
  const archive = useMutation({ mutationFn: () => archiveAddress(execution.id) });
  return (
    <>
      <Menu name={texts.name} sign="⋯">
        {(close) => (
          <>
            <Action
              variant="default"
              loading={archive.isPending}
              onClick={() =>
                archive.mutate(undefined, {
                  onSuccess: (address) => {
                    close();
                    saveFrom(address);
                  },
                })
              }
            >
              {texts.archive}
            </Action>
            <p className="meta">{texts.archiveHelp}</p>
            {archive.error && <Failure error={archive.error} />}
          </>
        )}
      </Menu>
      <span role="status" className="unseen">
        {archive.isSuccess && texts.archived}
      </span>
    </>
  );
}
