import { Button } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { archiveAddress } from "../../api/archive.ts";
import type { Execution } from "../../api/executions.ts";
import { useMay } from "../../api/me.ts";
import { executionTexts } from "../../messages/execution.ts";
import { t } from "../../messages/index.ts";
import { Action } from "../Action.tsx";
import { later } from "../later.tsx";
import { Menu } from "../Menu.tsx";
import { Failure } from "../Notice.tsx";
import { saveFrom } from "../save.ts";
import { startAgain } from "../workflow/snippets.ts";

const Definition = later(() => import("./Definition.tsx"));

/** What a person wants of an execution now and then. */
export function More({ execution }: { execution: Execution }) {
  const texts = executionTexts().more;
  const may = useMay();
  const [reading, setReading] = useState(false);
  const clipboard = useClipboard({ timeout: 2000 });
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
            {may("workflows:read") && (
              <Button
                variant="default"
                onClick={() => {
                  close();
                  setReading(true);
                }}
              >
                {texts.definition}
              </Button>
            )}
            {may("executions:create") && (
              <>
                <Button variant="default" onClick={() => clipboard.copy(startAgain(location.origin, execution))}>
                  {clipboard.copied ? t().copied : texts.curl}
                </Button>
                <p className="meta">{texts.curlHelp}</p>
                {clipboard.error && <p role="alert">{texts.notCopied}</p>}
              </>
            )}
          </>
        )}
      </Menu>
      <span role="status" className="unseen">
        {archive.isSuccess && texts.archived}
        {clipboard.copied && t().copied}
      </span>
      {reading && (
        <Suspense>
          <Definition execution={execution} close={() => setReading(false)} />
        </Suspense>
      )}
    </>
  );
}
