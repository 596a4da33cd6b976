import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { countQuestion } from "../../api/executions.ts";
import { formatExact } from "../../messages/format.ts";
import { executionsTexts } from "../../messages/executions.ts";
import type { Query } from "../filter.ts";
import { Failure } from "../Notice.tsx";

/** How many executions match, up to a bound, when the person asks. */
export function Count({ filter, query }: { filter: string; query: () => Query }) {
  const texts = executionsTexts();
  const [wanted, setWanted] = useState(false);
  const asked = useQuery({ ...countQuestion(filter, query), enabled: wanted });
  const found = asked.data;
  return (
    <>
      <Button
        variant="default"
        loading={asked.isFetching}
        onClick={() => (wanted ? void asked.refetch() : setWanted(true))}
      >
        {texts.countThem}
      </Button>
      <span role="status">
        {found && (
          <span
            title={
              found.examined_until === undefined
                ? undefined
                : texts.examined(formatExact(new Date(found.examined_until)))
            }
          >
            {found.at_least ? texts.atLeast(found.count) : texts.count(found.count)}
          </span>
        )}
      </span>
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
    </>
  );
}
