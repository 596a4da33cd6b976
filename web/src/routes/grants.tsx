import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useId, useMemo, useState } from "react";
import { useMay } from "../api/me.ts";
import { grantsQuestion, type Grant } from "../api/people.ts";
import { namesQuestion, workflowPath, workflowQuestion } from "../api/workflows.ts";
import { t } from "../messages/index.ts";
import { peopleTexts } from "../messages/people.ts";
import { checked } from "../parts/checked.ts";
import { Action } from "../parts/Action.tsx";
import { List, useListing } from "../parts/List.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { GiveRole } from "../parts/people/GiveRole.tsx";
import { Grants } from "../parts/people/Grants.tsx";
import { useRows } from "../parts/rows.ts";
import { Undo, type Done } from "../parts/Undo.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/people.css";

const route = getRouteApi("/admin/grants");

/** Who may do what: all roles, or those that reach a workflow. The workflow is in the address. */
export default function GrantsPage() {
  const texts = peopleTexts();
  const { workflow } = route.useMatch({ select: checked });
  const navigate = useNavigate({ from: "/admin/grants" });
  const may = useMay();
  const [giving, setGiving] = useState(false);
  const [done, setDone] = useState<Done>();
  const [namespace = "", name = ""] = (workflow ?? "").split("/");
  const found = useQuery({ ...workflowQuestion(workflowPath(namespace, name)), enabled: workflow !== undefined });
  const id = found.data?.id;
  const list = useInfiniteQuery({ ...grantsQuestion(id), enabled: workflow === undefined || id !== undefined });
  const listing = useListing<Grant>(list, grantsQuestion(id).queryKey);
  const rows = useMemo(() => listing.rows.map((grant) => ({ id: grant.id, grant })), [listing.rows]);
  useRows(listing.refresh);
  const apply = (next: string) => void navigate({ search: next === "" ? {} : { workflow: next } });
  return (
    <Page title={texts.grants} actions={may("admin") && <Action onClick={() => setGiving(true)}>{texts.give}</Action>}>
      <p className="lead">{workflow === undefined ? texts.grantsHelp : texts.grantsOver(workflow)}</p>
      <Filter key={workflow ?? ""} workflow={workflow ?? ""} apply={apply} />
      {done && <Undo key={done.text} done={done} close={() => setDone(undefined)} />}
      {found.isLoadingError && <Failure error={found.error} retry={() => void found.refetch()} />}
      {found.isLoading && <Waiting />}
      <List listing={listing} nothing={<Empty text={texts.noGrants} />}>
        <Grants holders name={texts.grants} rows={rows} atEnd={listing.onward} done={setDone} />
      </List>
      {giving && <GiveRole close={() => setGiving(false)} />}
    </Page>
  );
}

function Filter({ workflow, apply }: { workflow: string; apply: (workflow: string) => void }) {
  const texts = peopleTexts();
  const [text, setText] = useState(workflow);
  const list = useId();
  const known = useQuery(namesQuestion(useDeferredValue(text))).data?.data ?? [];
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
          list={list}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <datalist id={list}>
          {known.map((each) => (
            <option key={each.id}>{`${each.namespace}/${each.name}`}</option>
          ))}
        </datalist>
        <Button type="submit" variant="default">
          {t().list.apply}
        </Button>
        {workflow !== "" && (
          <Button variant="subtle" onClick={() => apply("")}>
            {t().list.clear}
          </Button>
        )}
      </form>
    </search>
  );
}
