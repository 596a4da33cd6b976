import { useQuery } from "@tanstack/react-query";
import { anyExecutionQuestion } from "../../api/executions.ts";
import { useMay } from "../../api/me.ts";
import { t } from "../../messages/index.ts";
import { overviewTexts } from "../../messages/overview.ts";
import { Empty, Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import { Command, example, FirstSteps, running } from "./FirstSteps.tsx";

/** What the overview says of a time in which nothing ran: how to begin, where nothing ever did. */
export function Quiet() {
  const may = useMay();
  const begins = may("workflows:write") || may("executions:create");
  const any = useQuery({ ...anyExecutionQuestion(), enabled: begins });
  if (begins && any.data === undefined) {
    return any.error ? <Failure error={any.error} retry={() => void any.refetch()} /> : <Waiting />;
  }
  if (any.data === false) {
    return <FirstSteps />;
  }
  return (
    <Empty text={overviewTexts().empty}>
      <p>{t().list.example}</p>
      <Command text={running(example)} />
    </Empty>
  );
}
