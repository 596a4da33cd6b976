import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { batchesQuestion, newestBatchesQuestion, type Batch } from "../api/batches.ts";
import { useWorkflowNames } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import { batchesTexts } from "../messages/batches.ts";
import { t } from "../messages/index.ts";
import { Copy, shortId } from "../parts/Copy.tsx";
import { List, useListing } from "../parts/List.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { Progress, ProgressText, StateOfBatch } from "../parts/Progress.tsx";
import { useRows } from "../parts/rows.ts";
import { When } from "../parts/Time.tsx";

const route = getRouteApi("/batches");
const shape = /^[A-Za-z0-9-]{1,63}\/[A-Za-z0-9-]{1,63}$/;

/** Batches, the newest first, of one workflow or of all. */
export default function Batches() {
  const { workflow = "" } = route.useSearch();
  const navigate = useNavigate({ from: "/batches" });
  const enabled = workflow === "" || shape.test(workflow);
  const list = useInfiniteQuery({ ...batchesQuestion(workflow), enabled });
  const newest = useQuery({ ...newestBatchesQuestion(workflow), enabled: enabled && list.isSuccess });
  const listing = useListing<Batch>(list, newest.data?.data, batchesQuestion(workflow).queryKey);
  const apply = (next: string) => void navigate({ search: next === "" ? {} : { workflow: next } });
  const unknown = list.error instanceof Problem && list.error.status === 404;
  const texts = batchesTexts();
  return (
    <Page title={texts.title}>
      <p className="lead">{texts.about}</p>
      <Filter key={`bar ${workflow}`} workflow={workflow} wrong={!enabled} apply={apply} />
      <List
        listing={listing}
        nothing={workflow === "" ? <Nothing /> : <Filtered text={texts.emptyFiltered} clear={() => apply("")} />}
        failure={unknown ? <Filtered text={texts.unknownWorkflow(workflow)} clear={() => apply("")} /> : undefined}
      >
        <Table key={workflow} rows={listing.rows} refresh={listing.refresh} />
      </List>
    </Page>
  );
}

function Filter({ workflow, wrong, apply }: { workflow: string; wrong: boolean; apply: (text: string) => void }) {
  const texts = batchesTexts();
  const [text, setText] = useState(workflow);
  return (
    <search>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault();
          apply(text.trim());
        }}
      >
        <TextInput
          className="text"
          data-search
          label={texts.workflow}
          placeholder={texts.workflowHelp}
          value={text}
          spellCheck={false}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit" variant="default">
          {t().list.apply}
        </Button>
        {workflow !== "" && (
          <Button variant="subtle" onClick={() => apply("")}>
            {t().list.clear}
          </Button>
        )}
      </form>
      {wrong && (
        <p role="alert" className="complaint">
          {texts.wrongWorkflow}
        </p>
      )}
    </search>
  );
}

function Table({ rows, refresh }: { rows: readonly Batch[]; refresh: () => void }) {
  const { current, choose } = useRows(refresh);
  const names = useWorkflowNames(rows.map((row) => row.workflow_id));
  const texts = batchesTexts();
  const { columns, title, one } = texts;
  return (
    <table className="list" aria-label={title}>
      <thead>
        <tr>
          <th scope="col">{columns.state}</th>
          <th scope="col">{columns.batch}</th>
          <th scope="col">{columns.progress}</th>
          <th scope="col">{columns.items}</th>
          <th scope="col">{columns.failed}</th>
          <th scope="col">{columns.created}</th>
          <th scope="col">{columns.by}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} aria-current={row.id === current || undefined}>
            <td>
              <StateOfBatch batch={row} />
            </td>
            <td>
              <Link
                className="main"
                to="/batches/$id"
                params={{ id: row.id }}
                data-row={row.id}
                onFocus={() => choose(row.id)}
              >
                {names.get(row.workflow_id) ?? one(shortId(row.id))}
              </Link>{" "}
              <span className="meta">{row.workflow_version}</span> <code className="meta">{shortId(row.id)}</code>
            </td>
            <td>
              <Progress batch={row} /> <ProgressText batch={row} />
            </td>
            <td className="number">{texts.failed(row.total)}</td>
            <td className="number">{row.failed > row.cancelled && texts.didFail(row.failed - row.cancelled)}</td>
            <td>
              <When at={row.created_at} />
            </td>
            <td className="meta">{row.started_by?.name}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const example = "chargehand batch examples/enrich-order --items orders.csv";

function Nothing() {
  const texts = batchesTexts();
  return (
    <Empty text={texts.empty}>
      <p>{texts.emptyHelp}</p>
      <span className="command">
        <code>{example}</code>
        <Copy text={example} what={example} />
      </span>
    </Empty>
  );
}

function Filtered({ text, clear }: { text: string; clear: () => void }) {
  return (
    <Empty text={text}>
      <Button variant="default" onClick={clear}>
        {t().list.clear}
      </Button>
    </Empty>
  );
}
