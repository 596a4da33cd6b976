import { useInfiniteQuery } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";
import { versionsQuestion, type WorkflowDetail } from "../../api/workflows.ts";
import { formTexts } from "../../messages/workflows.ts";
import { fromClock } from "../../messages/zone.ts";

/** How an execution starts, beside its input. */
export interface More {
  labels: string; // name=value, one a line
  start: "now" | "after" | "at";
  amount: string;
  unit: "M" | "H" | "D";
  at: string;
  version: string; // empty: what is started usually
}

export const usual: More = { labels: "", start: "now", amount: "1", unit: "H", at: "", version: "" };

/** What is wrong with it, by the field of the request. */
export type MoreWrong = Partial<Record<"labels" | "delay" | "delay_until", string>>;

interface Read {
  body: { labels?: Record<string, string>; delay?: string; delay_until?: string };
  version: string | undefined;
  wrong: MoreWrong;
}

/** The request that says it. */
export function readMore({ labels, start, amount, unit, at, version }: More): Read {
  const texts = formTexts().more;
  const wrong: MoreWrong = {};
  const body: Read["body"] = {};
  const lines = labels.split("\n").flatMap((line) => line.trim() || []);
  const pairs = lines.map((line) => [line.split("=")[0]?.trim() ?? "", line.slice(line.indexOf("=") + 1).trim()]);
  if (lines.some((line) => line.indexOf("=") < 1)) {
    wrong.labels = texts.badLabel;
  } else if (pairs.length > 0) {
    body.labels = Object.fromEntries(pairs) as Record<string, string>;
  }
  if (start === "after") {
    if (!/^[1-9]\d*$/.test(amount)) {
      wrong.delay = texts.badAmount;
    }
    body.delay = unit === "D" ? `P${amount}D` : `PT${amount}${unit}`;
  } else if (start === "at") {
    const time = fromClock(at);
    if (Number.isNaN(time.getTime())) {
      wrong.delay_until = texts.badTime;
    } else {
      body.delay_until = time.toISOString();
    }
  }
  return { body, version: version === "" ? undefined : version, wrong };
}

/** Labels, a later start, another version: closed until it is asked for. */
export function MoreFields({
  workflow,
  more,
  wrong,
  change,
}: {
  workflow: WorkflowDetail;
  more: More;
  wrong: MoreWrong;
  change: (more: More) => void;
}) {
  const texts = formTexts().more;
  const [open, setOpen] = useState(() => JSON.stringify(more) !== JSON.stringify(usual));
  const set = (part: Partial<More>) => change({ ...more, ...part });
  return (
    <details open={open || Object.keys(wrong).length > 0} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{texts.title}</summary>
      <div className="schema-form">
        <Field label={texts.start} wrong={wrong.delay ?? wrong.delay_until}>
          {(input) => (
            <span className="row">
              <select
                {...input}
                className="schema-input auto"
                value={more.start}
                onChange={(event) => set({ start: event.currentTarget.value as More["start"] })}
              >
                {(["now", "after", "at"] as const).map((name) => (
                  <option key={name} value={name}>
                    {texts.starts[name]}
                  </option>
                ))}
              </select>
              {more.start === "after" && (
                <>
                  <input
                    className="schema-input auto"
                    inputMode="numeric"
                    size={5}
                    aria-label={texts.amount}
                    value={more.amount}
                    onChange={(event) => set({ amount: event.currentTarget.value })}
                  />
                  <select
                    className="schema-input auto"
                    aria-label={texts.unit}
                    value={more.unit}
                    onChange={(event) => set({ unit: event.currentTarget.value as More["unit"] })}
                  >
                    {(["M", "H", "D"] as const).map((unit) => (
                      <option key={unit} value={unit}>
                        {texts.units[unit]}
                      </option>
                    ))}
                  </select>
                </>
              )}
              {more.start === "at" && (
                <input
                  className="schema-input auto"
                  type="datetime-local"
                  aria-label={texts.at}
                  value={more.at}
                  onChange={(event) => set({ at: event.currentTarget.value })}
                />
              )}
            </span>
          )}
        </Field>
        <Field label={texts.labels} help={texts.labelsHelp} wrong={wrong.labels}>
          {(input) => (
            <textarea
              {...input}
              className="schema-input mono"
              rows={2}
              spellCheck={false}
              placeholder="customer=42"
              value={more.labels}
              onChange={(event) => set({ labels: event.currentTarget.value })}
            />
          )}
        </Field>
        {open && <VersionField workflow={workflow} more={more} set={set} />}
      </div>
    </details>
  );
}

function VersionField({
  workflow,
  more,
  set,
}: {
  workflow: WorkflowDetail;
  more: More;
  set: (part: Partial<More>) => void;
}) {
  const texts = formTexts().more;
  const versions = useInfiniteQuery(versionsQuestion(workflow.id));
  const names = versions.data?.pages.flatMap((page) => page.data.map((one) => one.version)) ?? [];
  return (
    <Field label={texts.version} help={texts.versionHelp}>
      {(input) => (
        <select
          {...input}
          className="schema-input"
          value={more.version}
          onChange={(event) => set({ version: event.currentTarget.value })}
        >
          <option value="">{texts.usualVersion}</option>
          {[...new Set([...names, ...(more.version === "" ? [] : [more.version])])].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface Input {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

function Field(props: {
  label: string;
  help?: string;
  wrong?: string | undefined;
  children: (input: Input) => ReactNode;
}) {
  const id = useId();
  const { label, help, wrong } = props;
  return (
    <div className="schema-field">
      <label className="schema-label" htmlFor={id}>
        {label}
      </label>
      {help !== undefined && (
        <span id={`${id}-help`} className="meta">
          {help}
        </span>
      )}
      {props.children({
        id,
        "aria-describedby": help === undefined ? undefined : `${id}-help`,
        "aria-invalid": wrong === undefined ? undefined : true,
      })}
      {wrong !== undefined && <p className="schema-wrong">{wrong}</p>}
    </div>
  );
}
