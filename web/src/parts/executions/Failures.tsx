import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { failuresQuestion } from "../../api/executions.ts";
import { useWorkflowNames } from "../../api/names.ts";
import { executionsTexts } from "../../messages/executions.ts";
import { formatExact, formatNumber } from "../../messages/format.ts";
import { shortId } from "../Copy.tsx";
import { filterOf, type Query, type Term } from "../filter.ts";
import { Empty, Failure } from "../Notice.tsx";
import { When } from "../Time.tsx";
import { Waiting } from "../Waiting.tsx";

/** What failed, by cause: which workflow and task, with which error, how often, and an example of each. */
export function Failures({
  filter,
  terms,
  query,
  children,
}: {
  filter: string;
  terms: readonly Term[];
  query: () => Query;
  /** What can be done to the executions in a group, by their filter. */
  children: (filter: string) => ReactNode;
}) {
  const texts = executionsTexts().groups;
  const asked = useQuery(failuresQuestion(filter, query));
  const names = useWorkflowNames(asked.data?.data.map((group) => group.workflow_id) ?? []);
  if (asked.error) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (!asked.data) {
    return <Waiting />;
  }
  const { data: groups, examined_until: until } = asked.data;
  if (groups.length === 0) {
    return <Empty text={texts.none} />;
  }
  return (
    <>
      <table className="list groups" aria-label={texts.title}>
        <thead>
          <tr>
            <th scope="col">{texts.count}</th>
            <th scope="col">{texts.cause}</th>
            <th scope="col">{texts.workflow}</th>
            <th scope="col">{texts.first}</th>
            <th scope="col">{texts.last}</th>
            <th scope="col">{texts.actions}</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => {
            const workflow = names.get(group.workflow_id);
            const wanted = workflow === undefined ? undefined : filterOf(group, workflow, terms);
            return (
              <tr key={`${group.workflow_id} ${group.code} ${group.failure}`}>
                <td className="number">{formatNumber(group.count)}</td>
                <td className="cause">
                  <strong>{group.code}</strong> {group.detail}{" "}
                  {group.reference !== undefined && <code className="meta">{group.reference}</code>}
                </td>
                <td>{workflow ?? shortId(group.workflow_id)}</td>
                <td>
                  <span className="narrow meta">{texts.first} </span>
                  <When at={group.first_at} />
                </td>
                <td>
                  <span className="narrow meta">{texts.last} </span>
                  <When at={group.last_at} />
                </td>
                <td>
                  <span className="row">
                    {wanted !== undefined && (
                      <Link to="/executions" search={{ filter: wanted }}>
                        {texts.show(group.count)}
                      </Link>
                    )}
                    <Link to="/executions/$id" params={{ id: group.sample_id }}>
                      {texts.example}
                    </Link>
                    {wanted !== undefined && children(wanted)}
                  </span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {asked.data.at_least && (
        <p className="meta">{until === undefined ? texts.more : texts.until(formatExact(new Date(until)))}</p>
      )}
    </>
  );
}
