import { Button } from "@mantine/core";
import { Suspense, useState } from "react";
import type { OperationAction, Target } from "../../api/operations.ts";
import { Action } from "../Action.tsx";
import { later } from "../later.tsx";
import { operationsTexts } from "../../messages/operations.ts";
import { Export } from "./Export.tsx";
import type { Selection } from "./selection.ts";

const Bulk = later(() => import("./Bulk.tsx"));

const actions = ["retry", "cancel", "suspend", "resume", "delete"] as const;

/**
 * What can be done to the executions that are selected. It is drawn below the rows and is before them in the page, where
 * the keyboard is there after a few steps, however many rows follow.
 */
export function SelectionBar({
  selection,
  query,
  selectAll,
  clear,
}: {
  selection: Selection;
  query: () => Record<string, string[]>;
  selectAll: () => void;
  clear: () => void;
}) {
  const texts = operationsTexts();
  const [asked, setAsked] = useState<{ action: OperationAction; target: Target }>();
  const target = (): Target => (selection.all ? { query: query() } : { ids: selection.ids });
  if (!selection.all && selection.ids.length === 0) {
    return null;
  }
  return (
    <section className="selection" aria-label={texts.label}>
      <strong role="status">{selection.all ? texts.all : texts.selected(selection.ids.length)}</strong>
      <Button variant="subtle" aria-pressed={selection.all} onClick={selection.all ? clear : selectAll}>
        {texts.selectAll}
      </Button>
      {actions.map((action) => (
        <Action key={action} variant="default" onClick={() => setAsked({ action, target: target() })}>
          {texts.actions[action]}
        </Action>
      ))}
      <Export target={target} />
      <Button variant="subtle" onClick={clear}>
        {texts.none}
      </Button>
      <Suspense>
        {asked && <Bulk action={asked.action} target={asked.target} close={() => setAsked(undefined)} />}
      </Suspense>
    </section>
  );
}

/** Repeats all executions in a group of failures. */
export function RetryGroup({ query }: { query: () => Record<string, string[]> }) {
  const [target, setTarget] = useState<Target>();
  return (
    <>
      <Action variant="default" size="compact-sm" onClick={() => setTarget({ query: query() })}>
        {operationsTexts().retryThese}
      </Action>
      <Suspense>{target && <Bulk action="retry" target={target} close={() => setTarget(undefined)} />}</Suspense>
    </>
  );
}
