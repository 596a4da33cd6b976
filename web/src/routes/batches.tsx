import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { batchesQuestion, newestBatchesQuestion, type Batch } from "../api/batches.ts";
import { useWorkflowNames } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import { batchesTexts } from "../messages/batches.ts";
import { formatNumber } from "../messages/format.ts";
import { t } from "../messages/index.ts";
import { checked } from "../parts/checked.ts";
import { Copy, shortId } from "../parts/Copy.tsx";
import { pattern } from "../parts/filter.ts";
import { List, useLiveListing, type Listing } from "../parts/List.tsx";
import { LongTable, titled } from "../parts/LongTable.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { Progress, ProgressText, StateOfBatch } from "../parts/Progress.tsx";
import { useRows } from "../parts/rows.ts";
import { When } from "../parts/Time.tsx";

const route = getRouteApi("/batches");

/** Batches, the newest first, of one workflow or of all. */
export default function Batches() {
  const { workflow = "" } = route.useMatch({ select: checked });
  const navigate = useNavigate({ from: "/batches" });
  const enabled = workflow === "" || pattern.workflow.test(workflow) || pattern.id.test(workflow);
  const list = useInfiniteQuery({ ...batchesQuestion(workflow), enabled });
  const newest = useQuery({ ...newestBatchesQuestion(workflow), enabled: enabled && list.isSuccess });
  const listing = useLiveListing<Batch>(list, batchesQuestion(workflow).queryKey, newest);
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
        <Table key={workflow} listing={listing} />
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

function Table({ listing }: { listing: Listing<Batch> }) {
  const { rows, refresh, onward } = listing;
  const { current, choose } = useRows(refresh);
  const names = useWorkflowNames(rows.map((row) => row.workflow_id));
  const { columns, title } = batchesTexts();
  return (
    <LongTable
      name={title}
      columns={[
        columns.state,
        columns.batch,
        columns.progress,
        columns.items,
        columns.failed,
        columns.created,
        columns.by,
      ].map(titled)}
      rows={rows}
      atEnd={onward}
      renderRow={(row, index) => (
        <Row
          batch={row}
          name={names.get(row.workflow_id)}
          index={index}
          current={row.id === current}
          choose={() => choose(row.id)}
        />
      )}
    />
  );
}

function Row({
  batch,
  name,
  index,
  current,
  choose,
}: {
  batch: Batch;
  /** Of its workflow, once it is known. */
  name: string | undefined;
  index: number;
  current: boolean;
  choose: () => void;
}) {
  const texts = batchesTexts();
  const failed = batch.failed - batch.cancelled;
  return (
    <tr aria-rowindex={index} aria-current={current || undefined}>
      <td>
        <StateOfBatch batch={batch} />
      </td>
      <td>
        <Link className="main" to="/batches/$id" params={{ id: batch.id }} data-row={batch.id} onFocus={choose}>
          {name ?? texts.one(shortId(batch.id))}
        </Link>{" "}
        <span className="meta">{batch.workflow_version}</span> <code className="meta">{shortId(batch.id)}</code>
      </td>
      <td>
        <Progress batch={batch} /> <ProgressText batch={batch} />
      </td>
      <td className="number">
        <Counted wide={formatNumber(batch.total)} narrow={texts.failed(batch.total)} />
      </td>
      <td className="number">{failed > 0 && <Counted wide={formatNumber(failed)} narrow={texts.didFail(failed)} />}</td>
      <td>
        <When at={batch.created_at} />
      </td>
      <td className="meta">{batch.started_by?.name}</td>
    </tr>
  );
}

/** Without the heads of the columns, a number says what it counts. */
function Counted({ wide, narrow }: { wide: string; narrow: string }) {
  return (
    <>
      <span className="wide">{wide}</span>
      <span className="narrow">{narrow}</span>
    </>
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
