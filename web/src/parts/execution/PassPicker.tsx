import { ActionIcon, TextInput } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { runsQuestion } from "../../api/detail.ts";
import { executionTexts } from "../../messages/execution.ts";
import type { TaskRow } from "./model.ts";

const cells = 500;

/** Chooses a pass of a loop. The strip shows where its failures are. */
export function PassPicker({
  execution,
  loop,
  passes,
  pass,
  pick,
}: {
  execution: string;
  loop: TaskRow;
  passes: number;
  pass: number;
  pick: (pass: number) => void;
}) {
  const texts = executionTexts().timeline;
  const asked = useQuery(runsQuestion(execution, { under: loop.reference, phase: ["faulted"] }));
  const failed = (asked.data?.runs ?? []).flatMap((run) =>
    run.iterations[0] === undefined ? [] : [run.iterations[0]],
  );
  const sorted = [...new Set(failed)].toSorted((a, b) => a - b);
  const before = sorted.findLast((other) => other < pass);
  const after = sorted.find((other) => other > pass);
  const width = Math.max(1, passes / cells);
  const marked = [...new Set(sorted.map((other) => Math.floor(other / width)))];
  const count = Math.ceil(passes / width);
  return (
    <div className="pass" role="group" aria-label={texts.passOf(loop.name)}>
      <span>
        <strong>{loop.name}</strong> <span className="meta">{texts.passes(passes)}</span>
      </span>
      <ActionIcon
        aria-label={texts.previousFailed}
        title={texts.previousFailed}
        disabled={before === undefined}
        onClick={() => before !== undefined && pick(before)}
      >
        <IconChevronLeft aria-hidden size={16} />
      </ActionIcon>
      <TextInput
        type="number"
        className="pass-number"
        aria-label={texts.passOf(loop.name)}
        min={1}
        max={passes}
        value={pass + 1}
        onChange={(event) => {
          const value = event.currentTarget.valueAsNumber;
          if (value >= 1 && value <= passes) {
            pick(Math.floor(value) - 1);
          }
        }}
      />
      <span className="meta">{texts.of(passes)}</span>
      <ActionIcon
        aria-label={texts.nextFailed}
        title={texts.nextFailed}
        disabled={after === undefined}
        onClick={() => after !== undefined && pick(after)}
      >
        <IconChevronRight aria-hidden size={16} />
      </ActionIcon>
      {/* The buttons and the field beside it do the same with keys. */}
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions */}
      <div
        className="strip"
        aria-hidden
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          pick(Math.min(passes - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * passes))));
        }}
      >
        {marked.map((cell) => (
          <span key={cell} style={{ left: `${(cell / count) * 100}%`, width: `${100 / count}%` }} />
        ))}
        <i style={{ left: `${(pass / passes) * 100}%` }} />
      </div>
      {asked.data?.more && <span className="meta">{texts.moreFailed}</span>}
    </div>
  );
}
