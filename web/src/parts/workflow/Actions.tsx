import { Suspense, useState } from "react";
import { useMay } from "../../api/me.ts";
import type { WorkflowDetail } from "../../api/workflows.ts";
import { workflowTexts } from "../../messages/workflows.ts";
import { Action } from "../Action.tsx";
import { Copy } from "../Copy.tsx";
import { later } from "../later.tsx";
import { Menu } from "../Menu.tsx";

const Delete = later(() => import("./Delete.tsx"));

/** What a person wants of a workflow now and then. */
export function Actions({ workflow }: { workflow: WorkflowDetail }) {
  const texts = workflowTexts();
  const may = useMay();
  const [deleting, setDeleting] = useState(false);
  // What was ever published may go with this scope only.
  const mayDelete = may("workflows:write") && (workflow.published_version === undefined || may("workflows:publish"));
  return (
    <>
      <Menu name={texts.more} sign="⋯">
        {(close) => (
          <>
            <span className="meta">{texts.id}</span>
            <span className="id">
              <code>{workflow.id}</code>
              <Copy text={workflow.id} what={texts.id} />
            </span>
            {mayDelete && (
              <Action
                variant="default"
                color="red"
                onClick={() => {
                  close();
                  setDeleting(true);
                }}
              >
                {texts.delete}
              </Action>
            )}
          </>
        )}
      </Menu>
      {deleting && (
        <Suspense>
          <Delete workflow={workflow} close={() => setDeleting(false)} />
        </Suspense>
      )}
    </>
  );
}
