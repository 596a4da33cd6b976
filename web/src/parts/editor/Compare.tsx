import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { readable } from "../../api/definitions.ts";
import { versionQuestion, type Version, type WorkflowDetail } from "../../api/workflows.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { later } from "../later.tsx";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import type { Address, Go } from "../workflow/address.ts";
import "../../styles/editor.css";

const Diff = later(() => import("./Diff.tsx"));

/** How two versions of a workflow differ. */
export default function Compare({
  workflow,
  versions,
  address,
  go,
}: {
  workflow: WorkflowDetail;
  versions: readonly Version[];
  address: Address;
  go: Go;
}) {
  const texts = definitionTexts().compare;
  const to = address.to ?? versions[0]?.version ?? workflow.version;
  const from = address.from ?? versions.find((each) => each.version !== to)?.version ?? to;
  const layout = address.layout ?? "split";
  const names = [...new Set([...versions.map((each) => each.version), from, to])];
  const before = useQuery(versionQuestion(workflow.id, from));
  const after = useQuery(versionQuestion(workflow.id, to));
  const failed = [before, after].find((asked) => asked.error);
  const [a, b] = [textOf(before.data), textOf(after.data)];
  return (
    <section className="compare" aria-label={texts.title}>
      <h2>{texts.title}</h2>
      <div className="row conflict-bar">
        <NativeSelect
          label={texts.from}
          value={from}
          data={names}
          onChange={(event) => go({ from: event.currentTarget.value, to })}
        />
        <NativeSelect
          label={texts.to}
          value={to}
          data={names}
          onChange={(event) => go({ from, to: event.currentTarget.value })}
        />
        <div className="row" role="group" aria-label={texts.layout}>
          {(["split", "unified"] as const).map((each) => (
            <Button
              key={each}
              size="compact-sm"
              variant={each === layout ? "filled" : "default"}
              aria-pressed={each === layout}
              onClick={() => go({ from, to, layout: each })}
            >
              {texts[each]}
            </Button>
          ))}
        </div>
      </div>
      {failed && <Failure error={failed.error} retry={() => void failed.refetch()} />}
      {!failed && (a === undefined || b === undefined) && <Waiting />}
      {a !== undefined && b !== undefined && a === b && <p>{texts.same}</p>}
      {a !== undefined && b !== undefined && a !== b && (
        <Suspense fallback={<Waiting />}>
          <Diff a={{ text: a, label: from }} b={{ text: b, label: to }} layout={layout} />
        </Suspense>
      )}
    </section>
  );
}

const textOf = (version: Version | undefined): string | undefined => version && readable(version);
