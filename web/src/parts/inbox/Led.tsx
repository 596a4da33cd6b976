import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { executionQuestion } from "../../api/executions.ts";
import { Problem } from "../../api/problem.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import type { Address } from "../execution/address.ts";
import { Timeline } from "../execution/Timeline.tsx";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import "../../styles/execution.css";

/** The timeline of the execution that asks. A task of it leads to the page of the execution. */
export default function Led({ execution: id }: { execution: string }) {
  const navigate = useNavigate();
  const asked = useQuery(executionQuestion(id));
  const [address, setAddress] = useState<Address>({ task: "/" });
  if (asked.error instanceof Problem && (asked.error.status === 404 || asked.error.status === 403)) {
    return <p>{tasksTexts().noExecution}</p>;
  }
  if (asked.error) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (!asked.data) {
    return <Waiting />;
  }
  return (
    <Timeline
      execution={asked.data}
      address={address}
      go={(change) => {
        const { task, pass } = change;
        if (task !== undefined && task !== "/") {
          void navigate({
            to: "/executions/$id",
            params: { id },
            search: { task, ...(pass !== undefined && { pass }) },
          });
        } else {
          const next = Object.entries({ ...address, ...change }).filter(([, value]) => value !== undefined);
          setAddress(Object.fromEntries(next) as Address);
        }
      }}
    />
  );
}
