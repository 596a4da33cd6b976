import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { useMay } from "../../api/me.ts";
import { openQuestion, publish, versionsQuestion, type Version, type WorkflowDetail } from "../../api/workflows.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { t } from "../../messages/index.ts";
import { workflowTexts, workflowsTexts } from "../../messages/workflows.ts";
import { Action } from "../Action.tsx";
import { Ask } from "../Ask.tsx";
import { later } from "../later.tsx";
import { List, useSection } from "../List.tsx";
import { LongTable, titled } from "../LongTable.tsx";
import { When } from "../Time.tsx";
import { Waiting } from "../Waiting.tsx";
import type { Address, Go } from "./address.ts";

const Compare = later(() => import("../editor/Compare.tsx"));

/** The versions of a workflow: who made them, why, and what still runs on them. */
export function Versions({ workflow, address, go }: { workflow: WorkflowDetail; address: Address; go: Go }) {
  const texts = workflowTexts();
  const list = useInfiniteQuery(versionsQuestion(workflow.id));
  const [chosen, setChosen] = useState<Version>();
  const listing = useSection<Version>(list, versionsQuestion(workflow.id).queryKey);
  const { rows } = listing;
  const since = rows.find((row) => current(row, workflow))?.created_at ?? "";
  return (
    <>
      <List listing={listing} nothing={null}>
        <LongTable
          name={texts.tabs.versions}
          columns={[texts.version, texts.message, texts.by, texts.changed, texts.open, t().list.actions].map(titled)}
          rows={rows.map((row) => ({ ...row, id: row.version }))}
          renderRow={(row, index) => (
            <Row
              version={row}
              workflow={workflow}
              index={index}
              older={row.created_at < since}
              choose={() => setChosen(row)}
            />
          )}
        />
      </List>
      {rows.length > 1 && address.from === undefined && (
        <div className="below">
          <Button variant="default" onClick={() => go({ from: rows[1]?.version, to: rows[0]?.version })}>
            {definitionTexts().compare.open}
          </Button>
        </div>
      )}
      {address.from !== undefined && (
        <Suspense fallback={<Waiting />}>
          <Compare workflow={workflow} versions={rows} address={address} go={go} />
        </Suspense>
      )}
      {chosen && (
        <Publish
          workflow={workflow}
          version={chosen}
          older={chosen.created_at < since}
          close={() => setChosen(undefined)}
        />
      )}
    </>
  );
}

const nameOf = (workflow: WorkflowDetail) => `${workflow.namespace}/${workflow.name}`;

/** Whether a version, as it is now, is what is started. */
const current = (version: Version, workflow: WorkflowDetail) =>
  version.version === workflow.published_version && version.published_revision === version.revision;

function Row({
  version,
  workflow,
  index,
  older,
  choose,
}: {
  version: Version;
  workflow: WorkflowDetail;
  /** In the table. */
  index: number;
  /** Than the one that is started. */
  older: boolean;
  choose: () => void;
}) {
  const texts = workflowTexts();
  const may = useMay();
  const { namespace, name } = workflow;
  const is = current(version, workflow);
  return (
    <tr aria-rowindex={index}>
      <td>
        <span className="row">
          <Link
            className="main"
            to="/workflows/$namespace/$name"
            params={{ namespace, name }}
            search={is ? {} : { version: version.version }}
          >
            {version.version}
          </Link>
          {is && <span className="badge badge-accent">{texts.published}</span>}
          {version.draft && <span className="badge">{workflowsTexts().draft}</span>}
        </span>
      </td>
      <td className="cut" title={version.message}>
        {version.message}
      </td>
      <td className="meta">{version.created_by?.name}</td>
      <td className="meta">
        <When at={version.updated_at} />
      </td>
      <td>
        <Open workflow={nameOf(workflow)} version={version.version} />
      </td>
      <td>
        {!is && may("workflows:publish") && (
          <Action
            variant="default"
            size="compact-sm"
            aria-label={older ? texts.rollBackTitle(version.version) : texts.publishTitle(version.version)}
            onClick={choose}
          >
            {older ? texts.rollBack : texts.publish}
          </Action>
        )}
      </td>
    </tr>
  );
}

/** How many executions of a version have not ended. */
function Open({ workflow, version }: { workflow: string; version: string }) {
  const asked = useQuery(openQuestion(workflow, version));
  if (!asked.data || asked.data.count === 0) {
    return asked.data ? <span className="meta">0</span> : null;
  }
  const states = "state:queued state:running state:waiting state:suspended";
  return (
    <Link to="/executions" search={{ filter: `${states} workflow:${workflow} version:${version}` }}>
      {workflowTexts().openCount(asked.data.count, asked.data.at_least)}
    </Link>
  );
}

function Publish({
  workflow,
  version,
  older,
  close,
}: {
  workflow: WorkflowDetail;
  version: Version;
  older: boolean;
  close: () => void;
}) {
  const texts = workflowTexts();
  const [once] = useState(() => crypto.randomUUID());
  const before = workflow.published_version;
  const open = useQuery({ ...openQuestion(nameOf(workflow), before ?? ""), enabled: before !== undefined });
  return (
    <Ask
      title={older ? texts.rollBackTitle(version.version) : texts.publishTitle(version.version)}
      button={older ? texts.rollBack : texts.publish}
      close={close}
      act={async () => {
        await publish(workflow.id, version, once);
        close();
      }}
    >
      <p>{texts.publishHelp}</p>
      {before !== undefined && open.data && open.data.count > 0 && (
        <p>{texts.staying(texts.openCount(open.data.count, open.data.at_least), before)}</p>
      )}
    </Ask>
  );
}
